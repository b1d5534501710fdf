"""Cost of learning: the layer compared with its network, many fits compared with a plain loop."""

from __future__ import annotations

import os

import numpy as np
import torch
from sklearn.metrics import roc_auc_score

import pointforms as pf
from benchmarks.pairwise import fit_one
from benchmarks.speed import best
from benchmarks.tables import Results
from pointforms.estimators import cross_fit
from pointforms.estimators.fits import Schedule
from pointforms.estimators.targets import ClassTargets
from pointforms.nn.point_forms import PointForms
from pointforms.nn.stores import FieldStore


def comparison_layer(results: Results) -> None:
    """Time forward and backward passes on 32 clouds × 256 × 12 with 8 forms, on one thread."""
    rng = np.random.default_rng(0)
    clouds = [rng.normal(size=(256, 12)).astype(np.float32) for _ in range(32)]
    for degree, rank, reach in ((1, None, 0.45), (2, None, 2.2), (2, 6, 0.8)):
        fields = pf.gram_fields(clouds, neighbors=32, dimension=4, rank=rank)
        batch = FieldStore(fields, degrees=(degree,)).gather(torch.arange(32))
        layer = PointForms(12, degree, forms=8)

        def network(layer: PointForms = layer, batch=batch) -> None:  # type: ignore[no-untyped-def]
            out = layer.network(batch.points)
            out.backward(torch.ones_like(out))

        def whole(layer: PointForms = layer, batch=batch) -> None:  # type: ignore[no-untyped-def]
            out = layer(batch, batch.points)
            out.backward(torch.ones_like(out))

        alone, both = best(network, whole, repeats=15)
        name = "full rank" if rank is None else f"rank {rank}"
        results.add(
            f"comparison layer, k = {degree}, {name}", "cost / network", both / alone - 1, reach
        )


def many_fits(results: Results, epochs: int = 15) -> None:
    """Train 5 folds × 5 seeds of circles-vs-lines; time the plain loop on some of them."""
    task = pf.tasks.load("circles-vs-lines")
    estimator = pf.PointFormClassifier(epochs=epochs, neighbors=32, dimension=1)
    fields = estimator.prepare(task.clouds)
    cores = os.cpu_count() or 1

    def ours() -> None:
        cross_fits.append(
            cross_fit(estimator, fields, task.labels, task.folds, range(5), task.groups, cores)
        )

    cross_fits: list = []
    y = torch.from_numpy(task.labels)
    targets = ClassTargets.of(task.labels, len(task))
    plans = [
        (fold, estimator.make_fit(np.flatnonzero(task.folds != fold), targets, task.groups, 0))
        for fold in range(5)
    ]
    scores: list[float] = []

    def plain() -> None:
        scores.clear()
        for fold, fit in plans:
            out = fit_one(fields, y, fit, Schedule(epochs=epochs)).softmax(-1)[:, 1].numpy()
            test = task.folds == fold
            scores.append(roc_auc_score(task.labels[test], out[test]))

    threads = torch.get_num_threads()
    torch.set_num_threads(cores)  # the plain loop uses torch's default
    mine, loop = best(ours, plain, repeats=1)
    torch.set_num_threads(threads)
    case = "25 fits of circles-vs-lines"
    results.note(case, "ours, seconds per fit", f"{mine / 25:.2f}")
    results.note(case, "plain loop, seconds per fit", f"{loop / 5:.2f}")
    results.add(case, "plain loop / ours", 5 * loop / mine, 5.0, lower=False)
    auroc = float(cross_fits[-1].auroc.mean())
    results.add(case, "AUROC apart", abs(auroc - float(np.mean(scores))), 0.002)
    results.note(case, "AUROC, plain and ours", f"{np.mean(scores):.4f}, {auroc:.4f}")


def main() -> list[str]:
    """Print the table and return the figures that missed their bounds."""
    results = Results("Learning: ratios inside one run")
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    comparison_layer(results)
    many_fits(results)
    torch.set_num_threads(threads)
    results.print()
    return results.missed
