"""The average of several networks, as one network."""

from __future__ import annotations

from collections.abc import Sequence
from math import log
from typing import Any

import torch
from torch import Tensor, nn


class AverageNetwork(nn.Module):
    """Networks of one shape whose predictions are averaged.

    For a classifier the average is that of the probabilities, and the output their logarithm, so
    that softmax(output) gives them back; for numbers it is the average of the outputs.

    Parameters
    ----------
    members : sequence of nn.Module
        The networks, which read the same batches.
    probabilities : bool
        Whether outputs are logits of classes.

    Examples
    --------
    >>> import torch
    >>> from torch import nn
    >>> two = AverageNetwork([nn.Linear(3, 2), nn.Linear(3, 2)], probabilities=True)
    >>> x = torch.rand(5, 3)
    >>> mean = sum(member(x).softmax(-1) for member in two.members) / 2
    >>> torch.allclose(two(x).softmax(-1), mean)
    True
    """

    def __init__(self, members: Sequence[nn.Module], probabilities: bool) -> None:
        super().__init__()
        self.members = nn.ModuleList(members)
        self.probabilities = probabilities

    def forward(self, batch: Any) -> Tensor:
        """Evaluate the members on a batch, and return their average (B, outputs)."""
        outputs = torch.stack([member(batch) for member in self.members])
        return average_outputs(outputs, self.probabilities)


def average_outputs(outputs: Tensor, probabilities: bool) -> Tensor:
    """Return the average (..., outputs) of what networks return, (members, ..., outputs)."""
    if not probabilities:
        return outputs.mean(0)
    return outputs.log_softmax(-1).logsumexp(0) - log(len(outputs))


def members_of(network: nn.Module) -> list[nn.Module]:
    """Return the members of an average, or the network itself as the only one."""
    return list(network.members) if isinstance(network, AverageNetwork) else [network]


def first_member(network: nn.Module) -> nn.Module:
    """Return the first member of an average, or the network itself."""
    return members_of(network)[0]
