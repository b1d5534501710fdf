"""A basis split as bars."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from pointforms.explain.basis_split import BasisSplit
from pointforms.plot import style
from pointforms.plot.style import BLACK, BLUE, GREY, ORANGE, PathLike, finished, literal, styled
from pointforms.plot.svg import add_tooltips
from pointforms.support.statistics import is_significant

if TYPE_CHECKING:
    from matplotlib.figure import Figure


@styled
def basis_split(table: BasisSplit, most: int = 20, *, path: PathLike | None = None) -> Figure:
    """Draw what a model's forms rest on: two bars per basis form, the largest difference on top.

    Left, how much the classes differ in what the basis form contributes; the bar is filled where
    the difference is significant (p < 0.05), and a dashed line shows how far chance reaches.
    Right, its part in the decision.

    Parameters
    ----------
    table : BasisSplit
        Result of :func:`pointforms.explain.basis_split`.
    most : int, default 20
        Number of basis forms to draw.
    path : path-like, optional
        A file to write (.pdf, .svg, .png).

    Returns
    -------
    matplotlib.figure.Figure

    Examples
    --------
    >>> import numpy as np
    >>> import pointforms as pf
    >>> rng = np.random.default_rng(0)
    >>> y = np.arange(8) % 2
    >>> clouds = [rng.normal(size=(12, 2)) * [1 + 3 * label, 1] for label in y]
    >>> model = pf.PointFormClassifier(forms=2, hidden=(4,), epochs=1, neighbors=6, dimension=2)
    >>> names, fitted = ["CD3", "CD4"], model.fit(clouds, y)
    >>> table = pf.explain.basis_split(fitted, clouds, y, feature_names=names, refits=0)
    >>> figure = pf.plot.basis_split(table)
    >>> sorted(label.get_text() for label in figure.axes[0].get_yticklabels())
    ['CD3', 'CD4']
    """
    forms = table.top(most)
    places = np.arange(len(forms))
    difference = np.array([form.difference for form in forms])
    decision = np.array([form.decision for form in forms])
    clear = [is_significant(form.p) for form in forms]
    figure = style.new_figure(0.9 + 0.22 * len(forms))
    left, right = figure.subplots(1, 2, sharey=True, width_ratios=(3, 2))
    bars = left.barh(
        places,
        difference,
        color=[BLUE if one else "white" for one in clear],
        edgecolor=[BLUE if one else GREY for one in clear],
    )
    for bar, form in zip(bars, forms, strict=True):
        add_tooltips(bar, [str(form)])
    for place, form, significant in zip(places, forms, clear, strict=True):
        if np.isfinite(form.p):
            left.annotate(
                f"p = {form.p:.3f}" if significant else "n.s.",
                (form.difference, place),
                xytext=(3, 0),
                textcoords="offset points",
                va="center",
                fontsize=6.5,
                bbox={"facecolor": "white", "edgecolor": "none", "pad": 0.8},
            )
    if np.isfinite(table.chance):
        left.axvline(table.chance, color=BLACK, linestyle="--", linewidth=0.9)
        left.annotate(
            "chance",
            (table.chance, 1.0),
            xycoords=("data", "axes fraction"),
            xytext=(0, 2),
            textcoords="offset points",
            ha="center",
            fontsize=6.5,
        )
    left.set_yticks(places, [literal(form.name, 32) for form in forms])
    left.set_ylim(len(forms) - 0.4, -0.6)
    left.set_xlim(0, max(1.22 * float(difference.max()), 1.1 * np.nan_to_num(table.chance)))
    where = "unseen clouds" if table.refits else "in-sample"
    left.set_xlabel(f"difference between classes, η² ({where})")
    right.barh(places, decision, color=[BLUE if value >= 0 else ORANGE for value in decision])
    right.axvline(0, color=BLACK, linewidth=0.7)
    right.set_xlabel("decision: part of the output")
    right.spines["left"].set_visible(False)
    for axes in (left, right):
        style.open_frame(axes)
        axes.tick_params(axis="y", length=0)
    return finished(figure, path)
