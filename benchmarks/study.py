"""The paper's four sweeps: how long they are planned to take, and how long fits drawn from them do.

`python -m benchmarks study` trains 40 fits that are drawn at random, as their sweeps would: two
processes on two cores, the seeds of a fold together, on an otherwise idle machine. 20 others, drawn
before, tell how fast the machine is.
`python -m benchmarks.study costs FILE.jsonl` measures fits of all tasks and models, goes on where
an earlier call stopped, and prints the costs for src/pointforms/bench/typical_costs.toml.
"""

from __future__ import annotations

import json
import os
import random
import sys
import tempfile
from pathlib import Path
from statistics import mean
from time import process_time

import torch

from benchmarks.tables import Results
from pointforms.bench import LocalEngine, Store, read_manifest, run
from pointforms.bench.fitting import fit_unit
from pointforms.bench.fitting import prepare as prepare_unit
from pointforms.bench.plan import Paces, cost_name, estimate_seconds, paces_of, plan
from pointforms.bench.records import Unit
from pointforms.bench.selection import is_point_form
from pointforms.paper.organoids.catalogue import VARIABLE, prepared_folder, use_folder
from pointforms.paper.organoids.prepare import prepare
from pointforms.paper.organoids.simulate import write_simulated
from pointforms.support.formatting import duration

SWEEPS = ("synthetic-primary", "synthetic-screen", "pdo-primary", "pdo-screen")
WORKERS = 2
# Baselines are measured on these tasks; those of other tasks follow by numbers of points.
_MEASURED = ("circles-vs-lines", "singlecell", "rna-velocity", "pdo-efp")
# Units of a degree of point-forms that are measured on a task. Fits above this many seconds are
# measured by one seed alone: it makes no difference to them whether others are trained beside them.
_UNITS, _LONG = 4, 20.0


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


def drawn_units(count: int, seed: int) -> list[Unit]:
    """Return the units of fits that are drawn at random from all fits of the sweeps."""
    units = all_units()
    sizes = [len(unit.fits) for unit in units]
    return random.Random(seed).choices(units, sizes, k=count)


def measured_units() -> list[Unit]:
    """Return units of all kinds: four of each task and degree of point-forms, one of a baseline.

    Rows of point-forms are drawn at random from all sweeps, so that their mean stands for those of
    all readouts and settings of training.
    """
    by_kind: dict[tuple[str, str], list[Unit]] = {}
    for unit in all_units():
        if is_point_form(unit.row) or unit.row.task in _MEASURED:
            by_kind.setdefault((unit.row.task, cost_name(unit.row)), []).append(unit)
    chosen = []
    for (task, kind), units in by_kind.items():
        rng = random.Random(f"{task} {kind}")
        for unit in rng.sample(units, _UNITS if is_point_form(units[0].row) else 1):
            long = estimate_seconds(unit.row, 1) > _LONG
            chosen.append(Unit(unit.row, unit.fits[:1] if long else unit.fits))
    return chosen


def seconds_per_fit(units: list[Unit], path: Path) -> tuple[dict[tuple[str, str], float], Paces]:
    """Train units; return the mean seconds of their fits, by row and fold, and their paces."""
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
        paces = paces_of(store.seconds())
    return {key: mean(values) for key, values in found.items()}, paces


def _tell(fits: int) -> None:
    print("." * min(fits, 60), end="", file=sys.stderr, flush=True)


def print_costs(path: Path) -> None:
    """Measure units, keep their processor seconds per fit in a file, and print means as TOML."""
    torch.set_num_threads(1)
    lines = path.read_text("utf-8").splitlines() if path.exists() else []
    known = {(row, fold): seconds for row, fold, seconds in map(json.loads, lines)}
    units = measured_units()
    costs: dict[str, dict[str, list[float]]] = {}
    for unit in units:
        row, (fold, _) = unit.row, unit.fits[0]
        if (row.key, fold) not in known:
            seconds = known[row.key, fold] = processor_seconds(unit)
            with path.open("a", encoding="utf-8") as file:
                file.write(json.dumps([row.key, fold, seconds]) + "\n")
            print(f"{row.task} {row.model} {row.options}: {seconds:.2f} s", file=sys.stderr)
        costs.setdefault(cost_name(row), {}).setdefault(row.task, []).append(known[row.key, fold])
    for kind, by_task in costs.items():
        means = (f"{task} = {mean(values):.2g}" for task, values in by_task.items())
        print(f'"{kind}" = {{ {", ".join(means)} }}')


def processor_seconds(unit: Unit) -> float:
    """Train a unit in this process, and return the processor time of one of its fits."""
    prepared = prepare_unit(unit)
    start = process_time()
    failed = [record.error for record in fit_unit(unit, prepared) if record.error]
    if failed:
        raise RuntimeError(failed[0])
    return (process_time() - start) / len(unit.fits)


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
        _, paces = seconds_per_fit(drawn_units(20, seed=1), Path(folder) / "earlier.db")
        units = drawn_units(40, seed=0)
        seconds, _ = seconds_per_fit(units, Path(folder) / "drawn.db")
        took = sum(seconds[unit.row.key, str(unit.fits[0][0])] for unit in units)
        typical, expected = (
            sum(estimate_seconds(unit.row, 1, known) for unit in units) for known in (None, paces)
        )
    case = f"{len(units)} fits drawn at random"
    results.note(case, "seconds", f"{took:.0f}")
    results.note(case, "seconds by typical costs", f"{typical:.0f}")
    results.note(case, "planned after 20 others", f"{expected:.0f}")
    results.add(case, "|measured / planned - 1|", abs(took / expected - 1), 0.2)
    results.print()
    return results.missed


if __name__ == "__main__":
    os.environ.setdefault(VARIABLE, "pdo")
    with tempfile.TemporaryDirectory() as scratch:
        prepare_organoids(Path(scratch))
        print_costs(Path(sys.argv[2]))
