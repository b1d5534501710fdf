"""Simulated single-cell samples: branching cell-state manifolds in gene space."""

from __future__ import annotations

import numpy as np

from pointforms.tasks.task import Task, paired_task

_FORK = 0.4  # pseudo-time at which the trunk forks
_STEP = 10.0  # length of a branch in log expression
_BEND = 0.4  # angle, in radians, by which the second branch of the second population turns
_DONOR = 0.6  # standard deviation of the shift of every gene by the donor
_NOISE = 0.2  # standard deviation of the noise on log expression
_DROPOUT = 0.02  # share of values that are lost


def singlecell(seed: int, clouds: int = 320, points: int = 128, genes: int = 50) -> Task:
    """Cells on a trunk that forks in two; in the second population one branch turns away.

    A cell at pseudo-time τ of branch b has log expression μ + τ v₀ on the trunk, and continues
    along v_b, where gene programmes v are unit vectors that each move a part of the genes. In the
    second population v₂ is turned towards a third programme. The share of cells on each branch
    differs between samples, each donor shifts all genes, and values carry noise or are lost, so
    that means say little. A donor gives one sample of each population, and stays in one fold.
    """
    rng = np.random.default_rng([seed, 8])
    base = rng.uniform(1.0, 4.0, genes)
    trunk, first, second, third = _programmes(4, genes, rng)
    turned = np.cos(_BEND) * second + np.sin(_BEND) * third
    branches = ((first, second), (first, turned))
    made = []
    for i in range(clouds):
        label = i % 2
        if label == 0:
            donor = _DONOR * rng.normal(size=genes)
        share = rng.uniform(0.25, 0.75)
        on_second = rng.permutation(np.arange(points) < round(share * points))
        tau = rng.beta(1.2, 1.0, points)[:, None]
        direction = np.where(on_second[:, None], branches[label][1], branches[label][0])
        state = np.minimum(tau, _FORK) * trunk + np.maximum(tau - _FORK, 0.0) * direction
        log_expression = base + donor + _STEP * state
        log_expression = log_expression + _NOISE * rng.normal(size=(points, genes))
        seen = rng.uniform(size=(points, genes)) >= _DROPOUT
        made.append(np.logaddexp(0.0, log_expression) * seen)  # log(1 + counts)
    features = tuple(f"gene{g}" for g in range(genes))
    return paired_task("singlecell", made, features, ("population A", "population B"), seed)


def _programmes(count: int, genes: int, rng: np.random.Generator) -> np.ndarray:
    """Return orthogonal unit vectors, each on genes of its own."""
    vectors = np.zeros((count, genes))
    for a, members in enumerate(np.array_split(rng.permutation(genes), count + 1)[:count]):
        vectors[a, members] = rng.choice([-1.0, 1.0], len(members)) * rng.uniform(
            0.5, 1.5, len(members)
        )
    vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
    return vectors
