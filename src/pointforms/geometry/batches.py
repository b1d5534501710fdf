"""Group clouds of one size, which are computed together."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence

import torch
from torch import Tensor

from pointforms.geometry.neighbors import BLOCK
from pointforms.weights import relative_weights


def field_multiplications(cloud: Tensor, neighbors: int) -> int:
    """Return about how many multiplications the Gram field of a cloud takes, its search included.

    Examples
    --------
    >>> field_multiplications(torch.zeros(100, 3), neighbors=32)
    58800
    """
    n, D = cloud.shape
    k = min(n, neighbors)
    return n * D * (n + k * min(D, k))


def batches(clouds: Sequence[Tensor], rows: Iterable[int], neighbors: int) -> list[list[int]]:
    """Group some clouds by size and precision, few enough in a group for the CPU cache.

    Clouds with weights and clouds without are not in one group.

    Parameters
    ----------
    clouds : sequence of Tensor, each of shape (n_i, D)
        All clouds.
    rows : iterable of int
        Those that are wanted.
    neighbors : int
        Number of points in each neighbourhood.
    """
    groups: dict[tuple[int, torch.dtype, bool], list[int]] = defaultdict(list)
    for i in rows:
        weighted = relative_weights(clouds[i]) is not None
        groups[len(clouds[i]), clouds[i].dtype, weighted].append(i)
    parts = []
    for (n, *_), members in groups.items():
        count = max(1, BLOCK // (n * min(n, neighbors)))
        parts += [members[s : s + count] for s in range(0, len(members), count)]
    return parts
