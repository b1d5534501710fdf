"""Names of features: those that a table shows, and those that an estimator knows."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
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
        own, known = _names_of(clouds), _names_in(estimator)
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
        return cls(points, _in_order(own, known, given, D), known)


def names_in_order(estimator: Any, clouds: Any, given: Sequence[str] | None) -> tuple[str, ...]:
    """Return names to show for the features of a fitted estimator, in its order.

    Parameters
    ----------
    estimator : estimator
        A fitted estimator.
    clouds : Clouds, or list of clouds or of Gram fields
        The clouds that are explained, with their features in any order if both have names.
    given : sequence of str or None
        Names to show instead, in the order of the clouds.
    """
    return _in_order(_names_of(clouds), _names_in(estimator), given, estimator.n_features_in_)


def _names_of(clouds: Any) -> tuple[str, ...] | None:
    return tuple(clouds.feature_names) if getattr(clouds, "has_names", False) else None


def _names_in(estimator: Any) -> tuple[str, ...] | None:
    learned = getattr(estimator, "feature_names_in_", None)
    return None if learned is None else tuple(map(str, learned))


def _in_order(
    own: tuple[str, ...] | None,
    known: tuple[str, ...] | None,
    given: Sequence[str] | None,
    count: int,
) -> tuple[str, ...]:
    """Return the names of features in the order of an estimator, which knows them as `known`.

    The clouds have them as `own`, and `given` are others in the order of the clouds.
    """
    if given is None:
        return known or own or tuple(f"x{j}" for j in range(count))
    names = _checked(given, count)
    if own is None or known is None:
        return names
    return tuple(names[own.index(name)] for name in known)


def named_clouds(clouds: Sequence[Any], names: Sequence[str] | None) -> Any:
    """Return clouds with the names of their features, or as they are where there are no names."""
    return clouds if names is None else Clouds.from_list(clouds, feature_names=names)


def _checked(given: Any, count: int) -> tuple[str, ...]:
    """Return names as text, one per feature and all different."""
    if isinstance(given, str | bytes) or not isinstance(given, Iterable):
        raise ValueError(f"feature_names={given!r}: expected a list of names")
    names = tuple(map(str, given))
    if len(names) != count:
        raise ValueError(f"feature_names has {len(names)} names for {count} features")
    twice = sorted({name for name in names if names.count(name) > 1})
    if twice:
        raise ValueError(f"feature_names has {shown(twice[0])} twice: expected different names")
    return names
