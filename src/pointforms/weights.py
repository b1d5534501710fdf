"""Weights of the points of a cloud: the mass that each of them stands for.

A landmark that stands for 500 cells has weight 500. Within a cloud only the ratios of weights
matter. Between clouds whose points are pooled, as for units of features, the masses count.

The weights of a cloud travel with its points, in a tensor of the class :class:`WeightedPoints`, so
that lists of clouds, folds of scikit-learn and worker processes keep them. Whatever is computed
from such a tensor is a plain tensor again: :func:`keep_weights` hands the weights on.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Self, TypeVar

import torch
from torch import Tensor

from pointforms.tensors import as_tensor, describe


class WeightedPoints(Tensor):
    """The points (n, D) of a cloud with their weights.

    Attributes
    ----------
    weights : Tensor, shape (n,)
        Positive, in double precision.

    Examples
    --------
    >>> import pointforms as pf
    >>> [cloud] = pf.Clouds.from_list([[[0.0], [1.0]]], weights=[[3, 1]])
    >>> cloud.weights.tolist(), type(2 * cloud).__name__
    ([3.0, 1.0], 'Tensor')
    """

    weights: Tensor

    # results of operations are plain tensors, as those of parameters are
    __torch_function__ = torch._C._disabled_torch_function_impl  # type: ignore[assignment]

    def __deepcopy__(self, memo: dict[int, Any]) -> Self:
        copied = _weighted(plain(self).clone(), self.weights.clone(), type(self))
        memo[id(self)] = copied
        return copied


def with_weights(points: Tensor, weights: Tensor | None) -> Tensor:
    """Return points (n, D) that carry weights (n,); without weights, the points themselves."""
    if weights is None:
        return points
    return _weighted(plain(points), weights.to(points.device), WeightedPoints)


def weights_of(cloud: Any) -> Tensor | None:
    """Return the weights (n,) of a cloud, or of what was computed from it; None if it has none."""
    weights = getattr(cloud, "weights", None)
    return weights if isinstance(weights, Tensor) else None


def keep_weights(points: Tensor, of: Any) -> Tensor:
    """Return points computed from those of a cloud, with the weights of that cloud."""
    return with_weights(points, weights_of(of))


def plain(points: Tensor) -> Tensor:
    """Return points as a plain tensor, without weights."""
    return points.as_subclass(Tensor) if isinstance(points, WeightedPoints) else points


def relative_weights(cloud: Any) -> Tensor | None:
    """Return the weights of a cloud divided by their mean; None if all are equal.

    Examples
    --------
    >>> relative_weights(with_weights(torch.zeros(2, 3), torch.tensor([3.0, 1.0])))
    tensor([1.5000, 0.5000])
    """
    weights = weights_of(cloud)
    if weights is None or bool((weights == weights[0]).all()):
        return None
    scaled = weights / weights.max()  # whose sum is in range
    return scaled / scaled.mean()


def checked_weights(weights: Any, count: int, name: str = "weights") -> Tensor:
    """Return weights (count,) in double precision, or raise an error unless all are positive.

    Examples
    --------
    >>> checked_weights([1, 0], 2)
    Traceback (most recent call last):
    ValueError: weights[1] is 0.0: expected finite numbers above 0
    """
    tensor = as_tensor(weights, name).double()
    if tuple(tensor.shape) != (count,):
        raise ValueError(
            f"{name} has shape {tuple(tensor.shape)}: expected ({count},), one number per point"
        )
    wrong = (~(torch.isfinite(tensor) & (tensor > 0))).nonzero()
    if len(wrong):
        i = int(wrong[0])
        raise ValueError(f"{name}[{i}] is {float(tensor[i])}: expected finite numbers above 0")
    return tensor


def joined_weights(clouds: Sequence[Tensor], given: Sequence[Any] | None) -> Tensor | None:
    """Return the weights of all points (N,), given or carried by the clouds; None without any.

    Examples
    --------
    >>> clouds = [torch.zeros(2, 3), torch.zeros(1, 3)]
    >>> joined_weights(clouds, [[500, 20], None])
    tensor([500.,  20.,   1.], dtype=torch.float64)
    """
    if given is None:
        own = [weights_of(cloud) for cloud in clouds]
    elif isinstance(given, str | bytes) or not hasattr(given, "__len__"):
        raise TypeError(f"weights is {describe(given)}: expected one array (n_i,) per cloud")
    elif len(given) != len(clouds):
        raise ValueError(f"weights has {len(given)} entries: expected {len(clouds)}, one per cloud")
    else:
        own = [
            None if one is None else checked_weights(one, len(cloud), f"weights of cloud {i}")
            for i, (one, cloud) in enumerate(zip(given, clouds, strict=True))
        ]
    if all(one is None for one in own):
        return None
    ones = [cloud.new_ones(len(cloud), dtype=torch.float64) for cloud in clouds]
    return torch.cat(
        [one if mine is None else mine.to(one) for one, mine in zip(ones, own, strict=True)]
    )


def _weighted(points: Tensor, weights: Tensor, cls: type[_Points]) -> _Points:
    weighted: _Points = points.as_subclass(cls)
    weighted.weights = weights
    return weighted


_Points = TypeVar("_Points", bound=WeightedPoints)
