"""Compensation: undo the spillover of fluorochromes into the detectors of others."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

# Keys of the text segment, in lower case and without "$", the standard one first.
_KEYS = ("spillover", "spill", "comp")


def compensated(
    values: np.ndarray, text: Mapping[str, str], channels: Sequence[str], file: str
) -> np.ndarray:
    """Return the values (n, channels) before spillover.

    A file stores a matrix S, whose row i says how much of fluorochrome i each detector sees: what
    is measured is x S, and x is returned.

    Parameters
    ----------
    values : ndarray, shape (n, channels)
        Measured values.
    text : mapping of str to str
        The text segment: "n,name1,…,namen,s11,s12,…,snn" under "spillover" or "spill".
    channels : sequence of str
        The names of the channels (PnN).
    file : str
        What error messages call the file.

    Examples
    --------
    >>> text = {"spill": "2,FL1,FL2,1,0.5,0,1"}
    >>> compensated(np.array([[10.0, 7.0]]), text, ["FL1", "FL2"], "tube.fcs")
    array([[10.,  2.]])
    """
    stored = next((text[key] for key in _KEYS if text.get(key, "").strip()), None)
    if stored is None:
        raise ValueError(
            f"{file} stores no compensation matrix ($SPILLOVER or SPILL): expected compensate=False"
        )
    names, matrix = _parsed(stored, file)
    absent = [name for name in names if name not in channels]
    if absent:
        raise ValueError(f"the compensation matrix of {file} names {absent[0]!r}, no channel of it")
    places = [list(channels).index(name) for name in names]
    result = values.copy()
    result[:, places] = np.linalg.solve(matrix.T, values[:, places].T).T
    return result


def _parsed(stored: str, file: str) -> tuple[list[str], np.ndarray]:
    """Return the names of channels and the matrix, or raise an error."""
    parts = [part.strip() for part in stored.split(",")]
    try:
        count = int(parts[0])
        names, numbers = parts[1 : 1 + count], [float(part) for part in parts[1 + count :]]
        matrix = np.array(numbers).reshape(count, count)
    except ValueError:
        raise ValueError(
            f"the compensation matrix of {file} cannot be read: {stored[:60]!r}"
        ) from None
    if count < 1 or len(set(names)) < count or not np.isfinite(matrix).all():
        raise ValueError(f"the compensation matrix of {file} is not possible: {stored[:60]!r}")
    if np.linalg.cond(matrix) > 1e12:
        raise ValueError(f"the compensation matrix of {file} is singular")
    return names, matrix
