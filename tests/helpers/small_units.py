"""Units of work that take seconds."""

from __future__ import annotations

from typing import Any

from pointforms.bench.records import Row, Unit

SIZE = {"clouds": 40, "points": 32}


def units(*models: str, **options: Any) -> list[Unit]:
    """Two folds of every model."""
    return [
        Unit(Row("circles-vs-lines", model, options, **SIZE), ((fold, 0),))
        for model in models
        for fold in (0, 1)
    ]
