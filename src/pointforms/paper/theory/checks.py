"""Both checks of the theory in one run: tables as CSV, figures, and the rows behind them."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from pointforms.paper.theory.consistency import MANIFOLDS, SIZES, ConsistencyRow, consistency
from pointforms.paper.theory.density import (
    CLEAN_NEIGHBORS,
    KAPPAS,
    NOISY_NEIGHBORS,
    DensityRow,
    density_check,
)
from pointforms.paper.theory.figures import consistency_figure, density_figure
from pointforms.paper.theory.tables import consistency_csv, density_csv
from pointforms.plot import save
from pointforms.support.extras import need
from pointforms.support.files import write_text
from pointforms.support.progress import track

SEEDS, QUICK_SEEDS = 20, 4
QUICK_SIZES = SIZES[:3]


@dataclass(frozen=True)
class TheoryReport:
    """What was measured, and the files that hold it.

    Attributes
    ----------
    density : list of DensityRow
    consistency : list of ConsistencyRow
    tables : list of Path
        CSV files.
    pictures : list of Path
    """

    density: list[DensityRow]
    consistency: list[ConsistencyRow]
    tables: list[Path]
    pictures: list[Path]

    @property
    def rising(self) -> list[ConsistencyRow]:
        """Mean errors that do not fall at every step of n: none, if the theory holds."""
        return [row for row in self.consistency if row.error != "largest local" and not row.falls]


def run_checks(
    folder: Path, seeds: int | None = None, quick: bool = False, progress: bool = True
) -> TheoryReport:
    """Measure, and write `density.csv`, `consistency.csv` and a figure of each to a folder.

    Parameters
    ----------
    folder : Path
        Created if missing.
    seeds : int, optional
        Number of samples behind every mean, with seeds 0, 1, …. By default 20, or 4 if quick.
    quick : bool, default False
        Use fewer seeds, no largest sample, and only the neighbour counts that suit the noise.
    progress : bool, default True
        Show progress bars.

    Returns
    -------
    TheoryReport
    """
    count = (QUICK_SEEDS if quick else SEEDS) if seeds is None else seeds
    if count < 2:
        raise ValueError(f"seeds={count}: expected at least 2, for an interval")
    need("matplotlib", "plot")  # before the work, not after it
    folder.mkdir(parents=True, exist_ok=True)
    with track(len(KAPPAS), "Density check", progress) as advance:
        neighbors = None if quick else (CLEAN_NEIGHBORS, NOISY_NEIGHBORS)
        density = density_check(range(count), neighbors=neighbors, advance=advance)
    with track(len(MANIFOLDS) * count, "Consistency", progress) as advance:
        sizes = QUICK_SIZES if quick else SIZES
        rates = consistency(range(count), sizes=sizes, advance=advance)
    tables = [folder / "density.csv", folder / "consistency.csv"]
    write_text(tables[0], density_csv(density))
    write_text(tables[1], consistency_csv(rates))
    pictures = save(density_figure(density), folder / "density.png", folder / "density.pdf")
    pictures += save(
        consistency_figure(rates), folder / "consistency.png", folder / "consistency.pdf"
    )
    return TheoryReport(density, rates, tables, pictures)
