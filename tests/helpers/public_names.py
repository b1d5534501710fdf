"""The public names of the package: what its public modules list in `__all__`."""

from __future__ import annotations

import importlib
import inspect
from typing import Any

PUBLIC_MODULES = (
    "pointforms",
    "pointforms.io",
    "pointforms.geometry",
    "pointforms.nn",
    "pointforms.estimators",
    "pointforms.preprocessing",
    "pointforms.explain",
    "pointforms.plot",
    "pointforms.tasks",
    "pointforms.models",
    "pointforms.bench",
    "pointforms.scverse.pp",
    "pointforms.scverse.tl",
    "pointforms.scverse.pl",
)


def public_objects() -> dict[str, Any]:
    """Every exported function and class, once, by the shortest name that leads to it."""
    objects: dict[int, tuple[str, Any]] = {}
    for module_name in PUBLIC_MODULES:
        module = importlib.import_module(module_name)
        for name in getattr(module, "__all__", ()):
            value = getattr(module, name)
            if inspect.isfunction(value) or inspect.isclass(value):
                objects.setdefault(id(value), (f"{module_name}.{name}", value))
    return dict(objects.values())
