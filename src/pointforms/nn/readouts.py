"""Readouts: from a comparison matrix to a vector.

To add one, write its function, enter it in `READOUTS`, and add its name to `ReadoutName`. Widths,
checks of options and error messages follow. Docstrings and the registry of models list the readouts
too; `tests/nn/test_readouts.py` names the lists that do not agree.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Literal

import torch
from torch import Tensor

ReadoutName = Literal["tri", "flat", "diag", "pool", "gram"]

# Floor under energies, relative to their mean, before their logarithm or quotient.
_FLOOR = 1e-6


def tri(C: Tensor) -> Tensor:
    """Return the upper triangle of comparison matrices, diagonal included.

    Parameters
    ----------
    C : Tensor, shape (..., l, l)
        Symmetric matrices.

    Returns
    -------
    Tensor, shape (..., l(l+1)/2)
        The entries, row by row.

    Examples
    --------
    >>> import torch
    >>> tri(torch.tensor([[1.0, 2.0], [2.0, 3.0]]))
    tensor([1., 2., 3.])
    """
    i, j = torch.triu_indices(C.shape[-1], C.shape[-1], device=C.device)
    return C[..., i, j]


def flat(C: Tensor) -> Tensor:
    """Return all entries of comparison matrices.

    Parameters
    ----------
    C : Tensor, shape (..., l, l)
        Symmetric matrices.

    Returns
    -------
    Tensor, shape (..., l²)
        The entries, row by row.

    Examples
    --------
    >>> import torch
    >>> flat(torch.tensor([[1.0, 2.0], [2.0, 3.0]]))
    tensor([1., 2., 2., 3.])
    """
    return C.flatten(-2)


def diag(C: Tensor) -> Tensor:
    """Return the energies ⟨⟨ω_a, ω_a⟩⟩, the diagonal of comparison matrices.

    Parameters
    ----------
    C : Tensor, shape (..., l, l)
        Symmetric matrices.

    Returns
    -------
    Tensor, shape (..., l)
        The energies.

    Examples
    --------
    >>> import torch
    >>> diag(torch.tensor([[1.0, 2.0], [2.0, 3.0]]))
    tensor([1., 3.])
    """
    return C.diagonal(dim1=-2, dim2=-1)


def pool(C: Tensor) -> Tensor:
    """Return summaries of comparison matrices that do not depend on the order of the forms.

    Parameters
    ----------
    C : Tensor, shape (..., l, l)
        Symmetric positive semidefinite matrices.

    Returns
    -------
    Tensor, shape (..., l + 5)
        Trace, Frobenius norm, mean and mean square off the diagonal, log determinant, and the
        eigenvalues in ascending order.

    Examples
    --------
    >>> import torch
    >>> pool(torch.diag(torch.tensor([1.0, 3.0])))[:2]  # trace and norm
    tensor([4.0000, 3.1623])
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
    """Return the logarithms of the energies and the correlations C_ab / √(C_aa C_bb).

    Multiplying a form by a number changes only the logarithm of its own energy.

    Parameters
    ----------
    C : Tensor, shape (..., l, l)
        Symmetric positive semidefinite matrices.

    Returns
    -------
    Tensor, shape (..., l(l+1)/2)
        The l logarithms, then the correlations above the diagonal, row by row.

    Examples
    --------
    >>> import torch
    >>> gram(torch.tensor([[1.0, 1.0], [1.0, 4.0]])).round(decimals=3)
    tensor([0.0000, 1.3860, 0.5000])
    """
    energies = diag(C)
    floor = _FLOOR * energies.mean(-1, keepdim=True) + torch.finfo(C.dtype).tiny
    energies = energies + floor
    root = energies.sqrt()
    i, j = torch.triu_indices(C.shape[-1], C.shape[-1], offset=1, device=C.device)
    correlations = C[..., i, j] / (root[..., i] * root[..., j])
    return torch.cat([energies.log(), correlations], -1)


#: Every readout by its name: a function from (..., l, l) to (..., width).
READOUTS: dict[str, Callable[[Tensor], Tensor]] = {
    "tri": tri,
    "flat": flat,
    "diag": diag,
    "pool": pool,
    "gram": gram,
}


def readout_width(name: str, forms: int) -> int:
    """Return how many numbers a readout makes of an l × l matrix."""
    return READOUTS[name](torch.eye(forms, device="cpu")).shape[-1]
