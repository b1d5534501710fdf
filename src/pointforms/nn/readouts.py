"""From a comparison matrix to a vector."""

from __future__ import annotations

from collections.abc import Callable
from typing import Literal

import torch
from torch import Tensor

ReadoutName = Literal["tri", "flat", "diag", "pool", "gram"]

# Relative floor under energies before their logarithm or quotient.
_FLOOR = 1e-6


def tri(C: Tensor) -> Tensor:
    """The upper triangle: l(l+1)/2 entries."""
    i, j = torch.triu_indices(C.shape[-1], C.shape[-1], device=C.device)
    return C[..., i, j]


def flat(C: Tensor) -> Tensor:
    """All l² entries."""
    return C.flatten(-2)


def diag(C: Tensor) -> Tensor:
    """The energies ⟨⟨ω_a, ω_a⟩⟩: l entries."""
    return C.diagonal(dim1=-2, dim2=-1)


def pool(C: Tensor) -> Tensor:
    """Summaries that do not depend on the order of the forms: l + 5 numbers.

    Trace, Frobenius norm, mean and mean square off the diagonal, log determinant, eigenvalues.
    """
    l = C.shape[-1]
    energies = diag(C)
    trace = energies.sum(-1)
    square = C.square().sum((-2, -1))
    pairs = max(l * (l - 1), 1)
    off_mean = (C.sum((-2, -1)) - trace) / pairs
    off_square = (square - energies.square().sum(-1)) / pairs
    values = torch.linalg.eigvalsh(C)
    floor = _FLOOR * (trace / l).unsqueeze(-1) + torch.finfo(C.dtype).tiny
    log_det = (values.clamp_min(0) + floor).log().sum(-1)
    summary = torch.stack([trace, (square + 1e-12).sqrt(), off_mean, off_square, log_det], -1)
    return torch.cat([summary, values], -1)


def gram(C: Tensor) -> Tensor:
    """C as a PSD matrix: logarithms of the energies, and correlations C_ab / √(C_aa C_bb).

    l(l+1)/2 numbers; scaling a form moves only its own logarithm.
    """
    energies = diag(C)
    floor = _FLOOR * energies.mean(-1, keepdim=True) + torch.finfo(C.dtype).tiny
    energies = energies + floor
    root = energies.sqrt()
    i, j = torch.triu_indices(C.shape[-1], C.shape[-1], offset=1, device=C.device)
    correlations = C[..., i, j] / (root[..., i] * root[..., j])
    return torch.cat([energies.log(), correlations], -1)


READOUTS: dict[str, Callable[[Tensor], Tensor]] = {
    "tri": tri,
    "flat": flat,
    "diag": diag,
    "pool": pool,
    "gram": gram,
}


def readout_width(name: str, forms: int) -> int:
    """Numbers that a readout makes of an l × l matrix."""
    widths = {
        "tri": forms * (forms + 1) // 2,
        "flat": forms**2,
        "diag": forms,
        "pool": forms + 5,
        "gram": forms * (forms + 1) // 2,
    }
    return widths[name]
