"""Warn at the line of the user that called the library."""

from __future__ import annotations

import sys
import warnings
from pathlib import Path

_PACKAGE = str(Path(__file__).parents[1])


def warn_caller(message: str, category: type[Warning] = UserWarning) -> None:
    """Warn as if the nearest line outside of this package had done so.

    Parameters
    ----------
    message : str
        What the user should know.
    category : type, default UserWarning
        Kind of the warning.
    """
    frame, level = sys._getframe(1), 2
    while frame is not None and frame.f_code.co_filename.startswith(_PACKAGE):
        frame, level = frame.f_back, level + 1  # type: ignore[assignment]
    warnings.warn(message, category, stacklevel=level)
