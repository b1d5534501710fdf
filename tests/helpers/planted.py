"""Clouds in R^10 in which only features 3 and 7 (counted from 0) carry the class, by their area."""

from __future__ import annotations

import numpy as np

FEATURES, PAIR = 10, (3, 7)


def planted_pair(
    seed: int, clouds: int = 80, points: int = 64
) -> tuple[list[np.ndarray], np.ndarray]:
    """Surface samples: x(s, t) for s, t uniform in [-1, 1]², with noise.

    In class 1, x_3 = s and x_7 = t span an area; in class 0, x_7 = s or -s, so that they lie along
    a line. The others, x_j = cos(θ_j + α) s + sin(θ_j + α) t ± bend (s² + t²), turn by a random
    angle α in each cloud, and all are stretched at random. Swapping or reflecting s and t turns
    one class's law of (x_7, x_j) into the other's, so every single feature and every pair but
    (3, 7) has the *same* law in both classes.
    """
    rng = np.random.default_rng(seed)
    y = np.arange(clouds) % 2
    made = []
    for label in y:
        s, t = rng.uniform(-1, 1, (2, points))
        angle = 0.3 * np.pi * np.arange(FEATURES) + rng.uniform(0, 2 * np.pi)
        X = np.outer(s, np.cos(angle)) + np.outer(t, np.sin(angle))
        X += 0.3 * np.outer(s**2 + t**2 - 2 / 3, rng.choice([-1, 1], FEATURES))
        X[:, PAIR[0]] = s
        X[:, PAIR[1]] = t if label else s * rng.choice([-1, 1])
        X *= rng.uniform(0.75, 1.25, FEATURES)
        made.append(X + 0.02 * rng.normal(size=X.shape))
    return made, y
