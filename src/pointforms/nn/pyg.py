"""PyTorch Geometric: a transform that attaches Gram factors, and batches of its data as ours."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

from pointforms.geometry.field import Measure
from pointforms.geometry.gram import gram_field
from pointforms.nn.batch import FormBatch, pad


class AttachGramFactor:
    """A transform for data sets of point clouds: `pos` gains `gram_factor` and `gram_weight`.

    Any callable is a transform for PyTorch Geometric, so this needs none of it to be imported.

    Parameters
    ----------
    width : int
        Columns of every factor, so that clouds can be batched: narrower factors are filled up
        with zeros, and of wider ones the leading directions are kept.
    measure : weights of the points
    options : of :func:`pointforms.gram_field`
    """

    def __init__(
        self, width: int, measure: Measure = "uniform", options: dict[str, Any] | None = None
    ) -> None:
        self.width, self.measure, self.options = width, measure, dict(options or {})

    def __call__(self, data: Any) -> Any:
        D = data.pos.shape[1]
        field = gram_field(data.pos, **({"rank": min(self.width, D)} | self.options))
        factor = field.factor.new_zeros(*field.factor.shape[:2], self.width)
        factor[..., : field.factor.shape[-1]] = field.factor
        data.gram_factor = factor
        data.gram_weight = field.measure(self.measure)
        return data

    def __repr__(self) -> str:
        return f"AttachGramFactor(width={self.width}, measure={self.measure!r})"


def form_batch(
    pos: Tensor, factor: Tensor, weight: Tensor, batch: Tensor | None = None
) -> FormBatch:
    """Rows of many clouds, numbered by batch (N,), as a padded batch for the layers.

    Parameters
    ----------
    pos, factor, weight : (N, D), (N, D, r), (N,)
    batch : (N,), ascending; None is a single cloud
    """
    index = torch.zeros(len(pos), dtype=torch.long, device=pos.device) if batch is None else batch
    points, _ = pad(pos, index)
    return FormBatch(points, pad(factor, index)[0], pad(weight, index)[0])
