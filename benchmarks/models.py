"""Every model on one fold of two tasks, beside the paper's numbers."""

from __future__ import annotations

import time
import warnings

import numpy as np
import torch
from rich.console import Console
from rich.table import Table
from sklearn.metrics import roc_auc_score

import pointforms as pf
from pointforms import baselines

# AUROC of the paper's table of synthetic tasks.
PAPER = {
    "circles-vs-lines": {
        "NPF-Tri k=1": 1.000, "NPF-Gram k=1": 0.997, "NPF-Flat k=1": 0.985, "GCN": 0.735,
        "GIN": 0.995, "GraphSAGE": 0.726, "GraphTransformer": 1.000, "MLP": 0.729, "TDL": 0.731,
    },
    "rna-velocity": {
        "NPF-Tri k=1": 0.941, "NPF-Gram k=1": 0.958, "NPF-Flat k=1": 0.937, "GCN": 0.717,
        "GIN": 0.589, "GraphSAGE": 0.725, "GraphTransformer": 0.973, "MLP": 0.728, "TDL": 0.861,
    },
}  # fmt: skip


def one_fold(name: str, task: pf.tasks.Task, fold: int = 0) -> tuple[float, float, float | None]:
    """AUROC on a fold, seconds, and seconds an epoch where there are epochs."""
    train, test = np.flatnonzero(task.folds != fold), np.flatnonzero(task.folds == fold)
    model = baselines.make(name, random_state=0)
    start = time.perf_counter()
    model.fit([task.clouds[i] for i in train], task.labels[train], task.groups[train])
    seconds = time.perf_counter() - start
    found = model.predict_proba([task.clouds[i] for i in test])[:, 1]
    epochs = len(model.history_) if hasattr(model, "history_") else 0
    return (
        float(roc_auc_score(task.labels[test], found)),
        seconds,
        seconds / epochs if epochs else None,
    )


def main(names: list[str] | None = None) -> list[str]:
    """Print a table a task."""
    warnings.filterwarnings("ignore", category=UserWarning)
    torch.set_num_threads(1)
    console = Console()
    for task_name, paper in PAPER.items():
        task = pf.tasks.load(task_name)
        view = Table(title=f"{task_name}, fold 0, seed 0", title_justify="left")
        for heading in ("model", "AUROC", "paper", "parameters", "seconds", "s / epoch"):
            view.add_column(heading, justify="left" if heading == "model" else "right")
        for name in names or baselines.names():
            title = baselines.MODELS[name].title
            auroc, seconds, epoch = one_fold(name, task)
            count = baselines.count_parameters(name, len(task.feature_names), 2)
            row = (
                title,
                f"{auroc:.3f}",
                f"{paper[title]:.3f}" if title in paper else "",
                "" if count is None else str(count),
                f"{seconds:.0f}",
                "" if epoch is None else f"{epoch:.2f}",
            )
            view.add_row(*row)
            console.print(task_name, *row, sep="  ")  # as it goes: the whole takes minutes
        console.print(view)
    return []
