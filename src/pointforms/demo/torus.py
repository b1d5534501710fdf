"""The Gram field of a noisy torus, measured against the truth and drawn."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import torch

from pointforms.extras import need
from pointforms.geometry import GramField, gram_field
from pointforms.manifolds import Sample, relative_error, tangent_angle, torus

_POINTS, _NOISE, _SEED = 4000, 0.05, 0
_ELEVATION, _AZIMUTH = 48.0, -60.0


def run(folder: Path) -> tuple[dict[str, str], Path]:
    """Estimate the field, draw it into `folder`, and return what was found and the picture."""
    need("matplotlib", "plot")
    folder.mkdir(parents=True, exist_ok=True)
    rng = np.random.default_rng(_SEED)
    sample = torus(_POINTS, rng).noisy(_NOISE, rng)
    field = gram_field(sample.points, neighbors="auto")
    sharp = gram_field(sample.points, neighbors=field.neighbors, spectrum="projector")
    area = float(field.measure("volume").sum())
    found = {
        "points": f"{_POINTS} on the torus with radii 2 and 1, noise {_NOISE}",
        "neighbours (chosen)": f"{field.neighbors}",
        "dimension (estimated)": f"{field.dimension}   (true: {sample.dimension})",
        "tangent error": f"{tangent_angle(field, sample):.2f}° mean largest principal angle",
        "Gram field error": f"{relative_error(field, sample):.3f} raw, "
        f"{relative_error(sharp, sample):.3f} as projector (relative)",
        "density": f"{float(field.density.median()):.4f} median   (true: {1 / sample.volume:.4f})",
        "area Σ 1/(n q)": f"{area:.1f}   (true: {sample.volume:.1f})",
    }
    picture = folder / "torus.png"
    draw(field, sample, picture)
    return found, picture


def draw(field: GramField, sample: Sample, path: Path) -> None:
    """Tangent ellipses on the cloud, the spectrum of G, and the error of the tangents."""
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt
    from mpl_toolkits.mplot3d.art3d import Poly3DCollection

    figure = plt.figure(figsize=(13, 4.6), layout="constrained")
    grid = figure.add_gridspec(1, 3, width_ratios=[1.5, 1, 1])
    blue, orange = "#0072B2", "#D55E00"

    scene = figure.add_subplot(grid[0], projection="3d")
    scene.view_init(elev=_ELEVATION, azim=_AZIMUTH)
    x, y, z = field.points[_facing(sample)].T.numpy()
    scene.scatter(x, y, z, s=3, c="0.5", alpha=0.6, linewidths=0, depthshade=False)
    ellipses = _ellipses(field, _facing(sample), count=180)
    scene.add_collection3d(
        Poly3DCollection(ellipses, facecolor=blue, edgecolor="white", linewidth=0.3, alpha=0.8)
    )
    scene.set(xlim=(-2.4, 2.4), ylim=(-2.4, 2.4), zlim=(-2.4, 2.4))
    scene.set_box_aspect((1, 1, 1), zoom=1.25)
    scene.set_axis_off()
    scene.set_title("Gram field: tangent ellipses of G(p)")

    spectrum = figure.add_subplot(grid[1])
    values = torch.linalg.eigvalsh(field.matrix()).flip(-1).T.numpy()
    bins = np.linspace(0, max(1.6, float(values.max())), 60).tolist()
    for i, (row, colour) in enumerate(zip(values, (blue, "#56B4E9", orange), strict=True)):
        spectrum.hist(row, bins, color=colour, alpha=0.8, label=f"λ{i + 1}")
    for truth in (0, 1):
        spectrum.axvline(truth, color="0.2", linewidth=1, linestyle=":")
    spectrum.set(title="Eigenvalues of G (truth: 1, 1, 0)", xlabel="eigenvalue", ylabel="points")
    spectrum.legend(frameon=False)

    density = figure.add_subplot(grid[2])
    relative = (field.density * sample.volume).numpy()
    density.hist(relative, np.linspace(0, 2.2, 60).tolist(), color=blue, alpha=0.85)
    density.axvline(1, color="0.2", linewidth=1, linestyle=":")
    density.set(title="Density, estimate over truth", xlabel="ratio", ylabel="points")
    for axes in (spectrum, density):
        axes.spines[["top", "right"]].set_visible(False)

    figure.savefig(path, dpi=150)
    plt.close(figure)


def _facing(sample: Sample) -> torch.Tensor:
    """Rows of the points whose side of the torus looks at the viewer."""
    elevation, azimuth = np.radians(_ELEVATION), np.radians(_AZIMUTH)
    flat = np.cos(elevation)
    viewer = [flat * np.cos(azimuth), flat * np.sin(azimuth), np.sin(elevation)]
    ring = sample.points * torch.tensor([1.0, 1.0, 0.0], dtype=sample.points.dtype)
    outward = sample.points - 2.0 * torch.nn.functional.normalize(ring, dim=-1)
    return (outward @ torch.tensor(viewer, dtype=sample.points.dtype) > 0).nonzero().squeeze(-1)


def _ellipses(field: GramField, rows: torch.Tensor, count: int) -> np.ndarray:
    """Outlines of the leading two directions of G at spread-out points of rows: (count, 32, 3)."""
    chosen = rows[_spread_out(field.points[rows], count)]
    t = torch.linspace(0, 2 * torch.pi, 32, dtype=field.points.dtype)
    outline = torch.stack([t.cos(), t.sin()])
    U, S, _ = torch.linalg.svd(field.factor[chosen], full_matrices=False)
    rings = (U[..., :2] * S[:, None, :2]) @ outline
    outlines: np.ndarray = (field.points[chosen, None] + 0.13 * rings.mT).numpy()
    return outlines


def _spread_out(points: torch.Tensor, count: int) -> torch.Tensor:
    """Farthest-point sampling."""
    chosen = [0]
    distance = torch.cdist(points[:1], points)[0]
    while len(chosen) < count:
        chosen.append(int(distance.argmax()))
        distance = torch.minimum(distance, torch.cdist(points[chosen[-1:]], points)[0])
    return torch.tensor(chosen)
