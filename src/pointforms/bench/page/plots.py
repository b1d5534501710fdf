"""Figures of the page as plain plotly descriptions.

Colours are names such as "@ours": the page puts in those of its light or dark style. Text is
escaped, because plotly reads some tags in it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import ceil, floor, isfinite, log10
from typing import Any

import numpy as np

from pointforms.bench.comparison import OURS, Comparison, ModelResult

CLASSES = 8  # colours and marks of classes, after which they repeat
MARKS = ("circle", "square", "diamond", "triangle-up", "cross", "x", "star", "pentagon")


@dataclass(frozen=True)
class Plot:
    """A figure.

    Attributes
    ----------
    alt : what it shows, for those who do not see it
    data, layout : as plotly takes them
    height : in pixels
    title : above it, in the page's own text
    """

    alt: str
    data: list[dict[str, Any]]
    layout: dict[str, Any]
    height: int = 320
    title: str = ""


def plain(text: str) -> str:
    """Text that plotly shows as it is."""
    kept = "".join(c if c.isprintable() else " " for c in text)
    return kept.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")


def short(text: str, most: int = 30) -> str:
    """A label that leaves room for the figure."""
    return plain(text if len(text) <= most else text[: most - 1] + "…")


def numbers(values: Any, digits: int = 4) -> list[float | None]:
    """As JSON has them, with so many digits that count."""
    return [
        float(f"{float(v):.{digits}g}") if v is not None and isfinite(v) else None for v in values
    ]


def forest(result: Comparison) -> Plot | None:
    """AUROC of every model with its interval, the best on top; the paper's beside it."""
    lines = _in_order(result)
    if not lines:
        return None
    paper = [(i, line.paper) for i, line in enumerate(lines) if isfinite(line.paper.mean)]
    data = [
        _bars(
            name,
            color,
            symbol,
            [(i, *line.summary("auroc")) for i, line in enumerate(lines) if kind(line)],
            [plain(line.name) for line in lines if kind(line)],
        )
        for name, color, symbol, kind in (
            (OURS, "@ours", "circle", lambda line: line is result.selected),
            ("point-forms", "@family", "circle", _sibling(result)),
            ("baselines", "@base", "square", lambda line: not line.ours),
        )
    ]
    if paper:
        names = [plain(lines[i].name) for i, _ in paper]
        shifted = [(i - 0.28, *found) for i, found in paper]
        data.append(_bars("paper", "@paper", "diamond-open", shifted, names, size=7))
    means = [line.summary("auroc") for line in lines] + [found for _, found in paper]
    low = min(mean - (half or 0) for mean, half in means)
    layout = _rows_layout(lines, "AUROC")
    left = min(0.48, max(-0.02, low - 0.03))
    layout["xaxis"] |= {"range": [round(left, 3), 1.02]}
    layout["shapes"] = [vertical(0.5, "dot")]
    return Plot(
        f"AUROC with 95 % intervals on {result.title}; the table has the numbers.",
        [trace for trace in data if trace["x"]],
        layout,
        _height(lines),
    )


def differences(result: Comparison) -> Plot | None:
    """AUROC of every model less that of NPF (selected), in the rows of :func:`forest`."""
    lines = _in_order(result)
    if not any(isfinite(line.difference.mean) for line in lines):
        return None
    data = []
    for name, color, symbol, kind in (
        ("point-forms", "@family", "circle", _sibling(result)),
        ("baselines", "@base", "square", lambda line: not line.ours),
    ):
        chosen = [
            (i, line)
            for i, line in enumerate(lines)
            if kind(line) and isfinite(line.difference.mean)
        ]
        found = [line.difference for _, line in chosen]
        data.append(
            {
                "type": "scatter",
                "mode": "markers",
                "name": name,
                "x": numbers(one.mean for one in found),
                "y": [i for i, _ in chosen],
                "error_x": {
                    "type": "data",
                    "symmetric": False,
                    "array": _reach(one.high - one.mean for one in found),
                    "arrayminus": _reach(one.mean - one.low for one in found),
                    "color": color,
                    "thickness": 1.5,
                    "width": 3,
                },
                "marker": {"color": color, "symbol": symbol, "size": 8},
                "text": [f"{plain(line.name)}<br>{_tested(line)}" for _, line in chosen],
                "hovertemplate": "%{text}<br>%{x:+.3f}<extra></extra>",
            }
        )
    layout = _rows_layout(lines, "difference in AUROC")
    layout["shapes"] = [vertical(0.0, "solid")]
    return Plot(
        f"Differences in AUROC to {OURS} on {result.title}, with 95 % intervals of the test.",
        [trace for trace in data if trace["x"]],
        layout,
        _height(lines),
    )


def _in_order(result: Comparison) -> list[ModelResult]:
    """Lines by AUROC, the best last."""
    lines = [line for line in result.models if isfinite(line.summary("auroc")[0])]
    return sorted(lines, key=lambda line: (line.summary("auroc")[0], line is result.selected))


def _sibling(result: Comparison) -> Any:
    return lambda line: line.ours and line is not result.selected


def _tested(line: ModelResult) -> str:
    if line.ours:
        return "a candidate of the selection, not tested"
    if not isfinite(line.p):
        return "too few common fits for a test"
    return "adjusted p < 0.001" if line.p < 0.001 else f"adjusted p = {line.p:.3f}"


def _reach(values: Any) -> list[float]:
    return [value or 0.0 for value in numbers(values)]


def _bars(
    name: str,
    color: str,
    symbol: str,
    points: Sequence[tuple[float, float, float | None]],
    labels: Sequence[str],
    size: int = 9,
) -> dict[str, Any]:
    """Means with intervals along x."""
    return {
        "type": "scatter",
        "mode": "markers",
        "name": plain(name),
        "x": numbers(mean for _, mean, _ in points),
        "y": [y for y, _, _ in points],
        "error_x": {
            "type": "data",
            "array": _reach(half for _, _, half in points),
            "color": color,
            "thickness": 1.5,
            "width": 3,
        },
        "marker": {"color": color, "symbol": symbol, "size": size},
        "text": list(labels),
        "hovertemplate": f"%{{text}}<br>{plain(name)}: %{{x:.3f}}<extra></extra>",
    }


def _rows_layout(lines: Sequence[ModelResult], title: str) -> dict[str, Any]:
    """Models along y, from below."""
    return {
        "xaxis": {"title": {"text": plain(title), "standoff": 8}, "zeroline": False},
        "yaxis": {
            "tickvals": list(range(len(lines))),
            "ticktext": [short(_label(line, lines)) for line in lines],
            "range": [-0.7, len(lines) - 0.3],
            "showgrid": False,
            "zeroline": False,
            "automargin": True,
        },
        "showlegend": False,  # the page has one for both
        "margin": {"t": 6, "r": 14, "b": 46, "l": 8},
    }


def _label(line: ModelResult, lines: Sequence[ModelResult]) -> str:
    """The model's title where that is enough."""
    alone = sum(other.title == line.title for other in lines) == 1
    return line.title if alone else line.name


def vertical(x: float, dash: str) -> dict[str, Any]:
    """A line across the figure."""
    line = {"color": "@base", "width": 1, "dash": dash}
    return {
        "type": "line", "x0": x, "x1": x, "yref": "paper", "y0": 0, "y1": 1, "line": line,
        "layer": "below",
    }  # fmt: skip


def _height(lines: Sequence[ModelResult]) -> int:
    return 64 + 24 * len(lines)


def log_ticks(low: float, high: float) -> dict[str, Any]:
    """Ticks 1, 2, 5 of every decade between, written out; powers of ten where there are many.

    >>> log_ticks(0.03, 0.4)["ticktext"]
    ['0.05', '0.1', '0.2']
    """
    first, last = floor(log10(low)), ceil(log10(high))
    steps = (1,) if last - first > 4 else (1, 2, 5)
    found = [step * 10.0**k for k in range(first, last + 1) for step in steps]
    kept = [value for value in found if low <= value <= high]
    return {"type": "log", "tickvals": kept, "ticktext": [f"{value:.10g}" for value in kept]}


def segments(
    points: np.ndarray, arrows: np.ndarray, unit: np.ndarray
) -> tuple[list[Any], list[Any]]:
    """Arrows (m, 2) centred at points (m, 2) as one broken line: shafts, and two barbs each.

    Barbs are turned in a frame whose sides (2,) are `unit` and look equally long.
    """
    tail, tip = points - arrows / 2, points + arrows / 2
    back = -0.34 * arrows / unit
    turn = np.radians(26)
    cos, sin = np.cos(turn), np.sin(turn)
    barbs = [tip + unit * (back @ np.array([[cos, s * sin], [-s * sin, cos]])) for s in (-1.0, 1.0)]
    gap = np.full_like(tip, np.nan)
    path = np.stack([tail, tip, gap, barbs[0], tip, barbs[1], gap], axis=1).reshape(-1, 2)
    return numbers(path[:, 0]), numbers(path[:, 1])
