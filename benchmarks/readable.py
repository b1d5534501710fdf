"""Forms that can be read: what sees="own" keeps out of contributions, and what it costs."""

from __future__ import annotations

import os
import warnings
from time import process_time
from typing import Any

import numpy as np
import torch

import pointforms as pf
from benchmarks.tables import Results
from pointforms.estimators import auroc
from pointforms.support.statistics import SIGNIFICANCE_LEVEL
from pointforms.tasks.entries import KIDNEY
from pointforms.tasks.kidney import kidney_task

_TASKS = ("circles-vs-lines", "concentric-circles", "rna-velocity-quick")
# Most of the variation between clouds that classes may explain where nothing was planted.
_LEAK = 0.2


def change_one_feature(
    seed: int, change: str, clouds: int = 60, points: int = 100, features: int = 5
) -> tuple[list[np.ndarray], np.ndarray]:
    """Return independent normal features, of which class 1 has the first shifted or stretched."""
    rng = np.random.default_rng(seed)
    y = np.arange(clouds) % 2
    X = rng.normal(size=(clouds, points, features))
    if change == "shift":
        X[y == 1, :, 0] += 1.0
    else:
        X[y == 1, :, 0] *= 1.5
    return list(X), y


def leaks(results: Results, seeds: int = 5, clouds: int = 60, epochs: int = 30) -> None:
    """Measure the differences of contributions of features that were not changed."""
    for change in ("shift", "stretch"):
        for sees in ("all", "own"):
            own, others, significant = [], [], 0
            for seed in range(seeds):
                sample, y = change_one_feature(seed, change, clouds)
                model = pf.PointFormClassifier(
                    sees=sees, epochs=epochs, neighbors=32, dimension=5, random_state=seed
                )
                split = pf.explain.basis_split(
                    model.fit(sample, y), sample, y, refits=2, permutations=100
                )
                own.append(split.difference[0])
                others.append(split.difference[1:])
                significant += int((split.p[1:] < SIGNIFICANCE_LEVEL).sum())
            case = f"{change} of one feature, sees={sees!r}"
            results.note(case, "difference η² of that feature", f"{np.mean(own):.2f}")
            count = f"{significant} of {np.size(others)}"
            results.note(case, f"others with p < {SIGNIFICANCE_LEVEL}", count)
            figure = "mean difference η² of the others"
            if sees == "own":
                results.add(case, figure, float(np.mean(others)), _LEAK)
            else:
                results.note(case, figure, f"{np.mean(others):.2f}")


def accuracy(results: Results, task: pf.tasks.Task, folds: int = 2) -> None:
    """Compare AUROC and processor time of both on some folds of a task."""
    for degree in (1, 2):
        for sees in ("all", "own"):
            options: dict[str, Any] = {"degree": degree, "sees": sees}
            if degree == 2 and task.clouds[0].shape[1] > 20:
                options["rank"] = 8
            areas, start = [], process_time()
            for fold in range(folds):
                train, test = task.folds != fold, task.folds == fold
                model = pf.PointFormClassifier(random_state=0, **options)
                model.fit(_some(task, train), task.labels[train], groups=task.groups[train])
                areas.append(auroc(task.labels[test], model.predict_proba(_some(task, test))))
            seconds = (process_time() - start) / folds
            case = f"{task.name}, degree {degree}, sees={sees!r}"
            results.note(case, f"AUROC, {folds} folds", f"{np.mean(areas):.3f}")
            results.note(case, "processor seconds per fold", f"{seconds:.1f}")


def _some(task: pf.tasks.Task, chosen: np.ndarray) -> list[Any]:
    return [task.clouds[i] for i in np.flatnonzero(chosen)]


def main() -> list[str]:
    """Print the table and return the figures that missed their bounds."""
    results = Results('Forms that can be read: sees="own" against sees="all", one thread')
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    tasks = [pf.tasks.load(name) for name in _TASKS]
    if os.environ.get(KIDNEY):
        tasks.append(kidney_task(os.environ[KIDNEY]))
    else:
        results.note("kidney", f"left out: {KIDNEY} does not name the data", "")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        leaks(results)
        for task in tasks:
            accuracy(results, task)
    torch.set_num_threads(threads)
    results.print()
    return results.missed
