"""Regimes of RNA kinetics, and the comparison matrices that tell them apart."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from pointforms.plot import style
from pointforms.plot.form_data import comparison_pca_data
from pointforms.plot.panels import draw_pca
from pointforms.plot.planes import frame as frame_about
from pointforms.plot.style import PathLike, finished, new_figure, styled
from pointforms.tasks.rna import Kinetics
from pointforms.tasks.task import Task

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

# Groups of clouds that are drawn: more would cover one another.
_STARTS = 14
# Flow lines of a portrait, and how far from rest they begin, in logarithms.
_FLOWS, _REACH = 4, 0.9


@styled
def rna_figure(
    task: Task,
    regimes: Sequence[Kinetics],
    genes: Sequence[int],
    matrices: np.ndarray,
    labels: np.ndarray,
    path: PathLike | None = None,
) -> Figure:
    """Draw phase portraits of a few genes in two kinetic regimes, and a PCA of matrices.

    Parameters
    ----------
    task : Task
        rna-velocity or a smaller one, with features u0, u1, …, s0, s1, ….
    regimes : sequence of Kinetics
        Rates of the two classes.
    genes : sequence of int
        Genes whose portraits to draw.
    matrices : (N, l, l) array
        Comparison matrices of clouds.
    labels : (N,) array
        Their classes.
    path : path-like, optional
        A file to write (.pdf, .svg, .png).
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
    style.add_legend(figure, style.class_marks(task.class_names), 2, "bottom")
    return finished(figure, path)


def _draw_portrait(axes: Axes, task: Task, regimes: Sequence[Kinetics], gene: int) -> None:
    """Draw fragments (s, u) of one gene in both classes, and flows from the same few places."""
    count = len(task.feature_names) // 2
    shown = np.flatnonzero(np.isin(task.groups, np.unique(task.groups)[:_STARTS]))
    seen = np.concatenate([task.clouds[i] for i in shown])[:, [count + gene, gene]]
    for i in shown:  # the classes in turn
        label = int(task.labels[i])
        axes.scatter(
            task.clouds[i][:, count + gene],
            task.clouds[i][:, gene],
            s=2.5,
            linewidths=0,
            alpha=0.5,
            **style.class_look(label),
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
