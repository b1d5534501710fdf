"""The carré du champ Γ(f, h) ≈ ⟨∇f, ∇h⟩ of many functions at once."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

from pointforms.geometry.estimate import BatchGeometry
from pointforms.geometry.factor import weighted_differences
from pointforms.geometry.neighbors import BLOCK
from pointforms.geometry.settings import Center
from pointforms.geometry.units import times_power_of_two
from pointforms.tensors import as_tensor

# Numbers in a block. The allocator returns larger blocks to the system, and then page faults take
# as long as the products.
_BLOCK = BLOCK // 8
# Exponents of powers of two that double precision holds.
_MODERATE = 1000


def gradient_products(
    geometry: BatchGeometry, center: Center, f: Any, h: Any, factor: Tensor, power: Tensor
) -> Tensor:
    """Return Γ of every function in f with every function in h: (n, a, b).

    The neighbours are looked up once for all functions. An argument of shape (n,) is one function,
    and has no axis in the result.

    Parameters
    ----------
    geometry : BatchGeometry
        The geometry of one cloud.
    center : {"mean", "point"}
        c_i: the kernel mean of a function, or its value at the point.
    f : array-like or tensor, shape (n,) or (n, a)
        Values of the first functions.
    h : array-like or tensor, shape (n,) or (n, b)
        Values of the second functions.
    factor, power : Tensor
        What :func:`pointforms.geometry.factor.caller_units` returns.
    """
    first, first_power = _checked_functions(f, "f", geometry)
    second, second_power = (first, first_power) if h is f else _checked_functions(h, "h", geometry)
    n, a, b = len(first), first.shape[1:].numel(), second.shape[1:].numel()
    parts = [first.view(n, a)] if h is f else [first.view(n, a), second.view(n, b)]
    values = torch.cat(parts, -1).contiguous()
    products = values.new_empty(n, a, b)
    for rows, columns in weighted_differences(geometry, values.unsqueeze(0), center, _BLOCK):
        left, right = columns[..., :a], columns[..., columns.shape[-1] - b :]
        if a == b == 1:
            products[rows, 0] = left.mul(right).sum(1)
        else:
            torch.bmm(left.mT, right, out=products[rows])
    exponents = power.cpu() + first_power.view(-1, 1) + second_power.view(1, -1)
    products = products.double().mul_(factor.view(-1, 1, 1))
    products = _scaled(products, exponents).to(values.dtype)
    if products.numel() and not bool(torch.isfinite(torch.stack(products.aminmax())).all()):
        raise ValueError(
            f"the carré du champ, a product of f and h per area, exceeds the range of "
            f"{products.dtype}: rescale f, h or the points"
        )
    return products.view(n, *first.shape[1:], *second.shape[1:])


def _checked_functions(values: Any, name: str, geometry: BatchGeometry) -> tuple[Tensor, Tensor]:
    """Check functions and divide each by a power of two near its largest value.

    Returns the quotients, (n,) or (n, a), and the exponents of the powers, () or (a,), in double
    precision on the CPU.
    """
    n = geometry.points.shape[1]
    functions = as_tensor(values, name).to(geometry.points)
    if functions.ndim not in (1, 2) or len(functions) != n:
        raise ValueError(
            f"{name} has shape {tuple(functions.shape)}: expected ({n},) or ({n}, m), "
            "one row per point"
        )
    largest = functions.abs().amax(0).double().cpu()
    if not bool(torch.isfinite(largest).all()):
        raise ValueError(f"{name} has non-finite values")
    power = torch.where(largest > 0, largest.log2().floor(), 0.0)
    return _scaled(functions.double(), -power).to(functions.dtype), power


def _scaled(values: Tensor, power: Tensor) -> Tensor:
    """Return values times powers of two, in place if numbers hold the powers.

    The values are in double precision, the powers on the CPU.
    """
    if bool((power.abs() < _MODERATE).all()):
        return values.mul_(torch.exp2(power).to(values.device))
    return times_power_of_two(values, power.to(values.device))
