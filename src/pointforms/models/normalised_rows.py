"""Normalisation, ReLU and maxima of many rows, with few passes through memory forth and back.

Where several steps follow one another, rows go through them in parts that stay in the processor's
cache.
"""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor
from torch.autograd.function import once_differentiable

# Number of numbers that go through several steps at once: half a megabyte in single precision.
_PART = 1 << 17
_threshold_backward = torch.ops.aten.threshold_backward


class _Centred(torch.autograd.Function):
    """Rows less their mean, that mean, and the variance of every column."""

    @staticmethod
    def forward(ctx: Any, z: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        mean = z.sum(0) / len(z)
        centred = z - mean
        ctx.save_for_backward(centred)
        return centred, mean, centred.square().sum(0) / len(z)

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, *grads: Tensor) -> Tensor:
        of_centred, of_mean, of_variance = grads
        (centred,) = ctx.saved_tensors
        n = len(centred)
        level = (of_mean - of_centred.sum(0)) / n
        return torch.addcmul(of_centred, centred, 2 / n * of_variance).add_(level)


class _ScaledRelu(torch.autograd.Function):
    """relu(factor * z + offset) of rows z."""

    @staticmethod
    def forward(ctx: Any, z: Tensor, factor: Tensor, offset: Tensor) -> Tensor:
        out = torch.addcmul(offset, z, factor).relu_()
        ctx.save_for_backward(z, factor, out)
        return out

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, *grads: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        z, factor, out = ctx.saved_tensors
        passed = _threshold_backward(grads[0], out, 0)
        of_factor, of_offset = (passed * z).sum(0), passed.sum(0)
        return passed.mul_(factor), of_factor, of_offset


class _NextProduct(torch.autograd.Function):
    """z' = relu(factor * z + offset) @ matrixᵀ - shift; its mean, its variance and the shift.

    The shift, a constant close to the mean, keeps the variance from cancelling.
    """

    @staticmethod
    def forward(
        ctx: Any, z: Tensor, factor: Tensor, offset: Tensor, matrix: Tensor
    ) -> tuple[Tensor, Tensor, Tensor, Tensor]:
        out = z.new_empty(len(z), len(matrix))
        step = max(1, _PART // max(matrix.shape))
        first = torch.addcmul(offset, z[:step], factor).relu_()
        shift = matrix @ first.mean(0)
        total, squares = torch.zeros_like(shift), torch.zeros_like(shift)
        for start in range(0, len(z), step):
            some = slice(start, start + step)
            h = torch.addcmul(offset, z[some], factor).relu_()
            part = torch.addmm(-shift, h, matrix.mT, out=out[some])
            total += part.sum(0)
            squares += part.square().sum(0)
        mean = total / len(z)
        variance = (squares / len(z) - mean.square()).clamp_min_(0)
        ctx.save_for_backward(z, factor, offset, matrix, out, mean)
        ctx.step = step
        ctx.mark_non_differentiable(shift)
        return out, mean, variance, shift

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, *grads: Tensor) -> tuple[Tensor, Tensor, Tensor, Tensor]:
        z, factor, offset, matrix, out, mean = ctx.saved_tensors
        of_out, of_mean, of_variance, _ = grads
        slope = 2 / len(z) * of_variance
        level = of_mean / len(z) - slope * mean
        of_z, of_matrix = torch.empty_like(z), torch.zeros_like(matrix)
        of_factor, of_offset = torch.zeros_like(factor), torch.zeros_like(offset)
        for start in range(0, len(z), ctx.step):
            some = slice(start, start + ctx.step)
            grad = torch.addcmul(of_out[some], out[some], slope).add_(level)
            h = torch.addcmul(offset, z[some], factor).relu_()
            of_matrix.addmm_(grad.mT, h)
            passed = _threshold_backward(grad @ matrix, h, 0)
            of_offset += passed.sum(0)
            of_factor += (passed * z[some]).sum(0)
            torch.mul(passed, factor, out=of_z[some])
        return of_z, of_factor, of_offset, of_matrix


class _LargestOfGroups(torch.autograd.Function):
    """The maximum over the rows of each group (m, k, H); equal ones share its gradient."""

    @staticmethod
    def forward(ctx: Any, groups: Tensor) -> Tensor:
        largest = groups.amax(1)
        ctx.save_for_backward(groups, largest)
        return largest

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, *grads: Tensor) -> Tensor:
        groups, largest = ctx.saved_tensors
        least = -torch.finfo(groups.dtype).tiny
        out = torch.empty_like(groups)
        step = max(1, _PART // groups[0].numel())
        for start in range(0, len(groups), step):
            some = slice(start, start + step)
            below = groups[some] - largest[some].unsqueeze(1)
            grad = grads[0][some]
            shared = grad.unsqueeze(1).expand_as(below)
            part = torch.ops.aten.threshold_backward.grad_input(
                shared, below, least, grad_input=out[some]
            )
            total = part.sum(1)
            if not torch.equal(total, grad):  # several are largest
                part.mul_(torch.where(total == 0, 0.0, grad / total).unsqueeze(1))
        return out


def centred_rows(z: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    """Return rows z (N, H) less their mean, that mean (H,), and the variance (H,)."""
    centred, mean, variance = _Centred.apply(z)  # type: ignore[no-untyped-call]
    return centred, mean, variance


def scaled_relu(z: Tensor, factor: Tensor, offset: Tensor) -> Tensor:
    """Return relu(factor * z + offset) of rows z (N, H); factor and offset are (H,)."""
    out: Tensor = _ScaledRelu.apply(z, factor, offset)  # type: ignore[no-untyped-call]
    return out


def next_product(
    z: Tensor, factor: Tensor, offset: Tensor, matrix: Tensor
) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    """Return relu(factor * z + offset) @ matrixᵀ less a constant shift, for rows z (N, H).

    Returns
    -------
    tuple of Tensor
        The rows (N, H'), their mean (H',), their variance (H',) and the shift (H',).
    """
    out: tuple[Tensor, Tensor, Tensor, Tensor] = _NextProduct.apply(  # type: ignore[no-untyped-call]
        z, factor, offset, matrix
    )
    return out


def largest_of_groups(groups: Tensor) -> Tensor:
    """Return the maximum over the rows of each group: (m, k, H) -> (m, H)."""
    largest: Tensor = _LargestOfGroups.apply(groups)  # type: ignore[no-untyped-call]
    return largest


def take_rows(h: Tensor, places: Tensor) -> Tensor:
    """Return rows of h (N, H) at places (...): (..., H). Faster to differentiate than indexing."""
    return h.index_select(0, places.flatten()).view(*places.shape, h.shape[-1])
