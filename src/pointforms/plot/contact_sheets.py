"""Contact sheets: a few clouds of every class."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from pointforms.plot.style import COLOURS, PALE, literal, new_figure, save, styled
from pointforms.tasks.task import Task

# Clouds of less than this share of the extent of all are drawn on axes of their own.
_SMALL = 0.2


@styled
def contact_sheet(task: Task, path: Path, each: int = 6) -> None:
    """Draw `each` clouds of every class, one class a row, all on the same axes.

    Beyond the plane, clouds are seen along the two directions in which those that are drawn vary
    most about their own means; the others of them stand behind each in grey. Where clouds are
    much smaller than the space between them, each column has axes of its own.
    """
    classes = np.unique(task.labels)
    chosen = [np.flatnonzero(task.labels == label)[:each] for label in classes]
    shown = [i for row in chosen for i in row]
    axes_names, views = _planar_views(task, shown)
    everything = np.concatenate(list(views.values()))
    columns = max(len(row) for row in chosen)
    apart = np.median([_extent(view) for view in views.values()]) < _SMALL * _extent(everything)
    frames = [
        _frame(
            np.concatenate([views[row[column]] for row in chosen if column < len(row)])
            if apart
            else everything
        )
        for column in range(columns)
    ]
    cell = 1.7 if len(classes) <= 4 else 1.15
    figure = new_figure(cell * len(classes) + 0.9, cell * columns + 1.2)
    grid = figure.subplots(len(classes), columns, squeeze=False)
    for row, (label, members) in enumerate(zip(classes, chosen, strict=True)):
        colour = COLOURS[row % len(COLOURS)]
        for column, axes in enumerate(grid[row]):
            xlim, ylim = frames[column]
            axes.set(xlim=xlim, ylim=ylim, aspect="equal", xticks=[], yticks=[])
            if column >= len(members):
                axes.set_axis_off()
                continue
            if task.clouds[0].shape[1] > 2:
                axes.scatter(*everything.T, s=1, color=PALE, linewidths=0, rasterized=True)
            axes.scatter(*views[members[column]].T, s=5, color=colour, linewidths=0)
        grid[row][0].set_ylabel(
            literal(task.class_names[label]), rotation=0, ha="right", va="center", fontsize=9
        )
    figure.suptitle(f"{task.name}: {len(task)} clouds of {task.size_range()} points", fontsize=11)
    scale = "; each column on axes of its own" if apart else ""
    figure.supxlabel(f"{literal(axes_names[0])} → , {literal(axes_names[1])} ↑{scale}", fontsize=8)
    save(figure, path)


def _extent(points: np.ndarray) -> float:
    return float(np.ptp(points, axis=0).max())


def _frame(points: np.ndarray) -> tuple[tuple[float, float], tuple[float, float]]:
    """Limits of a square about the points."""
    (x, y), reach = (points.max(0) + points.min(0)) / 2, 0.55 * _extent(points)
    return (x - reach, x + reach), (y - reach, y + reach)


def _planar_views(task: Task, shown: list[int]) -> tuple[list[str], dict[int, np.ndarray]]:
    """Names of two axes, and the chosen clouds along them."""
    D = task.clouds[0].shape[1]
    if D == 1:
        return [task.feature_names[0], ""], {
            i: np.column_stack([task.clouds[i], np.zeros(len(task.clouds[i]))]) for i in shown
        }
    if D == 2:
        return list(task.feature_names), {i: task.clouds[i] for i in shown}
    centred = np.concatenate([task.clouds[i] - task.clouds[i].mean(0) for i in shown])
    _, values, directions = np.linalg.svd(centred, full_matrices=False)
    share = values**2 / (values**2).sum()
    names = [f"principal direction {a + 1} within clouds ({share[a]:.0%})" for a in range(2)]
    return names, {i: task.clouds[i] @ directions[:2].T for i in shown}
