"""A search for leaks in prepared tasks."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from scipy.special import softmax

from pointforms.estimators.metrics import auroc
from pointforms.paper.organoids.catalogue import read_facts
from pointforms.paper.organoids.labels import RESPONSES
from pointforms.paper.organoids.prepared_tasks import load_from, read_arrays
from pointforms.paper.organoids.schema import Policy, schema, withheld
from pointforms.tasks.task import DividedGroupError, Task

COPY = 0.99  # a marker with at least this correlation to another counts as its copy
_PERMUTATIONS, _TOLERANCE = 20, 0.05


@dataclass(frozen=True)
class Finding:
    """The result of one check.

    Attributes
    ----------
    task : str
    what : str
        What was checked.
    passed : bool
    details : str
        The numbers behind the result, in words.
    """

    task: str
    what: str
    passed: bool
    details: str


def audit(folder: Path, seed: int = 0) -> list[Finding]:
    """Search a prepared task for ways in which its inputs could reveal its labels.

    - no group is on two sides of a fold or of the split
    - no withheld marker is among the inputs, and no input is a copy of one
    - no cloud of a response task is a control, and no cell is in two clouds
    - with permuted labels nothing can be learned

    Parameters
    ----------
    folder : Path
        The folder of the prepared task.
    seed : int, default 0
        Seed of the permutations.
    """
    facts = read_facts(folder)
    name = str(facts["task"]).removeprefix("pdo-")
    try:
        task = load_from(folder)
    except DividedGroupError as error:
        return [Finding(name, "groups", False, str(error))]
    cells = read_arrays(folder / "audit.npz", "rows", "conditions", "withheld")
    together = Finding(name, "groups", True, "every group is on one side")
    findings = [together, _rows(name, cells["rows"])]
    if name in RESPONSES:
        findings += [
            _withheld(name, facts),
            _copies(name, task, facts, cells["withheld"]),
            _controls(name, cells["conditions"].tolist()),
        ]
    return [*findings, _permuted(name, task, seed)]


def _rows(name: str, rows: np.ndarray) -> Finding:
    twice = len(rows) - len(np.unique(rows))
    words = f"{twice} cells are in two clouds" if twice else f"{len(rows)} cells, each in one cloud"
    return Finding(name, "cells", twice == 0, words)


def _withheld(name: str, facts: dict[str, Any]) -> Finding:
    policy: Policy = facts["policy"]
    leaked = sorted(set(withheld(name, policy)) & set(facts["markers"]))
    words = f"inputs: {', '.join(leaked)}" if leaked else "no marker of the label is an input"
    return Finding(name, "withheld markers", not leaked, words)


def _copies(name: str, task: Task, facts: dict[str, Any], hidden: np.ndarray) -> Finding:
    """Check the correlations, over all cells, of inputs with withheld markers."""
    inputs = np.concatenate(task.clouds).astype(np.float64)
    complete = np.isfinite(inputs).all(1)  # a marker that is imputed is missing in some cells
    inputs, hidden = inputs[complete], hidden[complete]
    count = inputs.shape[1]
    with np.errstate(invalid="ignore"):  # a constant marker has no correlation: NaN, here 0
        matrix = np.corrcoef(inputs, hidden.astype(np.float64), rowvar=False)
    correlations = np.abs(np.nan_to_num(matrix[:count, count:]))
    pairs = np.argwhere(correlations >= COPY)
    if len(pairs):
        i, j = pairs[0]
        words = (
            f"{facts['markers'][i]} is a copy of {facts['withheld'][j]} ({correlations[i, j]:.3f})"
        )
        return Finding(name, "copies", False, words)
    largest = correlations.max(initial=0.0)
    return Finding(name, "copies", True, f"largest correlation {largest:.2f}")


def _controls(name: str, conditions: Sequence[str]) -> Finding:
    vehicles = set(schema().vehicles.values())
    wrong = [str(c) for c in conditions if vehicles & set(str(c).split("/"))]
    words = f"clouds of controls: {', '.join(wrong[:3])}" if wrong else "no cloud is a control"
    return Finding(name, "controls", not wrong, words)


def _permuted(name: str, task: Task, seed: int) -> Finding:
    """Check the AUROC of a ridge regression on means and deviations, with permuted labels."""
    rng = np.random.default_rng(seed)
    labels = np.stack([rng.permutation(task.labels) for _ in range(_PERMUTATIONS)])
    areas = []
    for fold in np.unique(task.folds).tolist():
        train, test = task.folds != fold, task.folds == fold
        X = np.stack([np.r_[c.mean(0), c.std(0)] for c in task.in_fold(fold)]).astype(np.float64)
        scale = X[train].std(0)
        X = (X - X[train].mean(0)) / np.where(scale > 0, scale, 1)
        # (XᵀX + λ) W = Xᵀ Y, for all permutations at once
        ridge = X[train].T @ X[train] + len(X) * np.eye(X.shape[1])
        solved = X[test] @ np.linalg.solve(ridge, X[train].T)
        for y in labels:
            scores = solved @ np.eye(len(task.class_names))[y[train]]
            areas.append(auroc(y[test], softmax(scores, axis=1)))
    mean = float(np.nanmean(areas))
    passed = abs(mean - 0.5) <= _TOLERANCE
    return Finding(name, "permuted labels", passed, f"AUROC {mean:.3f} of {len(areas)} fits")
