"""Small fits on all torch threads: as fast as on one, on an idle machine and beside busy processes.

Every fit is made in a process of its own, which torch gives one thread per core, or one. Version
0.1.0, whose fits use all threads that torch has, is measured beside it.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from benchmarks.older_version import ROOT, V_0_1_0, extract
from benchmarks.tables import Results

# Prints the wall time of a fit on a part of a task.
_FIT = """
import sys, time, warnings
import torch
import pointforms as pf

warnings.simplefilter("ignore")
torch.set_num_threads(int(sys.argv[1]))
task = pf.tasks.load("rna-velocity", clouds=400)
start = time.perf_counter()
pf.PointFormClassifier(epochs=10, random_state=0).fit(task.clouds, task.labels, groups=task.groups)
print(time.perf_counter() - start)
"""


def seconds(packages: Path, threads: int) -> float:
    """Return the wall time of a fit by the package of some folder."""
    out = subprocess.run(
        [sys.executable, "-c", _FIT, str(threads)],
        env={**os.environ, "PYTHONPATH": str(packages)},
        check=True,
        capture_output=True,
        text=True,
    )
    return float(out.stdout.splitlines()[-1])


@contextmanager
def busy(processes: int) -> Iterator[None]:
    """Keep some processes busy."""
    running = [
        subprocess.Popen([sys.executable, "-c", "while True: pass"]) for _ in range(processes)
    ]
    try:
        yield
    finally:
        for process in running:
            process.kill()
            process.wait()


def main() -> list[str]:
    """Print the table and return the figures that missed their bounds."""
    results = Results("A fit of 400 clouds, 10 epochs: wall time in seconds")
    cores = os.cpu_count() or 1
    with tempfile.TemporaryDirectory() as folder:
        old = extract(V_0_1_0, Path(folder))
        for others in (0, 1, cores):
            case = f"{cores} cores, {others} busy processes"
            with busy(others):
                one, every = (seconds(ROOT / "src", threads) for threads in (1, cores))
                before = seconds(old, cores)
            results.note(case, "one thread", f"{one:.1f}")
            results.note(case, f"{cores} threads", f"{every:.1f}")
            results.note(case, f"0.1.0, {cores} threads", f"{before:.1f}")
            results.add(case, f"{cores} threads / one", every / one, 1.3)
    results.print()
    return results.missed
