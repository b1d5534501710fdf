"""Loadings: how much of each original feature is in each component."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from pointforms.support.options import shown
from pointforms.support.table import Column, Table


@dataclass(frozen=True, eq=False)
class Loadings:
    """The weights of features, such as genes, in components, such as principal components.

    Component c is Σ_j values[c, j] x_j, x_j being the features in the units in which the components
    were computed.

    Parameters
    ----------
    values : (components, features) array
        The weights.
    component_names : tuple of str
        One name per component.
    feature_names : tuple of str
        One name per feature.

    Examples
    --------
    >>> loadings = Loadings(np.array([[0.6, -0.8, 0.0]]), ("PC1",), ("CD3", "CD4", "CD8"))
    >>> loadings.top(2)
    {'PC1': [('CD4', -0.8), ('CD3', 0.6)]}
    >>> loadings.scores([10.0]).round(2).tolist()
    [3.6, 6.4, 0.0]
    """

    values: np.ndarray
    component_names: tuple[str, ...]
    feature_names: tuple[str, ...]

    def __post_init__(self) -> None:
        expected = len(self.component_names), len(self.feature_names)
        if np.shape(self.values) != expected:
            raise ValueError(
                f"the loadings have shape {np.shape(self.values)}: expected {expected}, components "
                "and features"
            )
        if not np.isfinite(self.values).all():
            raise ValueError("the loadings have values that are not finite")

    @property
    def shares(self) -> np.ndarray:
        """Squared loadings in units of their sum over features: (components, features).

        The shares of a component sum to 1, unless all its loadings are 0.
        """
        squares = np.square(self.values)
        total = squares.sum(1, keepdims=True)
        shares: np.ndarray = squares / np.where(total > 0, total, 1.0)
        return shares

    def top(self, count: int = 10) -> dict[str, list[tuple[str, float]]]:
        """Return the features of the largest loadings of each component, with their loadings."""
        order = np.argsort(-np.abs(self.values), axis=1, kind="stable")[:, :count]
        return {
            name: [(self.feature_names[j], float(row[j])) for j in places]
            for name, row, places in zip(self.component_names, self.values, order, strict=True)
        }

    def scores(self, importance: Any) -> np.ndarray:
        """Share out the importance of components among features: (features,).

        The score of feature j is Σ_c max(importance_c, 0) shares_cj. Scores sum to what the
        positive importances sum to. They say which features an important component is made of, not
        that each of them matters: a component is used as a whole, and features that vary together
        share its loading.

        Parameters
        ----------
        importance : (components,) array
            One number per component, such as what `explain` found for each component. Those below
            0, which a component that the model does not use may have by chance, count as 0.
        """
        return np.asarray(self._at_least_0(importance) @ self.shares)

    def _at_least_0(self, importance: Any) -> np.ndarray:
        """Return one finite number per component, those below 0 replaced by 0."""
        given = np.asarray(importance, dtype=np.float64)
        if given.shape != (len(self.component_names),):
            raise ValueError(
                f"importance has shape {given.shape}: expected one number for each of the "
                f"{len(self.component_names)} components"
            )
        if not np.isfinite(given).all():
            raise ValueError(f"importance={shown(importance)}: expected finite numbers")
        return np.maximum(given, 0.0)

    def table(self, importance: Any, top: int | None = 20) -> Table:
        """Return the features of the largest scores, and the component that each owes most to.

        Parameters
        ----------
        importance : (components,) array
            One number per component.
        top : int or None, default 20
            Number of features; None lists all.
        """
        scores = self.scores(importance)
        parts = self._at_least_0(importance)[:, None] * self.shares
        leading = parts.argmax(0)
        rows = [
            {
                "feature": self.feature_names[j],
                "score": float(scores[j]),
                "component": self.component_names[leading[j]],
                "loading": float(self.values[leading[j], j]),
            }
            for j in np.argsort(-scores, kind="stable")[:top]
        ]
        columns = [
            Column("feature", "feature", left=True),
            Column("score", "score", "{:.3g}".format),
            Column("component", "most by", left=True),
            Column("loading", "its loading", "{:+.3f}".format),
        ]
        note = "Score: Σ over components of importance × squared loading share."
        return Table("Features behind components", columns, rows, [note])

    def some(self, components: Sequence[int]) -> Loadings:
        """Return the loadings of some components, in the order given."""
        places = list(components)
        names = tuple(self.component_names[c] for c in places)
        return Loadings(self.values[places], names, self.feature_names)
