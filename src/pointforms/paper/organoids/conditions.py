"""One pass over the table: the means of every condition, and a sample of its cells."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from pointforms.paper.organoids.schema import schema
from pointforms.paper.organoids.table import CellBlock

_SCALE = 5.0  # asinh(x / 5), the usual scale of mass cytometry


class Condition(NamedTuple):
    """Cells of one type in the wells of one treatment; `replicate` is "" where they are pooled."""

    patient: str
    culture: str
    cell_type: str
    plate: str
    treatment: str
    concentration: str
    replicate: str = ""

    @property
    def is_control(self) -> bool:
        """Whether the treatment is the vehicle of the plate."""
        return schema().vehicles.get(self.plate) == self.treatment

    def control(self) -> Condition:
        """Return the vehicle condition of the same patient, culture, cell type and plate."""
        vehicle = schema().vehicles.get(self.plate)
        if vehicle is None:
            raise ValueError(f"plate {self.plate!r} has no known vehicle: {schema().vehicles}")
        return self._replace(treatment=vehicle, concentration="0", replicate="")

    def __str__(self) -> str:
        return "/".join(part for part in self if part)


_COLUMNS = ("Patient", "Culture", "Cell_type", "Plate", "Treatment", "Concentration", "Replicate")


@dataclass(frozen=True)
class Gathered:
    """Means and sampled cells of the conditions of a table.

    Attributes
    ----------
    markers : tuple of str
        The M names.
    count : dict of Condition to int
        Number of cells.
    mean : dict of Condition to (M,) array
        Mean of asinh(x / 5) over all cells; NaN for a marker that some of them lack.
    cells : dict of Condition to (m, M) array
        The sampled cells, transformed, in the order of the table.
    rows : dict of Condition to (m,) array
        Their rows in the table.
    read, dropped : int
        Number of rows, and of those that were dropped because a value is not finite.
    plates : dict of (patient, plate) to (int, int)
        Number of rows, and of those in which some value is not finite.
    """

    markers: tuple[str, ...]
    count: dict[Condition, int]
    mean: dict[Condition, np.ndarray]
    cells: dict[Condition, np.ndarray]
    rows: dict[Condition, np.ndarray]
    read: int
    dropped: int
    plates: dict[tuple[str, str], tuple[int, int]]


class _Accumulator:
    """Sums over a condition, and its cells of lowest priority number."""

    def __init__(self, markers: int) -> None:
        self.count, self.total = 0, np.zeros(markers)
        self.priority = np.zeros(0, dtype=np.uint64)
        self.rows = np.zeros(0, dtype=np.int64)
        self.cells = np.zeros((0, markers), dtype=np.float32)

    def add(self, cells: np.ndarray, rows: np.ndarray, priority: np.ndarray, most: int) -> None:
        self.count += len(cells)
        self.total += cells.sum(0)
        if len(self.rows) == most:  # most cells of a large condition cannot be kept
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
    blocks: Iterable[CellBlock],
    markers: Sequence[str],
    most: int = 256,
    replicates: bool = False,
    seed: int = 0,
    may_lack: str | None = None,
) -> Gathered:
    """Transform the cells, and keep the means and at most `most` cells of every condition.

    The cells with the smallest hash of row and seed are kept, so that the choice does not depend
    on how the table is cut into blocks. Cells without a finite value of a marker are dropped.

    Parameters
    ----------
    blocks : iterable of CellBlock
        The table.
    markers : sequence of str
        Names of the columns of the blocks.
    most : int, default 256
        Largest number of cells to keep per condition.
    replicates : bool, default False
        Treat replicates as conditions of their own instead of pooling them.
    seed : int, default 0
        Seed of the choice of cells.
    may_lack : str, optional
        A marker that cells are allowed to lack; it is NaN in them.
    """
    plates: dict[tuple[str, str], tuple[int, int]] = {}
    sums: dict[Condition, _Accumulator] = {}
    read = dropped = 0
    for block in blocks:
        read += len(block)
        lacking = ~np.isfinite(block.markers)
        _count_plates(plates, block, lacking.any(1))
        if may_lack is not None:
            place = list(markers).index(may_lack)
            block.markers[lacking[:, place], place] = np.nan
            lacking[:, place] = False
        finite = ~lacking.any(1)
        dropped += int((~finite).sum())
        group, conditions = _grouped(block, finite, replicates)
        rows = np.flatnonzero(finite)
        cells = np.arcsinh(block.markers[rows] / _SCALE)
        order = np.argsort(group, kind="stable")
        rows, cells = rows[order] + block.first, cells[order]
        priority = _hash(rows, seed)
        ends = np.cumsum(np.bincount(group, minlength=len(conditions)))
        for condition, start, end in zip(conditions, [0, *ends[:-1]], ends, strict=True):
            one = sums.setdefault(condition, _Accumulator(len(markers)))
            one.add(cells[start:end], rows[start:end], priority[start:end], most)
    ordered = {condition: sums[condition] for condition in sorted(sums)}
    orders = {condition: np.argsort(one.rows) for condition, one in ordered.items()}
    return Gathered(
        tuple(markers),
        {c: one.count for c, one in ordered.items()},
        {c: one.total / one.count for c, one in ordered.items()},
        {c: one.cells[orders[c]] for c, one in ordered.items()},
        {c: one.rows[orders[c]] for c, one in ordered.items()},
        read,
        dropped,
        plates,
    )


def _count_plates(
    plates: dict[tuple[str, str], tuple[int, int]], block: CellBlock, lacking: np.ndarray
) -> None:
    """Add the rows of a block, and those that lack a value, to the counts of their plates."""
    (patients, names), (codes, kinds) = block.metadata["Patient"], block.metadata["Plate"]
    for i, patient in enumerate(names):
        for j, plate in enumerate(kinds):
            own = (patients == i) & (codes == j)
            if own.any():
                rows, without = plates.get((patient, plate), (0, 0))
                plates[patient, plate] = (
                    rows + int(own.sum()),
                    without + int((own & lacking).sum()),
                )


def _grouped(
    block: CellBlock, kept: np.ndarray, replicates: bool
) -> tuple[np.ndarray, list[Condition]]:
    """Return a number for the condition of every kept row, and the conditions."""
    columns = [block.metadata[name] for name in (_COLUMNS if replicates else _COLUMNS[:-1])]
    shape = [len(values) for _, values in columns]
    numbers = np.ravel_multi_index([codes[kept] for codes, _ in columns], shape)
    distinct, group = np.unique(numbers, return_inverse=True)
    conditions = []
    for places in zip(*np.unravel_index(distinct, shape), strict=True):
        parts = [values[i] for (_, values), i in zip(columns, places, strict=True)]
        conditions.append(Condition(*parts))
    return group, conditions


def _hash(rows: np.ndarray, seed: int) -> np.ndarray:
    """Return well-mixed bits of row numbers (the finaliser of SplitMix64)."""
    with np.errstate(over="ignore"):
        x = rows.astype(np.uint64) + np.uint64(0x9E3779B97F4A7C15) * np.uint64(seed + 1)
        x = (x ^ (x >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
        x = (x ^ (x >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
        return x ^ (x >> np.uint64(31))
