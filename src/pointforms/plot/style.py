"""What all figures share: colours, type sizes, frames, and saving to files."""

from __future__ import annotations

import functools
import os
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, ParamSpec, TypeVar

import numpy as np

from pointforms.plot.planes import Extent
from pointforms.support.extras import need
from pointforms.support.files import atomic
from pointforms.support.formatting import printable

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure
    from matplotlib.lines import Line2D

P = ParamSpec("P")
R = TypeVar("R")
PathLike = str | os.PathLike[str]

# The colours of Okabe and Ito, which all readers can tell apart; grey replaces their yellow.
BLUE, ORANGE, GREEN, PURPLE = "#0072B2", "#D55E00", "#009E73", "#CC79A7"
AMBER, SKY, BLACK, GREY = "#E69F00", "#56B4E9", "#000000", "#999999"
COLOURS = (BLUE, ORANGE, GREEN, PURPLE, AMBER, SKY, BLACK, GREY)
# Markers and line styles repeat what the colours say.
MARKS = ("o", "^", "s", "D", "v", "P", "X", "*")
PALE, INK = "#DDDDDD", "#262626"
DIVERGING, SEQUENTIAL = "RdBu_r", "cividis"
# Arrows of a field in the units of the axes, about their places.
ARROWS: dict[str, Any] = {"angles": "xy", "scale_units": "xy", "pivot": "mid"}

# Width of the text on a printed page, in inches. Type sizes are chosen for it.
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
    # letters stay letters in PDF; the same figure gives the same bytes
    "pdf.fonttype": 42,
    "svg.hashsalt": "pointforms",
}


def styled(draw: Callable[P, R]) -> Callable[P, R]:
    """Run a drawing function with the shared settings, and restore the user's afterwards."""

    @functools.wraps(draw)
    def inside(*args: P.args, **kwargs: P.kwargs) -> R:
        matplotlib = need("matplotlib", "plot")
        with matplotlib.rc_context(_TYPE):
            return draw(*args, **kwargs)

    return inside


def new_figure(height: float, width: float = PAGE) -> Figure:
    """Return an empty figure, in inches, that is not registered with any window manager."""
    from matplotlib.figure import Figure

    return Figure(figsize=(width, height), layout="constrained")


@styled
def save(figure: Figure, *paths: PathLike) -> list[Path]:
    """Write a figure to files: all of them, or none.

    Parameters
    ----------
    figure : matplotlib.figure.Figure
        Any figure.
    *paths : path-like
        Files ending in .pdf, .svg or .png. Folders are created.

    Returns
    -------
    list of Path
        The files.

    Examples
    --------
    >>> import tempfile
    >>> from pointforms import plot
    >>> figure = plot.forest(["a"], [0.7], [0.6], [0.8])
    >>> folder = Path(tempfile.mkdtemp())
    >>> [file.name for file in plot.save(figure, folder / "forest.png", folder / "forest.svg")]
    ['forest.png', 'forest.svg']
    """
    files = [picture_path(path) for path in paths]
    metadata: dict[str, dict[str, Any]] = {".pdf": {"CreationDate": None}, ".svg": {"Date": None}}
    with ExitStack() as written:
        for file in files:
            partial = written.enter_context(atomic(file))
            figure.savefig(partial, dpi=_DPI, metadata=metadata.get(file.suffix.lower()))
    return files


def picture_path(path: PathLike) -> Path:
    """Return the path if it has the suffix of a picture, or raise an error."""
    file = Path(path)
    if file.suffix.lower() not in FORMATS:
        raise ValueError(f"{str(path)!r} has no picture suffix: expected {', '.join(FORMATS)}")
    return file


def finished(figure: Figure, path: PathLike | None) -> Figure:
    """Return the figure, and write it if a path is given."""
    if path is not None:
        save(figure, path)
    return figure


def open_frame(axes: Axes) -> None:
    """Remove the lines above and to the right."""
    axes.spines[["top", "right"]].set_visible(False)


def square_frame(axes: Axes, extent: Extent, names: Sequence[str] = ("", "")) -> None:
    """Show the extent as a square, whatever the units of its sides."""
    left, right, bottom, top = extent
    axes.set(xlim=(left, right), ylim=(bottom, top))
    axes.set(xlabel=literal(names[0]), ylabel=literal(names[1]))
    axes.set_box_aspect(1)
    axes.locator_params(nbins=4)


def literal(text: str, most: int | None = None) -> str:
    """Return text that matplotlib shows as it is, cut to `most` characters.

    Dollar signs would be read as mathematics.

    >>> literal("price in $")
    'price in \\\\$'
    """
    shown = printable(text)
    if most is not None and len(shown) > most:
        shown = shown[: most - 1] + "…"
    return shown.replace("$", r"\$")


def form_name(index: int) -> str:
    """Return the name of a learned form as figures show it: ω₁ for form 0.

    >>> form_name(11)
    'ω₁₂'
    """
    return "ω" + str(index + 1).translate(str.maketrans("0123456789", "₀₁₂₃₄₅₆₇₈₉"))


def class_codes(
    labels: Any, count: int, class_names: Sequence[str] | None
) -> tuple[np.ndarray, list[str]]:
    """Return the class of each cloud as an index, and the names of the classes."""
    if labels is None:
        return np.zeros(count, dtype=np.int64), ["clouds"]
    given = np.asarray(labels)
    if given.shape != (count,):
        raise ValueError(f"labels have shape {given.shape} for {count} clouds")
    classes, codes = np.unique(given, return_inverse=True)
    if class_names is None:
        return codes, [str(c) for c in classes.tolist()]
    if classes.dtype.kind in "iu" and classes[0] >= 0 and classes[-1] < len(class_names):
        return given, [str(name) for name in class_names]  # labels index the names, as in a task
    if len(class_names) != len(classes):
        raise ValueError(f"{len(class_names)} class names for {len(classes)} classes")
    return codes, [str(name) for name in class_names]


def class_look(index: int) -> dict[str, Any]:
    """Return the colour and the marker of a class, as keywords of matplotlib."""
    return {"color": COLOURS[index % len(COLOURS)], "marker": MARKS[index % len(MARKS)]}


def class_marks(names: Sequence[str]) -> list[Line2D]:
    """Return legend entries for classes, each with its colour and marker."""
    from matplotlib.lines import Line2D

    return [
        Line2D([], [], linestyle="none", label=literal(name, 40), **class_look(i))
        for i, name in enumerate(names)
    ]


def add_legend(
    figure: Figure, entries: Sequence[Line2D], columns: int, side: Literal["top", "bottom"] = "top"
) -> None:
    """Put a legend outside the panels; none without entries."""
    if entries:
        figure.legend(
            handles=entries,
            loc="outside upper center" if side == "top" else "outside lower center",
            ncols=min(len(entries), columns),
        )


def line_entries(names: Sequence[str], colours: Sequence[str] = COLOURS) -> list[Line2D]:
    """Return legend entries for lines."""
    from matplotlib.lines import Line2D

    return [Line2D([], [], color=c, label=n) for c, n in zip(colours, names, strict=False)]


def panel_grid(count: int, most: int = 4) -> tuple[int, int]:
    """Return rows and columns for `count` panels, at most `most` per row, as even as possible.

    >>> panel_grid(9, 5)
    (2, 5)
    """
    rows = -(-count // most)
    return rows, -(-count // rows)


def panels(figure: Figure, shape: tuple[int, int], count: int, extent: Extent) -> list[Axes]:
    """Return `count` square panels of one extent, with tick labels on the left and below."""
    _, columns = shape
    every = list(figure.subplots(*shape, squeeze=False).ravel())
    for axes in every[count:]:
        axes.set_axis_off()
    for i, axes in enumerate(every[:count]):
        square_frame(axes, extent)
        if i % columns:
            axes.set_yticklabels([])
        if i + columns < count:
            axes.set_xticklabels([])
    return every[:count]
