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

The file has no folds: they are made by the seed of the task, five and stratified, so that
`task_seeds` of a manifest gives several divisions of the patients.
"""

from __future__ import annotations

import argparse
import os
import sys
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

import numpy as np

import pointforms as pf
from pointforms.support.suggestions import suggest

#: The environment variable with the path of the data.
VARIABLE = "POINTFORMS_KIDNEY"
FEATURES = (
    "glom_sizes", "glom_diameters", "glom_distance_to_closest_glom", "glom_shape_circularity",
    "glom_shape_eccentricity", "glom_shape_elongation", "glom_shape_solidity", "glom_tuft_sizes",
    "glom_tuft_shape_circularity", "glom_tuft_shape_eccentricity", "glom_tuft_shape_elongation",
    "glom_tuft_shape_solidity", "glom_bowman_sizes", "glom_tufttocapsule_ratio",
)  # fmt: skip


def kidney_task(
    path: str | os.PathLike[str],
    classes: Sequence[str] = ("<30", ">60"),
    smallest: int = 8,
    seed: int = 0,
) -> pf.tasks.Task:
    """Return the patients of some classes as a task, with five stratified folds.

    Parameters
    ----------
    path : path-like
        PILOT's .h5ad file; or a table with one row per glomerulus, the columns `patient` and
        `egfr`, and the features.
    classes : sequence of str, default ("<30", ">60")
        Classes of kidney function to tell apart: two or three of "<30", "30-60" and ">60".
    smallest : int, default 8
        Patients with fewer glomeruli are left out.
    seed : int, default 0
        Seed of the folds.

    Returns
    -------
    Task
    """
    annotated = Path(path).suffix.lower() == ".h5ad"
    cloud, label = ("sampleID", "status") if annotated else ("patient", "egfr")
    whole = pf.tasks.read(path, cloud, label, features=None if annotated else FEATURES)
    if set(whole.feature_names) != set(FEATURES):
        raise ValueError(f"{path} has the features {whole.feature_names}: expected {FEATURES}")
    chosen = tuple(sorted(set(classes)))  # as the reader of a task file numbers them
    unknown = [name for name in chosen if name not in whole.class_names]
    if unknown:
        raise ValueError(f"no class {unknown[0]!r}: {suggest(unknown[0], whole.class_names)}")
    if len(chosen) < 2:
        raise ValueError(f"classes={tuple(classes)}: expected two or more")
    names = np.array(whole.class_names)[whole.labels]
    kept = np.flatnonzero(np.isin(names, chosen) & (whole.sizes >= smallest))
    absent = sorted(set(chosen) - set(names[kept].tolist()))
    if absent:
        raise ValueError(f"smallest={smallest}: no patient of class {absent[0]!r} has as many")
    return pf.tasks.Task(
        f"kidney-{len(chosen)}",
        [whole.clouds[i] for i in kept],
        np.searchsorted(chosen, names[kept]),
        np.arange(len(kept)),  # one cloud is one patient
        whole.feature_names,
        chosen,
        f"glomeruli of patients with IgA nephropathy; eGFR {' or '.join(chosen)}",
        seed,
    )


def main(arguments: Sequence[str] | None = None) -> int:
    """Write a task file and return the exit status."""
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.kidney", description="Write real kidney patients as a task file."
    )
    parser.add_argument(
        "data",
        nargs="?",
        default=os.environ.get(VARIABLE),
        help=f"PILOT's .h5ad file, or a table of its glomeruli (default: ${VARIABLE})",
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
        parser.error(f"no data: name the file, or set {VARIABLE}")
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
