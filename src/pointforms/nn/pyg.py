"""PyTorch Geometric: a transform that attaches Gram factors, and its batches as ours."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import torch
from torch import Tensor

from pointforms.geometry.field import Measure
from pointforms.geometry.gram import gram_field
from pointforms.nn.batches import FormBatch, pad


@dataclass(eq=False)
class AttachGramFactor:
    """Transform a PyTorch Geometric point cloud: `pos` gains `gram_factor` and `gram_weight`.

    Every callable is a transform for PyTorch Geometric, so that this class works without
    importing it.

    Parameters
    ----------
    width : int
        Number of columns of every factor, so that clouds can be batched. Narrower factors are
        padded with zeros; of wider ones the leading directions are kept.
    measure : {"uniform", "volume", "volume-normalized"}, default "uniform"
        Weights of the points.
    options : dict or None, default None
        Keyword arguments of :func:`pointforms.gram_field`. Clouds are transformed one by one:
        give `neighbors` and `dimension`, so that all have the same.

    Examples
    --------
    >>> import torch
    >>> from types import SimpleNamespace
    >>> from pointforms import nn
    >>> data = SimpleNamespace(pos=torch.rand(40, 3))  # or torch_geometric.data.Data
    >>> data = nn.AttachGramFactor(width=2)(data)
    >>> data.gram_factor.shape, data.gram_weight.shape
    (torch.Size([40, 3, 2]), torch.Size([40]))
    """

    width: int
    measure: Measure = "uniform"
    options: dict[str, Any] | None = field(default=None, repr=False)

    def __call__(self, data: Any) -> Any:
        """Add the factor and the weights to `data`, and return it."""
        D = data.pos.shape[1]
        gram = gram_field(data.pos, **({"rank": min(self.width, D)} | (self.options or {})))
        factor = gram.factor.new_zeros(*gram.factor.shape[:2], self.width)
        factor[..., : gram.factor.shape[-1]] = gram.factor
        data.gram_factor = factor
        data.gram_weight = gram.measure(self.measure)
        return data


def form_batch(
    pos: Tensor, factor: Tensor, weight: Tensor, batch: Tensor | None = None
) -> FormBatch:
    """Turn a PyTorch Geometric batch into a padded batch for the layers.

    Parameters
    ----------
    pos : Tensor, shape (N, D)
        Points of all clouds.
    factor : Tensor, shape (N, D, r)
        Their `gram_factor`.
    weight : Tensor, shape (N,)
        Their `gram_weight`.
    batch : Tensor of int, shape (N,), or None, default None
        The cloud of each point, in ascending order; None for a single cloud.

    Returns
    -------
    FormBatch
        One padded entry per cloud.

    Examples
    --------
    >>> import torch
    >>> from pointforms import nn
    >>> cloud = torch.tensor([0, 0, 0, 1, 1])
    >>> batch = nn.form_batch(torch.rand(5, 2), torch.rand(5, 2, 2), torch.ones(5), cloud)
    >>> batch.points.shape, batch.weights.tolist()
    (torch.Size([2, 3, 2]), [[1.0, 1.0, 1.0], [1.0, 1.0, 0.0]])
    """
    index = torch.zeros(len(pos), dtype=torch.long, device=pos.device) if batch is None else batch
    return FormBatch(pad(pos, index), pad(factor, index), pad(weight, index))
