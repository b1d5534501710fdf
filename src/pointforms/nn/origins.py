"""The origin from which clouds are measured before they are rounded to the precision of a network.

Single precision has seven digits: of coordinates near 1e8 it keeps multiples of 8. So what the
points share has to be subtracted first, in double precision.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

import torch
from torch import Tensor, nn

# Up to this many times its range away from 0 a feature needs no origin. It then costs single
# precision 4 of 24 bits.
_FAR = 16
# Bits of an origin: single precision represents it exactly, so networks can keep it.
_BITS = 24
# A feature that varies by fewer rounding errors than this has lost most of its digits.
_FEW = 64


def common_origin(clouds: Sequence[Tensor]) -> Tensor:
    """Return a point near the clouds, from which to measure them: (D,), in double precision.

    It is a multiple of a power of two well above the range of each feature. So it is 0 for data
    around 0, subtracting it is exact, and a few points more or less do not change it.

    Parameters
    ----------
    clouds : sequence of Tensor, each of shape (n_i, D)
        The clouds.
    """
    low = torch.stack([cloud.amin(0) for cloud in clouds]).amin(0).double().cpu()
    high = torch.stack([cloud.amax(0) for cloud in clouds]).amax(0).double().cpu()
    extent, middle = high - low, low / 2 + high / 2
    _warn_of_lost_digits(torch.maximum(low.abs(), high.abs()), extent, clouds[0].dtype)
    step = torch.exp2((_FAR * extent).log2().ceil())
    step = torch.maximum(step, torch.exp2(middle.abs().log2().ceil() - _BITS))
    far = (extent > 0) & (middle.abs() > _FAR / 2 * extent)
    return torch.where(far, (middle / step).round() * step, 0.0)


def register_origin(network: nn.Module, features: int) -> None:
    """Give a network a buffer for the origin of its training clouds, 0 in models of 0.1.0."""
    network.register_buffer("origin", torch.zeros(features))
    network.register_load_state_dict_pre_hook(_default_origin)


def register_unit(network: nn.Module, features: int) -> None:
    """Give a network a buffer for the unit of its training clouds, 1 in models up to 0.2.0."""
    network.register_buffer("unit", torch.ones(features))
    network.register_load_state_dict_pre_hook(_default_unit)


def _default_origin(network: Any, state: dict[str, Tensor], prefix: str, *_: Any) -> None:
    origin = network.origin
    state.setdefault(f"{prefix}origin", torch.zeros(origin.shape, dtype=origin.dtype))


def _default_unit(network: Any, state: dict[str, Tensor], prefix: str, *_: Any) -> None:
    unit = network.unit
    state.setdefault(f"{prefix}unit", torch.ones(unit.shape, dtype=unit.dtype))


def relative(clouds: Iterable[Tensor], origin: Tensor, dtype: torch.dtype) -> Iterator[Tensor]:
    """Yield clouds as differences from an origin, rounded to `dtype`, on the CPU.

    After the last of them, an error is raised if the largest values exceed the range of `dtype`.
    """
    far, largest = bool(origin.any()), []
    for cloud in clouds:
        difference = cloud.to("cpu", torch.float64) - origin if far else cloud
        largest.append(float(difference.abs().max()))
        yield difference.to("cpu", dtype)
    if dtype.is_floating_point:
        limits, i = torch.finfo(dtype), max(range(len(largest)), key=largest.__getitem__)
        if largest[i] > limits.max or 0 < largest[i] < limits.tiny:
            raise ValueError(
                f"cloud {i} has values up to {largest[i]:.3g}, outside of the range of {dtype}: "
                "rescale the features, or use dtype='float64'"
            )


def _warn_of_lost_digits(largest: Tensor, extent: Tensor, dtype: torch.dtype) -> None:
    if not dtype.is_floating_point:
        return
    error = torch.finfo(dtype).eps * largest
    lost = (extent > 0) & (extent < _FEW * error)
    if bool(lost.any()):
        j = int(lost.nonzero()[0])
        warnings.warn(
            f"feature {j} varies by {float(extent[j]):.3g} around {float(largest[j]):.3g}, which "
            f"{dtype} resolves to {float(error[j]):.1g} only: subtract a common value from it "
            "before it is rounded to that precision",
            stacklevel=2,
        )
