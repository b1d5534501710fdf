"""The whole model: forms of one or several degrees, readouts, and a small head."""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor, nn

from pointforms.nn.batch import FormBatch
from pointforms.nn.point_forms import CoefficientKind, PointForms
from pointforms.nn.readouts import READOUTS, ReadoutName, readout_width

_MOMENTUM = 0.1


class FeatureNorm(nn.Module):
    """Batch normalisation of readouts, in which some clouds of a batch may count nothing.

    Whatever the units of the data, each readout enters the head with mean 0 and deviation 1.
    """

    center: Tensor
    variance: Tensor
    seen: Tensor

    def __init__(self, features: int) -> None:
        super().__init__()
        self.gain = nn.Parameter(torch.ones(features))
        self.shift = nn.Parameter(torch.zeros(features))
        self.register_buffer("center", torch.zeros(features))
        self.register_buffer("variance", torch.ones(features))
        self.register_buffer("seen", torch.zeros(()))

    def forward(self, features: Tensor, counts: Tensor | None = None) -> Tensor:
        """(B, f) -> (B, f); counts (B,) are 1, or 0 for clouds that fill up a batch."""
        if self.training:
            w = torch.ones_like(features[:, 0]) if counts is None else counts
            w = (w / w.sum().clamp_min(1)).unsqueeze(-1)
            center = (w * features).sum(0)
            variance = (w * (features - center).square()).sum(0)
            self._remember(center.detach(), variance.detach())
        else:
            center, variance = self.center, self.variance
        scale = torch.rsqrt(variance + 1e-6 * variance.mean() + 1e-12)
        return (features - center) * scale * self.gain + self.shift

    def _remember(self, center: Tensor, variance: Tensor) -> None:
        # the first batch sets the averages, the others move them
        rate = torch.where(self.seen > 0, _MOMENTUM, 1.0).to(center.dtype)
        self.center += rate * (center - self.center)
        self.variance += rate * (variance - self.variance)
        self.seen += 1


class PointFormNetwork(nn.Module):
    """Neural point-forms with a head: clouds in, `outputs` numbers each out.

    Parameters
    ----------
    features : int
        D.
    outputs : int
        Classes, or targets.
    degrees : degrees of the forms; their readouts are concatenated
    forms, coefficients, hidden, terms
        As in :class:`PointForms`.
    readout : "tri", "flat", "diag", "pool" or "gram"
    head : int
        Width of the head's hidden layer; 0 is a linear head.
    """

    mean: Tensor
    scale: Tensor
    energy: Tensor

    def __init__(
        self,
        features: int,
        outputs: int,
        degrees: Sequence[int] = (1,),
        forms: int = 8,
        readout: ReadoutName = "tri",
        coefficients: CoefficientKind = "dense",
        hidden: Sequence[int] = (64, 64),
        terms: int = 2,
        head: int = 32,
    ) -> None:
        super().__init__()
        self.layers = nn.ModuleList(
            PointForms(features, k, forms, coefficients, hidden, terms) for k in degrees
        )
        self.readout = READOUTS[readout]
        width = len(degrees) * readout_width(readout, forms)
        self.norm = FeatureNorm(width)
        self.head = nn.Sequential(
            *(
                [nn.Linear(width, head), nn.SiLU(), nn.Linear(head, outputs)]
                if head
                else [nn.Linear(width, outputs)]
            )
        )
        self.register_buffer("mean", torch.zeros(features))
        self.register_buffer("scale", torch.ones(features))
        self.register_buffer("energy", torch.ones(len(degrees)))

    def point_forms(self) -> list[PointForms]:
        """The layers, one a degree."""
        return [layer for layer in self.layers if isinstance(layer, PointForms)]

    def standardize(self, mean: Tensor, scale: Tensor) -> None:
        """Coordinates enter the networks as (x - mean) / scale, and the factor as V / scale."""
        self.mean.copy_(mean)
        self.scale.copy_(scale)
        for layer in self.point_forms():
            layer.set_scale(self.scale)

    def calibrate(self, batch: FormBatch) -> None:
        """Measure readouts in units of the forms' mean energy on these clouds.

        Degrees above the dimension, or coordinates in odd units, make it tiny or huge.
        """
        with torch.no_grad():
            for i, C in enumerate(self.comparison_matrices(batch)):
                energy = C.diagonal(dim1=-2, dim2=-1).mean()
                self.energy[i] = energy.clamp_min(torch.finfo(C.dtype).tiny ** 0.75)

    def comparison_matrices(self, batch: FormBatch) -> list[Tensor]:
        """(B, l, l) for each degree."""
        x = (batch.points - self.mean) / self.scale
        return [layer(batch, x) for layer in self.point_forms()]

    def features(self, batch: FormBatch) -> Tensor:
        """Readouts of all degrees: (B, f)."""
        matrices = self.comparison_matrices(batch)
        return torch.cat(
            [self.readout(C / e) for C, e in zip(matrices, self.energy, strict=True)], -1
        )

    def forward(self, batch: FormBatch, counts: Tensor | None = None) -> Tensor:
        """(B, outputs)."""
        outputs: Tensor = self.head(self.norm(self.features(batch), counts))
        return outputs
