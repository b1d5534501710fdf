"""Products with sparse matrices whose transposes are known."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor
from torch.autograd.function import once_differentiable


class _Product(torch.autograd.Function):
    """A h for a sparse A whose transpose is known: torch would sort A again in every step."""

    @staticmethod
    def forward(ctx: Any, A: Tensor, transposed: Tensor, h: Tensor) -> Tensor:
        ctx.transposed = transposed
        return A @ h

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, *grads: Tensor) -> tuple[None, None, Tensor]:
        return None, None, ctx.transposed @ grads[0].contiguous()


def sparse_product(A: Tensor, transposed: Tensor, h: Tensor) -> Tensor:
    """Return A h (m, H) for a sparse matrix A (m, n), its transpose (n, m), and h (n, H)."""
    out: Tensor = _Product.apply(A, transposed, h)  # type: ignore[no-untyped-call]
    return out


class _Directions(torch.autograd.Function):
    """|A h| with every row scaled to one length."""

    @staticmethod
    def forward(
        ctx: Any, A: Tensor, transposed: Tensor, h: Tensor, length: float, least: float
    ) -> Tensor:
        rows = A @ h
        norms = torch.linalg.vector_norm(rows, dim=1, keepdim=True)
        scale = length / norms.clamp_min(least)
        rows.mul_(scale)
        ctx.transposed = transposed
        # the norm of a row that is too short has no gradient
        ctx.save_for_backward(rows, scale, (norms >= least) / length**2)
        return rows.abs()

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, *grads: Tensor) -> tuple[None, None, Tensor, None, None]:
        rows, scale, share = ctx.saved_tensors
        signed = rows.sign().mul_(grads[0])
        along = (signed * rows).sum(1, keepdim=True).mul_(share)
        of_rows = signed.addcmul_(rows, along, value=-1).mul_(scale)
        return None, None, ctx.transposed @ of_rows, None, None


def directions(
    A: Tensor, transposed: Tensor, h: Tensor, length: float, least: float = 1e-6
) -> Tensor:
    """Return |A h|, entry by entry, with rows scaled to a length; shorter ones than least less so.

    Parameters
    ----------
    A, transposed : sparse Tensor, shape (m, n) and (n, m)
        The matrix and its transpose.
    h : Tensor, shape (n, H)
        What it is applied to.
    length : float
        The length of rows of the result.
    least : float, default 1e-6
        Rows of A h that are shorter are divided by this instead of their length.
    """
    out: Tensor = _Directions.apply(  # type: ignore[no-untyped-call]
        A, transposed, h, length, least
    )
    return out
