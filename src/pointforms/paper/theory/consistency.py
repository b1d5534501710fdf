"""Consistency: errors of Gram fields and of pairings as samples grow.

Local error: the mean over points of ‖G^(k) - Π^(k)‖ / ‖Π^(k)‖ in the Frobenius norm, where Π is
the tangent projector and ^(k) the k-th compound. Global error: all pairings of the coordinate
forms dx^I, |I| = k, at once, ‖C - C*‖ / ‖C*‖, where C is their comparison matrix and C* the mean
of Π^(k) over the manifold. In the uniform measure C is the mean of G^(k); in the volume measure
it is divided by the true volume, so that the error of the estimated density counts too.

With ν the unit normal of a surface Π = I - ννᵀ, and Π^(2) has the squares of ν for its diagonal.

    circle   mean Π = diag(1/2, 1/2)             mean Π^(2) = 0
    sphere   mean Π = diag(2/3, 2/3, 2/3)        mean Π^(2) = diag(1/3, 1/3, 1/3)
    torus    mean Π = diag(3/4, 3/4, 1/2)        mean Π^(2) = diag(1/2, 1/4, 1/4)

on dx, dy, dz and dx∧dy, dx∧dz, dy∧dz; off the diagonal symmetry leaves zeros. A circle has no
2-forms: there the errors are not relative, and det G must vanish.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from math import nan
from typing import Literal

import numpy as np
import torch
from torch import Tensor

from pointforms.exterior import compound
from pointforms.geometry import GramField, gram_field
from pointforms.manifolds import Sample, circle, sphere, torus
from pointforms.paper.theory.rates import (
    balanced_theta,
    density_exponent,
    drift_coefficient,
    fitted_slope,
    predicted_slope,
)
from pointforms.support.statistics import interval

Error = Literal["local", "global", "global, volume", "largest local"]
ERRORS: tuple[Error, ...] = ("local", "global", "global, volume", "largest local")
DEGREES = (1, 2)
SIZES = (500, 1000, 2000, 4000)


@dataclass(frozen=True)
class Manifold:
    """A manifold to sample, and the mean over it of its compound projectors (diagonals, by k)."""

    name: str
    dimension: int
    sampler: Callable[[int, np.random.Generator], Sample]
    diagonals: dict[int, tuple[float, ...]] = field(hash=False)

    def sample(self, n: int, seed: int) -> Sample:
        """Return n random points."""
        return self.sampler(n, np.random.default_rng(seed))

    def mean_projector(self, degree: int) -> Tensor:
        """Return the mean of Π^(k): (C(D, k), C(D, k))."""
        return torch.diag(torch.tensor(self.diagonals[degree], dtype=torch.float64))


CIRCLE = Manifold("circle", 1, circle, {1: (1 / 2, 1 / 2), 2: (0.0,)})
SPHERE = Manifold("sphere", 2, sphere, {1: (2 / 3,) * 3, 2: (1 / 3,) * 3})
TORUS = Manifold("torus", 2, torus, {1: (3 / 4, 3 / 4, 1 / 2), 2: (1 / 2, 1 / 4, 1 / 4)})
MANIFOLDS = (CIRCLE, SPHERE, TORUS)


@dataclass(frozen=True)
class Coupling:
    """How the bandwidth and the density follow the sample size.

    ε_n = ε₀ (n / n₀)^(-ϑ) and k₀(n) = k (n / n₀)^γ, with geomean(ρ) the same length for every n
    and every pair of points in the kernel.

    The defaults, and why. ε ρ² = 1/16 makes kernels √(2/16) ≈ 0.35 wide at n₀, well within the
    reach, 1 for all three manifolds. Berry and Harlim's rule gives 0.09, 0.06 and 0.32 for 500
    points of circle, sphere and torus. From the last, 0.8 wide, global errors on the torus rise
    with n: curvature adds to the trace of G, the kernel's weight on its own point takes away, and
    the second falls first. ϑ = 2 / (d + 12) balances the terms of the bound. γ is the best rate of
    a density from nearest neighbours: its error n^(-2/(d+4)) falls faster than ε, so
    ρ = q^β + O(ε), which the theory assumes. With k₀ fixed that fails, and the largest local error
    grows.

    Attributes
    ----------
    growth : float or None
        γ; None is 4 / (d + 4).
    density_neighbors : int
        k, at n₀.
    length : float
        The geometric mean of ρ.
    """

    first: int = 500
    epsilon: float = 1 / 16
    density_neighbors: int = 16
    growth: float | None = None
    length: float = 1.0
    alpha: float = 0.0
    beta: float = -0.5

    def bandwidth(self, n: int, d: int) -> float:
        """Return ε_n."""
        return float(self.epsilon * (n / self.first) ** -balanced_theta(d))

    def density_list(self, n: int, d: int) -> int:
        """Return k₀(n)."""
        growth = 4 / (d + 4) if self.growth is None else self.growth
        return round(self.density_neighbors * float((n / self.first) ** growth))

    def field(self, sample: Sample, bandwidth: float | Literal["auto"] | None = None) -> GramField:
        """Return the raw Gram field on the complete graph, without calibration and truncation."""
        n, d = len(sample.points), sample.dimension
        return gram_field(
            sample.points,
            neighbors=n,
            dimension=d,
            bandwidth=self.bandwidth(n, d) if bandwidth is None else bandwidth,
            bandwidth_units=self.length,
            alpha=self.alpha,
            beta=self.beta,
            density_neighbors=self.density_list(n, d),
            calibrate=False,
            truncation=False,
        )


@dataclass(frozen=True)
class ConsistencyRow:
    """One error of one manifold and degree, as n grows: means over seeds and their intervals."""

    manifold: str
    degree: int
    error: Error
    relative: bool  # to the norm of the truth, where that is not 0
    sizes: tuple[int, ...]
    means: tuple[float, ...]
    intervals: tuple[float, ...]
    bandwidths: tuple[float, ...]
    density_neighbors: tuple[int, ...]
    slope: float
    predicted: float
    theta: float
    drift_coefficient: float
    density_exponent: float
    seeds: int

    @property
    def falls(self) -> bool:
        """Whether the mean falls at every step to a larger n."""
        return all(b < a for a, b in pairwise(self.means))


def errors_of(
    field: GramField, sample: Sample, manifold: Manifold, degree: int
) -> dict[Error, float]:
    """Return the errors of one field, by name."""
    G, projector = field.compound(degree), compound(sample.projector, degree)
    truth = manifold.mean_projector(degree)
    # errors are absolute where all k-forms vanish
    norm = float(projector[0].norm()) if degree <= manifold.dimension else 1.0
    total = float(truth.norm()) if degree <= manifold.dimension else 1.0
    local = torch.linalg.matrix_norm(G - projector) / norm
    volume = torch.einsum("p,pij->ij", field.measure("volume"), G) / sample.volume
    return {
        "local": float(local.mean()),
        "global": float((G.mean(0) - truth).norm()) / total,
        "global, volume": float((volume - truth).norm()) / total,
        "largest local": float(local.max()),
    }


def consistency(
    seeds: Sequence[int],
    manifolds: Sequence[Manifold] = MANIFOLDS,
    sizes: Sequence[int] = SIZES,
    degrees: Sequence[int] = DEGREES,
    coupling: Coupling = Coupling(),  # noqa: B008 (frozen)
    advance: Callable[[int], None] = lambda steps: None,
) -> list[ConsistencyRow]:
    """Measure errors of every manifold, degree and size.

    `advance(1)` is called for each manifold and seed.
    """
    rows: list[ConsistencyRow] = []
    for manifold in manifolds:
        values = np.empty((len(seeds), len(sizes), len(degrees), len(ERRORS)))
        for s, seed in enumerate(seeds):
            for i, n in enumerate(sizes):
                sample = manifold.sample(n, seed)
                gram = coupling.field(sample)
                for j, degree in enumerate(degrees):
                    errors = errors_of(gram, sample, manifold, degree)
                    values[s, i, j] = [errors[name] for name in ERRORS]
            advance(1)
        rows += _rows(manifold, sizes, degrees, coupling, values)
    return rows


def _rows(
    manifold: Manifold,
    sizes: Sequence[int],
    degrees: Sequence[int],
    coupling: Coupling,
    values: np.ndarray,
) -> list[ConsistencyRow]:
    """Return the rows of one manifold from values (seeds, sizes, degrees, errors)."""
    d = manifold.dimension
    theta = balanced_theta(d)
    rows = []
    for j, degree in enumerate(degrees):
        for e, name in enumerate(ERRORS):
            estimates = [interval(values[:, i, j, e]) for i in range(len(sizes))]
            means = tuple(mean for mean, _ in estimates)
            rows.append(
                ConsistencyRow(
                    manifold=manifold.name,
                    degree=degree,
                    error=name,
                    relative=degree <= d,
                    sizes=tuple(sizes),
                    means=means,
                    intervals=tuple(nan if half is None else half for _, half in estimates),
                    bandwidths=tuple(coupling.bandwidth(n, d) for n in sizes),
                    density_neighbors=tuple(coupling.density_list(n, d) for n in sizes),
                    slope=fitted_slope(sizes, means),
                    predicted=predicted_slope(theta, d),
                    theta=theta,
                    drift_coefficient=drift_coefficient(d, coupling.alpha, coupling.beta),
                    density_exponent=density_exponent(d, coupling.alpha, coupling.beta),
                    seeds=len(values),
                )
            )
    return rows
