"""Preparation of tasks from the table: clouds of cells with labels, groups and folds."""

from __future__ import annotations

import json
import os
import warnings
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal, get_args

import numpy as np

from pointforms._version import __version__
from pointforms.clouds import Clouds
from pointforms.io import save_npz
from pointforms.paper.organoids.catalogue import (
    COMPONENTS,
    IMPUTED,
    MARKER_CELLS,
    MARKER_TASKS,
    RESPONSE_CELLS,
    RESPONSE_TASKS,
)
from pointforms.paper.organoids.conditions import Condition, Gathered, gather
from pointforms.paper.organoids.labels import RESPONSES, Means, ResponseLabels
from pointforms.paper.organoids.losses import check_plates, table_facts
from pointforms.paper.organoids.schema import PAIRS, Policy, schema, withheld
from pointforms.paper.organoids.simulate import MARK
from pointforms.paper.organoids.table import CellBlock, CellTable
from pointforms.support.files import atomic
from pointforms.tasks.task import grouped_folds

PPKCa = Literal["none", "drop", "impute"]
TASKS = (*RESPONSES, *MARKER_TASKS)


@dataclass(frozen=True)
class Options:
    """How tasks are prepared.

    Attributes
    ----------
    policy : {"strict", "relaxed"}, default "strict"
        Which markers of a label are withheld from its inputs.
    replicates : bool, default False
        Make one cloud per replicate instead of one per condition.
    ppkca : {"none", "drop", "impute"}, default "none"
        What to do about pPKCa, which 45 % of the cells lack: leave it out, drop those cells, or
        impute it in every fold.
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
    ppkca: PPKCa = "none"
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
    if options.ppkca not in get_args(PPKCa):
        raise ValueError(f"ppkca={options.ppkca!r}: expected one of {get_args(PPKCa)}")
    markers = known.markers if options.ppkca == "none" else (*known.markers, known.optional)
    may_lack = known.optional if options.ppkca == "impute" else None
    source = CellTable(table, markers)
    most = RESPONSE_CELLS if set(tasks) & set(RESPONSES) else MARKER_CELLS
    blocks = _counted(source.blocks(), advance)
    pooled = gather(blocks, markers, most, False, options.seed, may_lack)
    if not pooled.count:
        raise ValueError(f"{os.fspath(table)!r} has no rows that can be used")
    check_plates(pooled.count)
    wells = pooled
    if options.replicates:
        wells = gather(source.blocks(), markers, most, True, options.seed, may_lack)
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
        **table_facts(pooled, options.ppkca),
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
    """A task before it is written.

    Attributes
    ----------
    name : str
    wells : Gathered
        Cells of all conditions.
    labels : dict of Condition to str
        Classes of the conditions that are clouds of the task.
    dropped : tuple of str
        Markers that are not inputs.
    score, strict : dict of Condition to float
        The numbers behind the labels of a response task, and its auxiliary labels.
    notes : list of str
        What a user should know about the preparation.
    """

    name: str
    wells: Gathered
    labels: dict[Condition, str]
    dropped: tuple[str, ...] = ()
    score: dict[Condition, float] = field(default_factory=dict)
    strict: dict[Condition, float] = field(default_factory=dict)
    notes: list[str] = field(default_factory=list)

    def group(self, condition: Condition) -> str:
        """Return what a fold keeps together: patients, or treatments where the patient is asked."""
        if self.name == "patient":
            # patients have to be recognised in conditions that training has not seen
            return f"{condition.plate}/{condition.treatment}/{condition.concentration}"
        return condition.patient

    def chosen_cells(self, condition: Condition, seed: int) -> np.ndarray:
        """Return positions of the cells that are points of the cloud."""
        count = len(self.wells.cells[condition])
        if self.name in RESPONSES:
            return np.arange(count)
        return np.sort(np.random.default_rng(seed).permutation(count)[:MARKER_CELLS])


def _response(name: str, pooled: Gathered, wells: Gathered, options: Options) -> TaskDraft:
    response: ResponseLabels = RESPONSES[name](Means(pooled.markers, pooled.mean))
    if not response.label:
        raise ValueError(
            f"{name}: no condition has everything its label needs (controls, both cell types, "
            "both cultures): check the plates and vehicles of the table"
        )
    notes = []
    if response.without_control:
        count = len(response.without_control)
        listed = ", ".join(str(c) for c in response.without_control[:5]) + ", …" * (count > 5)
        what = f"{count} treated conditions lack the control or the partner of their label"
        if not options.drop_unmatched:
            raise ValueError(f"{name}: {what}: {listed}; `--drop-unmatched` leaves them out")
        notes.append(f"{what} and were left out: {listed}")
    pooled_condition = {c: c._replace(replicate="") for c in wells.cells}
    score, strict, labels = (
        {c: values[p] for c, p in pooled_condition.items() if p in values}
        for values in (response.score, response.strict, response.label)
    )
    return TaskDraft(
        name,
        wells,
        {c: str(label) for c, label in labels.items()},
        withheld(name, options.policy),
        score,
        strict,
        notes,
    )


def _markers(name: str, wells: Gathered, options: Options) -> TaskDraft:
    column = "cell_type" if name == "celltype" else name
    labels = {c: getattr(c, column) for c in wells.cells if (c.culture, c.cell_type) in PAIRS}
    if not labels:
        raise ValueError(f"{name}: no cells of the known cultures and cell types")
    without_caspase = name == "celltype" and options.without_caspase
    return TaskDraft(name, wells, labels, ("cCaspase_3",) if without_caspase else ())


def _write(folder: Path, task: TaskDraft, facts: dict[str, Any], options: Options) -> Path:
    """Write a task to its folder, complete or not at all."""
    given = np.array(list(task.labels.values()))
    classes, labels = np.unique(given, return_inverse=True)
    if len(classes) < 2:
        raise ValueError(f"{task.name}: every cloud has the label {classes[0]!r}")
    groups = np.array([task.group(c) for c in task.labels])
    try:
        folds = grouped_folds(labels, groups, options.seed, names=classes.tolist())
    except ValueError as error:
        raise ValueError(f"{task.name}: {error}") from None
    _check_folds(task.name, labels, groups, folds)
    chosen = {c: task.chosen_cells(c, options.seed) for c in task.labels}
    cells = [task.wells.cells[c][some] for c, some in chosen.items()]
    rows = [task.wells.rows[c][some] for c, some in chosen.items()]
    every = task.wells.markers
    inputs = [i for i, marker in enumerate(every) if marker not in task.dropped]
    imputed = options.ppkca == "impute"  # the last marker; clouds.npz has the complete ones
    hidden = withheld(task.name, options.policy) if task.name in RESPONSES else ()
    markers = [every[i] for i in inputs]
    names = [str(c) for c in task.labels]
    annotations: dict[str, np.ndarray] = {
        "label": given,
        "group": groups,
        "fold": folds,
        "split": np.where(folds == 0, "test", np.where(folds == 1, "validation", "train")),
    }
    for key, values in (("score", task.score), ("strict", task.strict)):
        if values:
            annotations[key] = np.array(list(values.values()))
    organoids = "SIMULATED organoids" if facts["simulated"] else "organoids"
    notes = {
        "task": f"pdo-{task.name}",
        "description": f"{organoids}: {(RESPONSE_TASKS | MARKER_TASKS)[task.name]}",
        **facts,
        **vars(options),
        "clouds": len(cells),
        "cells": [min(map(len, cells)), max(map(len, cells))],
        "classes": classes.tolist(),
        "markers": markers,
        "withheld": list(hidden),
        "components": COMPONENTS if task.name in RESPONSES else None,
        "notes": task.notes,
    }
    if folder.exists() and not (folder / "task.json").is_file():
        raise FileExistsError(f"{os.fspath(folder)!r} exists and is not a prepared task")
    with atomic(folder) as partial:
        partial.mkdir()
        complete = inputs[:-1] if imputed else inputs
        clouds = Clouds.from_list(
            [cloud[:, complete] for cloud in cells], names, markers[: len(complete)]
        )
        save_npz(clouds, partial / "clouds.npz", annotations)
        if imputed:
            np.savez_compressed(partial / IMPUTED, values=np.concatenate(cells)[:, inputs[-1]])
        np.savez_compressed(
            partial / "audit.npz",
            rows=np.concatenate(rows),
            conditions=np.array(names),
            withheld=np.concatenate(cells)[:, [every.index(marker) for marker in hidden]],
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
