"""GramField: the estimated geometry of one cloud."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Literal, get_args

import torch
from torch import Tensor

from pointforms.exterior import check_degree, compound
from pointforms.geometry.settings import GramSettings
from pointforms.support.checks import check_choice
from pointforms.support.weighted_statistics import weighted_mean
from pointforms.weights import relative_weights

Measure = Literal["uniform", "volume", "volume-normalized"]


@dataclass(frozen=True, eq=False)
class GramField:
    """The Gram field of a cloud: at each point p a positive semidefinite G(p) = V(p) V(p)ᵀ.

    G estimates the orthogonal projector on the tangent space of the manifold that the cloud was
    sampled from, so ⟨ω, η⟩(p) = ω(p)ᵀ G(p) η(p) compares 1-forms along the cloud. It is an
    estimate from data: nothing here is differentiated with respect to the points.

    :func:`pointforms.gram_field` and :func:`pointforms.gram_fields` make them.

    Parameters
    ----------
    points : Tensor, shape (n, D)
        The cloud.
    factor : Tensor, shape (n, D, r)
        V, from which everything else derives; r ≤ D, and r ≤ neighbors unless points are tied at
        the end of a neighbourhood.
    log_density : Tensor, shape (n,)
        log q₀, the sampling density with respect to d-dimensional volume.
    scale : Tensor, shape (n,)
        ρ, the bandwidth function, a length.
    dimension : int
        d, given or estimated.
    bandwidth : float
        ε, given or chosen.
    neighbors : int
        Number of points in each neighbourhood, the point itself included.
    discarded_trace : Tensor, shape (n,)
        The trace of G that the option `rank` left out.
    settings : GramSettings
        The options the field was computed with.
    agreement : float or None, default None
        Share of the points, in the clouds that chose d, whose own neighbourhood has dimension d, or
        0 if they are too small to tell a higher one; None if d was not estimated so.
    unit : Tensor, shape (D,), or None, default None
        What an estimator divided the features by before it searched neighbours; None if the field
        was estimated in the units of its points.
    weights : Tensor, shape (n,), or None, default None
        The mass that each point stands for; None weighs all points equally.
    pairs : Tensor, shape (n, n), or None, default None
        Scales s_ij of which the factor is made, see :mod:`pointforms.geometry.pairs`: a short form
        of it in many features, where most points are neighbours of each other; None elsewhere.
        Whoever reads them checks that they describe the factor.

    Examples
    --------
    >>> import numpy as np, pointforms as pf
    >>> field = pf.gram_field(np.random.default_rng(0).normal(size=(50, 3)), dimension=2)
    >>> field
    GramField(n=50, D=3, rank=3, dimension=2, neighbors=16, bandwidth=1)
    >>> field.matrix().shape, field.compound(2).shape
    (torch.Size([50, 3, 3]), torch.Size([50, 3, 3]))
    >>> float(field.measure("uniform").sum().round(decimals=6))
    1.0
    """

    points: Tensor
    factor: Tensor
    log_density: Tensor
    scale: Tensor
    dimension: int
    bandwidth: float
    neighbors: int
    discarded_trace: Tensor
    settings: GramSettings
    agreement: float | None = None
    unit: Tensor | None = None
    weights: Tensor | None = None
    pairs: Tensor | None = None

    def __len__(self) -> int:
        return self.points.shape[0]

    def __repr__(self) -> str:
        n, D, r = self.factor.shape
        return (
            f"GramField(n={n}, D={D}, rank={r}, dimension={self.dimension}, "
            f"neighbors={self.neighbors}, bandwidth={self.bandwidth:.3g})"
        )

    @property
    def density(self) -> Tensor:
        """The sampling density q₀ (n,); `log_density` also has what exceeds the number range."""
        return density_within_range(self.log_density, self.dimension)

    def matrix(self) -> Tensor:
        """Return G (n, D, D)."""
        return self.factor @ self.factor.mT

    def compound(self, degree: int) -> Tensor:
        """Return the k-th Gram field, ⟨dx^I, dx^J⟩ = det[G_{i_a j_b}]: (n, C(D, k), C(D, k)).

        It is large. Pairings of forms use the factor instead and need far less memory.

        Parameters
        ----------
        degree : int
            k, at most D.
        """
        check_degree(degree, self.points.shape[1])
        result = compound(self.matrix(), degree)
        if not bool(torch.isfinite(result).all()):
            raise ValueError(
                f"compound({degree}) exceeds the range of {result.dtype}: entries of the Gram "
                f"field are up to {float(self.matrix().abs().max()):.3g}"
            )
        return result

    def measure(self, name: Measure = "uniform") -> Tensor:
        """Return the weights μ of the points in a global pairing: (n,).

        Parameters
        ----------
        name : {"uniform", "volume", "volume-normalized"}, default "uniform"
            "uniform" is 1/n. "volume" is 1/(n q₀), so that sums approximate ∫ dV.
            "volume-normalized" divides those weights by their sum. Where points have weights w,
            w_i / Σw takes the place of 1/n.
        """
        check_choice("measure", name, *get_args(Measure))
        n, mass = len(self), relative_weights(self)
        if mass is not None:
            return self._weighted_measure(name, mass)
        if name == "uniform":
            return torch.full_like(self.log_density, 1.0 / n)
        if name == "volume":
            weights = torch.exp(-self.log_density) / n
            _check_range(
                weights, 'measure("volume")', self.log_density, self.dimension,
                'measure("volume-normalized")',
            )  # fmt: skip
            return weights
        return torch.softmax(-self.log_density, 0)

    def _weighted_measure(self, name: Measure, mass: Tensor) -> Tensor:
        """Return a measure where points have masses (n,) of mean 1."""
        if name == "volume-normalized":
            return torch.softmax(mass.log().to(self.log_density) - self.log_density, 0)
        plain = replace(self, weights=None).measure(name)
        return plain * mass.to(plain)

    def tangents(self, count: int | None = None) -> Tensor:
        """Return orthonormal leading directions of G: (n, D, count).

        Parameters
        ----------
        count : int or None, default None
            Number of directions per point, at most the r columns of the factor. None takes d.
        """
        U: Tensor = torch.linalg.svd(self.factor, full_matrices=False).U
        return U[..., : self.dimension if count is None else count]

    def off_tangent_share(self) -> float:
        """Return the mean share of the trace of G outside its top-d eigenspace.

        Noise and curvature increase it.
        """
        squared = torch.linalg.svdvals(self.factor).square()
        total = squared.sum(-1) + self.discarded_trace
        outside = squared[:, self.dimension :].sum(-1) + self.discarded_trace
        share = outside / torch.where(total > 0, total, 1.0)
        return float(weighted_mean(share, relative_weights(self)))

    def to(
        self, device: torch.device | str | None = None, dtype: torch.dtype | None = None
    ) -> GramField:
        """Return the field on another device or in another precision."""
        moved = {
            name: getattr(self, name).to(device=device, dtype=dtype)
            for name in ("points", "factor", "log_density", "scale", "discarded_trace")
        }
        if self.weights is not None:
            moved["weights"] = self.weights.to(device)
        if self.pairs is not None:
            moved["pairs"] = self.pairs.to(device=device, dtype=dtype)
        return replace(self, **moved)


def density_within_range(log_density: Tensor, dimension: int) -> Tensor:
    """Return the density (n,), or raise an error if floating-point numbers cannot hold it."""
    density = log_density.exp()
    _check_range(density, "density", log_density, dimension, "log_density")
    return density


def _check_range(
    values: Tensor, name: str, log_density: Tensor, dimension: int, other: str
) -> None:
    """Raise an error if positive values are infinite, or all 0."""
    largest = float(values.max())
    if not torch.finfo(values.dtype).tiny <= largest < float("inf"):
        raise ValueError(
            f"{name} is beyond the range of {values.dtype}: its unit is a power of length, and "
            f"the logarithm of the density is {float(log_density.median()):.3g} at "
            f"dimension {dimension}; rescale the points, or use {other}"
        )
