"""A map of samples: their places by distance, and the distances as a clustered heat map."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from pointforms.explain.embedding import EmbeddingMethod, checked_distances, embed_distances
from pointforms.plot import style
from pointforms.plot.style import PathLike, finished, literal, new_figure, styled
from pointforms.plot.svg import add_tooltips

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

# Samples up to which names are written beside the heat map, and beside the marks.
_NAMED, _NAMED_MARKS = 40, 20
# Different numbers from which a column is a scale of colours, not classes.
_SCALE_FROM = 6


@styled
def sample_map(
    distances: Any,
    color: Any = None,
    names: Sequence[str] | None = None,
    *,
    coordinates: Any = None,
    method: EmbeddingMethod = "pca",
    color_label: str | None = None,
    marked: Any = None,
    path: PathLike | None = None,
) -> Figure:
    """Draw samples by their distances: a map on the left, a clustered heat map on the right.

    The heat map has the samples in the order of average-linkage clustering, whose tree is above
    it, and a strip with their colours beside it.

    Parameters
    ----------
    distances : (N, N) array
        Distances between samples.
    color : (N,) array, optional
        A class or a number per sample. Six or more different numbers become a scale of colours.
        Missing values are grey.
    names : sequence of str, optional
        Names of the samples, by default their numbers: written beside the heat map of at most 40,
        and on the map of at most 20.
    coordinates : (N, 2) array, optional
        Places of the samples on the map. By default they are computed from the distances.
    method : {"pca", "mds", "umap"}, default "pca"
        How places are computed; see :func:`pointforms.explain.embed_distances`.
    color_label : str, optional
        What the colours show.
    marked : (N,) array of bool, optional
        Samples that get a ring, such as new ones.
    path : path-like, optional
        A file to write (.pdf, .svg, .png).

    Returns
    -------
    matplotlib.figure.Figure

    Examples
    --------
    >>> from pointforms import plot
    >>> points = np.random.default_rng(0).normal(size=(6, 2))
    >>> distances = np.linalg.norm(points[:, None] - points, axis=-1)
    >>> figure = plot.sample_map(distances, color=["a", "b"] * 3)
    >>> figure.axes[0].get_xlabel()
    'PC 1'
    """
    from scipy.cluster.hierarchy import dendrogram, linkage
    from scipy.spatial.distance import squareform

    given = checked_distances(distances)
    count = len(given)
    texts = [str(i) for i in range(count)] if names is None else [str(name) for name in names]
    if len(texts) != count:
        raise ValueError(f"{len(texts)} names for {count} samples")
    if coordinates is None:
        places = embed_distances(given, method)
    else:
        places = np.asarray(coordinates, dtype=np.float64)
        if places.ndim != 2 or len(places) != count or places.shape[1] < 2:
            raise ValueError(f"coordinates have shape {places.shape}: expected ({count}, 2)")
    colours, legend, scale = _colours(color, count)
    rings = np.zeros(count, dtype=bool) if marked is None else np.asarray(marked, dtype=bool)
    if rings.shape != (count,):
        raise ValueError(f"marked has shape {rings.shape}: expected ({count},)")

    figure = new_figure(3.5)
    halves: Any = figure.subfigures(1, 2, width_ratios=[1, 1.1])
    left, right = halves
    axes = left.subplots()
    _draw_places(axes, places, colours, texts, rings)
    prefix = {"pca": "PC", "mds": "MDS", "umap": "UMAP"}[method]
    axes.set(xlabel=f"{prefix} 1", ylabel=f"{prefix} 2")

    above, tree, strip, heat = _heat_axes(right)
    clustered = linkage(squareform(given, checks=False), method="average")
    found = dendrogram(
        clustered, ax=tree, color_threshold=0, above_threshold_color=style.INK, no_labels=True
    )
    for line in tree.collections:
        line.set_linewidth(0.7)
    above.set_axis_off()
    tree.set_axis_off()
    order = np.array(found["leaves"])
    image = heat.imshow(given[np.ix_(order, order)], cmap=style.SEQUENTIAL, aspect="auto")
    strip.imshow(colours[order][:, None], aspect="auto")
    strip.set_xticks([])
    strip.set_yticks([])
    heat.set_xticks([])
    heat.yaxis.tick_right()
    shown = [literal(texts[i], 18) for i in order] if count <= _NAMED else []
    heat.set_yticks(range(len(shown)), shown, fontsize=min(7, 200 / count))
    heat.tick_params(length=0)
    figure.colorbar(image, ax=[above, tree, strip, heat], label="distance", shrink=0.7, pad=0.02)
    label = None if color_label is None else literal(color_label, 40)
    if scale is not None:
        figure.colorbar(scale, ax=axes, location="top", label=label, shrink=0.8)
    elif legend:
        axes.legend(handles=legend, title=label, loc="lower left", bbox_to_anchor=(0, 1), ncols=3)
    return finished(figure, path)


def _heat_axes(figure: Any) -> tuple[Axes, Axes, Axes, Axes]:
    """Return the corner, the place of the tree, that of the colours, and that of the heat map."""
    grid = figure.subplots(2, 2, width_ratios=[1, 18], height_ratios=[1, 6])
    figure.set_facecolor("none")
    return grid[0, 0], grid[0, 1], grid[1, 0], grid[1, 1]


def _draw_places(
    axes: Axes, places: np.ndarray, colours: np.ndarray, names: Sequence[str], rings: np.ndarray
) -> None:
    marks = axes.scatter(places[:, 0], places[:, 1], c=colours, s=26, linewidths=0, zorder=2)
    add_tooltips(marks, list(names))
    if rings.any():
        axes.scatter(
            places[rings, 0],
            places[rings, 1],
            s=70,
            facecolors="none",
            edgecolors=style.INK,
            linewidths=0.9,
        )
    if len(names) <= _NAMED_MARKS:
        for name, place in zip(names, places, strict=True):
            axes.annotate(
                literal(name, 18),
                (place[0], place[1]),
                xytext=(4, 3),
                textcoords="offset points",
                fontsize=5.5,
            )
    style.open_frame(axes)
    axes.margins(0.1)
    axes.locator_params(nbins=5)


def _colours(color: Any, count: int) -> tuple[np.ndarray, list[Any], Any]:
    """Return a colour per sample (N, 4), entries of a legend, and a scale of numbers or None."""
    import matplotlib
    from matplotlib.colors import Normalize, to_rgba
    from matplotlib.lines import Line2D

    missing_colour = to_rgba(style.PALE)
    if color is None:
        return np.array([to_rgba(style.BLUE)] * count), [], None
    values = np.asarray(color)
    if values.shape != (count,):
        raise ValueError(f"color has shape {values.shape}: expected ({count},)")
    objects = values.astype(object)
    missing = np.array([one is None or one != one for one in objects])
    known = objects[~missing].tolist()
    is_number = all(isinstance(one, int | float) and not isinstance(one, bool) for one in known)
    if known and is_number and len(set(known)) >= _SCALE_FROM:
        numbers = np.array(
            [np.nan if m else float(v) for v, m in zip(objects, missing, strict=True)]
        )
        low = float(np.nanmin(numbers))
        norm = Normalize(low, float(np.nanmax(numbers)))
        scale = matplotlib.cm.ScalarMappable(norm, matplotlib.colormaps["viridis"])
        colours = scale.to_rgba(np.nan_to_num(numbers, nan=low))
        colours[missing] = missing_colour
        return colours, [], scale
    names = sorted({str(one) for one in known})
    code = {name: to_rgba(style.COLOURS[i % len(style.COLOURS)]) for i, name in enumerate(names)}
    colours = np.array(
        [missing_colour if m else code[str(v)] for v, m in zip(objects, missing, strict=True)]
    )
    shown = {**code, "missing": missing_colour} if missing.any() else code
    legend = [
        Line2D([], [], linestyle="none", marker="o", color=colour, label=literal(name, 24))
        for name, colour in shown.items()
    ]
    return colours, legend, None
