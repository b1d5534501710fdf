"""Real kidney patients as a task: what do the shapes of glomeruli tell about kidney function?

One cloud is one patient with IgA nephropathy; its points are the glomeruli of a biopsy, each with
14 features of size and shape. The classes are ranges of the estimated glomerular filtration rate.

The data are tutorial data of PILOT (MIT licence). Download `Tutorial/Datasets/Kidney_IgAN_G.h5ad`
from https://github.com/CostaLab/PILOT and cite

    M. Joodaki et al.: Detection of PatIent-Level distances from single cell genomics and pathomics
    data with Optimal Transport (PILOT). Molecular Systems Biology 20, 57-74 (2024),
    https://doi.org/10.1038/s44320-023-00003-8.

Write a task file, and name it in a manifest or in `npf run`:

    python -m benchmarks.kidney Kidney_IgAN_G.h5ad                                # kidney-2.parquet
    python -m benchmarks.kidney Kidney_IgAN_G.h5ad --classes "<30" 30-60 ">60"    # kidney-3.parquet
    npf run kidney-2.parquet random-forest logistic-regression

The task `kidney` of the catalogue (<30 against >60) needs no such file, only the variable
POINTFORMS_KIDNEY with the path of the data. The file has no folds: they are made by the seed of the
task, five and stratified, so that `task_seeds` of a manifest gives several divisions of the
patients.
"""

from __future__ import annotations

import argparse
import os
import sys
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

import pointforms as pf
from pointforms.tasks.entries import KIDNEY
from pointforms.tasks.kidney import kidney_task


def main(arguments: Sequence[str] | None = None) -> int:
    """Write a task file and return the exit status."""
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.kidney", description="Write real kidney patients as a task file."
    )
    parser.add_argument(
        "data",
        nargs="?",
        default=os.environ.get(KIDNEY),
        help=f"PILOT's .h5ad file, or a table of its glomeruli (default: ${KIDNEY})",
    )
    parser.add_argument(
        "--classes", nargs="+", default=["<30", ">60"], help="classes (default: <30 and >60)"
    )
    parser.add_argument(
        "--smallest", type=int, default=8, help="fewest glomeruli of a patient (default: 8)"
    )
    parser.add_argument(
        "--out",
        type=Path,
        help=".parquet, .csv or .npz file to write (default: kidney-2.parquet for two classes)",
    )
    given = parser.parse_args(arguments)
    if given.data is None:
        parser.error(f"no data: name the file, or set {KIDNEY}")
    try:
        task = kidney_task(given.data, given.classes, given.smallest)
        out = given.out or Path(f"{task.name}.parquet")
        pf.tasks.write(task, out, folds=False)
    except (ValueError, OSError) as error:
        parser.error(str(error))
    counts = Counter(task.class_names[label] for label in task.labels)
    print(task)
    print(", ".join(f"{name}: {count} patients" for name, count in sorted(counts.items())))
    print(f"Written: {out.resolve()}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
