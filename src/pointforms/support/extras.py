"""Optional dependencies, and what to install for them."""

from __future__ import annotations

import importlib
from typing import Any


def need(module: str, extra: str) -> Any:
    """Import an optional package, or say which extra brings it."""
    try:
        return importlib.import_module(module)
    except ModuleNotFoundError as error:
        if error.name != module:  # it is there, but something it needs is not
            raise
        raise ImportError(f'this needs {module}: pip install "pointforms[{extra}]"') from None
