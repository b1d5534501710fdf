"""The Gram field of a surface in space, beside its known truth."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import torch

from pointforms.geometry import GramField
from pointforms.manifolds import Sample
from pointforms.plot import scenes, style
from pointforms.plot.ellipses import outlines, spread_out
from pointforms.plot.style import BLUE, ORANGE, SKY, PathLike, finished, new_figure, styled

if TYPE_CHECKING:
    from matplotlib.figure import Figure

_ELLIPSES, _RADIUS = 180, 0.13


@styled
def torus_field(field: GramField, sample: Sample, *, path: PathLike | None = None) -> Figure:
    """Draw the Gram field of a sampled torus: ellipses, eigenvalues, and the density's error.

    Parameters
    ----------
    field : GramField
        Of the points of the sample.
    sample : pointforms.manifolds.Sample
        Points near the torus with radii 2 and 1.
    path : path-like, optional
        A file to write (.pdf, .svg, .png).

    Returns
    -------
    matplotlib.figure.Figure

    Examples
    --------
    >>> import pointforms as pf
    >>> from pointforms.manifolds import torus
    >>> sample = torus(200, np.random.default_rng(0))
    >>> figure = pf.plot.torus_field(pf.gram_field(sample.points, neighbors=16), sample)
    >>> figure.axes[1].get_xlabel()
    'eigenvalue'
    """
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
        style.open_frame(axes)
    return finished(figure, path)
