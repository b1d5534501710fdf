"""What every head returns: a classifier, and how its options were chosen."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np


class FittedHead(NamedTuple):
    """A fitted head.

    Attributes
    ----------
    model : classifier
        Fitted on all training clouds.
    chosen : dict
        The options that cross-validation chose; empty without folds.
    loss : float
        The log loss of these options in cross-validation; infinite without folds.
    out_of_fold : ndarray or None, shape (N, C)
        Probabilities of each cloud by a model without its fold; None without folds.
    """

    model: Any
    chosen: dict[str, Any]
    loss: float
    out_of_fold: np.ndarray | None
