"""Evaluate trained networks on every cloud of a store."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from pointforms.estimators.fits import Store
from pointforms.support.threads import multiplications_per_map, threads_for


def apply(
    model: nn.Module,
    store: Store,
    function: Callable[[Any], Tensor] | None = None,
    batch_size: int = 64,
) -> Tensor:
    """Evaluate a model, or another function of a batch, on every cloud of a store.

    Clouds of similar size share a batch.

    Parameters
    ----------
    model : nn.Module
        The model, which is set to evaluation mode.
    store : Store
        The clouds.
    function : callable or None, default None
        What to evaluate; None evaluates the model itself.
    batch_size : int, default 64
        Number of clouds per batch.

    Returns
    -------
    Tensor, shape (N, ...)
        One row per cloud, in the order of the store.

    Raises
    ------
    ValueError
        If a value is not finite; the message names the cloud.
    """
    model.eval()
    evaluate = model if function is None else function
    order = store.sizes.argsort()
    points = min(batch_size, len(order)) * float(store.sizes.double().mean())
    with torch.no_grad(), threads_for(points * multiplications_per_map(model)):
        by_size = torch.cat([evaluate(store.gather(index)) for index in order.split(batch_size)])
    result = torch.empty_like(by_size)
    result[order] = by_size
    finite = torch.isfinite(result).flatten(1).all(1)
    if not bool(finite.all()):
        raise ValueError(
            f"cloud {int(finite.int().argmin())} gets a value that is not finite: its coordinates "
            f"are too large for a network in {str(result.dtype).removeprefix('torch.')}, or the "
            "network is damaged"
        )
    return result


def class_probabilities(model: nn.Module, store: Store) -> np.ndarray:
    """Return the class probabilities that a classifying network gives every cloud: (N, C)."""
    probabilities: np.ndarray = apply(model, store).double().softmax(-1).cpu().numpy()
    return probabilities
