"""Some of the features, by name or position."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Annotated

from torch import Tensor

from pointforms.clouds import Clouds
from pointforms.preprocessing.cloud_transformer import CloudTransformer
from pointforms.support.options import Bounds, NotEmpty, shown
from pointforms.support.suggestions import suggest

_Feature = str | Annotated[int, Bounds(at_least=0)]


@dataclass(eq=False, repr=False)
class SelectFeatures(CloudTransformer):
    """Keep some features of clouds, or leave some out.

    Clouds with names need to have the chosen features only: later clouds may have other features
    beside them, in any order.

    Parameters
    ----------
    features : sequence of str or int
        Features by name or position.
    exclude : bool, default False
        Leave them out and keep all others, in their order. By default they are kept, in the order
        given.

    Attributes
    ----------
    n_features_in_ : int
        Number of features of the clouds, D.
    feature_names_in_ : ndarray of str, shape (D,)
        Their names, if the clouds of `fit` had names.

    Examples
    --------
    >>> import pointforms as pf
    >>> clouds = pf.Clouds.from_list([[[0.0, 1.0, 2.0]]], feature_names=["Time", "CD3", "CD4"])
    >>> pf.preprocessing.SelectFeatures(["CD4", "CD3"]).fit_transform(clouds)[0].tolist()
    [[2.0, 1.0]]
    >>> pf.preprocessing.SelectFeatures(["Time"], exclude=True).fit_transform(clouds).feature_names
    ('CD3', 'CD4')
    """

    features: Annotated[Sequence[_Feature], NotEmpty()]
    exclude: bool = False

    def _learn(self, clouds: Clouds) -> None:
        self._columns(clouds.feature_names)

    def _columns(self, names: Sequence[str]) -> list[int]:
        """Return the positions of the features that are kept."""
        columns: list[int] = []
        for feature in self.features:
            if isinstance(feature, str):
                if feature not in names:
                    raise ValueError(
                        f"features has {feature!r}, which is no feature of the clouds: "
                        f"{suggest(feature, names)}"
                    )
                columns.append(list(names).index(feature))
            elif feature >= len(names):
                raise ValueError(f"features has {feature}: expected positions below {len(names)}")
            else:
                columns.append(int(feature))
        if len(set(columns)) < len(columns):
            raise ValueError(f"features={shown(self.features)} has a feature twice")
        if self.exclude:
            columns = [j for j in range(len(names)) if j not in columns]
            if not columns:
                raise ValueError(f"features={shown(self.features)}: no feature is left")
        return columns

    def _in_order(self, clouds: Clouds) -> Clouds:
        wanted = self._names_out(self._names_in())
        if self._finds_names(clouds) and set(wanted) <= set(clouds.feature_names):
            return clouds  # with whatever other features
        return super()._in_order(clouds)

    def _finds_names(self, clouds: Clouds) -> bool:
        return hasattr(self, "feature_names_in_") and clouds.has_names

    def _places(self, clouds: Clouds) -> list[int]:
        """Return the positions of the chosen features in clouds."""
        if not self._finds_names(clouds):
            return self._columns(self._names_in())
        return [clouds.feature_names.index(name) for name in self._names_out(self._names_in())]

    def _points(self, clouds: Clouds) -> Tensor:
        return clouds.points[:, self._places(clouds)]

    def _apply(self, clouds: Clouds) -> Clouds:
        places = self._places(clouds)
        return replace(
            clouds,
            points=self._points(clouds),
            feature_names=tuple(clouds.feature_names[j] for j in places),
            loadings=None if clouds.loadings is None else clouds.loadings.some(places),
        )

    def _names_out(self, names: list[str]) -> list[str]:
        return [names[j] for j in self._columns(names)]

    def _check_restored(self) -> None:
        self._columns(self._names_in())
