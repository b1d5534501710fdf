"""Warn where training never helped on the validation clouds."""

from __future__ import annotations

import warnings
from collections.abc import Sequence

import numpy as np
from sklearn.exceptions import ConvergenceWarning

from pointforms.estimators.fits import Fitted

# Epochs without a better validation loss after which more are not expected to help. Shorter runs
# end without a warning: they were meant to be short.
_SETTLED = 5


def never_improved(fitted: Fitted) -> bool:
    """Return whether no epoch was better than guessing, and validation had stopped improving.

    Guessing gives every cloud the same prediction: the frequencies of the training labels, or their
    mean. Where the validation loss is never below that, the epoch that was kept is a matter of
    chance, and usually one of the first, whose network is almost untrained.
    """
    if len(fitted.history) - fitted.best_epoch <= _SETTLED and not fitted.stopped:
        return False
    return fitted.history[fitted.best_epoch]["validation"] >= fitted.guess


def warn_if_never_improved(
    fits: Sequence[Fitted], grouped: bool, subject: str = "training", stacklevel: int = 3
) -> None:
    """Emit one ConvergenceWarning for all fits that never improved, with the likely reasons.

    Parameters
    ----------
    fits : sequence of Fitted
        Trained networks.
    grouped : bool
        Whether they were given groups.
    subject : str, default "training"
        What the message begins with.
    stacklevel : int, default 3
        How many calls above this function the line is that the warning points to.
    """
    bad = [fitted for fitted in fits if never_improved(fitted)]
    if not bad:
        return
    best = np.mean([one.history[one.best_epoch]["validation"] for one in bad])
    epoch = np.mean([one.best_epoch + 1 for one in bad])
    guess = np.mean([one.guess for one in bad])
    end = np.mean([one.history[-1]["train"] for one in bad])
    losses = (
        f"({len(bad)} of {len(fits)} fits; validation loss {best:.3g} at best, in epoch "
        f"{epoch:.0f}, and {guess:.3g} by guessing; training loss {end:.3g} in the end)"
    )
    reasons = (
        [] if grouped else ["clouds that belong together were separated: no groups were given"]
    )
    reasons += ["too few validation clouds", "too high a learning rate", "labels that are noise"]
    warnings.warn(
        f"{subject}: no epoch predicted the validation clouds better than guessing {losses}. The "
        f"network that was kept may be almost untrained. Likely reasons: {'; '.join(reasons)}",
        ConvergenceWarning,
        stacklevel=stacklevel,
    )
