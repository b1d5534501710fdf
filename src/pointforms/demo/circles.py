"""Circles against lines: cross-validated training, and a picture of the forms it found."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import torch

from pointforms import tasks
from pointforms.extras import need
from pointforms.forms.network import PointFormNetwork
from pointforms.learn.estimators import PointFormClassifier
from pointforms.learn.many import cross_fit
from pointforms.tasks.task import Task

_EPOCHS, _FORMS = 20, 4


def run(folder: Path) -> tuple[dict[str, str], Path]:
    """Train over five folds, draw the forms of the first, and return what was found."""
    need("matplotlib", "plot")
    folder.mkdir(parents=True, exist_ok=True)
    task = tasks.load("circles-vs-lines")
    estimator = PointFormClassifier(forms=_FORMS, epochs=_EPOCHS)
    found = cross_fit(
        estimator, task.clouds, task.labels, task.folds, (0,), task.groups, progress=True
    )
    mean, spread = found.summary()
    model = found.models[0]
    assert isinstance(model, PointFormNetwork)
    parameters = sum(p.numel() for p in model.parameters())
    pairs = {
        "task": f"{len(task)} trajectories of {len(task.clouds[0])} points in the plane",
        "model": f"{_FORMS} learned 1-forms, {parameters} parameters",
        "AUROC of the folds": "  ".join(f"{value:.3f}" for value in found.auroc[:, 0]),
        "AUROC": f"{mean:.3f} ± {spread:.3f}",
    }
    picture = folder / "circles-vs-lines.png"
    draw(model, task, picture)
    return pairs, picture


def draw(model: PointFormNetwork, task: Task, path: Path) -> None:
    """The trajectories, and the learned forms as fields of arrows over them."""
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt
    from matplotlib.lines import Line2D

    colours = ("#0072B2", "#D55E00")
    limit = 1.05 * max(float(np.abs(cloud).max()) for cloud in task.clouds)
    figure, axes = plt.subplots(
        1, 1 + _FORMS, figsize=(3.1 * (1 + _FORMS), 3.5), layout="constrained"
    )
    for row in axes:
        row.set(xlim=(-limit, limit), ylim=(-limit, limit), aspect="equal", xticks=[], yticks=[])
    for label in range(2):
        for cloud in [c for c, y in zip(task.clouds, task.labels, strict=True) if y == label][:25]:
            ordered = cloud[np.argsort(np.hypot(*cloud.T) if label else np.arctan2(*cloud.T[::-1]))]
            cut = np.flatnonzero(np.hypot(*np.diff(ordered, axis=0).T) > 0.5) + 1  # across ±π
            for piece in np.split(ordered, cut):
                axes[0].plot(*piece.T, color=colours[label], linewidth=1.2)
    axes[0].set_title("trajectories")
    handles = [
        Line2D([], [], color=c, label=n) for c, n in zip(colours, task.class_names, strict=True)
    ]
    axes[0].legend(handles=handles, loc="upper right", fontsize=8, framealpha=0.9)

    ticks = np.linspace(-0.95 * limit, 0.95 * limit, 17)
    grid = np.stack(np.meshgrid(ticks, ticks), -1).reshape(-1, 2)
    grid = grid[np.hypot(*grid.T) > 0.3]
    F = one_forms(model, grid)
    angular, radial = np.stack([grid[:, 1], -grid[:, 0]], 1), grid
    for a in range(_FORMS):
        # how far the form points along the flows of the two classes
        cosine = [_alignment(F[:, a], flow) for flow in (angular, radial)]
        length = np.linalg.norm(F[:, a], axis=1, keepdims=True)
        arrows = F[:, a] / np.quantile(length, 0.9)
        colour = colours[int(cosine[1] > cosine[0])]
        axes[1 + a].quiver(*grid.T, *arrows.T, color=colour, scale=18, width=0.006)
        axes[1 + a].set_title(
            f"ω{a + 1}   turning {cosine[0]:.2f}, leaving {cosine[1]:.2f}", fontsize=10
        )
    figure.suptitle(
        "Learned 1-forms: coloured by the class along whose flow they lie, (y, -x) or (x, y)",
        fontsize=11,
    )
    figure.savefig(path, dpi=150)
    plt.close(figure)


def _alignment(form: np.ndarray, flow: np.ndarray) -> float:
    """Mean |cos| between two fields, weighted by their lengths."""
    lengths = np.linalg.norm(form, axis=1) * np.linalg.norm(flow, axis=1)
    return float(np.abs((form * flow).sum(1)).sum() / lengths.sum())


def one_forms(model: PointFormNetwork, points: np.ndarray) -> np.ndarray:
    """Coefficients of the learned 1-forms at points (n, D), in their coordinates: (n, l, D)."""
    with torch.no_grad():
        x = (torch.from_numpy(points).to(model.mean) - model.mean) / model.scale
        coefficients: np.ndarray = model.point_forms()[0].network(x).double().numpy()
    return coefficients
