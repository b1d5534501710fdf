"""Centres of batches: what clouds that were measured together have in common."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import torch
from torch import Tensor

from pointforms.support.weighted_statistics import weighted_mean
from pointforms.weights import keep_weights, relative_weights


def learn_batch_centers(clouds: Sequence[Tensor], batch: np.ndarray) -> dict[Any, list[float]]:
    """Return the centre of each batch: the mean over its clouds of their means.

    Examples
    --------
    >>> clouds = [torch.tensor([[0.0], [2.0]]), torch.tensor([[3.0]]), torch.tensor([[7.0]])]
    >>> learn_batch_centers(clouds, np.array(["a", "a", "b"]))
    {'a': [2.0], 'b': [7.0]}
    """
    means = torch.stack(
        [weighted_mean(cloud.double().cpu(), relative_weights(cloud)) for cloud in clouds]
    )
    return {
        label: means[torch.from_numpy(batch == label)].mean(0).tolist()
        for label in np.unique(batch).tolist()
    }


def without_batches(clouds: Sequence[Tensor], batch: np.ndarray) -> list[Tensor]:
    """Return clouds in double precision, moved such that all batches have one centre.

    Examples
    --------
    >>> clouds = [torch.tensor([[0.0], [2.0]]), torch.tensor([[4.0], [6.0]])]
    >>> [cloud.tolist() for cloud in without_batches(clouds, np.array(["a", "b"]))]
    [[[2.0], [4.0]], [[2.0], [4.0]]]
    """
    centers = batch_centers(clouds, batch, {})
    moved = centers.mean(0) - centers
    return [
        keep_weights(cloud.double().cpu() + own, cloud)
        for cloud, own in zip(clouds, moved, strict=True)
    ]


def batch_centers(
    clouds: Sequence[Tensor], batch: np.ndarray, known: Mapping[Any, list[float]]
) -> Tensor:
    """Return the centre of the batch of each cloud (N, D): a known one, or that of its clouds."""
    centers = learn_batch_centers(clouds, batch) | dict(known)
    return torch.tensor([centers[label] for label in batch.tolist()], dtype=torch.float64)
