"""Choose the neighbour count and the dimension of Gram fields, for one cloud or one set of clouds.

Each cloud votes with its :class:`~pointforms.geometry.evidence.Evidence`. The dimension is the rank
of the projectors that neighbourhoods of some size are nearest to, and the neighbour count the one
whose Gram field is nearest to projectors of that rank.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
import torch
from torch import Tensor

from pointforms.geometry.batches import batches, field_multiplications
from pointforms.geometry.chunked import SearchedLists
from pointforms.geometry.dimension import local_pca_dimension, local_pca_dimensions
from pointforms.geometry.evidence import CANDIDATES, Evidence
from pointforms.geometry.neighbors import NeighborLists
from pointforms.geometry.ordered import OrderedCloud, suits_order
from pointforms.geometry.projector_angles import PER_DIMENSION, Angles, nearest_rank
from pointforms.geometry.settings import GramSettings
from pointforms.geometry.units import own_units
from pointforms.support.blame import warn_caller
from pointforms.support.progress import track
from pointforms.support.threads import threads_for

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
        Share of the points whose own neighbourhood has that dimension, or 0 if the clouds are too
        small to tell a higher one; None if the dimension was given.
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
            warn_caller(
                f"the estimated dimension {self.dimension} is doubtful: less than half of the "
                "points agree, or the clouds are too small to tell a higher one. Give "
                "dimension=... if you know it"
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
        self._local_pca: dict[int, int] = {}
        self._searched: SearchedLists | None = None
        self._spreads: dict[int, float] = {}

    def choose(self, rows: Sequence[int] | None = None, progress: bool = False) -> Choice:
        """Choose for all clouds by the votes of some.

        Parameters
        ----------
        rows : sequence of int, optional
            The clouds that may vote (default: all). The larger half of them does, or 32 clouds
            evenly spread over it; on the dimension by local PCA, all of them.
        progress : bool, default False
            Show a progress bar.
        """
        rows = range(len(self._clouds)) if rows is None else rows
        largest = max(self._clouds, key=len)
        work = field_multiplications(largest, max(CANDIDATES))
        with threads_for(work):
            return self._chosen(rows, progress)

    def _chosen(self, rows: Sequence[int], progress: bool) -> Choice:
        k, d = self._settings.neighbors, self._settings.dimension
        agreement = None
        if d == "local-pca":
            d = int(np.median(self._local_pca_dimensions(rows)))
        if d is None or k == "auto":
            voters = self._voters(rows)
            with track(len(voters), "Neighbours and dimension", progress) as advance:
                for ballot in voters:
                    if d is None:
                        ballot.angles()
                    else:
                        ballot.distances(d)
                    advance(1)
                if d is None and len(voters) == 1:
                    d, agreement = voters[0].rank()
                elif d is None:
                    d, agreement = nearest_rank(*(ballot.angles() for ballot in voters))
                if k == "auto":
                    k = _common_count([ballot.distances(d) for ballot in voters], d)
        return Choice(k, d, agreement)

    def lists(self, k: int) -> NeighborLists | None:
        """Return lists of more than k neighbours of the only cloud, if the choice searched them."""
        evidence = self._evidence_of_one()
        if evidence is not None:
            return evidence.searched(k)
        return None if self._searched is None else self._searched.longer_than(k)

    def lists_in_chunks(self) -> SearchedLists | None:
        """Return the lists of the only cloud, a large one, if the choice searched them."""
        evidence = self._evidence_of_one()
        return self._searched if evidence is None else evidence.searched_in_chunks()

    def _evidence_of_one(self) -> Evidence | None:
        ballot = self._ballots.get(0)
        return None if ballot is None else ballot.evidence

    def _voters(self, rows: Sequence[int]) -> list[_Ballot]:
        by_size = list(rows)
        if len(by_size) > 1:
            by_size.sort(key=lambda i: (len(self._clouds[i]), self._spread(i)))
        large = by_size[len(by_size) // 2 :]
        places = np.linspace(0, len(large) - 1, min(len(large), _VOTERS)).round().astype(int)
        chosen = [large[i] for i in places]
        for i in chosen:
            if i not in self._ballots:
                keep = len(self._clouds) == 1
                self._ballots[i] = _Ballot(self._clouds[i], self._settings, keep)
        return [self._ballots[i] for i in chosen]

    def _spread(self, i: int) -> float:
        """Return a number that orders clouds of one size, whatever order they come in."""
        if i not in self._spreads:
            cloud = own_units(self._clouds[i].unsqueeze(0))[0]
            self._spreads[i] = round(float(cloud.square().sum(-1).mean()), 6)
        return self._spreads[i]

    def _local_pca_dimensions(self, rows: Sequence[int]) -> list[int]:
        k = self._settings.neighbors
        k = USUAL_NEIGHBORS if k == "auto" else k
        new = [i for i in rows if i not in self._local_pca]
        if new and self._is_one_large(k):
            self._local_pca[0] = self._local_pca_of_one(k)
            new = []
        for batch in batches(self._clouds, new, k):
            clouds = torch.stack([self._clouds[i] for i in batch])
            self._local_pca.update(zip(batch, local_pca_dimensions(clouds, k), strict=True))
        return [self._local_pca[i] for i in rows]

    def _is_one_large(self, k: int) -> bool:
        """Return whether there is one cloud only, a large one, with more than k points."""
        if len(self._clouds) > 1:
            return False
        [cloud] = self._clouds
        return k < len(cloud) and suits_order(cloud, self._settings.search)

    def _local_pca_of_one(self, k: int) -> int:
        """Return the dimension of a large cloud by local PCA; keep lists that its field can use."""
        [cloud] = self._clouds
        k0 = replace(self._settings, neighbors=k).density_list_length(len(cloud))
        searched = SearchedLists(OrderedCloud(cloud), max(k + 1, k0))
        if self._settings.neighbors != "auto":
            self._searched = searched
        return int(local_pca_dimension(searched.cloud.points, searched.nearest(k)))


class _Ballot:
    """The votes of one cloud. Of many clouds only the tables are kept, not the evidence."""

    def __init__(self, cloud: Tensor, settings: GramSettings, keep: bool) -> None:
        self._cloud, self._settings, self._keep = cloud, settings, keep
        self.evidence: Evidence | None = None
        self._angles: Angles | None = None
        self._rank: tuple[int, float] | None = None
        self._distances: dict[int, dict[int, float]] = {}

    def angles(self) -> Angles:
        """Return the angles to projectors."""
        if self._angles is None:
            evidence = self._gathered()
            self._angles = evidence.angles()
            if self._settings.neighbors == "auto":  # most clouds get the dimension they vote for
                d = self.rank()[0]
                self._distances[d] = evidence.distances(d)
        return self._angles

    def rank(self) -> tuple[int, float]:
        """Return the dimension that the cloud itself would choose, and the share that agrees."""
        if self._rank is None:
            self._rank = nearest_rank(self.angles())
        return self._rank

    def distances(self, dimension: int) -> dict[int, float]:
        """Return the distance to projectors by the neighbour count."""
        if dimension not in self._distances:
            self._distances[dimension] = self._gathered().distances(dimension)
        return self._distances[dimension]

    def _gathered(self) -> Evidence:
        evidence = self.evidence or Evidence(self._cloud, self._settings.search)
        self.evidence = evidence if self._keep else None
        return evidence


def _common_count(distances: Sequence[dict[int, float]], dimension: int) -> int:
    """Return the count with the smallest mean distance, among those that most clouds measured."""
    measured = [one for one in distances if one]
    if 2 * len(measured) < len(distances) or not measured:
        return max(USUAL_NEIGHBORS, PER_DIMENSION * dimension)
    if len(measured) > 1:  # sizes of single clouds are no counts for all
        measured = [{_candidate(k): distance for k, distance in one.items()} for one in measured]
    counts = sorted({k for one in measured for k in one})
    common = [k for k in counts if 2 * sum(k <= max(one) for one in measured) >= len(measured)]

    def mean(k: int) -> float:
        # a cloud that did not measure this count has that of the next smaller one
        values = [one[max((j for j in one if j <= k), default=min(one))] for one in measured]
        return float(np.mean(values))

    return min(common, key=mean)


def _candidate(k: int) -> int:
    """Return the next candidate that is no smaller."""
    return min((candidate for candidate in CANDIDATES if candidate >= k), default=k)
