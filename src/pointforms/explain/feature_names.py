"""Names of features: those that a table shows, and those that an estimator knows."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Self

from pointforms.clouds import Clouds, plain_clouds
from pointforms.support.options import shown
from pointforms.weights import keep_weights, weights_of


@dataclass(frozen=True, eq=False)
class FeatureNames:
    """Clouds with their features in the order of an estimator, and the names of the features.

    Attributes
    ----------
    points : list of ndarray, or of tensors that carry weights, each of shape (n_i, D)
        The clouds.
    shown : tuple of str
        The name of each feature, for a table.
    known : tuple of str or None
        The name of each feature as the estimator knows it; None if it knows none.
    """

    points: list[Any]
    shown: tuple[str, ...]
    known: tuple[str, ...] | None

    @classmethod
    def of(cls, estimator: Any, clouds: Any, given: Sequence[str] | None) -> Self:
        """Bring clouds into the order of an estimator, if both have names.

        Parameters
        ----------
        estimator : estimator
            Fitted or not.
        clouds : Clouds, or list of array-like or tensor, each of shape (n_i, D)
            The clouds.
        given : sequence of str or None
            Names to show instead, in the order of the clouds.
        """
        own = tuple(clouds.feature_names) if getattr(clouds, "has_names", False) else None
        learned = getattr(estimator, "feature_names_in_", None)
        known = None if learned is None else tuple(map(str, learned))
        if hasattr(estimator, "_by_name"):
            clouds = estimator._by_name(clouds)
            if not hasattr(estimator, "n_features_in_"):  # clones are fitted with these names
                known = own
        elif own is not None and known is not None:  # of a pipeline, say
            clouds = clouds.in_order(known)
        points = [
            cloud.cpu().numpy() if weights_of(cloud) is None else keep_weights(cloud.cpu(), cloud)
            for cloud in plain_clouds(clouds)
        ]
        D = points[0].shape[1]
        if hasattr(estimator, "_check_width") and hasattr(estimator, "n_features_in_"):
            estimator._check_width(D)
        if given is None:
            return cls(points, known or own or tuple(f"x{j}" for j in range(D)), known)
        names = _checked(given, D)
        if own is not None and known is not None:
            names = tuple(names[own.index(name)] for name in known)
        return cls(points, names, known)


def named_clouds(clouds: Sequence[Any], names: Sequence[str] | None) -> Any:
    """Return clouds with the names of their features, or as they are where there are no names."""
    return clouds if names is None else Clouds.from_list(clouds, feature_names=names)


def _checked(given: Any, count: int) -> tuple[str, ...]:
    """Return names as text, one per feature and all different."""
    names = tuple(map(str, given))
    if len(names) != count:
        raise ValueError(f"feature_names has {len(names)} names for {count} features")
    twice = sorted({name for name in names if names.count(name) > 1})
    if twice:
        raise ValueError(f"feature_names has {shown(twice[0])} twice: expected different names")
    return names
