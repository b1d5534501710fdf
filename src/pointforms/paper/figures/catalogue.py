"""The figures of the paper by name: each is computed, trained where needed, and drawn."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from pointforms import plot, tasks
from pointforms.estimators import PointFormClassifier
from pointforms.models.registry import COMPARED_GEOMETRY
from pointforms.paper.figures.geometry import gram_field_figure, restricted_forms_figure
from pointforms.paper.figures.learned import rna_figure
from pointforms.paper.theory.density import density_check
from pointforms.paper.theory.figures import density_figure as draw_density
from pointforms.support.suggestions import suggest
from pointforms.tasks.rna import regimes

if TYPE_CHECKING:
    from matplotlib.figure import Figure


@dataclass(frozen=True)
class PaperFigure:
    """What a figure shows, and the function that makes it; `quick` means less training."""

    shows: str
    make: Callable[[bool], Figure]


def density_figure(quick: bool = False) -> Figure:
    """Draw the density check over 20 seeds, or 4 if quick."""
    return draw_density(density_check(range(4 if quick else 20)))


def circles_vs_lines_figure(quick: bool = False) -> Figure:
    """Draw four 1-forms, learned from all trajectories, or from a third of them if quick."""
    task = tasks.load("circles-vs-lines", clouds=100 if quick else None)
    model = PointFormClassifier(
        forms=4, epochs=10 if quick else 30, random_state=0, **COMPARED_GEOMETRY
    )
    return plot.flow_forms(
        model.fit(task.clouds, task.labels, task.groups),
        task.clouds,
        task.labels,
        task.class_names,
        feature_names=task.feature_names,
    )


def rna_regimes_figure(quick: bool = False) -> Figure:
    """Draw portraits of two perturbed genes and another, and matrices of a held-out fold."""
    task = tasks.load("rna-velocity", clouds=400 if quick else None)
    count = len(task.feature_names) // 2
    rates = regimes(count, np.random.default_rng([task.seed, 2]))
    changed = np.flatnonzero(rates[0].alpha != rates[1].alpha)
    same = np.setdiff1d(np.arange(count), changed)
    # the two whose steady states are farthest apart, in logarithms
    apart = np.hypot(*np.log(np.divide(rates[0].steady_state(), rates[1].steady_state())))
    shown = changed[np.argsort(-apart[changed])][:2]
    learning, held = np.flatnonzero(task.folds != 0), np.flatnonzero(task.folds == 0)
    model = PointFormClassifier(
        forms=8,
        epochs=15 if quick else 30,
        weight_decay=0.3,
        random_state=0,
        **COMPARED_GEOMETRY,
    )
    fields = model.prepare(task.clouds)
    model.fit([fields[i] for i in learning], task.labels[learning], task.groups[learning])
    return rna_figure(
        task,
        rates,
        [*shown.tolist(), int(same[0])],
        model.comparison_matrices([fields[i] for i in held]),
        task.labels[held],
    )


FIGURES: dict[str, PaperFigure] = {
    "gram-field": PaperFigure(
        "Gram fields of a curve and a surface, and of their samples", gram_field_figure
    ),
    "restricted-forms": PaperFigure(
        "a 1-form restricted to a curve, a 2-form to a surface", restricted_forms_figure
    ),
    "density": PaperFigure(
        "one integral over circles sampled unevenly, with and without correction", density_figure
    ),
    "circles-vs-lines": PaperFigure(
        "1-forms learned from trajectories that turn and that leave", circles_vs_lines_figure
    ),
    "rna-regimes": PaperFigure(
        "phase portraits of two kinetic regimes, and a PCA of comparison matrices",
        rna_regimes_figure,
    ),
}


def paper_figure(name: str) -> PaperFigure:
    """Return a figure by its name."""
    if name not in FIGURES:
        raise ValueError(f"no figure {name!r}: {suggest(name, FIGURES)}")
    return FIGURES[name]
