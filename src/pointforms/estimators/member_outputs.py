"""What single members of an ensemble predict, and members for clouds that they held out."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from pointforms.clouds import cloud_list
from pointforms.estimators.prediction import apply


def predict_member(
    estimator: Any,
    member: int,
    prepared: Sequence[Any],
    covariates: Any = None,
    batch: np.ndarray | None = None,
    rows: np.ndarray | None = None,
) -> np.ndarray:
    """Return the outputs of one member, logits or standardised numbers: (n, outputs).

    Parameters
    ----------
    estimator : NetworkEstimator
        A fitted estimator with members.
    member : int
        The position of the member.
    prepared : sequence
        What `prepare` returned for some clouds.
    covariates : data frame, mapping or array-like, or None, default None
        Covariates of all clouds.
    batch : ndarray, shape (n,), or None, default None
        The batches of these clouds, for frame="batch".
    rows : ndarray of int, shape (n,), or None, default None
        The rows of the covariates that belong to these clouds; None takes all.
    """
    network: Any = estimator.model_.members[member]
    rows = np.arange(len(prepared)) if rows is None else rows
    count = len(rows) if covariates is None else _rows_of(covariates)
    store = estimator._make_store_with(prepared, network.origin, covariates, batch, rows, count)
    outputs: np.ndarray = apply(network, store).double().cpu().numpy()
    return outputs


def outputs_out_of_fold(
    estimator: Any, clouds: Any, of: Any, covariates: Any, batch: Any
) -> list[tuple[np.ndarray, np.ndarray]]:
    """Return rows and outputs of each member for altered clouds that it has not seen."""
    check_is_fitted(estimator, "model_")
    if not hasattr(estimator, "held_out_"):
        raise ValueError(
            f"this {type(estimator).__name__} has no members that hold out training clouds: "
            "expected one that was fitted with members=5, say, by this version"
        )
    clouds = cloud_list(clouds)
    positions = estimator._checked_positions(of, len(clouds))
    batch = estimator._checked_batch(batch, len(clouds))
    prepared = estimator.prepare_for_prediction(clouds)
    found = []
    for member, unseen in enumerate(estimator.unseen_members(positions).T):
        rows = np.flatnonzero(unseen)
        if len(rows):
            some = [prepared[i] for i in rows]
            own = None if batch is None else batch[rows]
            found.append((rows, predict_member(estimator, member, some, covariates, own, rows)))
    return found


def _rows_of(covariates: Any) -> int:
    """Return the number of rows of covariates."""
    if isinstance(covariates, Mapping):
        return len(next(iter(covariates.values()), ()))
    return len(covariates)


def mean_by_row(found: Sequence[tuple[np.ndarray, np.ndarray]], count: int) -> np.ndarray:
    """Return the mean of values that belong to rows: (count, ...); NaN for a row without any.

    Examples
    --------
    >>> values = np.array([[1.0], [3.0]])
    >>> mean_by_row([(np.array([0, 1]), values), (np.array([0]), values[1:])], 3)
    array([[ 2.],
           [ 3.],
           [nan]])
    """
    width = found[0][1].shape[1:] if found else (1,)
    total, times = np.zeros((count, *width)), np.zeros(count)
    for rows, values in found:
        total[rows] += values
        times[rows] += 1
    with np.errstate(invalid="ignore"):
        return np.asarray(total / times[:, None])
