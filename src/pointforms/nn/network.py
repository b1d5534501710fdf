"""PointFormNetwork: forms of one or more degrees, their readouts, and a small head."""

from __future__ import annotations

from collections.abc import Sequence
from math import isfinite, log10

import torch
from torch import Tensor, nn

from pointforms.nn.batches import FormBatch, FormParts
from pointforms.nn.frames import Frame, inputs_of
from pointforms.nn.origins import register_origin, register_unit
from pointforms.nn.point_forms import CoefficientKind, PointForms, Sees
from pointforms.nn.readouts import READOUTS, ReadoutName, readout_width

# What a batch takes off the weight of all clouds before it.
_MOMENTUM = 0.1
# Fewer rows than this do not tell a deviation well: with 8 it is off by a quarter, and two clouds
# would enter the head as 1 and -1, one cloud as 0.
_FEWEST = 8
# Orders of magnitude by which the unit of a form is below 1, from which on it, rather than the
# cloud, is why an energy is tiny.
_SMALL_UNIT = 3


class FeatureNorm(nn.Module):
    """Batch normalisation that can ignore the clouds that only fill up a batch.

    Each readout enters the head with mean 0 and deviation 1, whatever the units of the data. In
    training these are the mean and deviation over the batch, or where it has too few clouds to tell
    them, the averages over recent batches that are used in evaluation. The clouds of a batch weigh
    the same in these averages whether it has one or many.

    Parameters
    ----------
    features : int
        Number of readouts.
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
        """Normalise features (B, f); counts (B,) are 1, or 0 for clouds that fill up a batch."""
        if self.training:
            n: Tensor | int
            if counts is None:
                n = len(features)
                variance, center = torch.var_mean(features, 0, correction=0)
            else:
                n = counts.sum().clamp_min(1)
                w = (counts / n).unsqueeze(-1)
                center = (w * features).sum(0)
                variance = (w * (features - center).square()).sum(0)
            center, scale = self.moments(center, variance, n)
        else:
            center, scale = self.moments()
        return torch.addcmul(self.shift, features - center, scale * self.gain)

    def moments(
        self,
        center: Tensor | None = None,
        variance: Tensor | None = None,
        n: Tensor | int | None = None,
    ) -> tuple[Tensor, Tensor]:
        """Return what is subtracted from the features, and by what they are multiplied then.

        Parameters
        ----------
        center, variance : Tensor, shape (f,), or None, default None
            Moments of the features over a batch in training; None takes the averages.
        n : Tensor of shape (), int or None, default None
            Number of clouds or points in the batch.
        """
        if center is None or variance is None or n is None:
            center, variance = self.center, self.variance
        else:
            self._remember(center.detach(), variance.detach(), n)
            few = n < _FEWEST
            if isinstance(few, Tensor):
                center = torch.where(few, self.center, center)
                variance = torch.where(few, self.variance, variance)
            elif few:  # copies, since further batches may come before the backward pass
                center, variance = self.center.clone(), self.variance.clone()
        return center, torch.rsqrt(variance + 1e-6 * variance.mean() + 1e-12)

    def start(self, features: Tensor) -> None:
        """Set the averages to those over some clouds (B, f), before training."""
        self.seen.zero_()
        variance = features.var(0, correction=0)
        self._remember(features.mean(0), variance, len(features))

    def _remember(self, center: Tensor, variance: Tensor, n: Tensor | int) -> None:
        """Add a batch of n clouds to the averages."""
        self.seen.mul_(1 - _MOMENTUM).add_(n)
        rate = n / self.seen
        moved = center - self.center
        # the variance of a mixture: within both parts, and between their means
        self.variance += rate * (variance + (1 - rate) * moved.square() - self.variance)
        self.center += rate * moved


class PointFormNetwork(nn.Module):
    """Neural point-forms with a head: a network from batches of clouds to numbers.

    Parameters
    ----------
    features : int
        Number of features of the clouds, D.
    outputs : int
        Number of outputs: classes or targets.
    degrees : sequence of int, default (1,)
        Degrees of the forms; the readouts of all degrees are concatenated.
    forms : int, default 8
        Number of forms per degree, l.
    readout : {"tri", "flat", "diag", "pool", "gram"}, default "tri"
        How a comparison matrix becomes a vector; see `READOUTS`.
    coefficients : {"dense", "wedge"}, default "dense"
        One coefficient per basis form, or sums of `terms` products of 1-forms.
    hidden : sequence of int, default (64, 64)
        Widths of the hidden layers of the coefficient networks.
    terms : int, default 2
        Number of products per wedge form.
    head : int, default 32
        Width of the hidden layer of the head; 0 makes the head linear.
    frame : {"absolute", "cloud", "shape", "both", "batch"}, default "absolute"
        From where the coefficient networks see the points of a cloud; see `FieldStore`.
    covariates : int, default 0
        Number of covariates of a cloud, which the head reads beside the readouts.
    sees : {"all", "own"} or sequence of int, default "all"
        The features that the coefficient of dx^I reads: all, those in I alone, or those at some
        places. Forms of degree 0, which have no features of their own, read all with "own".

    Examples
    --------
    >>> import numpy as np, torch
    >>> import pointforms as pf
    >>> rng = np.random.default_rng(0)
    >>> fields = pf.gram_fields([rng.normal(size=(30, 3)) for _ in range(8)], dimension=2)
    >>> store = pf.nn.FieldStore(fields)
    >>> network = pf.nn.PointFormNetwork(features=3, outputs=2, degrees=(1, 2), forms=4)
    >>> network.standardize(*store.moments(range(8)), store.origin)
    >>> network(store.gather(torch.arange(8))).shape
    torch.Size([8, 2])
    """

    origin: Tensor
    unit: Tensor
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
        frame: Frame = "absolute",
        covariates: int = 0,
        sees: Sees = "all",
    ) -> None:
        super().__init__()
        self.frame = frame
        inputs = inputs_of(frame, features)
        self.layers = nn.ModuleList(
            PointForms(features, k, forms, coefficients, hidden, terms, inputs, sees)
            for k in degrees
        )
        self.readout = READOUTS[readout]
        width = len(degrees) * readout_width(readout, forms) + covariates
        self.norm = FeatureNorm(width)
        self.head = nn.Sequential(
            *(
                [nn.Linear(width, head), nn.SiLU(), nn.Linear(head, outputs)]
                if head
                else [nn.Linear(width, outputs)]
            )
        )
        register_origin(self, features)
        register_unit(self, features)
        self.register_buffer("mean", torch.zeros(inputs))
        self.register_buffer("scale", torch.ones(inputs))
        self.register_buffer("energy", torch.ones(len(degrees)))

    def point_forms(self) -> list[PointForms]:
        """Return the layers, one per degree."""
        return [layer for layer in self.layers if isinstance(layer, PointForms)]

    def standardize(
        self,
        mean: Tensor,
        scale: Tensor,
        origin: Tensor | None = None,
        unit: Tensor | None = None,
    ) -> None:
        """Make the networks read (x - mean) / scale, x being the `points` of a batch.

        Forms are measured in the units of the store, where it has any, and otherwise in the
        coordinates that the networks read.

        Parameters
        ----------
        mean : Tensor, shape (R,)
            Mean of each number that is read, as :meth:`FieldStore.moments` returns it.
        scale : Tensor, shape (R,)
            Its standard deviation.
        origin : Tensor or None, shape (D,), default None
            The origin of the store; None stands for 0.
        unit : Tensor or None, shape (D,), default None
            The units of the store; None if it has none.
        """
        self.origin.copy_(torch.zeros_like(self.origin) if origin is None else origin)
        self.unit.copy_(torch.ones_like(self.unit) if unit is None else unit)
        self.mean.copy_(mean)
        self.scale.copy_(scale)
        for layer in self.point_forms():
            layer.set_scale(self.scale if unit is None else torch.ones_like(self.unit))

    def calibrate(self, batch: FormBatch) -> None:
        """Measure comparison matrices in units of the mean energy of the forms on some clouds.

        Without that, degrees above the dimension would make them tiny, and other units of the
        data tiny or huge. Normalisation starts from the readouts of the same clouds.

        Parameters
        ----------
        batch : FormBatch
            The clouds.
        """
        with torch.no_grad():
            matrices = self.comparison_matrices(batch)
            energy = torch.stack([C.diagonal(dim1=-2, dim2=-1).mean() for C in matrices])
            least = torch.finfo(energy.dtype).tiny ** 0.75
            self._check_range(energy, least)
            self.energy.copy_(energy.clamp_min(least))
            self.norm.start(self._head_inputs(matrices, batch))

    def _check_range(self, energy: Tensor, least: float) -> None:
        """Raise an error if the unit of a feature takes an energy beyond the range of numbers.

        A k-form in coordinates divided by s has the unit s⁻ᵏ, and its energy the square of that.
        1-forms without energy mean that the Gram fields are 0. Forms of a higher degree have none
        on a flat cloud either, which is no error.
        """
        low, high = torch.stack(torch.aminmax(self.scale)).tolist()
        scaled = bool((self.unit != 1).any())
        for layer, value in zip(self.point_forms(), energy.tolist(), strict=True):
            small_unit = layer.degree * log10(low) > _SMALL_UNIT and not scaled
            if not isfinite(value) or (value < least and small_unit):
                raise ValueError(
                    f"forms of degree {layer.degree} on features with deviations of {low:.3g} to "
                    f"{high:.3g} have comparison matrices beyond the range of {energy.dtype}: "
                    "rescale the features, or use dtype='float64'"
                )
            if layer.degree == 1 and value < least:
                raise ValueError(
                    "the Gram fields of these clouds are 0, since no point has another one within "
                    "reach: increase bandwidth, bandwidth_units or neighbors"
                )

    def comparison_matrices(self, batch: FormBatch | FormParts) -> list[Tensor]:
        """Compute the comparison matrices of a batch.

        Parameters
        ----------
        batch : FormBatch or FormParts
            The clouds.

        Returns
        -------
        list of Tensor
            One per degree, of shape (B, l, l).
        """
        x = (batch.rows - self.mean) / self.scale
        return [layer(batch, x) for layer in self.point_forms()]

    def features(self, batch: FormBatch) -> Tensor:
        """Compute the readouts of all degrees.

        Parameters
        ----------
        batch : FormBatch
            The clouds.

        Returns
        -------
        Tensor, shape (B, f)
            The input of the head, before normalisation and without covariates.
        """
        return self._readouts(self.comparison_matrices(batch))

    def _readouts(self, matrices: Sequence[Tensor]) -> Tensor:
        return torch.cat(
            [self.readout(C / e) for C, e in zip(matrices, self.energy, strict=True)], -1
        )

    def forward(self, batch: FormBatch | FormParts, counts: Tensor | None = None) -> Tensor:
        """Evaluate the network on a batch.

        Parameters
        ----------
        batch : FormBatch or FormParts
            The clouds.
        counts : Tensor, shape (B,), or None, default None
            1, or 0 for clouds that only fill up the batch while training; None counts all.

        Returns
        -------
        Tensor, shape (B, outputs)
            One row per cloud.
        """
        read = self._head_inputs(self.comparison_matrices(batch), batch)
        outputs: Tensor = self.head(self.norm(read, counts))
        return outputs

    def _head_inputs(self, matrices: Sequence[Tensor], batch: FormBatch | FormParts) -> Tensor:
        return torch.cat([self._readouts(matrices), *batch.covariates], -1)
