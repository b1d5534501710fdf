"""Density check: one integral over the circle, however unevenly the circle is sampled.

For ω = -y dx + x dy, of length 1 on the unit circle, and x² ω,

    ∫ ⟨ω, x² ω⟩ dV = ∫ x² dV = π.

Points of a von Mises density crowd at (1, 0) as its concentration κ grows. The volume measure
1/(n q₀) takes the density q₀ out again; the uniform one times the circumference, 2π/n, does not.
At κ = 4 about two radians around (-1, 0) are empty. No weights restore ∫ x² over an empty arc.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import product
from typing import Literal

import numpy as np
import torch
from torch import Tensor

from pointforms.geometry import gram_fields
from pointforms.geometry.settings import BandwidthPolicy, Spectrum
from pointforms.manifolds import Sample, circle
from pointforms.pairing import inner_global
from pointforms.paper.theory.rates import mean_interval

Correction = Literal["corrected", "uncorrected"]

INTEGRAL = math.pi
KAPPAS = (0.0, 0.5, 1.0, 2.0, 4.0)
NOISES = (0.0, 0.02)
POINTS = 1000

# Neighbours, of which half set the scale: ρ follows the noise of the density, strong at d = 1.
# Where points crowd, 64 of them span about 0.1, little more than noise of 0.02: noise needs more.
CLEAN_VIEW, NOISY_VIEW = 64, 128


@dataclass(frozen=True)
class DensityRow:
    """|∫ - π| over seeds: its mean and half the width of its 95 % interval."""

    kappa: float
    noise: float
    neighbors: int
    bandwidth: BandwidthPolicy
    spectrum: Spectrum
    density: Correction
    error: float
    interval: float
    seeds: int

    @property
    def main(self) -> bool:
        """Whether the neighbourhoods are those that suit the noise."""
        return self.neighbors == view(self.noise)


def view(noise: float) -> int:
    """The neighbours that suit a noise."""
    return NOISY_VIEW if noise else CLEAN_VIEW


def omega(points: Tensor) -> Tensor:
    """ω = -y dx + x dy: (n, 2) -> (n, 2)."""
    return torch.stack([-points[:, 1], points[:, 0]], -1)


def weighted_omega(points: Tensor) -> Tensor:
    """x² ω: (n, 2) -> (n, 2)."""
    return points[:, :1] ** 2 * omega(points)


def circles(kappa: float, noise: float, seeds: Sequence[int], points: int = POINTS) -> list[Sample]:
    """One von Mises circle a seed. The points of a seed are the same at every noise."""
    found = []
    for seed in seeds:
        rng = np.random.default_rng(seed)
        sample = circle(points, rng, kappa)
        found.append(sample.noisy(noise, rng) if noise else sample)
    return found


def integral_errors(
    samples: Sequence[Sample],
    neighbors: int = CLEAN_VIEW,
    bandwidth: BandwidthPolicy = "variable",
    spectrum: Spectrum = "raw",
) -> dict[Correction, np.ndarray]:
    """|∫ - π| of each sample, with and without the density correction.

    The dimension is given: under noise the crowded side of the circle looks two-dimensional.
    """
    fields = gram_fields(
        [sample.points for sample in samples],
        neighbors=neighbors,
        density_neighbors=neighbors // 2,
        dimension=1,
        bandwidth_policy=bandwidth,
        spectrum=spectrum,
    )
    corrected = [float(inner_global(omega, weighted_omega, f, measure="volume")) for f in fields]
    plain = [2 * math.pi * float(inner_global(omega, weighted_omega, f)) for f in fields]
    return {
        "corrected": np.abs(np.array(corrected) - INTEGRAL),
        "uncorrected": np.abs(np.array(plain) - INTEGRAL),
    }


def density_check(
    seeds: Sequence[int],
    kappas: Sequence[float] = KAPPAS,
    noises: Sequence[float] = NOISES,
    views: Sequence[int] | None = None,
    bandwidths: Sequence[BandwidthPolicy] = ("variable", "fixed"),
    spectra: Sequence[Spectrum] = ("raw", "projector"),
    points: int = POINTS,
    advance: Callable[[int], None] = lambda steps: None,
) -> list[DensityRow]:
    """Errors for every κ, noise, neighbour count, bandwidth policy, spectrum and measure.

    Without `views`, neighbour counts are those that suit the noise. Advances by one for each κ.
    """
    rows = []
    for kappa in kappas:
        for noise in noises:
            samples = circles(kappa, noise, seeds, points)
            for neighbors, bandwidth, spectrum in product(
                [view(noise)] if views is None else views, bandwidths, spectra
            ):
                found = integral_errors(samples, neighbors, bandwidth, spectrum)
                for correction, errors in found.items():
                    error, half = map(float, mean_interval(errors))
                    setting = (kappa, noise, neighbors, bandwidth, spectrum, correction)
                    rows.append(DensityRow(*setting, error, half, len(samples)))
        advance(1)
    return rows
