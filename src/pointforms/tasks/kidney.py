"""Real kidney patients: what do the shapes of glomeruli tell about kidney function?

The data are tutorial data of PILOT (MIT licence) and not part of this package. Download
`Tutorial/Datasets/Kidney_IgAN_G.h5ad` from https://github.com/CostaLab/PILOT and cite

    M. Joodaki et al.: Detection of PatIent-Level distances from single cell genomics and pathomics
    data with Optimal Transport (PILOT). Molecular Systems Biology 20, 57-74 (2024),
    https://doi.org/10.1038/s44320-023-00003-8.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from pointforms.support.suggestions import suggest
from pointforms.tasks.files import read
from pointforms.tasks.task import Task

FEATURES = (
    "glom_sizes", "glom_diameters", "glom_distance_to_closest_glom", "glom_shape_circularity",
    "glom_shape_eccentricity", "glom_shape_elongation", "glom_shape_solidity", "glom_tuft_sizes",
    "glom_tuft_shape_circularity", "glom_tuft_shape_eccentricity", "glom_tuft_shape_elongation",
    "glom_tuft_shape_solidity", "glom_bowman_sizes", "glom_tufttocapsule_ratio",
)  # fmt: skip


def kidney(seed: int, path: str | os.PathLike[str]) -> Task:
    """Patients with IgA nephropathy, one cloud each: eGFR below 30, or above 60?

    The points of a cloud are the glomeruli of a biopsy, each with 14 features of size and shape.
    Patients with fewer than 8 glomeruli are left out. The file is PILOT's `Kidney_IgAN_G.h5ad`
    (Joodaki and others, 2024), which you download from https://github.com/CostaLab/PILOT.
    """
    return kidney_task(path, seed=seed, name="kidney")


def kidney_task(
    path: str | os.PathLike[str],
    classes: Sequence[str] = ("<30", ">60"),
    smallest: int = 8,
    seed: int = 0,
    name: str | None = None,
) -> Task:
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
    name : str, optional
        Name of the task (default: "kidney-2" for two classes).

    Returns
    -------
    Task
    """
    annotated = Path(path).suffix.lower() == ".h5ad"
    cloud, label = ("sampleID", "status") if annotated else ("patient", "egfr")
    whole = read(path, cloud, label, features=None if annotated else FEATURES)
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
    return Task(
        name or f"kidney-{len(chosen)}",
        [whole.clouds[i] for i in kept],
        np.searchsorted(chosen, names[kept]),
        np.arange(len(kept)),  # one cloud is one patient
        whole.feature_names,
        chosen,
        f"glomeruli of patients with IgA nephropathy; eGFR {' or '.join(chosen)}",
        seed,
    )
