"""Optional dependencies, and how to install them."""

from __future__ import annotations

import importlib
from importlib.util import find_spec
from pathlib import Path
from typing import Any


def need(module: str, extra: str) -> Any:
    """Import an optional package, or raise an error that says how to install it.

    Parameters
    ----------
    module : str
        Name of the module to import.
    extra : str
        The extra of pointforms that installs it.

    Examples
    --------
    >>> need("math", "maths").sqrt(4.0)
    2.0
    >>> need("no_such_module", "plot")
    Traceback (most recent call last):
    ImportError: this needs no_such_module: pip install "pointforms[plot]"
    """
    try:
        return importlib.import_module(module)
    except ModuleNotFoundError as error:
        if error.name != module:  # the package itself is installed, but not something it needs
            raise
        raise _missing(module, extra) from None


def folder_of(module: str, extra: str) -> Path:
    """Return the folder of an optional package without importing it, for files that it contains.

    Parameters
    ----------
    module : str
        Name of a package.
    extra : str
        The extra of pointforms that installs it.

    Examples
    --------
    >>> folder_of("email", "mail").name
    'email'
    """
    spec = find_spec(module)
    if spec is None or not spec.submodule_search_locations:
        raise _missing(module, extra)
    return Path(next(iter(spec.submodule_search_locations)))


def _missing(module: str, extra: str) -> ImportError:
    return ImportError(f'this needs {module}: pip install "pointforms[{extra}]"')
