"""Warn at the line of the user that called the library, directly or through scikit-learn."""

from __future__ import annotations

import os
import sys
import warnings
from pathlib import Path

_PACKAGE = f"{Path(__file__).parents[1]}{os.sep}"
_BETWEEN = tuple(f"{os.sep}{name}{os.sep}" for name in ("sklearn", "joblib"))


def warn_caller(message: str, category: type[Warning] = UserWarning) -> None:
    """Warn as if the nearest line outside of this package and of scikit-learn had done so.

    Parameters
    ----------
    message : str
        What the user should know.
    category : type, default UserWarning
        Kind of the warning.
    """
    frame, level = sys._getframe(1), 2
    while frame is not None and _is_between(frame.f_code.co_filename):
        frame, level = frame.f_back, level + 1  # type: ignore[assignment]
    warnings.warn(message, category, stacklevel=level)


def _is_between(file: str) -> bool:
    return file.startswith(_PACKAGE) or any(name in file for name in _BETWEEN)
