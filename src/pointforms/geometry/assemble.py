"""Put Gram fields together from an estimated geometry."""

from __future__ import annotations

from dataclasses import replace

import torch
from torch import Tensor

from pointforms.geometry.estimate import BatchGeometry
from pointforms.geometry.factor import gram_factors
from pointforms.geometry.field import GramField
from pointforms.geometry.settings import GramSettings


def fields_of_geometry(
    points: Tensor, geometry: BatchGeometry, settings: GramSettings
) -> list[GramField]:
    """Compute the Gram fields of clouds (B, n, D) whose geometry was estimated before."""
    V, lost, pairs = gram_factors(geometry, settings)
    fields = fields_of_factors(
        points,
        V,
        lost,
        geometry.log_density,
        geometry.scale(),
        geometry.dimension,
        geometry.kernel.epsilon,
        settings,
    )
    return [
        field if own is None else replace(field, pairs=own.clone())
        for field, own in zip(fields, pairs, strict=True)
    ]


def fields_of_factors(
    points: Tensor,
    V: Tensor,
    lost: Tensor,
    log_density: Tensor,
    scale: Tensor,
    dimension: Tensor,
    epsilon: Tensor,
    settings: GramSettings,
) -> list[GramField]:
    """Make the Gram fields of B clouds from all that was computed.

    Parameters
    ----------
    points : Tensor, shape (B, n, D)
        The clouds.
    V : Tensor, shape (B, n, D, r)
        Factors.
    lost : Tensor, shape (B, n)
        The trace that `rank` left out.
    log_density : Tensor, shape (B, n)
        Logarithm of the density, in the caller's units.
    scale : Tensor, shape (B, n)
        ρ, in the caller's units.
    dimension : Tensor, shape (B, 1)
        Intrinsic dimensions.
    epsilon : Tensor, shape (B, 1)
        Bandwidths.
    settings : GramSettings
        Options, with numbers for `neighbors` and `dimension`.
    """
    _check_result(V, scale, settings)
    fields = []
    for b, d in enumerate(map(int, dimension.flatten().tolist())):
        # the batch is as wide as its largest d; the projector of this cloud has its own d columns
        width = min(d, V.shape[-1]) if settings.spectrum == "projector" else V.shape[-1]
        parts = [points[b], V[b, ..., :width], log_density[b], scale[b], lost[b]]
        if len(points) > 1:  # copies, so that keeping or pickling one does not keep the batch
            parts = [part.clone() for part in parts]
        fields.append(
            GramField(
                points=parts[0],
                factor=parts[1],
                log_density=parts[2],
                scale=parts[3],
                dimension=d,
                bandwidth=float(epsilon[b, 0]),
                neighbors=settings.list_length(points.shape[1]),
                discarded_trace=parts[4],
                settings=settings,
            )
        )
    return fields


def _check_result(V: Tensor, scale: Tensor, settings: GramSettings) -> None:
    """Raise an error if G = V Vᵀ (B, n, D, D) or ρ (B, n) exceed the floating-point range."""
    limit = torch.finfo(V.dtype).max
    low, high = V.aminmax()  # without a copy of V
    largest, widest = torch.stack([torch.maximum(-low, high), scale.amax()]).tolist()
    if not largest * max(V.shape[-2:]) < limit**0.5 or not widest <= limit:
        raise ValueError(
            f"the Gram field exceeds the range of {V.dtype}: bandwidth={settings.bandwidth!r}, "
            f"bandwidth_units={settings.bandwidth_units!r} and beta={settings.beta!r} do not suit "
            "the points"
        )
