"""One pass over the table: means of every condition, and a few of its cells."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from pointforms.paper.organoids.schema import schema
from pointforms.paper.organoids.table import Part

_SCALE = 5.0  # asinh(x / 5), the usual scale of mass cytometry


class Condition(NamedTuple):
    """Cells of one type in the wells of one treatment; replicate "" where they are pooled."""

    patient: str
    culture: str
    cell_type: str
    plate: str
    treatment: str
    concentration: str
    replicate: str = ""

    @property
    def is_control(self) -> bool:
        return schema().vehicles.get(self.plate) == self.treatment

    def control(self) -> Condition:
        """The vehicle of its plate: same patient, culture, cell type and plate."""
        vehicle = schema().vehicles.get(self.plate)
        if vehicle is None:
            raise ValueError(f"plate {self.plate!r} has no known vehicle: {schema().vehicles}")
        return self._replace(treatment=vehicle, concentration="0", replicate="")

    def __str__(self) -> str:
        return "/".join(part for part in self if part)


_COLUMNS = ("Patient", "Culture", "Cell_type", "Plate", "Treatment", "Concentration", "Replicate")


@dataclass(frozen=True)
class Gathered:
    """What the table says of its conditions.

    Attributes
    ----------
    markers : names, M of them
    count : condition -> cells
    mean : condition -> (M,)
        Of asinh(x / 5), over all its cells.
    cells : condition -> (m, M)
        At most so many of them, transformed, in the order of the table.
    rows : condition -> (m,)
        Where in the table those are.
    read, dropped : rows, and those of them with a value that is not finite
    """

    markers: tuple[str, ...]
    count: dict[Condition, int]
    mean: dict[Condition, np.ndarray]
    cells: dict[Condition, np.ndarray]
    rows: dict[Condition, np.ndarray]
    read: int
    dropped: int


class _Sample:
    """Sums over a condition, and its cells of least priority."""

    def __init__(self, markers: int) -> None:
        self.count, self.total = 0, np.zeros(markers)
        self.priority = np.zeros(0, dtype=np.uint64)
        self.rows = np.zeros(0, dtype=np.int64)
        self.cells = np.zeros((0, markers), dtype=np.float32)

    def add(self, cells: np.ndarray, rows: np.ndarray, priority: np.ndarray, most: int) -> None:
        self.count += len(cells)
        self.total += cells.sum(0)
        if len(self.rows) == most:  # most cells of a large condition are no candidates
            good = priority < self.priority.max()
            cells, rows, priority = cells[good], rows[good], priority[good]
        if not len(rows):
            return
        priority = np.concatenate([self.priority, priority])
        keep = np.argsort(priority, kind="stable")[:most]
        self.priority = priority[keep]
        self.rows = np.concatenate([self.rows, rows])[keep]
        self.cells = np.concatenate([self.cells, cells.astype(np.float32)])[keep]


def gather(
    parts: Iterable[Part],
    markers: Sequence[str],
    most: int = 256,
    replicates: bool = False,
    seed: int = 0,
) -> Gathered:
    """Transform the cells, and keep the means and at most `most` cells of every condition.

    Which cells are kept depends on their rows and the seed only, not on how the table is cut into
    parts: those with the smallest hash of both.

    Parameters
    ----------
    replicates : whether replicates are conditions of their own; else they are pooled
    """
    samples: dict[Condition, _Sample] = {}
    read = dropped = 0
    for part in parts:
        read += len(part)
        finite = np.isfinite(part.markers).all(1)
        dropped += int((~finite).sum())
        group, conditions = _grouped(part, finite, replicates)
        rows = np.flatnonzero(finite)
        cells = np.arcsinh(part.markers[rows] / _SCALE)
        order = np.argsort(group, kind="stable")
        rows, cells = rows[order] + part.first, cells[order]
        priority = _hash(rows, seed)
        ends = np.cumsum(np.bincount(group, minlength=len(conditions)))
        for condition, start, end in zip(conditions, [0, *ends[:-1]], ends, strict=True):
            sample = samples.setdefault(condition, _Sample(len(markers)))
            sample.add(cells[start:end], rows[start:end], priority[start:end], most)
    found = {condition: samples[condition] for condition in sorted(samples)}
    orders = {condition: np.argsort(sample.rows) for condition, sample in found.items()}
    return Gathered(
        tuple(markers),
        {c: sample.count for c, sample in found.items()},
        {c: sample.total / sample.count for c, sample in found.items()},
        {c: sample.cells[orders[c]] for c, sample in found.items()},
        {c: sample.rows[orders[c]] for c, sample in found.items()},
        read,
        dropped,
    )


def _grouped(part: Part, kept: np.ndarray, replicates: bool) -> tuple[np.ndarray, list[Condition]]:
    """A number for the condition of every kept row, and the conditions."""
    code = np.zeros(int(kept.sum()), dtype=np.int64)
    names = _COLUMNS if replicates else _COLUMNS[:-1]
    for name in names:
        codes, values = part.metadata[name]
        code = code * len(values) + codes[kept]
    found, group = np.unique(code, return_inverse=True)
    conditions = []
    for number in found.tolist():
        told = []
        for name in reversed(names):
            values = part.metadata[name][1]
            number, place = divmod(number, len(values))
            told.append(values[place])
        conditions.append(Condition(*reversed(told)))
    return group, conditions


def _hash(rows: np.ndarray, seed: int) -> np.ndarray:
    """Well mixed bits of row numbers (the finaliser of SplitMix64)."""
    with np.errstate(over="ignore"):
        x = rows.astype(np.uint64) + np.uint64(0x9E3779B97F4A7C15) * np.uint64(seed + 1)
        x = (x ^ (x >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
        x = (x ^ (x >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
        return x ^ (x >> np.uint64(31))
