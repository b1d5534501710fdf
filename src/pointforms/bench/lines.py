"""The lines of a table of results: a model each, by itself or selected from its rows."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from math import isfinite, nan
from pathlib import Path
from typing import Any

from pointforms.bench.records import Record, Row, Size
from pointforms.bench.statistics import (
    Over,
    Paired,
    holm,
    interval,
    is_point_form,
    paired,
    selected,
)
from pointforms.models import MODELS
from pointforms.tasks import catalogue

OURS = "NPF (selected)"
LEVEL = 0.05


@dataclass(frozen=True)
class Line:
    """One model in a table.

    Attributes
    ----------
    name : as shown
    title : the model's own
    ours : whether it is of the point-forms
    records : of the fits it shows
    candidates : rows it was selected from; 1 for a row
    tried, failed : fits of all those rows that finished, and that failed
    comparison : with NPF (selected), this less that
    p : of the comparison, adjusted for the number of baselines; NaN for our own rows
    """

    name: str
    title: str
    ours: bool
    records: tuple[Record, ...]
    candidates: int = 1
    tried: int = 0
    failed: int = 0
    comparison: Paired = field(default_factory=Paired)
    p: float = nan

    @cached_property
    def finished(self) -> list[Record]:
        return [record for record in self.records if record.error is None]

    def summary(self, metric: str) -> tuple[float, float | None]:
        """Mean over fits, and half its 95 % interval."""
        return interval(getattr(record, metric) for record in self.finished)

    @property
    def significant(self) -> bool:
        return self.p < LEVEL  # false for NaN

    def known(self, attribute: str) -> list[Any]:
        """The values of an attribute that fits have."""
        values = [getattr(record, attribute) for record in self.finished]
        return [value for value in values if value is not None and isfinite(value)]


def make_lines(records: list[Record], rows: set[Row], every: bool, over: Over) -> tuple[Line, ...]:
    """The lines of one task, NPF (selected) first, the others as the registry has them.

    Parameters
    ----------
    records : of one task and size, in any order
    rows : those of the records, and others without a fit
    every, over
        As in :func:`pointforms.bench.tables.tables`.
    """
    by_row: dict[Row, list[Record]] = {row: [] for row in rows}
    for record in sorted(records, key=lambda record: (record.fold, record.seed)):
        by_row[record.row].append(record)
    ranks = {name: rank for rank, name in enumerate(MODELS)}
    models = sorted({row.model for row in rows}, key=lambda m: (ranks.get(m, len(ranks)), m))
    ours = _choice(OURS, {row: fits for row, fits in by_row.items() if is_point_form(row)})
    lines = [] if ours is None else [ours]
    for model in models:
        own = {
            row: by_row[row] for row in sorted(by_row, key=lambda r: r.key) if row.model == model
        }
        title = next(iter(own)).title
        choice = None if every or len(own) == 1 else _choice(title, own)
        if choice is not None:
            lines.append(choice)
            continue
        for row, fits in own.items():
            name = title if len(own) == 1 else f"{title} ({_options(row, list(own))})"
            lines.append(Line(name, title, is_point_form(row), tuple(fits), 1, *_counts(fits)))
    return tuple(lines if ours is None else _compared(lines, over))


def _choice(title: str, fits: Mapping[Row, list[Record]]) -> Line | None:
    """The selected line of some rows; None where nothing can be selected."""
    pool = [record for found in fits.values() for record in found]
    chosen = selected(pool, fits)
    if not chosen:
        return None
    count = sum(_counts(found)[0] > 0 for found in fits.values())
    of = f", of {count}" if count > 1 else ""
    name = f"{title.removesuffix(' (selected)')} (selected{of})"
    ours = is_point_form(chosen[0].row)
    return Line(name, title, ours, tuple(chosen), count, *_counts(pool))


def _counts(records: Sequence[Record]) -> tuple[int, int]:
    """Fits that finished, and that failed."""
    failed = sum(record.error is not None for record in records)
    return len(records) - failed, failed


def _compared(lines: list[Line], over: Over) -> list[Line]:
    """All lines with their differences to the first, and p for the baselines among them."""
    first, *others = lines
    found = [paired(line.finished, first.finished, over=over) for line in others]
    ps = iter(holm([one.p for one, line in zip(found, others, strict=True) if not line.ours]))
    return [
        first,
        *(
            replace(line, comparison=one, p=nan if line.ours else next(ps))
            for line, one in zip(others, found, strict=True)
        ),
    ]


def _options(row: Row, rows: Sequence[Row]) -> str:
    """The options by which a row differs from the others."""
    names = sorted({name for one in rows for name in one.options})
    told = [
        f"{name}={row.options[name]}"
        for name in names
        if name in row.options and any(one.options.get(name) != row.options[name] for one in rows)
    ]
    return ", ".join(told) or "defaults"


def is_simulated(size: Size) -> bool:
    """Whether the cells of an organoid task are simulated."""
    return catalogue.is_simulated(size.content)


def size_title(size: Size) -> str:
    """A task's name, with what differs from its own size and seed."""
    told = ["simulated cells"] * is_simulated(size)
    told += [f"{size.clouds} clouds"] * (size.clouds is not None)
    told += [f"{size.points} points"] * (size.points is not None)
    told += [f"seed {size.task_seed}"] * (size.task_seed != 0)
    name = size.task if size.content is None else Path(size.task).name
    return f"{name} ({', '.join(told)})" if told else name
