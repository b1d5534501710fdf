"""How hard the tasks are, how long they take to load, and what density correction is worth."""

from __future__ import annotations

import time

import numpy as np
import torch
from rich.progress import track
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import roc_auc_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import pointforms as pf
from benchmarks.tables import Results
from pointforms.estimators import cross_fit


def means_alone(task: pf.tasks.Task) -> float:
    """AUROC of logistic regression on the means of the clouds, over the task's folds."""
    means = np.array([cloud.mean(0) for cloud in task.clouds])
    scores = []
    for fold in range(5):
        train, test = task.folds != fold, task.folds == fold
        model = make_pipeline(StandardScaler(), LogisticRegression(max_iter=2000))
        found = model.fit(means[train], task.labels[train]).predict_proba(means[test])
        scores.append(
            roc_auc_score(
                task.labels[test],
                found if found.shape[1] > 2 else found[:, 1],
                multi_class="ovr",
            )
        )
    return float(np.mean(scores))


def every_task(results: Results) -> None:
    for name in track(pf.tasks.names(), "tasks"):
        start = time.perf_counter()
        task = pf.tasks.load(name)
        seconds = time.perf_counter() - start
        results.add(name, "seconds to load", seconds, 10.0)
        results.note(name, "AUROC of the means", f"{means_alone(task):.3f}")


def density_correction(results: Results, seeds: int = 5) -> None:
    """density-shift, where every fold is sampled by a density that training has not seen."""
    task = pf.tasks.load("density-shift")
    fields = pf.PointFormClassifier().prepare(task.clouds)
    found = {
        measure: cross_fit(
            pf.PointFormClassifier(measure=measure), fields, task.labels, task.folds, range(seeds),
            task.groups, n_jobs=-1, progress=True,
        ).auroc
        for measure in ("uniform", "volume-normalized")
    }  # fmt: skip
    for measure, auroc in found.items():
        results.note("density-shift", f"AUROC, measure {measure}", _interval(auroc.mean(1)))
    # seeds of one fold share its test clouds, so the folds are what varies
    gain = (found["volume-normalized"] - found["uniform"]).mean(1)
    results.note("density-shift", "gain of correction, 5 folds", _interval(gain))
    results.note("density-shift", "gain, fold by fold", " ".join(f"{g:+.3f}" for g in gain))
    results.add("density-shift", "gain of correction", float(gain.mean()), 0.0, lower=False)


def _interval(values: np.ndarray) -> str:
    """Mean and 95 % interval (Student's t) of a few values."""
    from scipy.stats import t

    half = t.ppf(0.975, len(values) - 1) * values.std(ddof=1) / len(values) ** 0.5
    return f"{values.mean():.3f} ± {half:.3f}"


def main() -> list[str]:
    """Print the table, and return what it missed."""
    results = Results("Tasks")
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    every_task(results)
    density_correction(results)
    torch.set_num_threads(threads)
    results.print()
    return results.missed
