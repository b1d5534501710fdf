"""Which cells: does the split of a prediction over points find a planted subpopulation?"""

from __future__ import annotations

from dataclasses import dataclass
from time import process_time
from typing import Any

import numpy as np
import torch

import pointforms as pf
from benchmarks.tables import Results
from pointforms.estimators import auroc

#: Share of the cells of class 1 that are shifted, and by how many standard deviations.
SHARE, SHIFT = 0.05, 3.0
#: Features that are shifted.
SHIFTED = 2
# Bounds: what a classifier must reach, and then the split.
_AUROC, _PRECISION = 0.95, 0.8


@dataclass(frozen=True, eq=False)
class Subpopulation:
    """Clouds, their classes, and which points were shifted.

    Attributes
    ----------
    clouds : (N, n, D) array
    labels : (N,) array
    shifted : (N, n) array of bool
        All False in class 0.
    """

    clouds: np.ndarray
    labels: np.ndarray
    shifted: np.ndarray


def plant_subpopulation(
    seed: int, clouds: int = 60, points: int = 200, features: int = 5, shift: float = SHIFT
) -> Subpopulation:
    """Return normal clouds; in class 1 a few points are shifted in the first features."""
    rng = np.random.default_rng(seed)
    labels = np.arange(clouds) % 2
    X = rng.normal(size=(clouds, points, features))
    shifted = np.zeros((clouds, points), dtype=bool)
    for i in np.flatnonzero(labels):
        rows = rng.choice(points, round(SHARE * points), replace=False)
        shifted[i, rows] = True
        X[i, rows, :SHIFTED] += shift
    return Subpopulation(X, labels, shifted)


def precision(scores: np.ndarray, planted: np.ndarray) -> float:
    """Return the share of planted points among as many points of the largest scores."""
    top = np.argsort(-scores)[: planted.sum()]
    return float(planted[top].mean())


def measure(model: Any, data: Subpopulation, train: int) -> tuple[float, float, float]:
    """Fit on the first clouds; return AUROC, mean precision and share of the split on the others.

    Precision is that in the clouds of class 1, where there is something to find.
    """
    fitted = model.fit(list(data.clouds[:train]), data.labels[:train])
    held_out, labels = list(data.clouds[train:]), data.labels[train:]
    split = pf.explain.prediction_split(fitted, held_out, reference=list(data.clouds[:train]))
    found = [
        precision(points[:, 1], planted)
        for points, planted, label in zip(split.points, data.shifted[train:], labels, strict=True)
        if label
    ]
    return auroc(labels, fitted.predict_proba(held_out)), float(np.mean(found)), split.share


def best_precision(data: Subpopulation, train: int) -> float:
    """Return the precision of the likelihood ratio of a point, which no method can exceed much."""
    rows = [i for i in range(train, len(data.labels)) if data.labels[i]]
    sums = data.clouds[..., :SHIFTED].sum(-1)
    return float(np.mean([precision(sums[i], data.shifted[i]) for i in rows]))


def models(seed: int) -> dict[str, Any]:
    """Return the estimators that are compared."""
    return {
        "PointFormClassifier()": pf.PointFormClassifier(random_state=seed),
        "PointFormClassifier(members=5)": pf.PointFormClassifier(random_state=seed, members=5),
        "CloudClassifier()": pf.CloudClassifier(random_state=seed),
    }


def main(seeds: int = 10) -> list[str]:
    """Print the table and return the figures that missed their bounds."""
    results = Results(
        f"Which cells: {SHARE:.0%} of the cells of class 1 shifted by {SHIFT:g} deviations in "
        f"{SHIFTED} of 5 features, {seeds} seeds"
    )
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    samples = [plant_subpopulation(seed) for seed in range(seeds)]
    train = 40
    best = np.mean([best_precision(data, train) for data in samples])
    results.note("likelihood ratio", "precision, the best possible", f"{best:.3f}")
    for name in models(0):
        start = process_time()
        measured = [measure(models(seed)[name], data, train) for seed, data in enumerate(samples)]
        areas, found, shares = np.array(measured).T
        seconds = (process_time() - start) / seeds
        results.add(name, "smallest held-out AUROC", areas.min(), _AUROC, lower=False)
        results.add(name, "mean precision of the top points", found.mean(), _PRECISION, lower=False)
        results.add(name, "smallest precision over seeds", found.min(), _PRECISION, lower=False)
        results.note(name, "mean share of the decision through points", f"{shares.mean():.2f}")
        results.note(name, "processor seconds per seed", f"{seconds:.1f}")
    torch.set_num_threads(threads)
    results.print()
    return results.missed
