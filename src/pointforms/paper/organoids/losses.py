"""What a table lacks, and which of its cells no task uses."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from pointforms.paper.organoids.conditions import Condition, Gathered
from pointforms.paper.organoids.schema import PAIRS, schema
from pointforms.support.suggestions import suggest


def check_plates(conditions: Iterable[Condition]) -> None:
    """Raise an error if a treatment is on a plate that does not have it, or a dose is no dose.

    In the published table the plate follows from the treatment, and controls, and only they, have
    concentration 0.

    Parameters
    ----------
    conditions : iterable of Condition
    """
    plates = schema().plates
    for one in conditions:
        if one.treatment not in plates[one.plate]:
            hint = suggest(one.treatment, plates[one.plate])
            raise ValueError(f"{one}: plate {one.plate!r} has no {one.treatment!r}: {hint}")
        if one.is_control != (one.concentration == "0"):
            kind = "a control" if one.is_control else "no control"
            raise ValueError(
                f"{one}: {one.treatment!r} is {kind}, with concentration {one.concentration!r}: "
                "controls, and only they, have concentration '0'"
            )


def table_facts(gathered: Gathered, ppkca: str) -> dict[str, Any]:
    """Return what a user should know about the cells of the whole table, for `task.json`.

    Parameters
    ----------
    gathered : Gathered
        The cells, with replicates pooled.
    ppkca : {"none", "drop", "impute"}
        What is done about pPKCa.

    Returns
    -------
    dict
        "incomplete": cells that lack a value, and the patients and plates of which all cells do;
        "left_out": cells by condition that are in no task; "table_notes": both in words.
    """
    incomplete = _incomplete(gathered)
    left_out = {
        str(one): count
        for one, count in gathered.count.items()
        if (one.culture, one.cell_type) not in PAIRS
    }
    notes = []
    count = incomplete["cells"]
    if ppkca == "impute" and gathered.dropped:
        count -= gathered.dropped
        notes.append(f"{gathered.dropped} cells lack another marker and are dropped")
    if count:
        what = "a marker" if ppkca == "none" else schema().optional
        fate = "imputed in every fold" if ppkca == "impute" else "dropped"
        parts = [
            f"all cells of {kind} {', '.join(incomplete[kind])}"
            for kind in ("patients", "plates")
            if incomplete[kind]
        ]
        also = f": {' and '.join(parts)}" if parts else ""
        hint = "; --ppkca impute keeps them" if ppkca == "drop" else ""
        notes.append(f"{count} cells lack {what} and are {fate}{also}{hint}")
    if left_out:
        notes.append(
            f"{sum(left_out.values())} cells are not of their well's culture and are left out: "
            f"{', '.join(left_out)}"
        )
    return {"incomplete": incomplete, "left_out": left_out, "table_notes": notes}


def _incomplete(gathered: Gathered) -> dict[str, Any]:
    lost = {place for place, (rows, lacking) in gathered.plates.items() if rows == lacking}
    kept = {patient for patient, plate in gathered.plates if (patient, plate) not in lost}
    order = schema().values["Patient"].index
    patients = sorted({patient for patient, _ in lost} - kept, key=order)
    plates = sorted(
        (one for one in lost if one[0] in kept), key=lambda one: (order(one[0]), one[1])
    )
    return {
        "cells": sum(lacking for _, lacking in gathered.plates.values()),
        "patients": patients,
        "plates": ["/".join(one) for one in plates],
    }
