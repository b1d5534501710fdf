"""Choose the neighbour count and the dimension of Gram fields, for one cloud or one set of clouds.

Each cloud votes with its :class:`~pointforms.geometry.evidence.Evidence`. The dimension is the rank
of the projectors that neighbourhoods of some size are nearest to, and the neighbour count the one
whose Gram field is nearest to projectors of that rank.
"""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import dataclass, replace

import torch
from torch import Tensor

from pointforms.geometry.evidence import CANDIDATES, PER_DIMENSION, Evidence
from pointforms.geometry.settings import GramSettings

#: The neighbour count of clouds too small to compare counts on.
USUAL_NEIGHBORS = 32
# Most clouds that vote on a common choice.
_VOTERS = 32
# Below this share of points that agree, the dimension is doubtful.
_DOUBTFUL = 0.5


@dataclass(frozen=True)
class Choice:
    """A neighbour count and a dimension.

    Attributes
    ----------
    neighbors : int
        Number of points in each neighbourhood; smaller clouds use all their points.
    dimension : int
        Intrinsic dimension.
    agreement : float or None
        Share of the points whose own neighbourhood is nearest to projectors of that rank; None if
        the dimension was given.
    """

    neighbors: int
    dimension: int
    agreement: float | None

    def applied_to(self, settings: GramSettings) -> GramSettings:
        """Return the settings with the chosen numbers."""
        return replace(settings, neighbors=self.neighbors, dimension=self.dimension)

    def warn_if_doubtful(self) -> None:
        """Warn if few points agree with the dimension."""
        if self.agreement is not None and self.agreement < _DOUBTFUL:
            warnings.warn(
                f"the estimated dimension {self.dimension} is doubtful: only "
                f"{self.agreement:.0%} of the points have neighbourhoods of that dimension. Give "
                "dimension=... if you know it",
                stacklevel=4,
            )


class Votes:
    """What clouds say about the settings that are not given: each is asked once, when needed.

    Parameters
    ----------
    clouds : sequence of Tensor, each of shape (n_i, D)
        The clouds.
    settings : GramSettings
        Options of their Gram fields. A number in `neighbors` or `dimension` is taken as it is.
    """

    def __init__(self, clouds: Sequence[Tensor], settings: GramSettings) -> None:
        self._clouds, self._settings = clouds, settings
        self._ballots: dict[int, _Ballot] = {}

    def choose(self, rows: Sequence[int] | None = None) -> Choice:
        """Choose for all clouds by the votes of some.

        Parameters
        ----------
        rows : sequence of int, optional
            The clouds that may vote (default: all). The larger half of them does, or 32 clouds
            evenly spread over it.
        """
        given = self._settings
        voters: list[_Ballot] = []
        if given.neighbors == "auto" or given.dimension is None:
            voters = self._voters(list(range(len(self._clouds)) if rows is None else rows))
        agreement = None
        d = given.dimension
        if d is None:
            d, agreement = _common_dimension([ballot.angles() for ballot in voters])
        k = given.neighbors
        if k == "auto":
            k = _common_count([ballot.distances(d) for ballot in voters], d)
        return Choice(k, d, agreement)

    def _voters(self, rows: list[int]) -> list[_Ballot]:
        sizes = sorted(len(self._clouds[i]) for i in rows)
        large = [i for i in rows if len(self._clouds[i]) >= sizes[len(sizes) // 2]]
        spread = torch.linspace(0, len(large) - 1, min(len(large), _VOTERS)).round().int().tolist()
        chosen = [large[i] for i in spread]
        for i in chosen:
            self._ballots.setdefault(i, _Ballot(self._clouds[i], self._settings))
        return [self._ballots[i] for i in chosen]


class _Ballot:
    """The evidence of one cloud, of which only tables are kept."""

    def __init__(self, cloud: Tensor, settings: GramSettings) -> None:
        self._cloud, self._settings = cloud, settings
        self._angles: tuple[Tensor, Tensor] | None = None
        self._distances: dict[int, dict[int, float]] = {}

    def angles(self) -> tuple[Tensor, Tensor]:
        """Return the sines and the shares at each candidate count: (candidates, r).

        A count that exceeds the cloud has those of the widest neighbourhood.
        """
        if self._angles is None:
            evidence = Evidence(self._cloud, self._settings.search)
            angles = evidence.angles()
            # a rank that cannot be told is as far as can be
            sine = angles.sine.clamp_max(1.0)
            places = [max(0, sum(j <= k for j in angles.counts) - 1) for k in CANDIDATES]
            self._angles = sine[places], angles.share[places]
            if self._settings.neighbors == "auto":  # most clouds get the dimension they vote for
                d = _common_dimension([self._angles])[0]
                self._distances[d] = evidence.distances(d)
        return self._angles

    def distances(self, dimension: int) -> dict[int, float]:
        """Return the distance by the neighbour count."""
        if dimension not in self._distances:
            evidence = Evidence(self._cloud, self._settings.search)
            self._distances[dimension] = evidence.distances(dimension)
        return self._distances[dimension]


def _common_dimension(angles: list[tuple[Tensor, Tensor]]) -> tuple[int, float]:
    """Return the rank with the smallest mean sine at any count, and the mean share that agrees."""
    ranks = max(sine.shape[1] for sine, _ in angles)
    sine = torch.stack([_padded(one, ranks, 1.0) for one, _ in angles]).mean(0)
    share = torch.stack([_padded(one, ranks, 0.0) for _, one in angles]).mean(0)
    best = int(sine.argmin())
    return best % ranks + 1, float(share.flatten()[best])


def _padded(table: Tensor, width: int, value: float) -> Tensor:
    return torch.nn.functional.pad(table, (0, width - table.shape[1]), value=value)


def _common_count(distances: list[dict[int, float]], dimension: int) -> int:
    """Return the count with the smallest mean distance, among those that most clouds measured."""
    measured = [one for one in distances if one]
    if 2 * len(measured) < len(distances):
        measured = []
    counts = sorted({k for one in measured for k in one})
    usual = max(USUAL_NEIGHBORS, PER_DIMENSION * dimension)
    if not counts:
        return usual
    common = [k for k in counts if 2 * sum(k <= max(one) for one in measured) >= len(measured)]

    def mean(k: int) -> float:
        # a cloud that did not measure this count has what is nearest to it
        return sum(one[max((j for j in one if j <= k), default=min(one))] for one in measured)

    return min(common, key=mean)
