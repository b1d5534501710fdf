"""Figures of what was learned: forms that tell circles from lines, and regimes of RNA kinetics."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from pointforms.plot import style
from pointforms.plot.form_data import comparison_pca_data, form_field_data
from pointforms.plot.panels import draw_arrows, draw_pca
from pointforms.plot.planes import frame as frame_about
from pointforms.plot.style import PathLike, finished, new_figure, styled
from pointforms.tasks.rna import Kinetics
from pointforms.tasks.task import Task

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

# Clouds of a class that are drawn: more cover one another.
_TRAJECTORIES, _STARTS = 25, 14
# Flow lines of a portrait, and how far from rest they begin, in logarithms.
_FLOWS, _REACH = 4, 0.9


@styled
def circles_figure(
    model: Any, task: Task, forms: Sequence[int] | None = None, path: PathLike | None = None
) -> Figure:
    """Trajectories of two planar flows, and the learned 1-forms as fields of arrows.

    A form has the colour of the class along whose flow, (y, -x) or (x, y), it lies more; below it
    stands the mean |cos| to both, weighted by the lengths of form and flow.

    Parameters
    ----------
    model : a fitted estimator with degree 1, or its network
    task : circles-vs-lines
    forms : which of the forms; all by default
    path : a file to write, too
    """
    data = form_field_data(model, task.clouds, forms=forms, features=task.feature_names)
    rows, columns = style.panels(1 + len(data.forms), 5)
    figure = new_figure(rows * (style.PAGE / columns + 0.5) + 0.33)
    grid = figure.subplots(rows, columns, squeeze=False).ravel()
    _draw_trajectories(grid[0], task)
    grid[0].set_title("trajectories")
    measured = [" \n "]
    x, y = data.points.T
    flows = np.stack([np.stack([y, -x], 1), data.points])
    for a, form in enumerate(data.forms):
        cosine = [alignment(data.vectors[:, a], flow) for flow in flows]
        draw_arrows(grid[1 + a], data, a, style.COLOURS[int(cosine[1] > cosine[0])])
        grid[1 + a].set_title(f"$\\omega_{{{form + 1}}}$")
        measured.append(f"turning {cosine[0]:.2f}\nleaving {cosine[1]:.2f}")
    for axes, text in zip(grid, measured, strict=False):
        style.square_frame(axes, data.extent)
        style.bare(axes)
        axes.set_xlabel(text)
    for axes in grid[1 + len(data.forms) :]:
        axes.set_axis_off()
    handles = style.lines(
        [f"{task.class_names[0]}: flow of (y, −x)", f"{task.class_names[1]}: flow of (x, y)"]
    )
    figure.legend(handles=handles, loc="outside lower center", ncols=2)
    return finished(figure, path)


def alignment(form: np.ndarray, flow: np.ndarray) -> float:
    """Mean |cos| between two fields (m, 2), weighted by their lengths."""
    lengths = np.linalg.norm(form, axis=1) * np.linalg.norm(flow, axis=1)
    return float(np.abs((form * flow).sum(1)).sum() / lengths.sum())


@styled
def rna_figure(
    task: Task,
    regimes: Sequence[Kinetics],
    genes: Sequence[int],
    matrices: np.ndarray,
    labels: np.ndarray,
    path: PathLike | None = None,
) -> Figure:
    """Phase portraits of a few genes in two kinetic regimes, and a PCA of comparison matrices.

    Parameters
    ----------
    task : rna-velocity or a smaller one: features u0, u1, …, s0, s1, …
    regimes : the rates of the two classes
    genes : whose portraits to draw
    matrices : (N, l, l)
        Comparison matrices of clouds, and their classes `labels` (N,).
    path : a file to write, too
    """
    figure = new_figure(2.5)
    parts: Any = figure.subfigures(1, 2, width_ratios=[len(genes), 1.2])
    left, right = parts
    portraits = left.subplots(1, len(genes), squeeze=False)[0]
    for axes, gene in zip(portraits, genes, strict=True):
        _draw_portrait(axes, task, regimes, gene)
    portraits[0].set_ylabel("unspliced $u$")
    left.suptitle("fragments, and the flow of each regime to its steady state (★)")
    draw_pca(right.subplots(), comparison_pca_data(matrices), labels, len(task.class_names))
    right.suptitle("comparison matrices")
    figure.legend(handles=style.class_marks(task.class_names), loc="outside lower center", ncols=2)
    return finished(figure, path)


def _draw_trajectories(axes: Axes, task: Task) -> None:
    """Points of a trajectory joined in the order in which the flow meets them."""
    for label in range(2):
        for i in np.flatnonzero(task.labels == label)[:_TRAJECTORIES]:
            cloud = task.clouds[i]
            order = np.hypot(*cloud.T) if label else np.arctan2(cloud[:, 1], cloud[:, 0])
            ordered = cloud[np.argsort(order)]
            cut = np.flatnonzero(np.hypot(*np.diff(ordered, axis=0).T) > 0.5) + 1  # across ±π
            for piece in np.split(ordered, cut):
                axes.plot(*piece.T, color=style.COLOURS[label], linewidth=0.9)


def _draw_portrait(axes: Axes, task: Task, regimes: Sequence[Kinetics], gene: int) -> None:
    """One gene: fragments (s, u) of both classes, and their flows from the same few places."""
    count = len(task.feature_names) // 2
    shown = np.flatnonzero(np.isin(task.groups, np.unique(task.groups)[:_STARTS]))
    seen = np.concatenate([task.clouds[i] for i in shown])[:, [count + gene, gene]]
    for i in shown:  # the classes in turn
        label = int(task.labels[i])
        axes.scatter(
            task.clouds[i][:, count + gene],
            task.clouds[i][:, gene],
            s=2.5,
            marker=style.MARKS[label],
            color=style.COLOURS[label],
            linewidths=0,
            alpha=0.5,
        )
    u_rest, s_rest = regimes[0].steady_state()
    turn = np.linspace(0, 2 * np.pi, _FLOWS, endpoint=False) + np.pi / 4
    t = np.linspace(0, 8, 300)
    lines = [seen]
    for label, rates in enumerate(regimes):
        for angle in turn:  # around the first steady state, as the starts of the clouds are
            u0 = u_rest * np.exp(_REACH * np.sin(angle))
            s0 = s_rest * np.exp(_REACH * np.cos(angle))
            u, s = rates.solve(u0, s0, t)
            lines.append(np.stack([s[:, gene], u[:, gene]], 1))
            # dashes, so that the same line of the other class shows below
            dashes = "--" if label else "-"
            axes.plot(*lines[-1].T, color=style.COLOURS[label], linewidth=1, linestyle=dashes)
        ends = rates.steady_state()
        axes.plot(
            ends[1][gene],
            ends[0][gene],
            marker="*",
            markersize=9,
            color=style.COLOURS[label],
            markeredgecolor="white",
            markeredgewidth=0.6,
            zorder=4,
        )
    style.square_frame(axes, frame_about(np.concatenate(lines), one_scale=False))
    axes.set_xlabel("spliced $s$")
    changed = any(
        getattr(regimes[0], rate)[gene] != getattr(regimes[1], rate)[gene]
        for rate in ("alpha", "beta", "gamma")
    )
    axes.set_title(f"gene {gene}: {'perturbed' if changed else 'unchanged'}")
