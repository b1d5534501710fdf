"""The paper's four sweeps: how long they are planned to take, and how long fits drawn from them do.

`python -m benchmarks study` trains 40 fits that are drawn at random, as their sweeps would: two
processes on two cores, the seeds of a fold together. `python -m benchmarks.study costs FILE.db`
trains one unit of every task and model, goes on where an earlier call stopped, and prints the costs
for src/pointforms/bench/typical_costs.toml. Both take an otherwise idle machine.
"""

from __future__ import annotations

import os
import random
import sys
import tempfile
from pathlib import Path

from benchmarks.tables import Results
from pointforms.bench import LocalEngine, Store, read_manifest, run
from pointforms.bench.plan import estimate_seconds, plan
from pointforms.bench.records import Unit
from pointforms.paper.organoids.catalogue import VARIABLE, prepared_folder, use_folder
from pointforms.paper.organoids.prepare import prepare
from pointforms.paper.organoids.simulate import write_simulated
from pointforms.support.formatting import duration

SWEEPS = ("synthetic-primary", "synthetic-screen", "pdo-primary", "pdo-screen")
WORKERS = 2
# Fits above this many seconds are measured by one seed alone; it makes no difference to them
# whether others are trained beside them.
_LONG = 20.0
# Baselines are measured on these tasks; those of other tasks follow by numbers of points.
_MEASURED = ("circles-vs-lines", "singlecell", "rna-velocity", "pdo-efp")


def prepare_organoids(folder: Path) -> None:
    """Write simulated organoid tasks to a folder, unless there are prepared ones already."""
    if (prepared_folder() / "pdo-efp").is_dir():
        use_folder(prepared_folder())
        return
    table = folder / "cells.parquet"
    write_simulated(table)
    prepare(table, folder / "pdo", ("tumor-selective", "efp", "caf"))
    use_folder(folder / "pdo")


def all_units() -> list[Unit]:
    return [unit for name in SWEEPS for unit in read_manifest(name).units()]


def drawn_units(count: int = 40, seed: int = 0) -> list[Unit]:
    """Return the units of fits that are drawn at random from all fits of the sweeps."""
    units = all_units()
    sizes = [len(unit.fits) for unit in units]
    return random.Random(seed).choices(units, sizes, k=count)


def one_of_each() -> list[Unit]:
    """Return a unit of every task and model, drawn at random: of several sweeps, from all."""
    by_pair: dict[tuple[str, str], list[Unit]] = {}
    for unit in all_units():
        by_pair.setdefault((unit.row.task, unit.row.model), []).append(unit)
    chosen = []
    for (task, model), units in by_pair.items():
        if model.startswith("npf-") or task in _MEASURED:
            unit = random.Random(f"{task} {model}").choice(units)
            fits = unit.fits[:1] if estimate_seconds(unit.row, 1) > _LONG else unit.fits
            chosen.append(Unit(unit.row, fits))
    return chosen


def seconds_per_fit(units: list[Unit], path: Path) -> dict[tuple[str, str], float]:
    """Train units, and return the mean seconds of their fits, by row and fold."""
    with Store(path) as store:
        outcome = run(
            list(dict.fromkeys(units)), store, LocalEngine(WORKERS), "Costs", advance=_tell
        )
        if outcome.failed:
            raise RuntimeError(f"{outcome.failed} fits failed")
        wanted = {(unit.row.key, *fit) for unit in units for fit in unit.fits}
        found: dict[tuple[str, str], list[float]] = {}
        for record in store.records(predictions=False):
            if (record.row.key, record.fold, record.seed) in wanted:
                found.setdefault((record.row.key, str(record.fold)), []).append(record.seconds)
    return {key: sum(values) / len(values) for key, values in found.items()}


def _tell(fits: int) -> None:
    print("." * min(fits, 60), end="", file=sys.stderr, flush=True)


def print_costs(path: Path) -> None:
    """Measure one unit of every task and model, and print the seconds of a fit as TOML."""
    units = one_of_each()
    seconds = seconds_per_fit(units, path)
    by_model: dict[str, dict[str, float]] = {}
    for unit in units:
        row, (fold, _) = unit.row, unit.fits[0]
        by_model.setdefault(row.model, {})[row.task] = seconds[row.key, str(fold)]
    for model, costs in by_model.items():
        name = model if model.replace("-", "").isalnum() else f'"{model}"'
        print(f"\n[{name}]")
        for task, value in costs.items():
            print(f"{task} = {value:.2g}")


def main() -> list[str]:
    """Print the table and return the figures that missed their bounds."""
    results = Results(f"The paper's study with {WORKERS} workers")
    with tempfile.TemporaryDirectory() as folder:
        prepare_organoids(Path(folder))
        hours = 0.0
        for name in SWEEPS:
            planned = plan(read_manifest(name))
            hours += planned.wall_seconds(WORKERS) / 3600
            results.note(name, "planned", duration(planned.wall_seconds(WORKERS)))
        results.add("all four sweeps", "planned hours", hours, 72.0)
        units = drawn_units()
        seconds = seconds_per_fit(units, Path(folder) / "drawn.db")
        took = sum(seconds[unit.row.key, str(unit.fits[0][0])] for unit in units)
        expected = sum(estimate_seconds(unit.row, 1) for unit in units)
    case = f"{len(units)} fits drawn at random"
    results.note(case, "seconds", f"{took:.0f}")
    results.note(case, "planned seconds", f"{expected:.0f}")
    results.add(case, "|measured / planned - 1|", abs(took / expected - 1), 0.2)
    results.print()
    return results.missed


if __name__ == "__main__":
    os.environ.setdefault(VARIABLE, "pdo")
    with tempfile.TemporaryDirectory() as scratch:
        prepare_organoids(Path(scratch))
        print_costs(Path(sys.argv[2]))
