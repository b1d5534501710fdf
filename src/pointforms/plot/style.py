"""What all pictures share: colours, type sizes, frames, and files that are whole or not there."""

from __future__ import annotations

import functools
import os
import uuid
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, ParamSpec, TypeVar

from pointforms.plot.planes import Extent
from pointforms.support.extras import need

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure
    from matplotlib.lines import Line2D

P = ParamSpec("P")
R = TypeVar("R")
PathLike = str | os.PathLike[str]

# Okabe and Ito's colours, which all readers can tell apart; grey for their yellow.
BLUE, ORANGE, GREEN, PURPLE = "#0072B2", "#D55E00", "#009E73", "#CC79A7"
AMBER, SKY, BLACK, GREY = "#E69F00", "#56B4E9", "#000000", "#999999"
COLOURS = (BLUE, ORANGE, GREEN, PURPLE, AMBER, SKY, BLACK, GREY)
# Marks and line styles say again what colours say.
MARKS = ("o", "^", "s", "D", "v", "P", "X", "*")
PALE, INK = "#DDDDDD", "#262626"
DIVERGING, SEQUENTIAL = "RdBu_r", "cividis"

# Inches: the width of a printed page's text. Type is set for it, and stays as large in print.
PAGE = 7.2
FORMATS = (".pdf", ".png", ".svg")
_DPI = 250
_TYPE = {
    "font.size": 8,
    "axes.titlesize": 8.5,
    "axes.labelsize": 8,
    "figure.titlesize": 9,
    "figure.labelsize": 8,
    "xtick.labelsize": 7,
    "ytick.labelsize": 7,
    "legend.fontsize": 7.5,
    "legend.frameon": False,
    "axes.linewidth": 0.7,
    "xtick.major.width": 0.7,
    "ytick.major.width": 0.7,
    "lines.linewidth": 1.2,
    "lines.markersize": 4,
    "mathtext.fontset": "dejavusans",
    # letters stay letters in PDF; the same picture gives the same bytes
    "pdf.fonttype": 42,
    "svg.hashsalt": "pointforms",
}


def styled(draw: Callable[P, R]) -> Callable[P, R]:
    """Run a function that draws under the shared type sizes, and leave the user's as they were."""

    @functools.wraps(draw)
    def inside(*args: P.args, **kwargs: P.kwargs) -> R:
        matplotlib = need("matplotlib", "plot")
        with matplotlib.rc_context(_TYPE):
            return draw(*args, **kwargs)

    return inside


def new_figure(height: float, width: float = PAGE) -> Figure:
    """An empty figure that no window manager and no other figure knows of."""
    from matplotlib.figure import Figure

    return Figure(figsize=(width, height), layout="constrained")


@styled
def save(figure: Figure, *paths: PathLike) -> list[Path]:
    """Write a figure to files that end in .pdf, .svg or .png: all of them, or none."""
    files = [picture_path(path) for path in paths]
    halves = [file.with_name(f".partial-{uuid.uuid4().hex}{file.suffix}") for file in files]
    try:
        for file, half in zip(files, halves, strict=True):
            file.parent.mkdir(parents=True, exist_ok=True)
            date: dict[str, dict[str, Any]] = {
                ".pdf": {"CreationDate": None},
                ".svg": {"Date": None},
            }
            figure.savefig(half, dpi=_DPI, metadata=date.get(file.suffix.lower()))
        for file, half in zip(files, halves, strict=True):
            os.replace(half, file)
    finally:
        for half in halves:
            half.unlink(missing_ok=True)
    return files


def picture_path(path: PathLike) -> Path:
    """The path, if it ends like a picture."""
    file = Path(path)
    if file.suffix.lower() not in FORMATS:
        raise ValueError(f"{str(path)!r}: pictures end in {', '.join(FORMATS)}")
    return file


def finished(figure: Figure, path: PathLike | None) -> Figure:
    """The figure, written if there is a path for it."""
    if path is not None:
        save(figure, path)
    return figure


def open_frame(axes: Axes) -> None:
    """Axes without the lines above and to the right."""
    axes.spines[["top", "right"]].set_visible(False)


def square_frame(axes: Axes, extent: Extent, names: Sequence[str] = ("", "")) -> None:
    """A square of paper that shows the extent, whatever the units of its sides."""
    left, right, bottom, top = extent
    axes.set(xlim=(left, right), ylim=(bottom, top))
    axes.set(xlabel=literal(names[0]), ylabel=literal(names[1]))
    axes.set_box_aspect(1)
    axes.locator_params(nbins=4)


def bare(axes: Axes) -> None:
    """No ticks: for frames whose neighbours have them."""
    axes.set(xticks=[], yticks=[])


def literal(text: str) -> str:
    """A user's text as it is: dollars would set it as mathematics."""
    return text.replace("$", r"\$")


def class_marks(names: Sequence[str]) -> list[Line2D]:
    """A legend's entries for classes: a colour and a mark each."""
    from matplotlib.lines import Line2D

    return [
        Line2D(
            [],
            [],
            color=COLOURS[i % len(COLOURS)],
            marker=MARKS[i % len(MARKS)],
            linestyle="none",
            label=literal(name),
        )
        for i, name in enumerate(names)
    ]


def lines(names: Sequence[str], colours: Sequence[str] = COLOURS) -> list[Line2D]:
    """A legend's entries for what is drawn as lines."""
    from matplotlib.lines import Line2D

    return [Line2D([], [], color=c, label=n) for c, n in zip(colours, names, strict=False)]


def panels(count: int, most: int = 4) -> tuple[int, int]:
    """Rows and columns for so many panels, as even as can be."""
    rows = -(-count // most)
    return rows, -(-count // rows)
