"""What a model relies on, as bars."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from pointforms.explain.importance_table import Importance
from pointforms.plot import style
from pointforms.plot.style import BLACK, BLUE, GREY, PathLike, finished, literal, styled
from pointforms.plot.svg import add_tooltips

if TYPE_CHECKING:
    from matplotlib.figure import Figure

_TITLES = {
    "distribution": "distribution: values of other clouds",
    "covariation": "covariation: shuffled inside the cloud",
}


@styled
def importance(table: Importance, most: int = 20, *, path: PathLike | None = None) -> Figure:
    """Draw what a model relies on: two bars per feature, the most important feature on top.

    Left, the increase of the loss where a feature has the distribution of other clouds; right,
    where it is shuffled inside the cloud, also for pairs. Bars are filled where p < 0.05, lines are
    95 % intervals over groups.

    Parameters
    ----------
    table : Importance
        Result of :func:`pointforms.explain.importance`.
    most : int, default 20
        Number of features and pairs to draw.
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
    >>> y = np.arange(20) % 2
    >>> clouds = [rng.normal(size=(12, 2)) + [2 * label, 0] for label in y]
    >>> model = pf.CloudClassifier(parts=("linear",), random_state=0).fit(clouds, y)
    >>> figure = pf.plot.importance(pf.explain.importance(model, clouds, y, pairs=None))
    >>> [label.get_text() for label in figure.axes[0].get_yticklabels()]
    ['x0', 'x1']
    """
    names = list(dict.fromkeys(row.name for row in table.rows))[:most]
    figure = style.new_figure(0.9 + 0.24 * len(names))
    for axes, (kind, title) in zip(
        figure.subplots(1, 2, sharex=True, sharey=True), _TITLES.items(), strict=True
    ):
        rows = {row.name: row for row in table.rows if row.kind == kind}
        shown = [(place, rows[name]) for place, name in enumerate(names) if name in rows]
        for place, row in shown:
            bar = axes.barh(
                place,
                row.importance,
                color=BLUE if row.found else "white",
                edgecolor=BLUE if row.found else GREY,
            )
            text = f"{row.name}, {kind}\nimportance {row.importance:.3g}, p = {row.p_value:.2g}"
            add_tooltips(bar, [text])
            if np.isfinite(row.low):
                axes.plot([row.low, row.high], [place, place], color=BLACK, linewidth=0.9)
            if row.found:
                axes.annotate(
                    f"p = {row.p_value:.2g}",
                    (max(row.high if np.isfinite(row.high) else 0, row.importance), place),
                    xytext=(3, 0),
                    textcoords="offset points",
                    va="center",
                    fontsize=6.5,
                )
        axes.axvline(0, color=BLACK, linewidth=0.7)
        axes.set_title(title, fontsize=8)
        loss = "log loss" if table.score_name == "auroc" else "squared error"
        axes.set_xlabel(f"increase of {loss}")
        axes.margins(x=0.18)
        style.open_frame(axes)
        axes.tick_params(axis="y", length=0)
        axes.set_yticks(range(len(names)), [literal(name, 32) for name in names])
        axes.set_ylim(len(names) - 0.4, -0.6)
    return finished(figure, path)
