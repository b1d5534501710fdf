"""Accuracy of Gram fields on manifolds whose tangent spaces are known."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import replace
from itertools import pairwise
from typing import Any

import numpy as np
from rich.progress import track

import pointforms as pf
from benchmarks.tables import Results
from pointforms.manifolds import Sample, circle, relative_error, sphere, tangent_angle, torus
from pointforms.paper.theory.consistency import SPHERE, Coupling
from pointforms.paper.theory.consistency import consistency as measure_consistency
from pointforms.paper.theory.density import circles, integral_errors
from pointforms.support.progress import track as track_steps

Sampler = Callable[[np.random.Generator], Sample]

SEEDS = range(5)


def noisy_sphere(rng: np.random.Generator) -> Sample:
    return sphere(2000, rng).noisy(0.05, rng)


def noisy_sphere_in_20(rng: np.random.Generator) -> Sample:
    return sphere(2000, rng).embedded(20).noisy(0.02, rng)


def samples(sampler: Sampler, seeds: Iterable[int] = SEEDS) -> list[Sample]:
    return [sampler(np.random.default_rng(seed)) for seed in seeds]


def errors(sampler: Sampler, **settings: Any) -> tuple[float, float, float]:
    """Return means over the seeds: raw relative error, angle in degrees, projector's error."""
    rows = []
    for sample in samples(sampler):
        raw = pf.gram_field(sample.points, **settings)
        sharp = pf.gram_field(sample.points, spectrum="projector", **settings)
        rows.append(
            (
                relative_error(raw, sample),
                tangent_angle(raw, sample),
                relative_error(sharp, sample),
            )
        )
    raw_error, angle, sharp_error = np.mean(rows, 0)
    return raw_error, angle, sharp_error


def known_tangents(results: Results) -> None:
    wide = {"neighbors": 64, "density_neighbors": 8}
    noisy = {"neighbors": 256, "density_neighbors": 64}
    cases: list[tuple[str, Sampler, dict[str, Any], tuple[float | None, ...]]] = [
        (
            "circle n = 1000, 64 / 32 neighbours",
            lambda rng: circle(1000, rng),
            {"neighbors": 64, "density_neighbors": 32},
            (0.05, None, 0.005),
        ),
        (
            "circle n = 1000, 32 / 8",
            lambda rng: circle(1000, rng),
            {"neighbors": 32},
            (0.09, None, None),
        ),
        ("sphere n = 2000, 64 / 8", lambda rng: sphere(2000, rng), wide, (0.11, 0.70, 0.014)),
        ("torus n = 4000, 64 / 8", lambda rng: torus(4000, rng), wide, (0.12, None, 0.020)),
        ("sphere, noise 0.05, 256 / 64", noisy_sphere, noisy, (0.14, 3.9, None)),
        ("sphere in R^20, noise 0.02, 256 / 64", noisy_sphere_in_20, noisy, (0.125, 2.2, None)),
    ]
    for case, sampler, settings, reaches in track(cases, "known tangent spaces"):
        names = ("raw error", "angle (°)", "projector error")
        for name, value, reach in zip(names, errors(sampler, **settings), reaches, strict=True):
            if reach is not None:
                results.add(case, name, value, reach)


def density_correction(results: Results) -> None:
    """Estimate ∫⟨ω, x²ω⟩ = ∫ x² = π on the circle; ω = -y dx + x dy, any sampling density."""
    for kappa in track((0.5, 1.0, 2.0), "density correction"):
        clouds = circles(kappa, noise=0.0, seeds=range(20))
        raw, sharp = (integral_errors(clouds, spectrum=name) for name in ("raw", "projector"))
        case = f"von Mises circle, κ = {kappa}"
        results.add(case, "|∫ - π| raw", float(raw["corrected"].mean()), 0.30)
        results.add(case, "|∫ - π| projector", float(sharp["corrected"].mean()), 0.15)
        gain = float(raw["uncorrected"].mean() / raw["corrected"].mean())
        if kappa == 2.0:
            results.add(case, "uncorrected / raw", gain, 3.0, lower=False)
        else:
            results.note(case, "uncorrected / raw", f"{gain:.3g}")


def consistency(results: Results) -> None:
    """Measure errors on the sphere as n grows and ε falls at the rate given by the theory.

    ε starts at Berry and Harlim's choice for n = 500. k₀ does not grow, so ρ keeps its noise.
    """
    sizes = (500, 1000, 2000, 4000)
    still = Coupling(first=sizes[0], density_neighbors=16, growth=0.0, length=0.5)
    chosen = [still.field(SPHERE.sample(sizes[0], s), bandwidth="auto").bandwidth for s in SEEDS]
    coupling = replace(still, epsilon=float(np.mean(chosen)))
    with track_steps(len(SEEDS), "consistency") as advance:
        rows = measure_consistency(SEEDS, (SPHERE,), sizes, (1,), coupling, advance)
    # the global error is shown in units of G, not of its mean ⅔ I
    norm = {"global": float(SPHERE.mean_projector(1).norm())}
    case = "sphere, complete graph, n = 500 … 4000"
    for row in rows:
        if row.error != "global, volume":
            shown = " ".join(f"{norm.get(row.error, 1.0) * v:.3f}" for v in row.means)
            results.note(case, f"{row.error} errors, slope", f"{shown}, {row.slope:+.2f}")
        if row.error in ("local", "global"):
            largest_step = max(b / a for a, b in pairwise(row.means))
            results.add(case, f"{row.error}: largest step", largest_step, 1.0)


def main() -> list[str]:
    """Print the table and return the figures that missed their bounds."""
    results = Results("Accuracy: means over seeds 0-4 (von Mises: 0-19)")
    for part in (known_tangents, density_correction, consistency):
        part(results)
    results.print()
    return results.missed
