"""Decision trees as plain arrays, and the descent of many points through many trees."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from pointforms.models.portfolio.array_checks import Expected, check_range

# Values that a descent holds at a time.
_VALUES = 1 << 22


@dataclass(frozen=True)
class Trees:
    """Decision trees with the splits of all trees in one set of arrays, and the leaves in another.

    A reference to a node is the index i of a split, or ~i = -1 - i for the leaf i. A split refers
    to splits of larger indices only, so that every descent ends.

    Attributes
    ----------
    roots : ndarray of int32, shape (..., T)
        References to the roots of the trees.
    children : ndarray of int32, shape (splits, 2)
        References to the nodes for values up to the threshold and above it.
    feature : ndarray of int32, shape (splits,)
        Features that the splits compare with their thresholds.
    threshold : ndarray of float64, shape (splits,)
        Thresholds.
    leaves : ndarray of float64, shape (leaves, outputs)
        Values of the leaves.
    """

    roots: np.ndarray
    children: np.ndarray
    feature: np.ndarray
    threshold: np.ndarray
    leaves: np.ndarray

    @classmethod
    def of(cls, fitted: Iterable[tuple[Any, np.ndarray]]) -> Trees:
        """Return trees of scikit-learn as arrays.

        Parameters
        ----------
        fitted : iterable of (tree, ndarray)
            Attributes `tree_` of fitted trees, each with the values of its nodes, of shape
            (nodes, outputs).
        """
        roots, children, feature, threshold, leaves = [], [], [], [], []
        splits_before = leaves_before = 0
        for tree, values in fitted:
            splits = tree.children_left >= 0
            reference = np.where(
                splits,
                splits_before + np.cumsum(splits) - 1,
                ~(leaves_before + np.cumsum(~splits) - 1),
            )
            roots.append(reference[0])
            both = np.stack([tree.children_left[splits], tree.children_right[splits]], axis=1)
            children.append(reference[both])
            feature.append(tree.feature[splits])
            threshold.append(tree.threshold[splits])
            leaves.append(values[~splits])
            splits_before += int(splits.sum())
            leaves_before += int((~splits).sum())
        return cls(
            np.array(roots, dtype=np.int32),
            np.concatenate(children).astype(np.int32),
            np.concatenate(feature).astype(np.int32),
            np.concatenate(threshold).astype(np.float64),
            np.concatenate(leaves).astype(np.float64),
        )

    def mean(self, Z: np.ndarray) -> np.ndarray:
        """Return the mean over the trees of the leaves that points reach: (N, outputs).

        Parameters
        ----------
        Z : ndarray of float32, shape (N, features)
            The points.
        """
        outputs = self.leaves.shape[1]
        rows = max(1, _VALUES // (len(self.roots) * outputs))
        means = np.empty((len(Z), outputs))
        for start in range(0, len(Z), rows):
            reached = self._reached(Z[start : start + rows])
            means[start : start + rows] = self.leaves[reached].mean(1)
        return means

    def _reached(self, Z: np.ndarray) -> np.ndarray:
        """Return the leaf that each point reaches in each tree: (N, T)."""
        node = np.tile(self.roots, len(Z))
        point = np.repeat(np.arange(len(Z)), len(self.roots))
        moving = np.flatnonzero(node >= 0)
        while len(moving):
            at = node[moving]
            above = Z[point[moving], self.feature[at]] > self.threshold[at]
            node[moving] = self.children[at, above.astype(np.intp)]
            moving = moving[node[moving] >= 0]
        return ~node.reshape(len(Z), len(self.roots))


#: The arrays of trees, for checks of a file.
TREE_ARRAYS: Mapping[str, Expected] = {
    "children": Expected("int32", ("splits", "two")),
    "feature": Expected("int32", ("splits",)),
    "threshold": Expected("float64", ("splits",)),
    "leaves": Expected("float64", ("leaves", "outputs")),
}


def check_references(
    roots: np.ndarray, children: np.ndarray, feature: np.ndarray, leaves: int, features: int
) -> None:
    """Raise an error unless every descent ends in a leaf and compares features that exist."""
    check_range("roots", roots, -leaves, len(children) - 1)
    check_range("children", children, -leaves, len(children) - 1)
    check_range("feature", feature, 0, features - 1)
    backward = (children >= 0) & (children <= np.arange(len(children))[:, None])
    if backward.any():
        split = int(backward.any(1).argmax())
        raise ValueError(
            f"array 'children' has {children[split].tolist()} for split {split}: "
            "expected leaves or splits of larger indices"
        )
