"""Functions that keep the precision of their tensors under torch.autocast.

Half precision serves the networks. It is too coarse for sums over the points of a cloud, and for
determinants, whose terms cancel.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import reduce, wraps
from typing import Any

import torch
from torch import Tensor


def casts_by_itself(tensor: Tensor) -> bool:
    """Return whether torch.autocast chooses the precision of products on this tensor's device."""
    device = tensor.device.type
    return torch.amp.is_autocast_available(device) and torch.is_autocast_enabled(device)


def _is_rounded(arg: Any) -> bool:
    """Return whether autocast may round an argument: not if it is an index, say."""
    return isinstance(arg, Tensor) and arg.is_floating_point()


def in_full_precision(function: Callable[..., Tensor]) -> Callable[..., Tensor]:
    """Return a function that computes in the highest precision of its tensors, under autocast too.

    So does its backward pass, if it runs outside of autocast, as torch advises, or if the function
    has a gradient of its own. Second derivatives keep the precision outside of autocast only.
    """

    @wraps(function)
    def run(*args: Any, **named: Any) -> Tensor:
        tensors = [arg for arg in (*args, *named.values()) if _is_rounded(arg)]
        if not tensors or not casts_by_itself(tensors[0]):
            return function(*args, **named)
        dtype = reduce(torch.promote_types, (tensor.dtype for tensor in tensors))

        def cast(arg: Any) -> Any:
            return arg.to(dtype) if _is_rounded(arg) else arg

        with torch.autocast(tensors[0].device.type, enabled=False):
            return function(*map(cast, args), **{name: cast(arg) for name, arg in named.items()})

    return run
