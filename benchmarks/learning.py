"""Cost of learning: the layer compared with its network, many fits compared with a plain loop."""

from __future__ import annotations

import os
from math import inf
from time import process_time

import numpy as np
import torch
from sklearn.metrics import roc_auc_score

import pointforms as pf
from benchmarks.pairwise import fit_one
from benchmarks.speed import best
from benchmarks.tables import Results
from pointforms.estimators import cross_fit
from pointforms.estimators.fits import Schedule
from pointforms.estimators.plans import Recipe
from pointforms.estimators.targets import ClassTargets
from pointforms.nn.field_store import FieldStore
from pointforms.nn.point_forms import PointForms
from pointforms.support.peak_memory import peak, reset_peak


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


def seconds_per_epoch(
    degree: int, clouds: list, labels: np.ndarray, more: int = 3, repeats: int = 1
) -> float:
    """Return the processor time of one epoch of dense forms, without what a fit does once.

    It is measured by two fits, of which one has some epochs more; of each, the fastest counts.
    """
    estimator = pf.PointFormClassifier(degree=degree, patience=100, random_state=0)
    fields = estimator.prepare(clouds)
    times = {1: inf, 1 + more: inf}
    for epochs in list(times) * repeats:
        start = process_time()
        estimator.set_params(epochs=epochs).fit(fields, labels)
        times[epochs] = min(times[epochs], process_time() - start)
    return (times[1 + more] - times[1]) / more


def higher_degrees(results: Results) -> None:
    """Train dense 2-forms in R^50 and 3-forms in R^12 for some epochs, beside 1-forms."""
    reset_peak()
    task = pf.tasks.load("rna-velocity")
    kept = task.folds != 0  # 800 clouds
    clouds, labels = [c for c, keep in zip(task.clouds, kept, strict=True) if keep], task.labels
    one, two = (seconds_per_epoch(k, clouds, labels[kept]) for k in (1, 2))
    case = f"dense forms, D = 50, {len(clouds)} clouds of 5 to 40 points"
    results.note(case, "k = 1, seconds per epoch", f"{one:.3f}")
    results.add(case, "k = 2, seconds per epoch", two, 5.0)
    results.note(case, "k = 2 / k = 1", f"{two / one:.3g}")
    memory = peak()
    if memory is not None:
        results.add(case, "peak of the process, GB", memory / 1e9, 1.5)
    rng = np.random.default_rng(0)
    clouds, labels = [rng.normal(size=(64, 12)) for _ in range(160)], np.arange(160) % 2
    one, three = (seconds_per_epoch(k, clouds, labels, 30 // k**2, repeats=5) for k in (1, 3))
    results.add("dense forms, D = 12, 160 clouds of 64 points", "k = 3 / k = 1", three / one, 20.0)


def default_fits(results: Results) -> None:
    """Time a default fit of 300 clouds × 128 on one thread: ellipses of two shapes, with noise."""
    rng = np.random.default_rng(0)
    labels = np.arange(300) % 2
    for D in (3, 10):
        clouds = []
        for label in labels:
            t = rng.uniform(0, 2 * np.pi, 128)
            curve = np.zeros((128, D))
            curve[:, 0], curve[:, 1] = np.cos(t), (1.0 if label else 0.6) * np.sin(t)
            curve[:, 2] = 0.3 * np.sin(2 * t)
            clouds.append(curve + 0.08 * rng.normal(size=(128, D)) + 0.15 * rng.normal(size=D))
        start = process_time()
        model = pf.PointFormClassifier(random_state=0).fit(clouds, labels)
        case = f"default fit, 300 clouds × 128 × {D}"
        results.add(case, "seconds", process_time() - start, 3.0)
        results.note(case, "epochs", str(len(model.history_)))


def many_fits(results: Results, epochs: int = 15) -> None:
    """Train 5 folds × 5 seeds of circles-vs-lines; time the plain loop on some of them."""
    task = pf.tasks.load("circles-vs-lines")
    estimator = pf.PointFormClassifier(epochs=epochs, neighbors=32, dimension=1, scale=None)
    fields = estimator.prepare(task.clouds)
    cores = os.cpu_count() or 1

    def ours() -> None:
        cross_fits.append(
            cross_fit(estimator, fields, task.labels, task.folds, range(5), task.groups, cores)
        )

    cross_fits: list = []
    y = torch.from_numpy(task.labels)
    targets = ClassTargets.of(task.labels, len(task))
    recipe = Recipe(1, estimator.validation_fraction, estimator.learning_rate, (1.0,))
    plans = [
        (fold, recipe.single(np.flatnonzero(task.folds != fold), targets, task.groups, 0))
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
    higher_degrees(results)
    comparison_layer(results)
    default_fits(results)
    many_fits(results)
    torch.set_num_threads(threads)
    results.print()
    return results.missed
