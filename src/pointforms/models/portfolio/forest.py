"""Random trees per fold, on features of whole clouds, kept as plain arrays."""

from __future__ import annotations

from collections.abc import Mapping
from math import ceil, sqrt
from typing import Any, Self

import numpy as np
from sklearn.ensemble import ExtraTreesClassifier, ExtraTreesRegressor

# Trees per fold.
_TREES = 100
# Share of the features that a split considers, but no fewer than their root.
_SHARE = 0.1
# Numbers that a prediction holds at once: clouds × trees.
_HELD = 1 << 22


class ForestHead:
    """A forest of random trees per fold; the prediction is the mean over all trees.

    After fitting the trees are tables of nodes, so that a saved model needs no code of the library
    that grew them. Features are standardised first, in double precision: trees compare numbers in
    single precision.

    Parameters
    ----------
    classes : int or None
        Number of classes; None for regression.
    n_jobs : int or None, default None
        Number of threads that grow trees.
    """

    def __init__(self, classes: int | None, n_jobs: int | None = None) -> None:
        self.classes, self.n_jobs = classes, n_jobs

    def fit(
        self,
        X: np.ndarray,
        y: np.ndarray,
        folds: np.ndarray,
        weights: np.ndarray | None = None,
        random_state: int = 0,
    ) -> np.ndarray:
        """Grow a forest per fold, and return out-of-fold predictions.

        Parameters
        ----------
        X : ndarray, shape (N, f)
            Features.
        y : ndarray, shape (N,) of int, or (N, targets)
            Classes, or standardised numbers.
        folds : ndarray of int, shape (N,)
            The fold of each cloud, 0 to K - 1.
        weights : ndarray, shape (N,), or None, default None
            Weights of the clouds.
        random_state : int, default 0
            Seed of the trees.

        Returns
        -------
        ndarray, shape (N, classes) or (N, targets)
        """
        self.center = X.mean(0)
        deviation = X.std(0)
        self.scale = np.where(deviation > 1e-9 * np.abs(X).max(0), deviation, 1.0)
        Z = self._standardised(X)
        result = np.zeros((len(X), self.classes or y.shape[1]))
        tables = []
        for fold in range(int(folds.max()) + 1):
            train = folds != fold
            forest = self._grow(
                Z[train], y[train], None if weights is None else weights[train], random_state + fold
            )
            own = [self._table(tree, forest) for tree in forest.estimators_]
            tables += own
            self._keep(own)
            result[~train] = self._mean(Z[~train])
        self._keep(tables)
        return result

    def predict(self, X: np.ndarray) -> np.ndarray:
        """Return the mean prediction of all trees."""
        return self._mean(self._standardised(X))

    def arrays(self) -> dict[str, np.ndarray]:
        """Return everything that is needed to predict."""
        names = ("center", "scale", "roots", "feature", "threshold", "children", "leaves")
        return {name: getattr(self, name) for name in names}

    @classmethod
    def from_arrays(cls, arrays: Mapping[str, np.ndarray], classes: int | None) -> Self:
        """Return a fitted head from what :meth:`arrays` returned, checked."""
        head = cls(classes)
        for name, values in arrays.items():
            setattr(head, name, values)
        nodes, features = len(head.feature), len(head.center)
        shapes = {
            "scale": (features,), "threshold": (nodes,), "children": (nodes, 2),
            "leaves": (nodes, classes or head.leaves.shape[-1]),
        }  # fmt: skip
        for name, shape in shapes.items():
            if getattr(head, name).shape != shape:
                found = getattr(head, name).shape
                raise ValueError(f"trees with {name} of shape {found}: expected {shape}")
        inner = head.children[:, 0] >= 0
        place = np.arange(nodes)[:, None]
        # children come after their parent, so that every path ends
        wrong = inner & (
            (head.children <= place).any(1)
            | (head.children >= nodes).any(1)
            | (head.feature < 0)
            | (head.feature >= features)
        )
        if (
            wrong.any()
            or not len(head.roots)
            or (head.roots < 0).any()
            or (head.roots >= nodes).any()
        ):
            raise ValueError("trees whose nodes do not fit together")
        return head

    def _standardised(self, X: np.ndarray) -> np.ndarray:
        return ((X - self.center) / self.scale).astype(np.float32)

    def _grow(self, Z: np.ndarray, y: np.ndarray, weights: np.ndarray | None, seed: int) -> Any:
        features = Z.shape[1]
        tried = max(ceil(sqrt(features)), round(_SHARE * features))
        options: dict[str, Any] = {
            "n_estimators": _TREES, "min_samples_leaf": 2, "max_features": tried,
            "random_state": seed, "n_jobs": self.n_jobs,
        }  # fmt: skip
        if self.classes is None:
            return ExtraTreesRegressor(**options).fit(Z, y, weights)
        return ExtraTreesClassifier(**options).fit(Z, y, weights)

    def _table(self, tree: Any, forest: Any) -> dict[str, np.ndarray]:
        """Return the nodes of a tree; a leaf has children -1."""
        grown = tree.tree_
        values = grown.value
        if self.classes is None:
            leaves = values[:, :, 0]
        else:
            counts = values[:, 0] / values[:, 0].sum(1, keepdims=True)
            # one more cloud in each leaf, of all classes alike, makes no class impossible
            n = grown.weighted_n_node_samples[:, None]
            leaves = np.full((len(counts), self.classes), 1 / self.classes)
            leaves[:, forest.classes_] += n * counts
            leaves /= leaves.sum(1, keepdims=True)
        return {
            "feature": grown.feature.astype(np.int32),
            "threshold": grown.threshold,
            "children": np.stack([grown.children_left, grown.children_right], 1).astype(np.int32),
            "leaves": leaves,
        }

    def _keep(self, tables: list[dict[str, np.ndarray]]) -> None:
        """Keep trees one after another; children are numbered through."""
        sizes = [len(table["feature"]) for table in tables]
        self.roots = (np.cumsum(sizes) - sizes).astype(np.int64)
        for name in ("feature", "threshold", "leaves"):
            setattr(self, name, np.concatenate([table[name] for table in tables]))
        self.children = np.concatenate(
            [
                np.where(table["children"] >= 0, table["children"] + root, -1)
                for root, table in zip(self.roots, tables, strict=True)
            ]
        ).astype(np.int64)

    def _mean(self, Z: np.ndarray) -> np.ndarray:
        """Return the mean over all trees of the leaf that each row of Z (N, f) ends in."""
        result = np.zeros((len(Z), self.leaves.shape[1]))
        step = max(1, _HELD // len(self.roots))
        for start in range(0, len(Z), step):
            some = Z[start : start + step]
            rows = np.arange(len(some))[:, None]
            node = np.broadcast_to(self.roots, (len(some), len(self.roots)))
            while (inner := self.children[node, 0] >= 0).any():
                right = some[rows, np.maximum(self.feature[node], 0)] > self.threshold[node]
                node = np.where(inner, self.children[node, right.astype(np.int64)], node)
            result[start : start + step] = self.leaves[node].mean(1)
        return result
