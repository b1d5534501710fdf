"""The organoid table: its columns, treatments and plates, and modules of markers."""

from __future__ import annotations

import tomllib
from functools import cache
from importlib.resources import files
from typing import Any, Literal

from pydantic import BaseModel

Policy = Literal["strict", "relaxed"]
TUMOUR, FIBROBLAST = "PDOs", "Fibs"
# Pairs of culture and cell type from which clouds are made.
PAIRS = (("PDO", TUMOUR), ("PDOF", TUMOUR), ("PDOF", FIBROBLAST), ("F", FIBROBLAST))


class Schema(BaseModel, frozen=True):
    """The columns of the table, and the design of the plates.

    Attributes
    ----------
    markers : tuple of str
        The 44 that every row has.
    optional : str
        A marker that many rows lack.
    metadata : tuple of str
        The other columns.
    columns : tuple of str
        All columns in their order.
    values : dict of str to tuple of str
        Values of metadata columns.
    treatments : dict of str to str
        What the codes of treatments mean.
    vehicles : dict of str to str
        The treatment that is the control, by plate.
    plates : dict
        Concentrations, by plate and treatment.
    missing_samples : tuple of str
        What the full design has and the table lacks, as patient/culture/treatment/concentration/
        replicate; "*" stands for every patient.
    stray : dict
        A sample of cells that are not of the culture of their well.
    dates : dict
        Dates, by patient and plate.
    dates_without_optional : tuple of str
        Dates whose cells lack the optional marker.
    cells : dict
        Numbers of cells.
    quartiles : dict of str to tuple of float
        Published quartiles of markers.
    """

    markers: tuple[str, ...]
    optional: str
    metadata: tuple[str, ...]
    columns: tuple[str, ...]
    values: dict[str, tuple[str, ...]]
    treatments: dict[str, str]
    vehicles: dict[str, str]
    plates: dict[str, dict[str, tuple[str, ...]]]
    missing_samples: tuple[str, ...]
    stray: dict[str, Any]
    dates: dict[str, dict[str, str]]
    dates_without_optional: tuple[str, ...]
    cells: dict[str, Any]
    quartiles: dict[str, tuple[float, float, float]]

    def lacks(self, patient: str, culture: str, *well: str) -> bool:
        """Whether the table lacks a sample of a treatment, concentration and replicate."""
        place = "/".join((culture, *well))
        return bool({f"*/{place}", f"{patient}/{place}"} & set(self.missing_samples))

    def conditions(self) -> list[tuple[str, str, str]]:
        """Return plate, treatment and concentration of every well: 24 treated, three controls."""
        return [
            (plate, treatment, concentration)
            for plate, treatments in self.plates.items()
            for treatment, concentrations in treatments.items()
            for concentration in concentrations
        ]


@cache
def schema() -> Schema:
    """Return the schema of the published table."""
    content = tomllib.loads((files(__package__) / "schema.toml").read_text("utf-8"))
    markers, optional = content["markers"], content["optional_marker"]
    first, last = content["metadata"], content["last_metadata"]
    content |= {
        "optional": optional,
        "metadata": [*first, *last],
        "columns": [*markers, *first, optional, *last],
    }
    content["values"] |= {
        "Treatment": list(content["treatments"]),
        "Plate": list(content["plates"]),
    }
    return Schema.model_validate(content)


@cache
def _modules() -> dict[str, Any]:
    return tomllib.loads((files(__package__) / "modules.toml").read_text("utf-8"))


def module(name: str) -> tuple[str, ...]:
    """Return the markers of a module."""
    return tuple(_modules()["modules"][name])


def withheld(task: str, policy: Policy = "strict") -> tuple[str, ...]:
    """Return the markers that a response task withholds from its inputs.

    Parameters
    ----------
    task : {"tumor-selective", "efp", "caf"}
    policy : {"strict", "relaxed"}, default "strict"
    """
    if policy not in ("strict", "relaxed"):
        raise ValueError(f"policy={policy!r}: expected 'strict' or 'relaxed'")
    return tuple(marker for name in _modules()[task][policy] for marker in module(name))
