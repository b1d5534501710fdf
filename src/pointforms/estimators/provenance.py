"""Where a saved model comes from: the data it was fitted on, and how they were read."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass, field
from datetime import UTC, datetime
from typing import Any

from pydantic import TypeAdapter, ValidationError

from pointforms._version import __version__


def _today() -> str:
    return datetime.now(UTC).date().isoformat()


@dataclass(frozen=True)
class Provenance:
    """What a model was fitted on.

    Parameters
    ----------
    data : str
        Name of the file, or of the task.
    content : str or None, default None
        Hash of its content; None for a task that its name and seed determine.
    reading : dict, default {}
        How the file was read, as far as it differs from the defaults; see
        :class:`pointforms.io.ReadOptions`.
    seed : int, default 0
        Seed of the fit.
    clouds : int, default 0
        Number of training clouds.
    model : str, default ""
        Name of the model.
    version : str
        Version of pointforms; by default this one.
    date : str
        The day of the fit, as in 2025-01-31; by default today, in universal time.

    Examples
    --------
    >>> origin = Provenance("cells.h5ad", reading={"cloud": "patient"})
    >>> origin.data, origin.reading["cloud"]
    ('cells.h5ad', 'patient')
    """

    data: str
    content: str | None = None
    reading: dict[str, Any] = field(default_factory=dict)
    seed: int = 0
    clouds: int = 0
    model: str = ""
    version: str = field(default_factory=lambda: __version__)
    date: str = field(default_factory=_today)

    def to_json(self) -> dict[str, Any]:
        """Return values that JSON has."""
        return asdict(self)

    @classmethod
    def from_json(cls, values: Any) -> Provenance:
        """Return what :meth:`to_json` returned; raise a ValueError if it cannot have been."""
        try:
            return TypeAdapter(cls).validate_json(json.dumps(values), strict=True)
        except ValidationError as error:
            raise ValueError(f"its provenance is damaged: {error.errors()[0]['msg']}") from None
