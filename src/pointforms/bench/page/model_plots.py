"""Figures of a fitted model."""

from __future__ import annotations

from math import isfinite
from typing import Any

import numpy as np

from pointforms.bench.page.plots import (
    CLASSES,
    MARKS,
    Plot,
    numbers,
    plain,
    segments,
    short,
    vertical,
)
from pointforms.bench.page.views import ArrowField, ExampleCloud, ModelView, SalienceRow, SignedArea

_SHOWN_POINTS = 1500  # of the data behind a field
_MOST_BARS = 20
_LEVEL = 0.05


def field_plot(view: ModelView, field: ArrowField) -> Plot:
    """A learned 1-form as arrows over the data."""
    x, y = segments(field.points, field.arrows, _span(view, field.points))
    data = [_background(view)] if view.data is not None else []
    data.append(
        {
            "type": "scatter",
            "mode": "lines",
            "x": x,
            "y": y,
            "line": {"color": "@ours", "width": 1.4},
            "hoverinfo": "skip",
        }
    )
    layout = _plane(view.axes)
    _square(layout, view)
    alt = f"{field.name} of {view.model} on {view.task} as arrows."
    return Plot(alt, data, layout, 290, field.name)


def area_plot(view: ModelView, area: SignedArea) -> Plot:
    """A learned 2-form as signed areas."""
    values: Any = [numbers(row, 3) for row in area.values]
    data = [
        {
            "type": "heatmap",
            "x": numbers(area.x),
            "y": numbers(area.y),
            "z": values,
            "zmin": -area.limit,
            "zmax": area.limit,
            "colorscale": "@diverging",
            "colorbar": {"thickness": 10, "outlinewidth": 0},
            "hovertemplate": "%{z:.3g}<extra></extra>",
        }
    ]
    alt = f"{area.name} of {view.model} on {view.task} as signed areas."
    return Plot(alt, data, _plane(view.area_axes), 290, area.name)


def places_plot(view: ModelView) -> Plot | None:
    """Clouds by their comparison matrices, coloured by class."""
    places = view.places
    if places is None:
        return None
    data = []
    for label, name in enumerate(view.classes):
        own = np.flatnonzero(places.labels == label)
        if not len(own):
            continue
        data.append(
            {
                "type": "scatter",
                "mode": "markers",
                "name": short(name),
                "x": numbers(places.coordinates[own, 0]),
                "y": numbers(places.coordinates[own, 1]),
                "text": [f"{plain(places.names[i])}<br>{plain(name)}" for i in own],
                "hovertemplate": "%{text}<extra></extra>",
                "marker": {
                    "color": f"@c{label % CLASSES}",
                    "symbol": MARKS[label % len(MARKS)],
                    "size": 7,
                    "opacity": 0.8,
                },
            }
        )
    layout = _axes(places.axes) | {"legend": {"orientation": "h", "y": 1, "yanchor": "bottom"}}
    layout["margin"] = {"t": 34, "r": 10, "b": 46, "l": 56}
    alt = f"Principal components of the comparison matrices of {view.model} on {view.task}."
    return Plot(alt, data, layout, 380)


def salience_plot(view: ModelView) -> Plot | None:
    """The largest differences between classes, by basis form, beside what chance reaches."""
    rows = sorted(view.salience, key=lambda row: row.difference)[-_MOST_BARS:]
    if not rows:
        return None
    data = []
    for name, color, kept in (
        (f"classes differ (p < {_LEVEL})", "@ours", [row.p < _LEVEL for row in rows]),
        ("not told from chance", "@base", [not row.p < _LEVEL for row in rows]),
    ):
        chosen = [i for i, one in enumerate(kept) if one]
        if not chosen:
            continue
        data.append(
            {
                "type": "bar",
                "orientation": "h",
                "name": plain(name),
                "x": numbers(rows[i].difference for i in chosen),
                "y": chosen,
                "width": min(0.62, 0.1 * len(rows)),
                "marker": {"color": color},
                "text": [_told(rows[i]) for i in chosen],
                "textposition": "none",
                "hovertemplate": "%{text}<extra></extra>",
                "showlegend": True,
            }
        )
    layout: dict[str, Any] = {
        "xaxis": {"title": {"text": "difference between classes, η²", "standoff": 8}},
        "yaxis": {
            "tickvals": list(range(len(rows))),
            "ticktext": [short(row.name, 24) for row in rows],
            "automargin": True,
            "showgrid": False,
        },
        "legend": {"orientation": "h", "y": 1, "yanchor": "bottom", "x": 0},
        "margin": {"t": 34, "r": 14, "b": 46, "l": 8},
        "barmode": "overlay",
    }
    layout["xaxis"]["rangemode"] = "tozero"
    if isfinite(view.salience_chance):
        layout["shapes"] = [vertical(view.salience_chance, "dash")]
    alt = f"Salience of basis forms of {view.model} on {view.task}; the table has the numbers."
    return Plot(alt, data, layout, max(380, 110 + 24 * len(rows)))


def _told(row: SalienceRow) -> str:
    lines = [f"{plain(row.name)}, k = {row.degree}", f"difference {row.difference:.3f}"]
    lines += [f"p = {row.p:.3g}"] * isfinite(row.p)
    lines += [f"share of the energy {row.share:.1%}"]
    lines += [f"among the first in {row.agreement:.0%} of refits"] * isfinite(row.agreement)
    return "<br>".join(lines)


def example_plot(view: ModelView, cloud: ExampleCloud) -> Plot:
    """One cloud, coloured by contributions to its own class."""
    limit = float(np.nanquantile(np.abs(cloud.contributions), 0.98)) or 1.0
    data = [
        {
            "type": "scatter",
            "mode": "markers",
            "x": numbers(cloud.points[:, 0]),
            "y": numbers(cloud.points[:, 1]),
            "text": [f"{value:+.3g}" for value in cloud.contributions],
            "hovertemplate": "contribution %{text}<extra></extra>",
            "marker": {
                "color": numbers(cloud.contributions, 3),
                "colorscale": "@diverging",
                "cmin": -limit,
                "cmax": limit,
                "size": 7,
                "line": {"color": "@line", "width": 0.6},
                "showscale": True,
                "colorbar": {"thickness": 8, "outlinewidth": 0, "nticks": 5},
            },
        }
    ]
    layout = _plane(view.axes)
    _square(layout, view)
    for axis in ("xaxis", "yaxis"):  # the cloud, not the frame about all, and in all the room
        for name in ("range", "constrain"):
            layout[axis].pop(name, None)
        layout[axis] |= {"nticks": 6, "tickangle": 0}
    return Plot(f"A cloud of {view.task}: {cloud.title}.", data, layout, 310, cloud.title)


def _background(view: ModelView) -> dict[str, Any]:
    """The data, faintly; evenly thinned."""
    assert view.data is not None
    step = max(1, len(view.data) // _SHOWN_POINTS)
    shown = view.data[::step]
    return {
        "type": "scatter",
        "mode": "markers",
        "x": numbers(shown[:, 0], 3),
        "y": numbers(shown[:, 1], 3),
        "marker": {"color": "@faint", "size": 3},
        "hoverinfo": "skip",
    }


def _plane(axes: tuple[str, str]) -> dict[str, Any]:
    layout = _axes(axes)
    layout["showlegend"] = False
    layout["margin"] = {"t": 8, "r": 8, "b": 40, "l": 44}
    return layout


def _span(view: ModelView, points: np.ndarray) -> np.ndarray:
    """Sides of the frame: (2,)."""
    if view.extent is None:
        span = np.ptp(points, axis=0)
        return np.where(span > 0, span, 1.0)
    left, right, bottom, top = view.extent
    return np.array([right - left, top - bottom])


def _square(layout: dict[str, Any], view: ModelView) -> None:
    """Show the frame as a square, whatever the room for it."""
    if view.extent is None:
        return
    left, right, bottom, top = view.extent
    layout["xaxis"] |= {"range": [left, right], "constrain": "domain"}
    layout["yaxis"] |= {
        "range": [bottom, top],
        "constrain": "domain",
        "scaleanchor": "x",
        "scaleratio": (right - left) / (top - bottom),
    }


def _axes(axes: tuple[str, str]) -> dict[str, Any]:
    found = {}
    for name, text in zip(("xaxis", "yaxis"), axes, strict=True):
        title = {"text": short(text, 44), "font": {"size": 12}, "standoff": 6}
        found[name] = {"title": title, "zeroline": False}
    return found
