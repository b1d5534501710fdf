"""Figures that compare models: estimates with their intervals, and single fits."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from math import isfinite
from typing import TYPE_CHECKING, Any

import numpy as np

from pointforms.plot import style
from pointforms.plot.style import PathLike, finished, literal, new_figure, styled
from pointforms.plot.svg import add_tooltips

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure
    from matplotlib.lines import Line2D

_LONGEST_NAME = 32
# Beyond this number of fits the marks become an image in vector files: nobody points at one.
_MOST_MARKS = 20_000
_PUBLISHED: dict[str, Any] = {"color": style.GREY, "marker": "D", "markerfacecolor": "none"}


@styled
def forest(
    names: Sequence[str],
    means: Sequence[float],
    lows: Sequence[float],
    highs: Sequence[float],
    *,
    groups: Sequence[str] | None = None,
    group_order: Sequence[str] = (),
    published: Sequence[tuple[float, float, float] | None] | None = None,
    xlabel: str = "AUROC",
    reference: float | None = 0.5,
    tooltips: Sequence[str] | None = None,
    path: PathLike | None = None,
) -> Figure:
    """Draw estimates with intervals, one row per model, the first on top.

    Parameters
    ----------
    names : sequence of str
        One per row.
    means : sequence of float
        Estimates. A row whose mean is NaN stays empty.
    lows : sequence of float
        Lower ends of the intervals; NaN is not drawn.
    highs : sequence of float
        Upper ends of the intervals; NaN is not drawn.
    groups : sequence of str, optional
        The kind of model in each row, which sets its colour and marker.
    group_order : sequence of str, default ()
        All groups in the order of their colours, so that several figures agree. By default the
        order in which they appear.
    published : sequence of (mean, low, high) or None, optional
        Values from a paper, drawn as open diamonds above each row.
    xlabel : str, default "AUROC"
        Label of the axis.
    reference : float or None, default 0.5
        Where to draw a vertical line, such as chance; None draws none.
    tooltips : sequence of str, optional
        One per row, shown when a mark is pointed at in SVG. By default the name and its numbers.
    path : path-like, optional
        A file to write (.pdf, .svg, .png).

    Returns
    -------
    matplotlib.figure.Figure

    Examples
    --------
    >>> from pointforms import plot
    >>> figure = plot.forest(["forest", "MLP"], [0.9, 0.8], [0.88, 0.75], [0.92, 0.85])
    >>> [label.get_text() for label in figure.axes[0].get_yticklabels()]
    ['forest', 'MLP']
    """
    count = len(names)
    for what, given in (("means", means), ("lows", lows), ("highs", highs)):
        if len(given) != count:
            raise ValueError(f"{what} has {len(given)} values for {count} names")
    kinds = list(groups) if groups is not None else [""] * count
    order = list(dict.fromkeys([*group_order, *kinds]))
    shown_kinds = [kind for kind in order if kind and kind in kinds]
    figure = new_figure(0.6 + 0.25 * count + 0.25 * bool(shown_kinds), 5.2)
    axes = figure.subplots()
    if reference is not None:
        axes.axvline(reference, color=style.INK, linewidth=1, linestyle=":", zorder=1)
    estimates = list(zip(means, lows, highs, strict=True))
    for i, (name, estimate) in enumerate(zip(names, estimates, strict=True)):
        if isfinite(estimate[0]):
            text = _interval_text(name, *estimate) if tooltips is None else tooltips[i]
            look = style.class_look(order.index(kinds[i])) | {"markersize": 5, "capsize": 2}
            _draw_interval(axes, i, estimate, text, look)
    values = {i: value for i, value in enumerate(published or ()) if value is not None}
    for i, value in values.items():
        text = _interval_text(f"{names[i]}, paper", *value)
        look = {"markersize": 4, "linewidth": 0.9, "capsize": 1.5, "zorder": 1}
        _draw_interval(axes, i - 0.3, value, text, _PUBLISHED | look)
    axes.set_yticks(range(count), [literal(name, _LONGEST_NAME) for name in names])
    axes.set_ylim(count - 0.4, -0.6)
    axes.set_xlabel(xlabel)
    axes.tick_params(axis="y", length=0)
    style.open_frame(axes)
    axes.spines["left"].set_visible(False)
    axes.grid(axis="x", color=style.PALE, linewidth=0.6)
    axes.set_axisbelow(True)
    entries = _entries(order, shown_kinds)
    if values:
        from matplotlib.lines import Line2D

        entries.append(Line2D([], [], linestyle="none", label="paper", **_PUBLISHED))
    style.add_legend(figure, entries, len(entries))
    return finished(figure, path)


@styled
def fits(
    scores: Sequence[float],
    costs: Mapping[str, Sequence[float]],
    groups: Sequence[str],
    *,
    group_order: Sequence[str] = (),
    ylabel: str = "AUROC",
    tooltips: Sequence[str] | None = None,
    path: PathLike | None = None,
) -> Figure:
    """Draw the score of every fit against what it cost, one mark per fit.

    Parameters
    ----------
    scores : sequence of float
        One per fit. Fits without a finite score are left out.
    costs : mapping of str to sequence of float
        What to draw scores against, by the label of the axis, which is logarithmic. One panel
        each; a fit without a positive cost is left out of that panel.
    groups : sequence of str
        The kind of model of each fit, which sets its colour and marker.
    group_order : sequence of str, default ()
        All groups in the order of their colours. By default the order in which they appear.
    ylabel : str, default "AUROC"
        Label of the axis of scores.
    tooltips : sequence of str, optional
        One per fit, shown when its mark is pointed at in SVG.
    path : path-like, optional
        A file to write (.pdf, .svg, .png).

    Returns
    -------
    matplotlib.figure.Figure

    Examples
    --------
    >>> from pointforms import plot
    >>> figure = plot.fits([0.7, 0.9], {"seconds": [1.0, 20.0]}, ["classical", "graph"])
    >>> figure.axes[0].get_xlabel()
    'seconds'
    """
    score = np.asarray(scores, dtype=np.float64)
    kind = np.asarray(groups, dtype=object)
    order = list(dict.fromkeys([*group_order, *groups]))
    texts = None if tooltips is None else np.asarray(tooltips, dtype=object)
    figure = new_figure(3.4, 5.2 * len(costs))
    row = figure.subplots(1, len(costs), sharey=True, squeeze=False)[0]
    drawn = set()
    for axes, (label, given) in zip(row, costs.items(), strict=True):
        cost = np.asarray([np.nan if value is None else value for value in given], dtype=float)
        kept = np.isfinite(score) & (cost > 0)
        for which, name in enumerate(order):
            own = np.flatnonzero(kept & (kind == name))
            if not len(own):
                continue
            drawn.add(name)
            (marks,) = axes.plot(
                cost[own],
                score[own],
                linestyle="none",
                markersize=4.5,
                markeredgewidth=0,
                alpha=0.75,
                rasterized=len(score) > _MOST_MARKS,
                **style.class_look(which),
            )
            if texts is not None:
                add_tooltips(marks, texts[own].tolist())
        if kept.any():
            _log_axis(axes, cost[kept])
        axes.set_xlabel(label)
        axes.grid(color=style.PALE, linewidth=0.6)
        axes.set_axisbelow(True)
        style.open_frame(axes)
    row[0].set_ylabel(ylabel)
    style.add_legend(figure, _entries(order, drawn), 7)
    return finished(figure, path)


def _draw_interval(
    axes: Axes, place: float, estimate: Sequence[float], text: str, look: dict[str, Any]
) -> None:
    """Draw one mean with its interval (mean, low, high), and a text for those who point at it."""
    mean, low, high = estimate
    ends = [[_reach(mean - low)], [_reach(high - mean)]]
    bars = axes.errorbar([mean], [place], xerr=ends, linestyle="none", **look)
    add_tooltips(bars.lines[0], [text])


def _entries(order: Sequence[str], shown: Collection[str]) -> list[Line2D]:
    """Return legend entries for the kinds of models that are shown, in their colours."""
    marks = zip(style.class_marks(order), order, strict=True)
    return [entry for entry, kind in marks if kind in shown]


def _log_axis(axes: Axes, values: np.ndarray) -> None:
    """Make x logarithmic, with ticks at 1, 2, 5 of every decade, or at powers of ten."""
    first, last = np.log10(values.min()), np.log10(values.max())
    steps = (1,) if last - first > 2 else (1, 2, 5)
    ticks = [s * 10.0**k for k in range(int(np.floor(first)) - 1, int(last) + 2) for s in steps]
    reach = 1.2 if last - first > 1 else 2.5
    inside = [tick for tick in ticks if values.min() / reach <= tick <= values.max() * reach]
    axes.set_xscale("log")
    axes.set_xticks(inside, [f"{tick:,.10g}".replace(",", " ") for tick in inside])
    axes.minorticks_off()


def _reach(length: float) -> float:
    return max(length, 0.0) if isfinite(length) else 0.0


def _interval_text(name: str, mean: float, low: float, high: float) -> str:
    text = f"{name}\n{_number(mean)}"
    if isfinite(low) and isfinite(high):
        text += f" [{_number(low)}, {_number(high)}]"
    return text


def _number(value: float) -> str:
    return f"{value:.3f}".replace("-", "−")
