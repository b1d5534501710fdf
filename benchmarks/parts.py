"""The portfolio beside its parts: log loss, Brier score and AUROC out of fold, on every task."""

from __future__ import annotations

import os
from collections.abc import Iterator

import torch

import pointforms as pf
from benchmarks.tables import Results
from pointforms.tasks.entries import KIDNEY
from pointforms.tasks.kidney import kidney_task

# The seed of the tasks: none of those on which defaults were chosen.
_SEED = 10
_TASKS = (
    "circles-vs-lines", "concentric-circles", "parallel-lines", "colocated", "density-check",
    "density-shift", "singlecell", "rna-velocity", "rna-velocity-quick", "japanese-vowels",
)  # fmt: skip
_SCORES = {"auroc": "AUROC", "brier": "Brier score", "log_loss": "log loss"}
# How much larger the log loss of the portfolio may be than that of its best part, which is known
# only afterwards.
_TOLERANCE = 0.01


def tasks() -> Iterator[pf.tasks.Task]:
    """Yield the kidney patients, where their data are there, and the tasks of the library."""
    if os.environ.get(KIDNEY):
        for classes in (("<30", ">60"), ("<30", "30-60", ">60")):
            yield kidney_task(os.environ[KIDNEY], classes, seed=_SEED)
    for name in _TASKS:
        yield pf.tasks.load(name, seed=_SEED)


def main() -> list[str]:
    """Print the table and return the figures that missed their bounds."""
    results = Results("The portfolio and its best part, out of fold (cross-fitted), one thread")
    torch.set_num_threads(1)
    for task in tasks():
        fitted = pf.CloudClassifier(random_state=0)
        fitted.fit(task.clouds, task.labels, groups=task.groups)
        whole = fitted.oof_scores_
        for score, title in _SCORES.items():
            parts = {name: scores[score] for name, scores in fitted.part_scores_.items()}
            best = (max if score == "auroc" else min)(parts, key=lambda name: parts[name])
            text = f"{whole[score]:.4f}, best part {parts[best]:.4f} ({best})"
            results.note(task.name, title, text)
        results.add(
            task.name, "log loss over that of the best part", whole["log_loss"] - parts[best],
            _TOLERANCE,
        )  # fmt: skip
    results.print()
    return results.missed
