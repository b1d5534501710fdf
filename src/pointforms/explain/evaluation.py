"""Learned forms at the points of many clouds at once, in blocks that keep temporaries small."""

from __future__ import annotations

import copy
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from math import comb
from typing import Any

import numpy as np
import torch
from sklearn.utils import gen_batches
from torch import Tensor

from pointforms.estimators.point_form_estimator import PointFormEstimator
from pointforms.explain.coefficients import evaluate_read, network_of
from pointforms.exterior import COMPOUND_MAX, pull
from pointforms.geometry.field import GramField, Measure
from pointforms.nn.average import members_of
from pointforms.nn.frames import framed
from pointforms.nn.network import PointFormNetwork
from pointforms.nn.point_forms import PointForms
from pointforms.support.threads import one_thread
from pointforms.support.weighted_statistics import pooled_weights
from pointforms.weights import weights_of, with_weights

# Numbers in the largest temporary: 8 MB in double precision.
_WORKING_SET = 1 << 20


@dataclass(frozen=True, eq=False)
class CloudPoints:
    """The points of N clouds, one after another.

    Attributes
    ----------
    points : (P, D) tensor
        Coordinates.
    factor : (P, D, r) tensor
        The Gram factor V.
    weights : (P,) tensor
        The measure μ.
    mass : (P,) tensor or None
        Weights of the points in their clouds; None if no points have any.
    cloud : (P,) tensor
        The cloud of each point, 0 to N - 1.
    sizes : tuple of int
        Number of points per cloud.
    """

    points: Tensor
    factor: Tensor
    weights: Tensor
    cloud: Tensor
    sizes: tuple[int, ...]
    mass: Tensor | None = None

    @classmethod
    def of(cls, fields: Sequence[GramField], measure: Measure) -> CloudPoints:
        """Return the points of Gram fields, in double precision."""
        sizes = tuple(len(field) for field in fields)
        D, width = fields[0].factor.shape[1], max(f.factor.shape[-1] for f in fields)
        factor = torch.zeros(sum(sizes), D, width, dtype=torch.float64)
        for rows, field in zip(factor.split(sizes), fields, strict=True):
            rows[..., : field.factor.shape[-1]] = field.factor.double().cpu()
        return cls(
            torch.cat([field.points.double().cpu() for field in fields]),
            factor,
            torch.cat([field.measure(measure).double().cpu() for field in fields]),
            torch.repeat_interleave(torch.arange(len(fields)), torch.tensor(sizes)),
            sizes,
            pooled_weights([weights_of(field) for field in fields], sizes),
        )

    def read_by(self, network: PointFormNetwork) -> Tensor:
        """Return what a network reads at the points: (P, R), in double precision."""
        if network.frame == "batch":
            raise ValueError('frame="batch" cannot be explained: expected another frame')
        x = (self.points - network.origin.double().cpu()) / network.unit.double().cpu()
        clouds = x.split(self.sizes)
        if self.mass is not None:
            own = self.mass.split(self.sizes)
            clouds = tuple(with_weights(c, w) for c, w in zip(clouds, own, strict=True))
        return torch.cat(framed(clouds, network.frame))

    def blocks(self, forms: int, degree: int) -> Iterator[slice]:
        """Yield ranges of points for which l forms of a degree fit into the working set."""
        D, r = self.factor.shape[-2:]
        unfolded = forms * comb(D, max(degree - 1, 0)) * max(D, r)
        minors = min(comb(D, degree) * comb(r, degree), COMPOUND_MAX)
        size = max(1, _WORKING_SET // max(unfolded, minors))
        yield from gen_batches(len(self.points), size)

    def pieces(self, rows: slice) -> Iterator[tuple[int, slice]]:
        """Yield the clouds that have points in a block, and where in the block these are."""
        clouds, counts = self.cloud[rows].unique_consecutive(return_counts=True)
        start = 0
        for cloud, count in zip(clouds.tolist(), counts.tolist(), strict=True):
            yield cloud, slice(start, start + count)
            start += count

    def of_clouds(self, chosen: np.ndarray) -> CloudPoints:
        """Return the points of some clouds, numbered anew in the order given."""
        starts = np.cumsum((0, *self.sizes))
        rows = torch.from_numpy(np.concatenate([np.arange(*starts[i : i + 2]) for i in chosen]))
        sizes = tuple(self.sizes[i] for i in chosen)
        cloud = torch.repeat_interleave(torch.arange(len(chosen)), torch.tensor(sizes))
        mass = None if self.mass is None else self.mass[rows]
        return CloudPoints(
            self.points[rows], self.factor[rows], self.weights[rows], cloud, sizes, mass
        )


@one_thread()
def cloud_points(model: Any, clouds: Any, measure: Measure | None = None) -> CloudPoints:
    """Return points of clouds, by default in the estimator's measure, uniform for a network."""
    if isinstance(model, PointFormEstimator):
        refuse_covariates(model)
        fields = list(model.prepare_for_prediction(clouds))
        return CloudPoints.of(fields, model.measure if measure is None else measure)
    D = len(network_of(model).origin)
    fields = list(clouds)
    for i, field in enumerate(fields):
        if not isinstance(field, GramField):
            raise TypeError(
                f"item {i} is a {type(field).__name__}: a network needs Gram fields "
                "(pointforms.gram_fields); a fitted estimator computes them from clouds"
            )
        if field.points.shape[1] != D:
            raise ValueError(f"field {i} has {field.points.shape[1]} features, the model {D}")
    return CloudPoints.of(fields, "uniform" if measure is None else measure)


def refuse_covariates(estimator: PointFormEstimator) -> None:
    """Raise an error if an estimator decides by covariates too, which forms cannot explain."""
    if getattr(estimator, "covariates_", []):
        raise ValueError(
            "the estimator was fitted with covariates: expected one that decides by clouds alone"
        )


def double_precision(model: Any) -> PointFormNetwork:
    """Return a copy in double precision on the CPU, so that sums over points are exact.

    Of the average of several networks, it is the first.
    """
    return all_in_double_precision(members_of(model)[0])[0]


def all_in_double_precision(model: Any) -> list[PointFormNetwork]:
    """Return copies in double precision of all networks of an average, or of a single network."""
    copies = [copy.deepcopy(member) for member in members_of(model)]
    return [member.to("cpu", torch.float64).eval() for member in copies]  # type: ignore[misc]


@one_thread()
def coefficients_and_duals(
    network: PointFormNetwork, layer: PointForms, points: CloudPoints, read: Tensor, rows: slice
) -> tuple[Tensor, Tensor]:
    """Return F and Λᵏ G F at some points: (rows, l, C(D, k)) each.

    `read` is what the network reads at all points, :meth:`CloudPoints.read_by`.

    Λᵏ G = ΛᵏV ΛᵏVᵀ is applied as the pull through V and its adjoint, which is the gradient of
    ½ |Vᵀω|² with respect to the coefficients; no C(D, k)² matrix is built.
    """
    with torch.no_grad():
        F = evaluate_read(network, layer, read[rows])
    F.requires_grad_()
    with torch.enable_grad():
        pulled = pull(F, points.factor[rows], layer.degree)
        (dual,) = torch.autograd.grad(pulled, F, pulled.detach())
    return F.detach(), dual
