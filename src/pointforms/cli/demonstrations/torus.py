"""The Gram field of a noisy torus, measured against the truth and drawn."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import torch

from pointforms.geometry import GramField, gram_field
from pointforms.manifolds import Sample, relative_error, tangent_angle, torus
from pointforms.plot import scenes
from pointforms.plot.ellipses import outlines, spread_out
from pointforms.plot.style import BLUE, ORANGE, SKY, new_figure, open_frame, save, styled
from pointforms.support.extras import need

_POINTS, _NOISE, _SEED = 4000, 0.05, 0
_ELLIPSES, _RADIUS = 180, 0.13


def run(folder: Path) -> tuple[dict[str, str], Path]:
    """Estimate the field, draw it into `folder`, and return what was found and the picture."""
    need("matplotlib", "plot")
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


@styled
def draw(field: GramField, sample: Sample, path: Path) -> None:
    """Tangent ellipses on the cloud, the spectrum of G, and the error of the density."""
    figure = new_figure(2.55)
    grid = figure.add_gridspec(1, 3, width_ratios=[1.5, 1, 1])

    view = scenes.scene(figure, grid[0], zoom=1.25)
    seen = scenes.facing(scenes.outward(sample.points)).nonzero().squeeze(-1)
    chosen = seen[spread_out(field.points[seen], _ELLIPSES)]
    scenes.add_points(view, field.points[seen])
    scenes.add_discs(view, outlines(field.points[chosen], field.factor[chosen], _RADIUS))
    view.set_title("Gram field: tangent ellipses of G(p)")

    spectrum = figure.add_subplot(grid[1])
    values = torch.linalg.eigvalsh(field.matrix()).flip(-1).T.numpy()
    bins = np.linspace(0, max(1.6, float(values.max())), 60).tolist()
    for i, (row, colour) in enumerate(zip(values, (BLUE, SKY, ORANGE), strict=True)):
        spectrum.hist(row, bins, color=colour, alpha=0.8, label=f"λ{i + 1}")
    for truth in (0, 1):
        spectrum.axvline(truth, color="0.2", linewidth=1, linestyle=":")
    spectrum.set(title="Eigenvalues of G (truth: 1, 1, 0)", xlabel="eigenvalue", ylabel="points")
    spectrum.legend()

    density = figure.add_subplot(grid[2])
    relative = (field.density * sample.volume).numpy()
    density.hist(relative, np.linspace(0, 2.2, 60).tolist(), color=BLUE, alpha=0.85)
    density.axvline(1, color="0.2", linewidth=1, linestyle=":")
    density.set(title="Density, estimate over truth", xlabel="ratio", ylabel="points")
    for axes in (spectrum, density):
        open_frame(axes)
    save(figure, path)
