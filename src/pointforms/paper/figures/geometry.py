"""Figures of the theory's objects: Gram fields, and forms restricted to a curve and a surface."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import torch
from torch import Tensor

from pointforms.geometry import gram_field
from pointforms.manifolds import torus
from pointforms.plot import scenes, style
from pointforms.plot.ellipses import outlines, spread_out
from pointforms.plot.panels import draw_rings
from pointforms.plot.style import PathLike, finished, new_figure, styled

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

_GRAM_TITLES = (
    "a curve $M$ and $G_M$",
    "a noisy sample $P$ and $G_P$",
    "a surface $M$ and $G_M$",
    "a noisy sample $P$ and $G_P$",
)
_CURVE_RADIUS, _SURFACE_RADIUS = 0.16, 0.2
_CURVE_ELLIPSES, _SURFACE_ELLIPSES = 16, 110


def curve(t: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the closed curve r = 1 + 0.2 cos 3t and its unit tangents: (n, 2) each."""
    r, slope = 1 + 0.2 * np.cos(3 * t), -0.6 * np.sin(3 * t)
    along, across = np.stack([np.cos(t), np.sin(t)], -1), np.stack([-np.sin(t), np.cos(t)], -1)
    velocity = slope[:, None] * along + r[:, None] * across
    return r[:, None] * along, velocity / np.linalg.norm(velocity, axis=1, keepdims=True)


@styled
def gram_field_figure(quick: bool = False, path: PathLike | None = None) -> Figure:
    """Draw the Gram field of a manifold, its tangent projectors, beside that of a noisy sample.

    A curve in the plane and a torus in space. `quick` takes smaller samples.
    """
    rng = np.random.default_rng(0)
    figure = new_figure(2.0)
    parts: Any = figure.subfigures(1, 4, width_ratios=[1, 1, 1.15, 1.15], wspace=0)
    for part, title in zip(parts, _GRAM_TITLES, strict=True):
        part.suptitle(title)
    smooth, sampled = parts[0].subplots(), parts[1].subplots()
    line, _ = curve(np.linspace(0, 2 * np.pi, 400))
    at, tangent = curve(np.linspace(0, 2 * np.pi, _CURVE_ELLIPSES, endpoint=False))
    smooth.plot(*line.T, color=style.GREY, linewidth=1)
    T = torch.from_numpy(tangent).unsqueeze(-1)
    draw_rings(smooth, outlines(torch.from_numpy(at), T, _CURVE_RADIUS))

    noisy, _ = curve(rng.uniform(0, 2 * np.pi, 250 if quick else 500))
    noisy = noisy + rng.normal(scale=0.02, size=noisy.shape)
    field = gram_field(noisy, neighbors=24, dimension=1)
    sampled.scatter(noisy[:, 0], noisy[:, 1], s=2, color=style.GREY, linewidths=0)
    chosen = spread_out(field.points, _CURVE_ELLIPSES)
    draw_rings(sampled, outlines(field.points[chosen], field.factor[chosen], _CURVE_RADIUS))
    for axes in (smooth, sampled):
        axes.set(xlim=(-1.15, 1.4), ylim=(-1.25, 1.25), aspect="equal")
        axes.set_axis_off()

    clean = torus(1000 if quick else 4000, rng)
    sample = clean.noisy(0.05, rng)
    field = gram_field(sample.points, neighbors=64, dimension=2)
    seen = scenes.facing(scenes.outward(clean.points)).nonzero().squeeze(-1)
    chosen = seen[spread_out(clean.points[seen], _SURFACE_ELLIPSES)]
    # the projector is its own factor: Π = Π Πᵀ
    exact = outlines(clean.points[chosen], clean.projector[chosen], _SURFACE_RADIUS)
    estimated = outlines(field.points[chosen], field.factor[chosen], _SURFACE_RADIUS)
    surface, cloud = scenes.scene(parts[2], 111), scenes.scene(parts[3], 111)
    mesh, normal = scenes.torus_mesh()
    grey = 0.86 + 0.1 * (normal @ np.array([0.5, -0.4, 0.77]))[:-1, :-1, None]
    scenes.add_surface(surface, mesh, np.repeat(grey, 3, axis=-1))
    scenes.add_points(cloud, field.points[seen])
    for scene, rings in ((surface, exact), (cloud, estimated)):
        scenes.add_discs(scene, rings)
    return finished(figure, path)


@styled
def restricted_forms_figure(quick: bool = False, path: PathLike | None = None) -> Figure:
    """Draw a 1-form on the plane restricted to a curve, and a 2-form on space to a surface.

    Forms are grey arrows: the vector of the 1-form, the normal field of the 2-form. Their
    restrictions are coloured: the part along the curve, or across the surface.
    """
    figure = new_figure(2.95)
    parts: Any = figure.subfigures(1, 2, width_ratios=[1, 1.12])
    left, right = parts
    left.suptitle("$k = 1$:  $\\omega = -y\\,dx + x\\,dy$ on a curve")
    right.suptitle("$k = 2$:  $\\beta = dy \\wedge dz$ on a surface")
    _one_form(left, left.subplots())
    _two_form(right, scenes.scene(right, 111, reach=2.9, zoom=1.35, elevation=38), coarse=quick)
    entries = style.line_entries(("the form", "what the manifold sees of it"), ("0.6", style.INK))
    style.add_legend(figure, entries, 2, "bottom")
    return finished(figure, path)


def _one_form(figure: Any, axes: Axes) -> None:
    """ω = -y dx + x dy on a curve that does not go around 0: ω(t), t the unit tangent."""
    from matplotlib.collections import LineCollection

    shift = np.array([1.15, 0.0])

    def omega(points: np.ndarray) -> np.ndarray:
        return np.stack([-points[:, 1], points[:, 0]], -1)

    ticks = np.linspace(-0.4, 2.8, 11)
    grid = np.stack(np.meshgrid(ticks, np.linspace(-1.5, 1.5, 10)), -1).reshape(-1, 2)
    axes.quiver(*grid.T, *omega(grid).T, color="0.72", scale=9, width=0.006, **style.ARROWS)
    line, tangent = curve(np.linspace(0, 2 * np.pi, 601))
    line = line + shift
    value = (omega(line) * tangent).sum(1)
    limit = float(np.abs(value).max())
    drawn = LineCollection(
        list(np.stack([line[:-1], line[1:]], 1)),
        cmap=style.DIVERGING,
        linewidth=3.5,
        capstyle="round",
        zorder=2,
    )
    drawn.set_array((value[:-1] + value[1:]) / 2)
    drawn.set_clim(-limit, limit)
    axes.add_collection(drawn)
    at, along = curve(np.linspace(0, 2 * np.pi, 28, endpoint=False))
    at = at + shift
    restricted = (omega(at) * along).sum(1, keepdims=True) * along
    look: dict[str, Any] = {"color": style.INK, "scale": 6, "width": 0.008, "zorder": 3}
    axes.quiver(*at.T, *restricted.T, **look, **style.ARROWS)
    axes.set(xlim=(-0.6, 3.0), ylim=(-1.65, 1.65), aspect="equal")
    axes.set_axis_off()
    figure.colorbar(
        drawn, ax=axes, label="$\\omega$ on the unit tangent", shrink=0.75, location="right"
    )


def _two_form(figure: Any, axes: Any, coarse: bool) -> None:
    """β = dy ∧ dz, whose normal field is constant along x, on a torus: β(e₁, e₂) = n_x."""
    from matplotlib import colormaps
    from matplotlib.cm import ScalarMappable
    from matplotlib.colors import Normalize

    mesh, normal = scenes.torus_mesh(*((48, 24) if coarse else (96, 48)))
    value = normal[..., 0]
    scale = Normalize(-1, 1)
    colours = colormaps[style.DIVERGING](scale((value[:-1, :-1] + value[1:, 1:]) / 2))
    scenes.add_surface(axes, mesh, colours[..., :3])
    points, normals = _places(axes.elev)
    field = np.tile([1.0, 0.0, 0.0], (len(points), 1))
    restricted = normals[:, :1] * normals
    leaves = normals[:, 0] > 0
    for vectors, colour, width in ((field, "0.5", 0.7), (restricted, style.INK, 1.2)):
        # the viewer is outside: arrows that go in end at the surface, others begin there
        for rows, pivot in ((leaves, "tail"), (~leaves, "tip")):
            axes.quiver(
                *points[rows].T,
                *(0.8 * vectors[rows]).T,
                color=colour,
                linewidth=width,
                arrow_length_ratio=0.3,
                pivot=pivot,
                clip_on=False,
                zorder=3,
            )
    figure.colorbar(
        ScalarMappable(scale, style.DIVERGING),
        ax=axes,
        label="$\\beta$ on a unit square of the tangent plane",
        ticks=[-1, -0.5, 0, 0.5, 1],
        shrink=0.75,
    )


def _places(elevation: float) -> tuple[np.ndarray, np.ndarray]:
    """Points on the torus that the viewer sees, none in the hole, with their unit normals."""
    sample = torus(3000, np.random.default_rng(1))
    normals: Tensor = scenes.outward(sample.points)
    outside = sample.points[:, :2].norm(dim=1) > scenes.MAJOR - 0.2
    seen = (scenes.facing(normals, elevation) & outside).nonzero().squeeze(-1)
    chosen = seen[spread_out(sample.points[seen], 30)]
    return sample.points[chosen].numpy(), normals[chosen].numpy()
