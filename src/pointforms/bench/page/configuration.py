"""How to run the fits of a page again: a manifest of their rows, and options as text."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from pointforms.bench.moved_files import file_of
from pointforms.bench.records import Record, Row


def manifest_text(title: str, records: Iterable[Record]) -> str:
    """Return a manifest of every row among the records, with the folds and seeds that it has.

    Files are named without their folder, which pages that are shared should not reveal. The
    manifest can be read in that folder: see :func:`file_names`.
    """
    fits: dict[Row, tuple[set[int], set[int]]] = {}
    for record in records:
        folds, seeds = fits.setdefault(record.row, (set(), set()))
        folds.add(record.fold)
        seeds.add(record.seed)
    models: dict[tuple[str, str], list[str]] = {}
    for row, (folds, seeds) in sorted(fits.items(), key=lambda item: item[0].key):
        models.setdefault((_task_name(row), _rest(row, folds, seeds)), []).append(row.model)
    tasks: dict[tuple[str, tuple[str, ...]], list[str]] = {}
    for (task, rest), listed in models.items():
        names = tuple(dict.fromkeys(listed))
        tasks.setdefault((rest, names), []).append(task)
    lines = [f"title = {_value(title)}"]
    for (rest, names), where in tasks.items():
        lines += ["", "[[sweep]]", f"tasks = {_value(where)}", f"models = {_value(list(names))}"]
        lines.append(rest)
    return "\n".join(lines) + "\n"


def file_names(rows: Iterable[Row]) -> list[str]:
    """Return the names of the files among the tasks of some rows.

    The manifest of these rows has to be saved beside them, because paths in a manifest are relative
    to its folder.
    """
    return sorted({_task_name(row) for row in rows if file_of(row) is not None})


def _task_name(row: Row) -> str:
    return row.task if file_of(row) is None else Path(row.task).name


def _reading(row: Row) -> dict[str, Any]:
    """How a file is read, with a table of samples relative to the folder of the file."""
    reading = dict(row.reading)
    if "samples" in reading:
        samples, folder = Path(reading["samples"]), Path(row.task).parent
        inside = samples.is_relative_to(folder)
        reading["samples"] = samples.relative_to(folder).as_posix() if inside else samples.name
    return reading


def _rest(row: Row, folds: set[int], seeds: set[int]) -> str:
    """A sweep without its tasks and models."""
    lines = [f"folds = {_value(sorted(folds))}", f"seeds = {_value(sorted(seeds))}"]
    lines += [
        f"{name} = {value}"
        for name in ("clouds", "points")
        if (value := getattr(row, name)) is not None
    ]
    lines += [f"task_seed = {row.task_seed}"] * (row.task_seed != 0)
    options = sorted(row.options.items())
    if options:
        lines.append("[sweep.options]")
        lines += [f"{_key(name)} = {_value(value)}" for name, value in options if value is not None]
        # TOML has no null
        lines += [f"# {_key(name)} is unset" for name, value in options if value is None]
    if row.reading:
        lines.append("[sweep.reading]")
        lines += [
            f"{_key(name)} = {_value(value)}" for name, value in sorted(_reading(row).items())
        ]
    return "\n".join(lines)


def _key(name: str) -> str:
    return name if re.fullmatch(r"[A-Za-z0-9_-]+", name) else _value(name)


def _value(value: Any) -> str:
    """A value as in TOML; text as in JSON, which escapes all that TOML wants escaped except DEL."""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, Sequence) and not isinstance(value, str):
        return f"[{', '.join(_value(one) for one in value)}]"
    if isinstance(value, str):
        return json.dumps(value, ensure_ascii=False).replace("\x7f", r"\u007f")
    return repr(value)


def options_text(options: Mapping[str, Any]) -> str:
    """Return options as people read them; empty where all have their defaults."""
    return ", ".join(f"{name} = {_shown(value)}" for name, value in sorted(options.items()))


def _shown(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(value)


def other_defaults(rows: Iterable[Row]) -> list[Row]:
    """Return the rows of which a default has changed, so that this version would fit them anew."""
    now: dict[tuple[str, str], str] = {}
    changed = []
    for row in rows:
        key = row.model, json.dumps(dict(row.options), sort_keys=True)
        if key not in now:
            now[key] = replace(row, settings=None).digest
        if row.digest != now[key]:
            changed.append(row)
    return changed
