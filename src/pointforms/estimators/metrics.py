"""How good predicted class probabilities are: AUROC, accuracy, log loss, Brier score."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.metrics import accuracy_score, log_loss, roc_auc_score

# A certain but wrong prediction costs -log of this, 34.5, rather than infinity.
_SMALLEST_PROBABILITY = 1e-15


def scores(codes: Any, probabilities: Any) -> dict[str, float]:
    """Return AUROC, accuracy, log loss and Brier score of predictions.

    Parameters
    ----------
    codes : array-like of int, shape (m,)
        True classes, as columns of `probabilities`.
    probabilities : array-like, shape (m, C)
        Class probabilities, whose rows sum to 1.

    Returns
    -------
    dict of str to float
        "auroc" as :func:`auroc` returns it, "accuracy" of the most probable class, "log_loss", the
        mean of -log p of the true class, with p at least 1e-15, and "brier", the mean of

            Σ_c (p_c - 1[c = y])²

        over all classes c (Brier, 1950): from 0 to 2, and 1 - 1/C for equal probabilities. With two
        classes it is twice the score of one class alone, (p_1 - y)², which
        :func:`sklearn.metrics.brier_score_loss` returns.

    Examples
    --------
    >>> from pointforms.estimators import scores
    >>> found = scores([0, 1, 1], [[0.8, 0.2], [0.5, 0.5], [0.6, 0.4]])
    >>> found["auroc"], round(found["brier"], 3)
    (1.0, 0.433)
    """
    codes, probabilities = _checked(codes, probabilities)
    classes = np.arange(probabilities.shape[1])
    kept = probabilities.clip(_SMALLEST_PROBABILITY, 1.0)
    return {
        "auroc": auroc(codes, probabilities),
        "accuracy": float(accuracy_score(codes, probabilities.argmax(1))),
        "log_loss": float(log_loss(codes, kept, labels=classes)),
        "brier": _brier(codes, probabilities),
    }


def _brier(codes: np.ndarray, probabilities: np.ndarray) -> float:
    truth = np.eye(probabilities.shape[1])[codes]
    score = float(np.square(probabilities - truth).sum(1).mean())
    return min(score, 2.0)  # rows that sum to a little more than 1 may exceed it


def auroc(codes: Any, probabilities: Any) -> float:
    """Return the area under the ROC curve.

    With two classes it is the area for class 1. With more it is the mean over the areas of each
    class against the rest, for the classes that occur in `codes`: a class that is absent from a
    test fold has no curve. The area

    - does not change under any increasing function of the probabilities of a class;
    - is 1/2 where all probabilities are equal.

    Parameters
    ----------
    codes : array-like of int, shape (m,)
        True classes, as columns of `probabilities`.
    probabilities : array-like, shape (m, C)
        Class probabilities, whose rows sum to 1.

    Returns
    -------
    float
        NaN if `codes` has a single class.

    Examples
    --------
    >>> from pointforms.estimators import auroc
    >>> auroc([0, 0, 1], [[0.9, 0.1], [0.3, 0.7], [0.4, 0.6]])
    0.5
    """
    codes, probabilities = _checked(codes, probabilities)
    occurring = np.unique(codes)
    if len(occurring) < 2:
        return float("nan")
    if probabilities.shape[1] == 2:
        occurring = occurring[1:]
    return float(np.mean([roc_auc_score(codes == c, probabilities[:, c]) for c in occurring]))


def _checked(codes: Any, probabilities: Any) -> tuple[np.ndarray, np.ndarray]:
    y, p = np.asarray(codes), np.asarray(probabilities, dtype=np.float64)
    if y.ndim != 1 or p.ndim != 2 or len(y) != len(p) or not len(y) or p.shape[1] < 2:
        raise ValueError(
            f"codes and probabilities have shapes {y.shape} and {p.shape}: "
            "expected (m,) and (m, C), at least one cloud and two classes"
        )
    if y.dtype.kind not in "iu" or y.min() < 0 or y.max() >= p.shape[1]:
        raise ValueError(
            f"codes are {y.dtype}, from {y.min()} to {y.max()}: expected whole numbers from 0 to "
            f"{p.shape[1] - 1}"
        )
    bad = ~(np.abs(p.sum(1) - 1) < 1e-3)  # NaN is bad too
    if bad.any():
        i = int(bad.argmax())
        raise ValueError(f"probabilities of cloud {i} are {p[i].tolist()}: expected a sum of 1")
    return y, p
