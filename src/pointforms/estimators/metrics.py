"""How good predicted class probabilities are: AUROC, accuracy, log loss."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.stats import rankdata

# A sure and wrong prediction costs -log of this, 34.5, not infinity.
_FLOOR = 1e-15


def scores(codes: Any, probabilities: Any) -> dict[str, float]:
    """AUROC, accuracy and log loss of predictions, by the names that records have.

    Parameters
    ----------
    codes : (m,)
        True classes, columns of `probabilities`.
    probabilities : (m, C)
        Rows sum to 1.

    Returns
    -------
    {"auroc", "accuracy", "log_loss"}
        AUROC as in :func:`auroc`, so perhaps NaN. Log loss is the mean of -log p of the true
        class, p cut at 1e-15.
    """
    codes, probabilities = _checked(codes, probabilities)
    true = probabilities[np.arange(len(codes)), codes]
    return {
        "auroc": auroc(codes, probabilities),
        "accuracy": float((probabilities.argmax(1) == codes).mean()),
        "log_loss": float(-np.log(true.clip(_FLOOR, 1.0)).mean()),
    }


def auroc(codes: Any, probabilities: Any) -> float:
    """Area under the ROC curve: of class 1 for two classes, else one against the rest.

    With several classes it is the plain mean over those that occur in `codes`: a class absent
    from a test fold has no curve and is left out. NaN where one class alone occurs.

    - unchanged by any increasing function of the probabilities of a class
    - 1/2 where they are all equal
    """
    codes, probabilities = _checked(codes, probabilities)
    present = np.unique(codes)
    if len(present) < 2:
        return float("nan")
    if probabilities.shape[1] == 2:
        present = present[1:]
    return float(np.mean([_area(codes == c, probabilities[:, c]) for c in present]))


def _area(positive: np.ndarray, values: np.ndarray) -> float:
    """P(value of a positive > value of a negative) + P(equal) / 2, from ranks."""
    P, N = int(positive.sum()), int((~positive).sum())
    return float((rankdata(values)[positive].sum() - P * (P + 1) / 2) / (P * N))


def _checked(codes: Any, probabilities: Any) -> tuple[np.ndarray, np.ndarray]:
    y, p = np.asarray(codes), np.asarray(probabilities, dtype=np.float64)
    if y.ndim != 1 or p.ndim != 2 or len(y) != len(p) or not len(y) or p.shape[1] < 2:
        raise ValueError(
            f"codes and probabilities have shapes {y.shape} and {p.shape}: "
            "expected (m,) and (m, C), at least one cloud and two classes"
        )
    if y.dtype.kind not in "iu" or y.min() < 0 or y.max() >= p.shape[1]:
        raise ValueError(f"codes: expected whole numbers from 0 to {p.shape[1] - 1}")
    bad = ~(np.abs(p.sum(1) - 1) < 1e-3)  # NaN is bad too
    if bad.any():
        i = int(bad.argmax())
        raise ValueError(f"probabilities of cloud {i} are {p[i].tolist()}: expected a sum of 1")
    return y, p
