"""What the organoid table has: columns, treatments, plates, and modules of markers."""

from __future__ import annotations

import tomllib
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import Any, Literal

Policy = Literal["strict", "relaxed"]
TUMOUR, FIBROBLAST = "PDOs", "Fibs"
# Cultures, each with the cell types it has: the pairs of which clouds are made.
PAIRS = (("PDO", TUMOUR), ("PDOF", TUMOUR), ("PDOF", FIBROBLAST), ("F", FIBROBLAST))


@dataclass(frozen=True)
class Schema:
    """The table's columns, and the design of the plates.

    Attributes
    ----------
    markers : 44, and `optional`, which many rows lack
    metadata : the other columns
    treatments : code -> what it is
    vehicles : plate -> the treatment that is its control
    plates : plate -> treatment -> concentrations
    """

    markers: tuple[str, ...]
    optional: str
    metadata: tuple[str, ...]
    columns: tuple[str, ...]
    values: dict[str, tuple[str, ...]]
    treatments: dict[str, str]
    vehicles: dict[str, str]
    plates: dict[str, dict[str, tuple[str, ...]]]
    cells: dict[str, Any]
    quartiles: dict[str, tuple[float, float, float]]

    def conditions(self) -> list[tuple[str, str, str]]:
        """Plate, treatment and concentration of every well: 24 treated, three controls."""
        return [
            (plate, treatment, concentration)
            for plate, treatments in self.plates.items()
            for treatment, concentrations in treatments.items()
            for concentration in concentrations
        ]


@cache
def schema() -> Schema:
    """The published table's."""
    content = tomllib.loads((files(__package__) / "schema.toml").read_text("utf-8"))
    markers, optional = tuple(content["markers"]), content["optional_marker"]
    first, last = tuple(content["metadata"]), tuple(content["last_metadata"])
    return Schema(
        markers,
        optional,
        (*first, *last),
        (*markers, *first, optional, *last),
        {name: tuple(values) for name, values in content["values"].items()},
        content["treatments"],
        content["vehicles"],
        {
            plate: {code: tuple(levels) for code, levels in design.items()}
            for plate, design in content["plates"].items()
        },
        content["cells"],
        {name: tuple(values) for name, values in content["quartiles"].items()},
    )


@cache
def _modules() -> dict[str, Any]:
    return tomllib.loads((files(__package__) / "modules.toml").read_text("utf-8"))


def module(name: str) -> tuple[str, ...]:
    """The markers of a module."""
    return tuple(_modules()["modules"][name])


def withheld(task: str, policy: Policy = "strict") -> tuple[str, ...]:
    """Markers that a response task ("tumor-selective", "efp", "caf") keeps from its inputs."""
    if policy not in ("strict", "relaxed"):
        raise ValueError(f"policy={policy!r}: expected 'strict' or 'relaxed'")
    return tuple(marker for name in _modules()[task][policy] for marker in module(name))
