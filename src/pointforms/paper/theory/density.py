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
from pointforms.support.statistics import interval

Correction = Literal["corrected", "uncorrected"]

INTEGRAL = math.pi
KAPPAS = (0.0, 0.5, 1.0, 2.0, 4.0)
NOISES = (0.0, 0.02)
POINTS = 1000

# Neighbours, of which half set the scale: ρ follows the noise of the density, strong at d = 1.
# Where points crowd, 64 of them span about 0.1, little more than noise of 0.02: noise needs more.
CLEAN_NEIGHBORS, NOISY_NEIGHBORS = 64, 128


@dataclass(frozen=True)
class DensityRow:
    """One setting of the check: the mean of |∫ - π| over seeds, and half its 95 % interval."""

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
        """Whether the neighbour count is the one that suits the noise."""
        return self.neighbors == suitable_neighbors(self.noise)


def suitable_neighbors(noise: float) -> int:
    """Return the neighbour count that suits a noise."""
    return NOISY_NEIGHBORS if noise else CLEAN_NEIGHBORS


def omega(points: Tensor) -> Tensor:
    """Return ω = -y dx + x dy at points: (n, 2) -> (n, 2)."""
    return torch.stack([-points[:, 1], points[:, 0]], -1)


def weighted_omega(points: Tensor) -> Tensor:
    """Return x² ω at points: (n, 2) -> (n, 2)."""
    return points[:, :1] ** 2 * omega(points)


def circles(kappa: float, noise: float, seeds: Sequence[int], points: int = POINTS) -> list[Sample]:
    """Return one von Mises circle per seed, with the same points of a seed at every noise."""
    samples = []
    for seed in seeds:
        rng = np.random.default_rng(seed)
        sample = circle(points, rng, kappa)
        samples.append(sample.noisy(noise, rng) if noise else sample)
    return samples


def integral_errors(
    samples: Sequence[Sample],
    neighbors: int = CLEAN_NEIGHBORS,
    bandwidth: BandwidthPolicy = "variable",
    spectrum: Spectrum = "raw",
) -> dict[Correction, np.ndarray]:
    """Return |∫ - π| of each sample, with and without the density correction.

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
    neighbors: Sequence[int] | None = None,
    bandwidths: Sequence[BandwidthPolicy] = ("variable", "fixed"),
    spectra: Sequence[Spectrum] = ("raw", "projector"),
    points: int = POINTS,
    advance: Callable[[int], None] = lambda steps: None,
) -> list[DensityRow]:
    """Measure errors for every κ, noise, neighbour count, bandwidth policy, spectrum and measure.

    By default neighbour counts are those that suit the noise. `advance(1)` is called for each κ.
    """
    rows = []
    for kappa in kappas:
        for noise in noises:
            samples = circles(kappa, noise, seeds, points)
            counts = [suitable_neighbors(noise)] if neighbors is None else neighbors
            for count, bandwidth, spectrum in product(counts, bandwidths, spectra):
                by_correction = integral_errors(samples, count, bandwidth, spectrum)
                for correction, errors in by_correction.items():
                    error, half = interval(errors)
                    setting = (kappa, noise, count, bandwidth, spectrum, correction)
                    width = math.nan if half is None else half
                    rows.append(DensityRow(*setting, error, width, len(samples)))
        advance(1)
    return rows
