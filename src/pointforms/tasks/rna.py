"""RNA kinetics: short trajectories of transcription, splicing and degradation in two regimes."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from pointforms.tasks.task import Task, paired_task


@dataclass(frozen=True)
class Kinetics:
    """Rates of u̇ = α - βu, ṡ = βu - γs: one of each per gene, or (n, genes) for n cells."""

    alpha: np.ndarray
    beta: np.ndarray
    gamma: np.ndarray

    def steady_state(self) -> tuple[np.ndarray, np.ndarray]:
        """Return the steady state u = α/β, s = α/γ."""
        return self.alpha / self.beta, self.alpha / self.gamma

    def solve(self, u0: np.ndarray, s0: np.ndarray, t: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return the exact solution at times t (m,) from u0, s0 (genes,): (m, genes) each.

        u(t) = α/β + a e^{-βt} with a = u0 - α/β, and
        s(t) = α/γ + (s0 - α/γ) e^{-γt} + a β e^{-βt} t φ((γ-β) t), φ(x) = (1 - e^{-x}) / x,
        a form that stays exact where γ = β.
        """
        t = t[:, None]
        u_rest, s_rest = self.steady_state()
        a = u0 - u_rest
        x = (self.gamma - self.beta) * t
        safe = np.where(np.abs(x) < 1e-12, 1.0, x)
        phi = np.where(np.abs(x) < 1e-12, 1.0, -np.expm1(-safe) / safe)
        decay = np.exp(-self.beta * t)
        u = u_rest + a * decay
        s = s_rest + (s0 - s_rest) * np.exp(-self.gamma * t) + a * self.beta * decay * t * phi
        return u, s

    def scattered(self, deviation: float, rng: np.random.Generator) -> Kinetics:
        """Return every rate times exp(ε), ε normal: the rates of one cell."""
        return Kinetics(
            *(
                rate * np.exp(deviation * rng.normal(size=rate.shape))
                for rate in (self.alpha, self.beta, self.gamma)
            )
        )


# The regimes differ on a fifth of the genes, by up to this share of each rate.
_CHANGED_SHARE, _CHANGE = 0.2, 0.4
# Deviation of the logarithms of starts from the steady state: wide, and as the paper's text has it.
_START_SPREAD, _STEADY_SPREAD = 0.5, 0.05
_HETEROGENEITY = 0.15
_NOISE = 0.02
_END = 0.5


def rna_velocity(seed: int, clouds: int = 1000, points: int = 40) -> Task:
    """Fragments of 5 to 40 states in R^50: unspliced and spliced RNA of 25 genes."""
    return kinetic_regimes("rna-velocity", seed, clouds, 25, min(5, points), points)


def rna_velocity_quick(seed: int, clouds: int = 160, points: int = 15) -> Task:
    """Fragments of 4 to 15 states in R^24: unspliced and spliced RNA of 12 genes."""
    return kinetic_regimes("rna-velocity-quick", seed, clouds, 12, min(4, points), points)


def rna_velocity_steady(seed: int, clouds: int = 1000, points: int = 40) -> Task:
    """Fragments of 5 to 40 states in R^50 that start near the steady state of the first regime.

    The paper samples starts "near the steady state of the base field" without saying how near. Here
    each abundance is off by about 5 %: trajectories of the first regime hardly move, and those of
    the second drift to their own steady state. The task is easy, for the mean of a cloud already
    tells most classes (AUROC 0.96). In rna-velocity starts are off by about 50 %, so that all
    trajectories move, and the mean tells little (0.63).
    """
    return kinetic_regimes(
        "rna-velocity-steady", seed, clouds, 25, min(5, points), points, _STEADY_SPREAD
    )


def regimes(genes: int, rng: np.random.Generator) -> tuple[Kinetics, Kinetics]:
    """Return random rates, and the same rates with a fifth of the genes perturbed."""
    base = Kinetics(*(rng.uniform(0.5, 2.0, genes) for _ in range(3)))
    changed = rng.permutation(genes)[: max(1, round(_CHANGED_SHARE * genes))]
    rates = []
    for rate in (base.alpha, base.beta, base.gamma):
        other = rate.copy()
        other[changed] += rate[changed] * _CHANGE * rng.choice([-1.0, 1.0], len(changed))
        rates.append(other)
    return base, Kinetics(*rates)


def kinetic_regimes(
    name: str,
    seed: int,
    clouds: int,
    genes: int,
    shortest: int,
    longest: int,
    spread: float = _START_SPREAD,
) -> Task:
    """Return fragments of trajectories in two kinetic regimes, from the same starts.

    Starts scatter about the steady state of the first regime by the factor exp(spread ε), ε normal
    for every abundance. Each start is followed in both regimes, so that only the directions of
    motion distinguish them. A trajectory is observed at random times, and only up to a random
    length.
    """
    rng = np.random.default_rng([seed, 2])
    base, other = regimes(genes, rng)
    u_rest, s_rest = base.steady_state()

    made = []
    fine = np.linspace(0.0, _END, 4 * longest)
    for i in range(clouds):
        if i % 2 == 0:
            u0 = u_rest * np.exp(spread * rng.normal(size=genes))
            s0 = s_rest * np.exp(spread * rng.normal(size=genes))
        times = np.sort(rng.choice(fine, longest, replace=False))
        times = times[: rng.integers(shortest, longest + 1)]
        u, s = (base, other)[i % 2].scattered(_HETEROGENEITY, rng).solve(u0, s0, times)
        states = np.concatenate([u, s], -1)
        made.append(rng.permutation(states + _NOISE * rng.normal(size=states.shape)))
    features = tuple(f"{kind}{g}" for kind in "us" for g in range(genes))
    return paired_task(name, made, features, ("base", "perturbed"), seed)
