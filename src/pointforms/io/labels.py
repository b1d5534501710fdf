"""Labels of a file: classes by name, or numbers to predict."""

from __future__ import annotations

from typing import Any

import numpy as np

from pointforms.io.file_summary import shown_counts
from pointforms.io.read_options import LabelKind

# Whole numbers of more different values than this are numbers to predict, not classes.
_MOST_CLASSES = 20


def understand_labels(
    values: np.ndarray, name: str, kind: LabelKind = "auto"
) -> tuple[np.ndarray, bool, str]:
    """Return labels as text or numbers, whether they are numbers to predict, and why.

    Parameters
    ----------
    values : ndarray, shape (B,)
        What the file has, text or numbers.
    name : str
        The name of the column.
    kind : {"auto", "classification", "regression"}, default "auto"
        What they are.

    Returns
    -------
    labels : ndarray of str or of float, shape (B,)
    regression : bool
    summary : str
        One line for people.

    Examples
    --------
    >>> understand_labels(np.array(["1.5", "2", "0.25"]), "months")[1:]
    (True, 'months: numbers from 0.25 to 2 (regression, because it has fractions; --task \
classification makes every value a class)')
    >>> understand_labels(np.array([0, 1, 1]), "response")[2]
    'response: 0 1, 1 2 (classification)'
    """
    texts = as_texts(values, name)
    numbers = [_number(value) for value in texts.tolist()]
    numeric = all(number is not None for number in numbers)
    reason = "as asked"
    if kind == "auto":
        reason = _reason_for_regression(numbers) if numeric else ""
    if kind == "classification" or not reason:
        if len(np.unique(texts)) < 2:
            raise ValueError(
                f"column {name!r} has only the value {str(texts[0])!r}: expected two or more"
            )
        return texts, False, f"{name}: {shown_counts(texts)} (classification)"
    if not numeric:
        bad = next(str(t) for t, n in zip(texts, numbers, strict=True) if n is None)
        raise ValueError(f"column {name!r} holds {bad!r}: --task regression needs numbers")
    array = np.array(numbers, dtype=np.float64)
    if (array == array[0]).all():
        raise ValueError(f"column {name!r} has only the value {array[0]:g}: expected several")
    limits = f"{name}: numbers from {array.min():g} to {array.max():g}"
    if kind == "auto":
        reason = f"{reason}; --task classification makes every value a class"
    return array, True, f"{limits} (regression, {reason})"


def _reason_for_regression(numbers: list[Any]) -> str:
    if any(number != round(number) for number in numbers):
        return "because it has fractions"
    different = len(set(numbers))
    if different > _MOST_CLASSES:
        return f"because it has {different} different values"
    return ""


def as_texts(values: np.ndarray, name: str) -> np.ndarray:
    """Return the values of a column as text."""
    try:
        return values.astype(str)
    except UnicodeDecodeError as error:  # of a column of bytes
        raise ValueError(f"column {name!r} holds {error.object!r}, which is no text") from None


def _number(text: str) -> float | None:
    try:
        number = float(text)
    except ValueError:
        return None
    return number if np.isfinite(number) else None
