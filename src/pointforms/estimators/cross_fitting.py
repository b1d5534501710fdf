"""Many fits of one estimator: folds × seeds, trained together and shared among processes."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from joblib import Parallel, delayed
from sklearn.base import clone
from torch import nn

from pointforms.estimators.metrics import auroc
from pointforms.estimators.network import CloudClassifier
from pointforms.estimators.trainer import Fit, Fitted, Store, apply, train
from pointforms.support.progress import track

# Up to so many workers are threads: steps of stacked fits spend little time in Python, and a new
# process needs seconds to import torch.
_THREADS = 4


@dataclass(frozen=True)
class CrossFit:
    """Out-of-fold predictions of every seed.

    Attributes
    ----------
    probabilities : (seeds, N, classes)
    auroc : (folds, seeds)
        On the test clouds of each fold; one class against the rest for more than two.
    models : one a fold and seed, in that order
    """

    probabilities: np.ndarray
    auroc: np.ndarray
    models: list[nn.Module]

    def summary(self) -> tuple[float, float]:
        """Mean AUROC and half the width of its 95 % interval over folds × seeds."""
        values = self.auroc.flatten()
        spread = 1.96 * values.std(ddof=1) / len(values) ** 0.5 if len(values) > 1 else 0.0
        return float(values.mean()), float(spread)


def cross_fit(
    estimator: CloudClassifier,
    clouds: Any,
    y: Any,
    folds: np.ndarray,
    seeds: Sequence[int] = (0,),
    groups: Any = None,
    n_jobs: int | None = None,
    together: bool | None = None,
    progress: bool = False,
) -> CrossFit:
    """Fit a classifier on the complement of every fold with every seed, and predict the fold.

    What the estimator prepares of the clouds (Gram fields, graphs) is computed once. Fits of one
    shape train together; `n_jobs` workers of one thread each share them (-1 is one a core): threads
    of this process where they are few, else processes, unless `joblib.parallel_config` says
    otherwise. The outcome depends on neither.
    """
    estimator = clone(estimator)  # the caller's stays as it is
    folds = np.asarray(folds)
    classes, codes = np.unique(np.asarray(y), return_inverse=True)
    estimator.check_options()
    prepared = estimator.prepare(clouds)
    estimator.n_features_in_, estimator.classes_ = estimator._width(prepared), classes
    store = estimator.make_store(prepared)
    plan = [
        (fold, s, estimator.make_fit(np.flatnonzero(folds != fold), codes, groups, int(seed)))
        for fold in np.unique(folds)
        for s, seed in enumerate(seeds)
    ]
    jobs = (os.cpu_count() or 1) if n_jobs == -1 else (n_jobs or 1)
    parts = [part for part in np.array_split(np.arange(len(plan)), jobs) if len(part)]
    fits = [fit for _, _, fit in plan]
    if jobs == 1:
        trained = train_fits(estimator, store, codes, fits, together, progress)
    else:
        prefer = "threads" if jobs <= _THREADS else "processes"
        threads = torch.get_num_threads()
        with track(len(parts), "parts of the fits", progress) as advance:
            trained = []
            for found in Parallel(n_jobs=jobs, prefer=prefer, return_as="generator")(
                delayed(_in_worker)(estimator, store, codes, [fits[i] for i in part], together)
                for part in parts
            ):
                trained += found
                advance(1)
        torch.set_num_threads(threads)  # workers that are threads have set it to one
    names = np.unique(folds).tolist()
    probabilities = np.zeros((len(seeds), len(codes), len(classes)))
    areas = np.zeros((len(names), len(seeds)))
    for (fold, s, _), (_, outputs) in zip(plan, trained, strict=True):
        test = folds == fold
        probabilities[s, test] = outputs[test]
        areas[names.index(fold), s] = auroc(codes[test], outputs[test])
    return CrossFit(probabilities, areas, [fitted.model for fitted, _ in trained])


def _in_worker(*args: Any) -> list[tuple[Fitted, np.ndarray]]:
    torch.set_num_threads(1)
    return train_fits(*args)


def train_fits(
    estimator: CloudClassifier,
    store: Store,
    codes: np.ndarray,
    fits: list[Fit],
    together: bool | None = None,
    progress: bool = False,
) -> list[tuple[Fitted, np.ndarray]]:
    """Trained models of a classifier that knows its classes, and what each makes of all clouds.

    Probabilities are (N, classes).
    """
    outputs = len(estimator.classes_)
    # fits that see the same clouds share weights of classes, and are trained together
    seen = [np.sort(np.r_[fit.train, fit.validation]) for fit in fits]
    weighted = estimator.class_weight is not None
    parts: dict[bytes, list[int]] = {}
    for i, clouds in enumerate(seen):
        parts.setdefault(clouds.tobytes() if weighted else b"", []).append(i)
    trained: dict[int, Fitted] = {}
    for places in parts.values():
        found = train(
            lambda fit: estimator.make_model(store, outputs, fit),
            store,
            torch.from_numpy(codes).to(estimator.device),
            estimator.loss(codes[seen[places[0]]]),
            [fits[i] for i in places],
            estimator.schedule(),
            together=together,
            progress=progress,
        )
        trained |= dict(zip(places, found, strict=True))
    return [
        (one, apply(one.model, one.model, store).double().softmax(-1).cpu().numpy())
        for one in (trained[i] for i in range(len(fits)))
    ]
