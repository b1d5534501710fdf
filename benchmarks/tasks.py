"""Difficulty and loading time of the tasks, and the gains from density correction and geometry."""

from __future__ import annotations

import time

import numpy as np
import torch
from rich.progress import track
from sklearn.base import clone
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import roc_auc_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import pointforms as pf
from benchmarks.tables import Results
from pointforms.estimators import cross_fit
from pointforms.models.registry import COMPARED_GEOMETRY
from pointforms.support.statistics import interval


def means_alone(task: pf.tasks.Task) -> float:
    """Return the AUROC of logistic regression on the means of the clouds, over all folds."""
    means = np.array([cloud.mean(0) for cloud in task.clouds])
    scores = []
    for fold in range(5):
        train, test = task.folds != fold, task.folds == fold
        model = make_pipeline(StandardScaler(), LogisticRegression(max_iter=2000))
        p = model.fit(means[train], task.labels[train]).predict_proba(means[test])
        p = p if p.shape[1] > 2 else p[:, 1]
        scores.append(roc_auc_score(task.labels[test], p, multi_class="ovr"))
    return float(np.mean(scores))


def every_task(results: Results) -> None:
    for name in track(pf.tasks.names(), "tasks"):
        start = time.perf_counter()
        task = pf.tasks.load(name)
        seconds = time.perf_counter() - start
        results.add(name, "seconds to load", seconds, 10.0)
        results.note(name, "AUROC of the means", f"{means_alone(task):.3f}")


def density_correction(results: Results, seeds: int = 5) -> None:
    """Compare measures on density-shift, whose folds are sampled with different densities."""
    task = pf.tasks.load("density-shift")
    classifier = pf.PointFormClassifier(**COMPARED_GEOMETRY)
    fields = classifier.prepare(task.clouds)
    aurocs = {
        measure: cross_fit(
            clone(classifier).set_params(measure=measure), fields, task.labels, task.folds,
            range(seeds), task.groups, n_jobs=-1, progress=True,
        ).auroc
        for measure in ("uniform", "volume-normalized")
    }  # fmt: skip
    for measure, auroc in aurocs.items():
        results.note("density-shift", f"AUROC, measure {measure}", _interval(auroc.mean(1)))
    # seeds of one fold share its test clouds, so only folds count as independent
    gain = (aurocs["volume-normalized"] - aurocs["uniform"]).mean(1)
    results.note("density-shift", "gain of correction, 5 folds", _interval(gain))
    results.note("density-shift", "gain, fold by fold", " ".join(f"{g:+.3f}" for g in gain))
    results.add("density-shift", "gain of correction", float(gain.mean()), 0.0, lower=False)


def chosen_geometry(results: Results, seeds: int = 3) -> None:
    """Compare the geometry that training clouds choose with that of the paper's comparisons."""
    for name in ("circles-vs-lines", "rna-velocity", "singlecell", "density-shift"):
        task = pf.tasks.load(name)
        aurocs = [
            cross_fit(
                pf.PointFormClassifier(**options), task.clouds, task.labels, task.folds,
                range(seeds), task.groups, n_jobs=-1, progress=True,
            ).auroc.mean(1)
            for options in (COMPARED_GEOMETRY, {})
        ]  # fmt: skip
        for geometry, auroc in zip(("of the paper", "chosen"), aurocs, strict=True):
            results.note(name, f"AUROC, geometry {geometry}", _interval(auroc))
        gain = aurocs[1] - aurocs[0]
        results.note(name, "gain of the choice, 5 folds", _interval(gain))
        results.note(name, "gain, fold by fold", " ".join(f"{g:+.3f}" for g in gain))
        # not worse than the noise of folds
        results.add(name, "gain of the choice", float(gain.mean()), -0.005, lower=False)


def _interval(values: np.ndarray) -> str:
    mean, half = interval(values)
    return f"{mean:.3f} ± {half:.3f}"


def main() -> list[str]:
    """Print the table and return the figures that missed their bounds."""
    results = Results("Tasks")
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    every_task(results)
    density_correction(results)
    chosen_geometry(results)
    torch.set_num_threads(threads)
    results.print()
    return results.missed
