"""Clouds and their Gram factors as tensors that a network reads, padded to one size."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from math import comb

import numpy as np
import torch
from torch import Tensor

from pointforms.exterior import COMPOUND_MAX, compound
from pointforms.geometry.field import GramField, Measure

# Numbers in prepared compound factors, all clouds together: 1 GB in single precision.
_MAX_PREPARED = 1 << 28


@dataclass(frozen=True)
class FormBatch:
    """B clouds, padded to n points.

    Attributes
    ----------
    points : (..., B, n, D)
    factor : (..., B, n, D, r)
        V, with G = V Vᵀ.
    weights : (..., B, n)
        μ; zero on padding.
    compounds : degree -> (..., B, n, C(D, k), C(r, k))
        Λᵏ V, for dense forms, where it was prepared,
    metrics : degree -> (..., B, n, C(D, k), C(D, k))
        or μ ΛᵏV ΛᵏVᵀ, where that is cheaper.
    """

    points: Tensor
    factor: Tensor
    weights: Tensor
    compounds: dict[int, Tensor] = field(default_factory=dict)
    metrics: dict[int, Tensor] = field(default_factory=dict)

    def tree(self) -> tuple[Tensor, Tensor, Tensor, dict[int, Tensor], dict[int, Tensor]]:
        """The parts, as torch.func takes them."""
        return self.points, self.factor, self.weights, self.compounds, self.metrics


def compound_fits(features: int, rank: int, degree: int, points: int) -> bool:
    """Whether the compound route is worth its memory."""
    entries = comb(features, degree) * comb(rank, degree)
    return entries <= COMPOUND_MAX and entries * points <= _MAX_PREPARED


class PointStore:
    """The points of clouds of differing sizes in one flat tensor, and where each cloud starts."""

    def __init__(
        self, clouds: Sequence[Tensor], dtype: torch.dtype, device: torch.device | str
    ) -> None:
        sizes = torch.tensor([len(cloud) for cloud in clouds])
        # the last row is zero: padding refers to it
        self.points = torch.zeros(int(sizes.sum()) + 1, clouds[0].shape[1], dtype=dtype)
        torch.cat([cloud.to("cpu", dtype) for cloud in clouds], out=self.points[:-1])
        self.points = self.points.to(device)
        self.sizes = sizes.to(device)
        self.offsets = (sizes.cumsum(0) - sizes).to(device)

    def __len__(self) -> int:
        return len(self.sizes)

    @property
    def features(self) -> int:
        """Number of features of the clouds, D."""
        return self.points.shape[1]

    def moments(self, clouds: Sequence[int] | np.ndarray) -> tuple[Tensor, Tensor]:
        """Mean and deviation of every coordinate over the points of some clouds: (D,), (D,)."""
        chosen = torch.zeros(len(self), dtype=torch.bool, device=self.sizes.device)
        chosen[torch.as_tensor(np.asarray(clouds), device=self.sizes.device)] = True
        points = self.points[:-1][chosen.repeat_interleave(self.sizes)].double()
        deviation = points.std(0, correction=0)
        deviation = torch.where(deviation > 0, deviation, 1.0)  # a constant coordinate stays
        return points.mean(0).to(self.points), deviation.to(self.points)

    def places(self, index: Tensor, rows: Tensor | None = None) -> tuple[Tensor, Tensor]:
        """Rows of the flat tensors for the clouds of index (..., B), and which are not padding.

        Both (..., B, n); or (..., B, m) for some rows of each, of which a smaller cloud may not
        have all.
        """
        sizes = self.sizes[index].unsqueeze(-1)
        if rows is None:
            rows = torch.arange(int(sizes.max()), device=index.device).expand(*index.shape, -1)
        real = rows < sizes
        place = torch.where(real, self.offsets[index].unsqueeze(-1) + rows, len(self.points) - 1)
        return place, real


class FieldStore(PointStore):
    """The Gram fields of many clouds in flat tensors, from which batches are gathered.

    Parameters
    ----------
    fields : list of GramField
    measure : the weights of the points in a comparison matrix
    degrees : degrees of dense forms, whose compound factors are prepared where they fit
    dtype, device : of the tensors
    """

    stackable = True
    batch = FormBatch

    def __init__(
        self,
        fields: Sequence[GramField],
        measure: Measure = "uniform",
        degrees: Sequence[int] = (),
        dtype: torch.dtype = torch.float32,
        device: torch.device | str = "cpu",
    ) -> None:
        super().__init__([field.points for field in fields], dtype, device)
        width = max(f.factor.shape[-1] for f in fields)
        features, total = self.points.shape[1], len(self.points) - 1
        self.factor = torch.zeros(total + 1, features, width, dtype=dtype)
        self.weights = torch.zeros(total + 1, dtype=dtype)
        start = 0
        for one in fields:
            rows = slice(start, start + len(one))
            self.factor[rows, :, : one.factor.shape[-1]] = one.factor.to("cpu", dtype)
            self.weights[rows] = one.measure(measure).to("cpu", dtype)
            start += len(one)
        self.factor, self.weights = self.factor.to(device), self.weights.to(device)
        self.compounds, self.metrics = {}, {}
        for k in degrees:
            if k >= 1 and compound_fits(features, width, k, total):
                L = compound(self.factor, k)
                if 2 * L.shape[-1] > L.shape[-2]:  # one wide product beats two narrow ones
                    self.metrics[k] = L @ L.mT * self.weights[:, None, None]
                elif k >= 2:
                    self.compounds[k] = L

    def numbers(self) -> int:
        """Numbers that a batch holds for each point."""
        prepared = (self.factor, *self.compounds.values(), *self.metrics.values())
        return sum(values[0].numel() for values in prepared)

    def gather(self, index: Tensor, rows: Tensor | None = None) -> FormBatch:
        """The clouds of index (..., B), whole, or with some rows (..., B, m) of each.

        Rows that a smaller cloud does not have are padding. Weights of a part are raised so that
        they stand for the whole.
        """
        sizes = self.sizes[index].unsqueeze(-1)
        place, _ = self.places(index, rows)
        weights = self.weights[place]
        compounds = {k: values[place] for k, values in self.compounds.items()}
        metrics = {k: values[place] for k, values in self.metrics.items()}
        m = place.shape[-1]
        if int(sizes.max()) > m:
            whole = (sizes / m).clamp_min(1.0).to(weights.dtype)
            weights = weights * whole
            metrics = {k: values * whole[..., None, None] for k, values in metrics.items()}
        return FormBatch(self.points[place], self.factor[place], weights, compounds, metrics)


def pad(rows: Tensor, batch: Tensor, clouds: int | None = None) -> tuple[Tensor, Tensor]:
    """Rows (N, ...) of clouds numbered by batch (N,), ascending, as (B, n, ...) and a mask (B, n).

    PyTorch Geometric's layout to ours.
    """
    count = int(batch.max()) + 1 if clouds is None else clouds
    sizes = torch.bincount(batch, minlength=count)
    offsets = sizes.cumsum(0) - sizes
    place = torch.arange(len(batch), device=batch.device) - offsets[batch]
    n = int(sizes.max())
    padded = rows.new_zeros(count, n, *rows.shape[1:])
    padded[batch, place] = rows
    mask = torch.arange(n, device=batch.device) < sizes.unsqueeze(1)
    return padded, mask
