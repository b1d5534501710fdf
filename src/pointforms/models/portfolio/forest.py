"""Forests of extremely randomised trees on features, one per fold."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Self

import numpy as np
from sklearn.ensemble import ExtraTreesClassifier, ExtraTreesRegressor
from sklearn.exceptions import NotFittedError
from sklearn.utils import check_random_state
from threadpoolctl import threadpool_limits  # type: ignore[import-untyped]

from pointforms.models.portfolio.array_checks import Expected, check_range, checked_arrays
from pointforms.models.portfolio.fold_data import FoldData, checked_features
from pointforms.models.portfolio.standardisation import (
    SMALLEST_SCALE,
    centre_and_scale,
    standardised,
)
from pointforms.models.portfolio.trees import TREE_ARRAYS, Trees, check_references
from pointforms.support.checks import check_int

_TREES = 100
# Of more features than this, the most important ones to a small forest are used.
_FEATURES, _SCOUTS = 128, 40
# Clouds per leaf. A leaf of one class needs no more than one; numbers have noise.
_LEAF_OF_CLASSES, _LEAF_OF_NUMBERS = 1, 3
_LARGEST_LEAF = 1e100
_ARRAYS = {
    "features": Expected("int32", ("one",)),
    "columns": Expected("int32", ("K", "m")),
    "centre": Expected("float64", ("K", "m")),
    "scale": Expected("float64", ("K", "m")),
    "roots": Expected("int32", ("K", "trees")),
    **TREE_ARRAYS,
}


class ForestHead:
    """Forests of extremely randomised trees on standardised features, one forest per fold.

    Every split considers all features, at one random threshold each. Of more than 128 features,
    those are used that matter most to a small forest whose splits consider few features each:
    where most features are noise, this is both faster and more accurate.

    Probabilities are (votes + 1/C) / (T + 1) for T trees and C classes, so that a class for which
    no tree votes is improbable, not impossible.

    Multiplying a feature by a power of two changes no prediction. No object of scikit-learn is
    kept: the trees are arrays.

    Parameters
    ----------
    classes : int or None
        Number of classes, C; None for regression.
    trees : int, default 100
        Number of trees per fold, T.
    n_jobs : int, default 1
        Number of threads that grow trees; -1 uses one per core. It does not affect the result.

    Examples
    --------
    >>> X = np.random.default_rng(0).normal(size=(60, 4))
    >>> y, folds = (X[:, 0] > 0).astype(int), np.arange(60) % 5
    >>> head = ForestHead(classes=2, trees=20)
    >>> out_of_fold = head.fit(X, y, folds)
    >>> bool((out_of_fold.argmax(1) == y).mean() > 0.8)
    True
    >>> same = ForestHead.from_arrays(head.arrays(), classes=2)
    >>> np.array_equal(same.predict(X), head.predict(X))
    True
    """

    def __init__(self, classes: int | None, trees: int = _TREES, n_jobs: int = 1) -> None:
        self.classes = classes
        self.trees = trees
        self.n_jobs = n_jobs
        self._arrays: dict[str, np.ndarray] = {}

    def fit(
        self,
        X: np.ndarray,
        y: np.ndarray,
        folds: np.ndarray,
        weights: np.ndarray | None = None,
        random_state: int = 0,
    ) -> np.ndarray:
        """Grow one forest on the complement of every fold.

        Parameters
        ----------
        X, y, folds
            Features, targets and folds of the clouds, as in :class:`FoldData`.
        weights : ndarray, shape (N,), or None, default None
            Weights of the clouds; only their ratios matter. They decide which splits are best, and
            weigh the clouds of a leaf. A leaf of a single class votes for it whatever the weights.
        random_state : int, default 0
            Seed of the trees.

        Returns
        -------
        ndarray, shape (N, C) or (N, t)
            Probabilities or numbers by the forest of each cloud's fold, which has not seen it.
        """
        check_int("trees", self.trees, at_least=1)
        data = FoldData.of(X, y, folds, weights, self.classes)
        seeds = check_random_state(random_state).randint(2**31 - 1, size=data.count)
        grown, columns, centres, scales = [], [], [], []
        with threadpool_limits(1, user_api="blas"):
            for fold, seed in enumerate(seeds):
                training = data.training(fold)
                centre, scale = centre_and_scale(data.X[training], data.weights_of(training))
                Z = _rounded(data.X[training], centre, scale)
                kept = self._important(Z, data, training, seed)
                forest = self._grown(Z[:, kept], data, training, seed, self.trees, 1.0)
                grown += list(trees_of(forest, self.classes))
                columns.append(kept)
                centres.append(centre[kept])
                scales.append(scale[kept])
        trees = Trees.of(grown)
        self._arrays = {
            "features": np.array([data.X.shape[1]], dtype=np.int32),
            "columns": np.stack(columns).astype(np.int32),
            "centre": np.stack(centres),
            "scale": np.stack(scales),
            "roots": trees.roots.reshape(data.count, self.trees),
            "children": trees.children,
            "feature": trees.feature,
            "threshold": trees.threshold,
            "leaves": trees.leaves,
        }
        out_of_fold = np.empty((len(data.X), trees.leaves.shape[1]))
        for fold in range(data.count):
            held_out = data.folds == fold
            out_of_fold[held_out] = self._predict_by(fold, data.X[held_out])
        return out_of_fold

    def predict(self, X: np.ndarray) -> np.ndarray:
        """Return the mean prediction of the forests of all folds: (N, C) or (N, t)."""
        arrays = self.arrays()
        X = checked_features(X, self.features)
        count = len(arrays["roots"])
        return np.asarray(sum(self._predict_by(fold, X) for fold in range(count)) / count)

    def predict_fold(self, X: np.ndarray, fold: int) -> np.ndarray:
        """Return the prediction of the forest that has not seen a fold: (N, C) or (N, t)."""
        return self._predict_by(fold, checked_features(X, self.features))

    def arrays(self) -> dict[str, np.ndarray]:
        """Return everything that is needed to predict.

        Returns
        -------
        dict of str to ndarray
            "features" (1,), the number f; "columns", "centre" and "scale" (K, m) of the features
            that the forest of each fold uses; "roots" (K, T); and the arrays of
            :class:`~pointforms.models.portfolio.trees.Trees`, whose features are positions in
            "columns".
        """
        if not self._arrays:
            raise NotFittedError("ForestHead is not fitted")
        return dict(self._arrays)

    @property
    def features(self) -> int:
        """Number of features, f."""
        return int(self.arrays()["features"][0])

    @property
    def outputs(self) -> int:
        """Number of classes or targets."""
        return int(self.arrays()["leaves"].shape[1])

    @classmethod
    def from_arrays(cls, arrays: Mapping[str, np.ndarray], classes: int | None) -> Self:
        """Return a head that predicts as the one whose :meth:`arrays` are given.

        Parameters
        ----------
        arrays : mapping of str to ndarray
            The arrays. A ValueError says what is wrong with them.
        classes : int or None
            Number of classes; None for regression.
        """
        known = {"one": 1, "two": 2} | ({} if classes is None else {"outputs": classes})
        checked, sizes = checked_arrays(arrays, _ARRAYS, known, may_be_empty=("splits",))
        features = int(checked["features"][0])
        check_range("columns", checked["columns"], 0, features - 1)
        check_range("scale", checked["scale"], SMALLEST_SCALE, np.inf)
        check_references(
            checked["roots"], checked["children"], checked["feature"], sizes["leaves"], sizes["m"]
        )
        if classes is None:
            check_range("leaves", checked["leaves"], -_LARGEST_LEAF, _LARGEST_LEAF)
        else:
            check_range("leaves", checked["leaves"], 0, 1)
            if not np.allclose(checked["leaves"].sum(1), 1):
                raise ValueError("array 'leaves' has rows that do not sum to 1")
        head = cls(classes, trees=sizes["trees"])
        head._arrays = checked
        return head

    def _important(
        self, Z: np.ndarray, data: FoldData, training: np.ndarray, seed: int
    ) -> np.ndarray:
        """Return the features to use, in ascending order."""
        if Z.shape[1] <= _FEATURES:
            return np.arange(Z.shape[1])
        scouts = self._grown(Z, data, training, seed, _SCOUTS, "sqrt")
        order = np.argsort(-scouts.feature_importances_, kind="stable")
        return np.sort(order[:_FEATURES])

    def _grown(
        self,
        Z: np.ndarray,
        data: FoldData,
        training: np.ndarray,
        seed: int,
        trees: int,
        share: float | str,
    ) -> Any:
        """Return a fitted forest whose splits consider a share of the features."""
        regression = self.classes is None
        y = data.y[training]
        forest = (ExtraTreesRegressor if regression else ExtraTreesClassifier)(
            trees,
            max_features=share,
            min_samples_leaf=_LEAF_OF_NUMBERS if regression else _LEAF_OF_CLASSES,
            random_state=seed,
            n_jobs=self.n_jobs,
        )
        one_target = regression and y.shape[1] == 1
        return forest.fit(Z, y[:, 0] if one_target else y, data.weights_of(training))

    def _predict_by(self, fold: int, X: np.ndarray) -> np.ndarray:
        """Return what the forest of one fold predicts: (N, C) or (N, t)."""
        arrays = self._arrays
        columns = arrays["columns"][fold]
        Z = _rounded(X[:, columns], arrays["centre"][fold], arrays["scale"][fold])
        trees = Trees(arrays["roots"][fold], *(arrays[name] for name in TREE_ARRAYS))
        means = trees.mean(Z)
        if self.classes is None:
            return means
        return np.asarray((self.trees * means + 1 / self.classes) / (self.trees + 1))


def _rounded(X: np.ndarray, centre: np.ndarray, scale: np.ndarray) -> np.ndarray:
    """Return standardised features in the precision of trees."""
    return standardised(X, centre, scale).astype(np.float32)


def trees_of(forest: Any, classes: int | None) -> Iterator[tuple[Any, np.ndarray]]:
    """Return the trees of a forest with the values of their nodes: (nodes, C) or (nodes, t)."""
    for estimator in forest.estimators_:
        tree = estimator.tree_
        if classes is None:
            yield tree, tree.value[:, :, 0]
        else:
            values = np.zeros((tree.node_count, classes))
            values[:, forest.classes_] = tree.value[:, 0, :]
            yield tree, values / values.sum(1, keepdims=True)
