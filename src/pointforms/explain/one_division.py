"""Members that hold out one division of the training clouds, of an ensemble with several."""

from __future__ import annotations

from copy import copy
from typing import Any


def one_division(estimator: Any) -> Any:
    """Return an estimator whose out-of-fold predictions are by members of one division only.

    Ten members hold out the folds of two divisions of the training clouds, so that each cloud is
    held out by two members, and few clouds by the same two. Models that have seen neither a cloud
    nor the one it takes values from would be hard to find. The members of the first division have
    disjoint folds, with many clouds each.

    Parameters
    ----------
    estimator : estimator
        Fitted; `held_out_` has the training clouds that each member held out.

    Returns
    -------
    estimator
        The same if it has one division; otherwise a shallow copy in which members of other
        divisions are said to have held out nothing.
    """
    held_out = getattr(estimator, "held_out_", None)
    if held_out is None:
        return estimator
    taken: set[int] = set()
    first = []
    for own in held_out:
        first.append([] if taken.intersection(own) else list(own))
        taken.update(first[-1])
    if sum(map(len, first)) == sum(map(len, held_out)):
        return estimator
    result = copy(estimator)
    result.held_out_ = first
    return result
