"""Preparation of tasks from the table: clouds of cells with labels, groups and folds."""

from __future__ import annotations

import json
import os
import warnings
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from pointforms._version import __version__
from pointforms.clouds import Clouds
from pointforms.io import save_npz
from pointforms.paper.organoids.catalogue import (
    COMPONENTS,
    MARKER_CELLS,
    MARKER_TASKS,
    RESPONSE_CELLS,
    RESPONSE_TASKS,
)
from pointforms.paper.organoids.conditions import Condition, Gathered, gather
from pointforms.paper.organoids.labels import RESPONSES, Means, ResponseLabels
from pointforms.paper.organoids.schema import PAIRS, Policy, schema, withheld
from pointforms.paper.organoids.simulate import MARK
from pointforms.paper.organoids.table import CellBlock, CellTable
from pointforms.support.files import atomic
from pointforms.tasks.task import grouped_folds

# Classes of the tasks with all markers.
CLASSES: dict[str, Callable[[Condition], str]] = {
    "celltype": lambda c: c.cell_type,
    "culture": lambda c: c.culture,
    "treatment": lambda c: c.treatment,
    "patient": lambda c: c.patient,
}
TASKS = (*RESPONSES, *CLASSES)


@dataclass(frozen=True)
class Options:
    """How tasks are prepared.

    Attributes
    ----------
    policy : {"strict", "relaxed"}, default "strict"
        Which markers of a label are withheld from its inputs.
    replicates : bool, default False
        Make one cloud per replicate instead of one per condition.
    optional : bool, default False
        Keep the marker that 45 % of the rows lack, and drop those rows.
    without_caspase : bool, default False
        Prepare celltype without cCaspase_3, which also depends on the cell type.
    drop_unmatched : bool, default False
        Leave out treated conditions without their control, or without the culture or cell type
        that a label compares them with, instead of raising an error.
    seed : int, default 0
        Seed of the cells that are kept, the folds and the split.
    """

    policy: Policy = "strict"
    replicates: bool = False
    optional: bool = False
    without_caspase: bool = False
    drop_unmatched: bool = False
    seed: int = 0


def prepare(
    table: str | os.PathLike[str],
    out: str | os.PathLike[str],
    tasks: Sequence[str] = TASKS,
    options: Options | None = None,
    advance: Callable[[int], None] = lambda rows: None,
) -> dict[str, Path]:
    """Write tasks of a table to folders, each complete or not at all, and return the folders.

    One pass over the table serves all tasks.

    Parameters
    ----------
    table : path-like
        The table of cells.
    out : path-like
        Where the folders of the tasks are written.
    tasks : sequence of str, optional
        Names without "pdo-" (default: all seven).
    options : Options, optional
    advance : callable, optional
        Called with the number of rows whenever some are read.
    """
    for name in tasks:
        if name not in TASKS:
            raise ValueError(f"no task {name!r}: there are {', '.join(TASKS)}")
    options, known = options or Options(), schema()
    markers = (*known.markers, known.optional) if options.optional else known.markers
    source = CellTable(table, markers)
    most = RESPONSE_CELLS if set(tasks) & set(RESPONSES) else MARKER_CELLS
    pooled = gather(_counted(source.blocks(), advance), markers, most, False, options.seed)
    if not pooled.count:
        raise ValueError(f"{os.fspath(table)!r} has no rows that can be used")
    wells = pooled
    if options.replicates:
        again = _counted(source.blocks(), lambda rows: None)
        wells = gather(again, markers, most, True, options.seed)
    content = {
        name: (
            _response(name, pooled, wells, options)
            if name in RESPONSES
            else _markers(name, wells, options)
        )
        for name in tasks
    }
    facts = {
        "table": Path(table).name,
        "simulated": _is_simulated(Path(table)),
        "rows": pooled.read,
        "dropped": pooled.dropped,
        "version": __version__,
    }
    folder = Path(out)
    folder.mkdir(parents=True, exist_ok=True)
    return {
        name: _write(folder / f"pdo-{name}", prepared, facts, options)
        for name, prepared in content.items()
    }


@dataclass(frozen=True)
class TaskDraft:
    """A task before it is written; `rows` and `hidden` markers of its cells are for the audit."""

    name: str
    conditions: list[Condition]
    cells: list[np.ndarray]
    rows: list[np.ndarray]
    hidden: list[np.ndarray]
    labels: list[str]
    groups: list[str]
    markers: tuple[str, ...]
    score: list[float]
    strict: list[int]
    notes: list[str]


def _response(name: str, pooled: Gathered, wells: Gathered, options: Options) -> TaskDraft:
    labels: ResponseLabels = RESPONSES[name](Means(pooled.markers, pooled.mean))
    if not labels.label:
        raise ValueError(
            f"{name}: no condition has everything its label needs (controls, both cell types, "
            "both cultures): check the plates and vehicles of the table"
        )
    notes = []
    if labels.without_control:
        count = len(labels.without_control)
        listed = ", ".join(str(c) for c in labels.without_control[:5]) + ", …" * (count > 5)
        what = f"{count} treated conditions lack the control or the partner of their label"
        if not options.drop_unmatched:
            raise ValueError(f"{name}: {what}: {listed}; `--drop-unmatched` leaves them out")
        notes.append(f"{what} and were left out: {listed}")
    out = set(withheld(name, options.policy))
    kept = [i for i, marker in enumerate(wells.markers) if marker not in out]
    hidden = [wells.markers.index(marker) for marker in withheld(name, options.policy)]
    chosen = [c for c in wells.cells if c._replace(replicate="") in labels.label]
    conditions = [c._replace(replicate="") for c in chosen]
    return TaskDraft(
        name,
        chosen,
        [wells.cells[c][:, kept] for c in chosen],
        [wells.rows[c] for c in chosen],
        [wells.cells[c][:, hidden] for c in chosen],
        [str(labels.label[c]) for c in conditions],
        [c.patient for c in chosen],
        tuple(wells.markers[i] for i in kept),
        [labels.score[c] for c in conditions],
        [labels.strict[c] for c in conditions] if labels.strict else [],
        notes,
    )


def _markers(name: str, wells: Gathered, options: Options) -> TaskDraft:
    drop = {"cCaspase_3"} if name == "celltype" and options.without_caspase else set()
    kept = [i for i, marker in enumerate(wells.markers) if marker not in drop]
    chosen = [c for c in wells.cells if (c.culture, c.cell_type) in PAIRS]
    if not chosen:
        raise ValueError(f"{name}: no cells of the known cultures and cell types")
    cells, rows = [], []
    for c in chosen:
        order = np.random.default_rng(options.seed).permutation(len(wells.cells[c]))
        some = np.sort(order[:MARKER_CELLS])
        cells.append(wells.cells[c][some][:, kept])
        rows.append(wells.rows[c][some])
    # patients have to be recognised in conditions that training has not seen
    by = (lambda c: f"{c.plate}/{c.treatment}/{c.concentration}") if name == "patient" else None
    return TaskDraft(
        name,
        chosen,
        cells,
        rows,
        [c[:, :0] for c in cells],
        [CLASSES[name](c) for c in chosen],
        [by(c) if by else c.patient for c in chosen],
        tuple(wells.markers[i] for i in kept),
        [],
        [],
        [],
    )


def _write(folder: Path, task: TaskDraft, facts: dict[str, Any], options: Options) -> Path:
    """Write a task to its folder, complete or not at all."""
    classes, labels = np.unique(task.labels, return_inverse=True)
    if len(classes) < 2:
        raise ValueError(f"{task.name}: every cloud has the label {classes[0]!r}")
    groups = np.array(task.groups)
    try:
        folds = grouped_folds(labels, groups, options.seed, names=classes.tolist())
    except ValueError as error:
        raise ValueError(f"{task.name}: {error}") from None
    _check_folds(task.name, labels, groups, folds)
    clouds = Clouds.from_list(task.cells, [str(c) for c in task.conditions], task.markers)
    split = np.where(folds == 0, "test", np.where(folds == 1, "validation", "train"))
    annotations: dict[str, np.ndarray] = {
        "label": np.array(task.labels),
        "group": groups,
        "fold": folds,
        "split": split,
    }
    if task.score:
        annotations["score"] = np.array(task.score)
    if task.strict:
        annotations["strict"] = np.array(task.strict)
    response = task.name in RESPONSES
    notes = {
        "task": f"pdo-{task.name}",
        "description": _description(task.name, facts["simulated"]),
        **facts,
        **vars(options),
        "clouds": len(task.conditions),
        "cells": [min(map(len, task.cells)), max(map(len, task.cells))],
        "classes": classes.tolist(),
        "markers": list(task.markers),
        "withheld": list(withheld(task.name, options.policy)) if response else [],
        "components": COMPONENTS if response else None,
        "notes": task.notes,
    }
    if folder.exists() and not (folder / "task.json").is_file():
        raise FileExistsError(f"{os.fspath(folder)!r} exists and is not a prepared task")
    with atomic(folder) as partial:
        partial.mkdir()
        save_npz(clouds, partial / "clouds.npz", annotations)
        np.savez_compressed(
            partial / "audit.npz",
            rows=np.concatenate(task.rows),
            conditions=np.array([str(c) for c in task.conditions]),
            withheld=np.concatenate(task.hidden),
        )
        (partial / "task.json").write_text(json.dumps(notes, indent=1, ensure_ascii=False), "utf-8")
    return folder


def _check_folds(name: str, labels: np.ndarray, groups: np.ndarray, folds: np.ndarray) -> None:
    for fold in np.unique(folds):
        if len(np.unique(labels[folds == fold])) < 2:
            who = ", ".join(sorted(set(groups[folds == fold].tolist())))
            raise ValueError(f"{name}: test fold {fold} ({who}) has one class only")
    if name in RESPONSES:
        single = [g for g in np.unique(groups).tolist() if len(np.unique(labels[groups == g])) < 2]
        if single:
            warnings.warn(
                f"{name}: patients with one class only: {', '.join(single)}", stacklevel=4
            )


def _description(name: str, simulated: bool) -> str:
    what = (RESPONSE_TASKS | MARKER_TASKS)[name]
    return f"{'SIMULATED organoids' if simulated else 'organoids'}: {what}"


def _counted(blocks: Iterable[CellBlock], advance: Callable[[int], None]) -> Iterable[CellBlock]:
    for block in blocks:
        yield block
        advance(len(block))


def _is_simulated(path: Path) -> bool:
    """Whether the table is a simulated one, by the mark in its file."""
    if path.suffix.lower() != ".parquet":
        return False
    from pyarrow import parquet

    return MARK in (parquet.read_schema(path).metadata or {})
