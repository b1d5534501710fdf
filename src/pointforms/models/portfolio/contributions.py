"""What parts of a portfolio add to the others, measured out of fold."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from pydantic import ConfigDict

from pointforms.support.bootstrap import group_weights, interval, weighted_auroc, weighted_r2

# Fewer groups than this say nothing about an interval.
_FEWEST_GROUPS = 10
_RESAMPLES = 1000


@dataclass(frozen=True)
class Contribution:
    """How much better predictions become by some parts of a portfolio.

    Attributes
    ----------
    part : str
        What is added, such as "geometry".
    to : str
        What it is added to, such as "summaries".
    gain : float
        The difference of the out-of-fold score with and without it.
    low, high : float or None
        Ends of the 95 % interval by a paired bootstrap over groups; None below 10 groups.
    metric : str
        "AUROC" or "R²".
    groups : int
        Number of groups that were resampled.
    unit : str, default "groups"
        What these are: "groups", or "clouds" where no groups were given.

    Examples
    --------
    >>> one = Contribution("geometry", "summaries", 0.031, 0.012, 0.05, "AUROC", 120)
    >>> str(one).partition(" (")[0]
    'geometry adds +0.031 [0.012, 0.050] AUROC to summaries alone'
    """

    # what a saved one must be
    __pydantic_config__: ClassVar[ConfigDict] = ConfigDict(extra="forbid", allow_inf_nan=False)

    part: str
    to: str
    gain: float
    low: float | None
    high: float | None
    metric: str
    groups: int
    unit: str = "groups"

    def __str__(self) -> str:
        verb = "add" if self.part.endswith("s") else "adds"
        gain = f"{self.part} {verb} {self.gain:+.3f}"
        if self.low is None:
            reason = f"{self.groups} {self.unit} are too few for an interval"
            return f"{gain} {self.metric} to {self.to} alone (out of fold; {reason})"
        return (
            f"{gain} [{self.low:.3f}, {self.high:.3f}] {self.metric} to {self.to} alone "
            f"(out of fold, paired bootstrap over {self.groups} {self.unit})"
        )


def contribution(
    part: str,
    to: str,
    y: np.ndarray,
    with_it: np.ndarray,
    without_it: np.ndarray,
    groups: np.ndarray | None,
    seed: int,
) -> Contribution:
    """Compare two sets of out-of-fold predictions, with and without a part.

    Parameters
    ----------
    part, to : str
        Names.
    y : ndarray, shape (N,) of int, or (N, targets)
        Classes, or numbers.
    with_it, without_it : ndarray, shape (N, K)
        Predictions.
    groups : ndarray, shape (N,), or None
        Clouds of one group are resampled together; None resamples clouds.
    seed : int
        Seed of the bootstrap.
    """
    unit = "clouds" if groups is None else "groups"
    groups = np.arange(len(y)) if groups is None else groups
    classes = y.ndim == 1
    score = weighted_auroc if classes else weighted_r2
    everything = np.ones((1, len(y)))
    gain = float((score(y, with_it, everything) - score(y, without_it, everything))[0])
    count = len(np.unique(groups))
    low = high = None
    if count >= _FEWEST_GROUPS:
        weights = group_weights(groups, _RESAMPLES, seed)
        gains = score(y, with_it, weights) - score(y, without_it, weights)
        low, high = interval(gains, count)
    return Contribution(part, to, gain, low, high, "AUROC" if classes else "R²", count, unit)
