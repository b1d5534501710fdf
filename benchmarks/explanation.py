"""The cost of an explanation: single features on rna-velocity, in units of one fit."""

from __future__ import annotations

import warnings
from time import process_time
from typing import Any

import numpy as np
import torch

import pointforms as pf
from benchmarks.tables import Results

# Most fits that an explanation of single features may cost.
_FITS = 10.0


def models() -> dict[str, Any]:
    """Return the estimators that are explained: of one network, and of stored members."""
    return {
        "PointFormClassifier()": pf.PointFormClassifier(random_state=0),
        "PointFormClassifier(members=5)": pf.PointFormClassifier(random_state=0, members=5),
        "CloudClassifier()": pf.CloudClassifier(random_state=0),
    }


def cost(model: Any, task: pf.tasks.Task, chosen: np.ndarray) -> tuple[float, float]:
    """Return the processor seconds of a fit, and of explaining all single features."""
    clouds = [task.clouds[i] for i in chosen]
    y, groups = task.labels[chosen], task.groups[chosen]
    start = process_time()
    model.fit(clouds, y, groups=groups)
    between = process_time()
    model.explain(clouds, y, groups=groups, pairs=None)
    return between - start, process_time() - between


def main() -> list[str]:
    """Print the table and return the figures that missed their bounds."""
    task = pf.tasks.load("rna-velocity")
    train = np.flatnonzero(task.folds != 0)
    results = Results(
        f"An explanation of {task.clouds[0].shape[1]} single features: rna-velocity, "
        f"{len(train)} clouds, processor time on one thread"
    )
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for name, model in models().items():
            fit, explanation = cost(model, task, train)
            results.note(name, "fit, seconds", f"{fit:.1f}")
            results.add(name, "explanation / fit", explanation / fit, _FITS)
    torch.set_num_threads(threads)
    results.print()
    return results.missed
