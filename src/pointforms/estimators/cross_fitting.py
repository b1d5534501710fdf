"""Cross-validated fits of one classifier: folds × seeds, trained together, shared by workers."""

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

from pointforms.clouds import cloud_list
from pointforms.estimators.convergence import warn_if_never_improved
from pointforms.estimators.fits import Fitted, Store
from pointforms.estimators.metrics import auroc
from pointforms.estimators.network_classifier import NetworkClassifier
from pointforms.estimators.per_cloud import check_groups, one_per_cloud
from pointforms.estimators.prediction import class_probabilities
from pointforms.estimators.targets import ClassTargets
from pointforms.support.progress import track
from pointforms.support.statistics import Estimate, interval
from pointforms.support.threads import one_thread

# Up to this many workers are threads: steps of stacked fits spend little time in Python, and a new
# process needs seconds to import torch.
_THREADS = 4


@dataclass(frozen=True)
class CrossFit:
    """Out-of-fold predictions of every seed, as :func:`cross_fit` returns them.

    Attributes
    ----------
    probabilities : ndarray, shape (seeds, N, classes)
        Probabilities of each cloud by the network that was not trained on its fold.
    auroc : ndarray, shape (folds, seeds)
        AUROC on the test clouds of each fold; with more than two classes, the mean of each class
        against the rest.
    models : list of nn.Module
        The trained networks, one per fold and seed: all seeds of the first fold come first.

    Examples
    --------
    >>> import numpy as np
    >>> from pointforms.estimators import CrossFit
    >>> folds = CrossFit(np.zeros((1, 6, 2)), np.array([[0.8], [0.9], [1.0]]), [])
    >>> mean, half = folds.summary()
    >>> print(f"{mean:.2f} ± {half:.2f}")
    0.90 ± 0.25
    """

    probabilities: np.ndarray
    auroc: np.ndarray
    models: list[nn.Module]

    def summary(self) -> Estimate:
        """Return the mean AUROC and half its 95 % interval over folds × seeds, by Student's t.

        With a single value, the half width is None.
        """
        return interval(self.auroc.ravel())


def cross_fit(
    estimator: NetworkClassifier,
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

    What the estimator prepares of the clouds (Gram fields, graphs) is computed once; the common
    dimension of Gram fields is chosen on the training clouds of each fold. Neither stacking nor the
    number of workers affects the result, apart from rounding.

    Parameters
    ----------
    estimator : PointFormClassifier or another classifier that trains a network
        It is cloned and stays as it is. Its `random_state` is not used.
    clouds : Clouds, or list of array-like or tensor, each of shape (n_i, D)
        The clouds, or what the estimator's `prepare` returned for them.
    y : array-like, shape (N,)
        A label per cloud.
    folds : ndarray, shape (N,)
        The fold of each cloud.
    seeds : sequence of int, default (0,)
        Seeds of the networks.
    groups : array-like, shape (N,), or None, default None
        Clouds of one group stay on one side of every validation split.
    n_jobs : int or None, default None
        Number of workers with one torch thread each; -1 uses one per core, None the calling
        thread. Up to four are threads, more are processes, unless `joblib.parallel_config` is set.
    together : bool or None, default None
        Whether networks train together in stacks; None decides by their size.
    progress : bool, default False
        Show a progress bar.

    Returns
    -------
    CrossFit
        Predictions, AUROC per fold and seed, and the networks.

    Examples
    --------
    >>> import pointforms as pf
    >>> from pointforms.estimators import cross_fit
    >>> task = pf.tasks.load("circles-vs-lines", clouds=40, points=32)
    >>> clf = pf.PointFormClassifier(forms=4, hidden=(16,), epochs=3)
    >>> result = cross_fit(clf, task.clouds, task.labels, task.folds, seeds=(0, 1))
    >>> result.auroc.shape, result.probabilities.shape
    ((5, 2), (2, 40, 2))
    """
    estimator = clone(estimator)
    estimator.check_options()
    clouds = cloud_list(clouds)
    folds = one_per_cloud("folds", folds, len(clouds))
    targets = ClassTargets.of(y, len(clouds), estimator.class_weight)
    groups = check_groups(groups, len(clouds))
    names = np.unique(folds)
    parts = [(np.flatnonzero(folds != fold), int(seed)) for fold in names for seed in seeds]
    jobs = (os.cpu_count() or 1) if n_jobs == -1 else (n_jobs or 1)
    with one_thread():
        stores = estimator.make_stores(
            estimator.prepare(clouds), [training for training, _ in parts]
        )
        if jobs == 1:
            trained = _train_and_predict(
                estimator, stores, targets, parts, groups, together, progress
            )
        else:
            prefer = "threads" if jobs <= _THREADS else "processes"
            shares = [share for share in np.array_split(np.arange(len(parts)), jobs) if len(share)]
            with track(len(shares), "parts of the fits", progress) as advance:
                trained = []
                for some in Parallel(n_jobs=jobs, prefer=prefer, return_as="generator")(
                    delayed(_in_worker)(
                        estimator,
                        [stores[i] for i in share],
                        targets,
                        [parts[i] for i in share],
                        groups,
                        together,
                    )
                    for share in shares
                ):
                    trained += some
                    advance(1)
    probabilities = np.zeros((len(seeds), len(clouds), targets.outputs))
    areas = np.zeros((len(names), len(seeds)))
    for i, (_, predicted) in enumerate(trained):
        fold, seed = divmod(i, len(seeds))
        test = folds == names[fold]
        probabilities[seed, test] = predicted[test]
        areas[fold, seed] = auroc(targets.values[test], predicted[test])
    warn_if_never_improved([fitted for fitted, _ in trained], groups is not None)
    return CrossFit(probabilities, areas, [fitted.model for fitted, _ in trained])


def _in_worker(*arguments: Any) -> list[tuple[Fitted, np.ndarray]]:
    torch.set_num_threads(1)
    return _train_and_predict(*arguments)


def _train_and_predict(
    estimator: NetworkClassifier, stores: Sequence[Store], *arguments: Any
) -> list[tuple[Fitted, np.ndarray]]:
    """Train networks, and return each with its probabilities for all clouds (N, classes)."""
    trained = estimator.train_parts(stores, *arguments)
    return [
        (fitted, class_probabilities(fitted.model, store))
        for fitted, store in zip(trained, stores, strict=True)
    ]
