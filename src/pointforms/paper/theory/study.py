"""Both checks in one run: tables as CSV, pictures, and the rows behind them."""

from __future__ import annotations

import csv
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from pointforms.paper.theory.consistency import MANIFOLDS, SIZES, ConsistencyRow, consistency
from pointforms.paper.theory.density import (
    CLEAN_VIEW,
    KAPPAS,
    NOISY_VIEW,
    DensityRow,
    density_check,
)
from pointforms.paper.theory.figures import consistency_figure, density_figure
from pointforms.support.extras import need
from pointforms.support.progress import track

_SEEDS, _QUICK_SEEDS = 20, 4
_QUICK_SIZES = SIZES[:3]


@dataclass(frozen=True)
class TheoryReport:
    """What was measured, and the files that hold it."""

    density: list[DensityRow]
    consistency: list[ConsistencyRow]
    tables: list[Path]
    pictures: list[Path]

    @property
    def rising(self) -> list[ConsistencyRow]:
        """Mean errors that do not fall at every step of n: none, if the theory holds."""
        return [row for row in self.consistency if row.error != "largest local" and not row.falls]


def run(
    folder: Path, seeds: int | None = None, quick: bool = False, progress: bool = True
) -> TheoryReport:
    """Measure, and write `density.csv`, `consistency.csv` and a picture of each to a folder.

    Parameters
    ----------
    folder : path
        Made if it is not there.
    seeds : int or None
        Samples behind every mean, seeds 0, 1, ...; None is 20, or 4 if quick.
    quick : bool
        Fewer seeds, no largest sample, and no neighbour counts that do not suit the noise.
    progress : bool
        Show progress bars.
    """
    count = (_QUICK_SEEDS if quick else _SEEDS) if seeds is None else seeds
    if count < 2:
        raise ValueError(f"seeds={count}: expected at least 2, for an interval")
    need("matplotlib", "plot")  # before the work, not after it
    folder.mkdir(parents=True, exist_ok=True)
    with track(len(KAPPAS), "Density check", progress) as advance:
        views = None if quick else (CLEAN_VIEW, NOISY_VIEW)
        density = density_check(range(count), views=views, advance=advance)
    with track(len(MANIFOLDS) * count, "Consistency", progress) as advance:
        sizes = _QUICK_SIZES if quick else SIZES
        rates = consistency(range(count), sizes=sizes, advance=advance)
    tables = [
        _write(folder / "density.csv", map(asdict, density)),
        _write(folder / "consistency.csv", _long(rates)),
    ]
    pictures = density_figure(density, folder / "density.png")
    pictures += consistency_figure(rates, folder / "consistency.png")
    return TheoryReport(density, rates, tables, pictures)


def _long(rows: Sequence[ConsistencyRow]) -> Iterable[dict[str, Any]]:
    """One line a sample size."""
    for row in rows:
        shared = asdict(row)
        columns = {
            "n": shared.pop("sizes"),
            "epsilon": shared.pop("bandwidths"),
            "density_neighbors": shared.pop("density_neighbors"),
            "mean": shared.pop("means"),
            "interval": shared.pop("intervals"),
        }
        for values in zip(*columns.values(), strict=True):
            yield {**shared, **dict(zip(columns, values, strict=True))}


def _write(path: Path, rows: Iterable[dict[str, Any]]) -> Path:
    lines = list(rows)
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.DictWriter(file, list(lines[0]))
        writer.writeheader()
        writer.writerows(
            {k: f"{v:.6g}" if isinstance(v, float) else v for k, v in line.items()}
            for line in lines
        )
    return path
