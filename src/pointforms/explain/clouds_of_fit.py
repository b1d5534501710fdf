"""What an estimator remembers about the clouds of `fit` that are to be explained."""

from __future__ import annotations

from typing import Any

import numpy as np

from pointforms.estimators.training_clouds import KnowsTrainingClouds
from pointforms.support.blame import warn_caller


def positions_in_fit(estimator: Any, clouds: Any) -> np.ndarray | None:
    """Return the position of each cloud in `fit`; None unless all clouds are known.

    Parameters
    ----------
    estimator : estimator
        Any estimator.
    clouds : sequence of ndarray, each of shape (n_i, D)
        The clouds.
    """
    if getattr(estimator, "training_clouds_", None) is None:
        if isinstance(estimator, KnowsTrainingClouds) and hasattr(estimator, "n_features_in_"):
            warn_caller(
                f"this {type(estimator).__name__} was saved by an older version, which did not "
                "keep what its training clouds are recognised by: refits on these clouds are "
                "explained, not the model itself. Fit it again, or pass new=True if it was fitted "
                "on none of them"
            )
        return None
    positions: np.ndarray = estimator.training_positions(clouds)
    return None if (positions < 0).any() else positions


def with_weight(estimator: Any, positions: np.ndarray) -> np.ndarray:
    """Return which clouds to explain: those that did not have weight 0 in `fit`.

    Parameters
    ----------
    estimator : estimator
        An estimator that knows its training clouds.
    positions : ndarray of int, shape (N,)
        Positions of the clouds in `fit`.

    Returns
    -------
    ndarray of int
        Positions among the N clouds.
    """
    trained: np.ndarray = estimator.had_weight(positions)
    if not trained.any():
        raise ValueError(
            "all clouds had weight 0 in fit: expected some that had not, or new=True, since the "
            "estimator was trained on none of them"
        )
    if not trained.all():
        warn_caller(f"{int((~trained).sum())} clouds are left out: they had weight 0 in fit")
    return np.flatnonzero(trained)


def groups_of_fit(estimator: Any, positions: np.ndarray) -> np.ndarray | None:
    """Return the groups that clouds had in `fit`, by number; None if they had none.

    Parameters
    ----------
    estimator : estimator
        An estimator that knows its training clouds.
    positions : ndarray of int, shape (N,)
        Positions of the clouds in `fit`.
    """
    groups = getattr(estimator, "training_groups_", None)
    return None if groups is None else np.array(groups)[positions]
