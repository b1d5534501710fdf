"""Surfaces in space, seen from one side."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import torch
from torch import Tensor

from pointforms.plot import style

if TYPE_CHECKING:
    from matplotlib.figure import Figure

ELEVATION, AZIMUTH = 48.0, -60.0
MAJOR, MINOR = 2.0, 1.0


def scene(
    figure: Figure, place: Any, reach: float = 2.4, zoom: float = 1.3, elevation: float = ELEVATION
) -> Any:
    """Add 3D axes without frame that show a cube of ±reach; layers keep their given order."""
    axes: Any = figure.add_subplot(place, projection="3d", computed_zorder=False)
    axes.view_init(elev=elevation, azim=AZIMUTH)
    axes.set(xlim=(-reach, reach), ylim=(-reach, reach), zlim=(-reach, reach))
    axes.set_box_aspect((1, 1, 1), zoom=zoom)
    axes.set_axis_off()
    return axes


def facing(normals: Tensor, elevation: float = ELEVATION) -> Tensor:
    """Return which outward normals (n, 3) face the viewer: (n,) of bool."""
    up, around = np.radians(elevation), np.radians(AZIMUTH)
    viewer = [np.cos(up) * np.cos(around), np.cos(up) * np.sin(around), np.sin(up)]
    return normals @ torch.tensor(viewer, dtype=normals.dtype) > 0


def outward(points: Tensor) -> Tensor:
    """Return vectors from the core circle of the torus with radii 2 and 1 to points near it."""
    ring = points * torch.tensor([1.0, 1.0, 0.0], dtype=points.dtype)
    return points - MAJOR * torch.nn.functional.normalize(ring, dim=-1)


def torus_mesh(across: int = 72, along: int = 36) -> tuple[np.ndarray, np.ndarray]:
    """Return points and outward unit normals of the torus: (across, along, 3) each."""
    u, v = np.meshgrid(
        np.linspace(0, 2 * np.pi, across), np.linspace(0, 2 * np.pi, along), indexing="ij"
    )
    normal = np.stack([np.cos(v) * np.cos(u), np.cos(v) * np.sin(u), np.sin(v)], -1)
    core = MAJOR * np.stack([np.cos(u), np.sin(u), np.zeros_like(u)], -1)
    return core + MINOR * normal, normal


def add_surface(axes: Any, mesh: np.ndarray, colours: np.ndarray) -> None:
    """Draw a mesh (a, b, 3) of quadrilaterals with colours (a - 1, b - 1, 3)."""
    axes.plot_surface(
        *np.moveaxis(mesh, -1, 0),
        facecolors=colours,
        linewidth=0,
        shade=False,
        rstride=1,
        cstride=1,
        antialiased=False,
        rasterized=True,  # vector renderers show the seams
        zorder=1,
    )


def add_points(axes: Any, points: Tensor) -> None:
    """Draw points (n, 3) in grey."""
    x, y, z = points.T.numpy()
    axes.scatter(
        x, y, z, s=1.5, c="0.5", alpha=0.6, linewidths=0, depthshade=False, rasterized=True
    )


def add_discs(axes: Any, rings: Tensor, colour: str = style.BLUE) -> None:
    """Fill outlines (m, sides, 3) as discs."""
    from mpl_toolkits.mplot3d.art3d import Poly3DCollection

    axes.add_collection3d(
        Poly3DCollection(
            rings.numpy(), facecolor=colour, edgecolor="white", linewidth=0.3, alpha=0.8, zorder=3
        )
    )
