"""Peak memory of a first Gram field, step by step, and of fits on more and more clouds.

Every step runs in a process of its own, on one thread. torch's own import is the reference of the
first Gram field. Fits should take time in proportion to the number of clouds, and little memory
beside the clouds themselves.
"""

from __future__ import annotations

import os
import subprocess
import sys

from benchmarks.tables import Results

# Printed by the process itself: the peak that the system reports for a child includes its parent.
_PRINT_PEAK = """
with open("/proc/self/status") as file:
    print(next(line for line in file if line.startswith("VmHWM:")).split()[1])
"""
_FIELD = """
import numpy as np, pointforms as pf
pf.gram_field(np.random.default_rng(0).normal(size=({n}, {D})))
"""
_LARGE_FIELD = """
from benchmarks.samples import noisy_sphere
import pointforms as pf
pf.gram_field(noisy_sphere({n}, {D}))
"""
# Prints the processor time of `fit`. The clouds are in double precision.
_FIT = """
import time
import numpy as np, pointforms as pf
rng = np.random.default_rng(0)
clouds = [rng.normal(size=(100, 20)) for _ in range({clouds})]
model = pf.PointFormClassifier(epochs=2, dimension=8, random_state=0)
start = time.process_time()
model.fit(clouds, np.arange({clouds}) % 2)
print(time.process_time() - start)
"""
# Numbers of clouds that fits are measured on, the most memory of any of them in GB, and how many
# times the processor time per cloud of the first may be taken by another.
_CLOUDS, _MOST, _LINEAR = (1000, 4000, 20_000), 2.5, 1.25


def peak_megabytes(program: str) -> float:
    """Return the peak resident memory of a new process that runs a program, in MB (Linux)."""
    return _printed(program)[-1] * 1024 / 1e6


def _printed(program: str) -> list[float]:
    """Return the numbers that a program prints in a new process, and its peak in kB."""
    done = subprocess.run(
        [sys.executable, "-c", program + _PRINT_PEAK],
        stdout=subprocess.PIPE,
        env={**os.environ, "OMP_NUM_THREADS": "1"},
        check=True,
    )
    return [float(line) for line in done.stdout.split()]


def _measure_fits(results: Results) -> None:
    per_cloud = []
    for clouds in _CLOUDS:
        seconds, peak = _printed(_FIT.format(clouds=clouds))
        per_cloud.append(seconds / clouds)
        case = f"fit of {clouds} clouds of 100 × 20"
        results.note(case, "s of processor time", f"{seconds:.1f}")
        results.add(case, "GB", peak * 1024 / 1e9, _MOST)
        if clouds != _CLOUDS[0]:
            ratio = per_cloud[-1] / per_cloud[0]
            results.add(case, f"time per cloud / that of {_CLOUDS[0]}", ratio, _LINEAR)


def main() -> list[str]:
    """Print the table and return the figures that missed their bounds."""
    results = Results("Memory: peak of a new process, one thread")
    case = "without pointforms"
    results.note(case, "Python, MB", f"{peak_megabytes(''):.0f}")
    results.note(case, "import numpy, MB", f"{peak_megabytes('import numpy'):.0f}")
    torch = peak_megabytes("import torch")
    results.note(case, "import torch, MB", f"{torch:.0f}")
    results.add("import pointforms", "MB", peak_megabytes("import pointforms"), 25.0)
    steps = {
        "pf.gram_field, not called": ("import pointforms as pf; pf.gram_field", 8.0),
        "field of 100 × 3": (_FIELD.format(n=100, D=3), 35.0),
        "field of 2000 × 3": (_FIELD.format(n=2000, D=3), 95.0),
        "field of 2000 × 20": (_FIELD.format(n=2000, D=20), 95.0),
    }
    for step, (program, bound) in steps.items():
        measured = peak_megabytes(program)
        results.note(step, "MB", f"{measured:.0f}")
        results.note(step, "share of torch", f"{measured / torch:.2f}")
        results.add(step, "MB more than torch", measured - torch, bound)
    large = peak_megabytes(_LARGE_FIELD.format(n=1_000_000, D=10)) / 1e3
    results.add("field of 1 000 000 × 10", "GB", large, 2.0)
    _measure_fits(results)
    results.print()
    return results.missed
