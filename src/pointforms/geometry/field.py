"""GramField: what is known of one cloud."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Literal

import torch
from torch import Tensor

from pointforms.exterior import compound
from pointforms.geometry.settings import GramSettings

Measure = Literal["uniform", "volume", "volume-normalized"]


@dataclass(frozen=True, eq=False)
class GramField:
    """The Gram field of a cloud: at each point p a symmetric PSD matrix G(p) = V(p) V(p)ᵀ.

    G estimates the orthogonal projector on the tangent space of the manifold that the cloud was
    sampled from, so ⟨ω, η⟩(p) = ω(p)ᵀ G(p) η(p) compares 1-forms along the cloud. It is an
    estimate from data: nothing here is differentiated with respect to the points.

    Attributes
    ----------
    points : (n, D)
    factor : (n, D, r)
        V. Everything else derives from it; r ≤ min(D, neighbours).
    log_density : (n,)
        log q₀, the sampling density with respect to d-dimensional volume.
    scale : (n,)
        ρ, the bandwidth function, a length.
    dimension : int
        d, given or estimated.
    bandwidth : float
        ε, given or chosen.
    neighbors : int
        Points in each neighbourhood, the point itself included.
    discarded_trace : (n,)
        The trace of G that `rank` left out.
    settings : GramSettings
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
        """q₀ (n,); infinite where it exceeds the floating-point range, unlike log_density."""
        return self.log_density.exp()

    def matrix(self) -> Tensor:
        """G (n, D, D)."""
        return self.factor @ self.factor.mT

    def compound(self, degree: int) -> Tensor:
        """The k-th Gram field, ⟨dx^I, dx^J⟩ = det[G_{i_a j_b}]: (n, C(D, k), C(D, k)).

        The dense reference. Pairings of forms do not need it and are far smaller without.
        """
        return compound(self.matrix(), degree)

    def measure(self, name: Measure = "uniform") -> Tensor:
        """Weights μ of the points in a global pairing: (n,).

        "uniform" is 1/n; "volume" is 1/(n q₀), whose sums approximate ∫ dV; "volume-normalized"
        is the same made to sum to 1.
        """
        n = len(self)
        if name == "uniform":
            return torch.full_like(self.log_density, 1.0 / n)
        if name == "volume":
            return torch.exp(-self.log_density) / n
        if name == "volume-normalized":
            return torch.softmax(-self.log_density, 0)
        raise ValueError(
            f"measure={name!r}: expected one of 'uniform', 'volume', 'volume-normalized'"
        )

    def tangents(self, count: int | None = None) -> Tensor:
        """Orthonormal leading directions of G, `count` (by default d) a point: (n, D, count).

        No more than the r that the factor has.
        """
        U: Tensor = torch.linalg.svd(self.factor, full_matrices=False).U
        return U[..., : self.dimension if count is None else count]

    def off_tangent_share(self) -> float:
        """The mean share of the trace of G outside its top-d eigenspace: noise and curvature."""
        squared = torch.linalg.svdvals(self.factor).square()
        total = squared.sum(-1) + self.discarded_trace
        outside = squared[:, self.dimension :].sum(-1) + self.discarded_trace
        return float((outside / torch.where(total > 0, total, 1.0)).mean())

    def to(
        self, device: torch.device | str | None = None, dtype: torch.dtype | None = None
    ) -> GramField:
        """The field on another device or in another precision."""
        moved = {
            name: getattr(self, name).to(device=device, dtype=dtype)
            for name in ("points", "factor", "log_density", "scale", "discarded_trace")
        }
        return replace(self, **moved)
