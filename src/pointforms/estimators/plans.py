"""Which networks a fit trains: one with a validation part, or an ensemble."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from pointforms.estimators.fits import Fit, SharedBatches
from pointforms.estimators.held_out import MOST_PARTS, held_out_folds
from pointforms.estimators.targets import Targets
from pointforms.estimators.validation_split import validation_part

# With fewer validation clouds than this, the epoch of one network is chosen on what others, trained
# on parts of the clouds, predict for all of them.
_FEW = 24
# What the seeds of the members of an ensemble differ by.
_NEXT_SEED = 7919


@dataclass(frozen=True, eq=False)
class Plan:
    """The networks of an ensemble, for each decay that is tried.

    Attributes
    ----------
    clouds : ndarray of int, shape (N,)
        Indices of all training clouds, ascending.
    folds : ndarray of int, shape (divisions, N)
        The fold of each of them in each division.
    scouts : list of list of Fit
        For each decay the networks that hold out a fold.
    places : list of (int, int)
        Division and fold of each scout.
    kept : list of list of Fit, default empty
        For each decay networks that are kept instead of the scouts, and hold out nothing.
    """

    clouds: np.ndarray
    folds: np.ndarray
    scouts: list[list[Fit]]
    places: list[tuple[int, int]]
    kept: list[list[Fit]] = field(default_factory=list)

    def holds_out_all(self) -> bool:
        """Return whether every cloud is held out by a network that is not trained on it."""
        held_out = [np.setdiff1d(fit.validation, fit.train) for fit in self.scouts[0]]
        return len(np.unique(np.concatenate(held_out))) == len(self.clouds)


@dataclass(frozen=True)
class Recipe:
    """What the fits of an estimator have in common.

    Attributes
    ----------
    members : int
        Number of networks whose predictions are averaged.
    validation_fraction : float
        Share of the clouds that a single network holds out.
    learning_rate : float
        Initial learning rate.
    decays : sequence of float
        Weight decays, of which the one of the smallest loss on held-out clouds is kept.
    share_batches : bool, default True
        Whether the networks of an ensemble take the same batches. That wastes the share of the
        clouds that a network holds out, and saves gathering the geometry for each of them.
    """

    members: int
    validation_fraction: float
    learning_rate: float
    decays: Sequence[float]
    share_batches: bool = True

    def plan(
        self,
        clouds: np.ndarray,
        targets: Targets,
        groups: np.ndarray | None,
        seed: int,
        folds: np.ndarray | None = None,
    ) -> Fit | Plan:
        """Return the networks to train on some clouds.

        A single network is part of an ensemble, too, where several decays are tried, or where its
        validation part would be too small to choose an epoch: then others, trained on parts of the
        clouds, choose decay and epoch, and the one that is kept is trained on all clouds.

        Parameters
        ----------
        clouds : ndarray of int, shape (N,)
            Indices of the training clouds, ascending.
        targets : Targets
            What to predict for all clouds.
        groups : ndarray or None
            The group of each of all clouds, which is held out as a whole.
        seed : int
            Seed of the fit.
        folds : ndarray of int, shape (N,), or None, default None
            What members hold out: one member per fold. None chooses folds.
        """
        one = self.single(clouds, targets, groups, seed)
        alone = self.members == 1 and folds is None
        if alone and len(self.decays) == 1:
            if self.validation_fraction == 0 or len(one.validation) >= _FEW:
                return one
        elif alone and (self.validation_fraction == 0 or len(one.validation) >= _FEW):
            return self._one_part(clouds, one, 1)
        if folds is None:
            own = None if groups is None else groups[clouds]
            members = MOST_PARTS if alone else self.members
            divisions = held_out_folds(targets.values[clouds], own, members, seed, targets.stratify)
        else:
            divisions = folds[None]
        if not len(divisions):  # too few groups to hold any back
            single = alone and len(self.decays) == 1
            return one if single else self._one_part(clouds, one, self.members)
        places = [(i, int(k)) for i, division in enumerate(divisions) for k in np.unique(division)]
        if not alone:
            places = places[: max(self.members, len(np.unique(divisions[0])))]
        scouts = [
            [
                self._without(clouds, divisions[i] == k, targets, _seed(seed, member), decay)
                for member, (i, k) in enumerate(places)
            ]
            for decay in self.decays
        ]
        kept: list[list[Fit]] = []
        if alone:
            nothing = np.zeros(len(clouds), dtype=bool)
            kept = [[self._without(clouds, nothing, targets, seed, decay)] for decay in self.decays]
        shared = self._with_batches(scouts + kept, clouds, seed)
        return Plan(clouds, divisions, shared[: len(scouts)], places, shared[len(scouts) :])

    def single(
        self, clouds: np.ndarray, targets: Targets, groups: np.ndarray | None, seed: int
    ) -> Fit:
        """Return one network with a validation part split off the clouds, groups kept together."""
        inner, validation = validation_part(
            targets.values[clouds],
            None if groups is None else groups[clouds],
            self.validation_fraction,
            seed,
            targets.stratify,
        )
        return Fit(
            clouds[inner],
            clouds[validation],
            seed,
            self.learning_rate,
            self.decays[0],
            targets.weights(clouds[inner]),
        )

    def _one_part(self, clouds: np.ndarray, one: Fit, members: int) -> Plan:
        """Return networks that have one validation part, which need not be held out, in common."""
        scouts = [
            [replace(one, seed=_seed(one.seed, i), weight_decay=decay) for i in range(members)]
            for decay in self.decays
        ]
        divisions = np.zeros((members, len(clouds)), dtype=np.int64)
        places = [(i, 0) for i in range(members)]
        return Plan(clouds, divisions, self._with_batches(scouts, clouds, one.seed), places)

    def _with_batches(
        self, fits: list[list[Fit]], clouds: np.ndarray, seed: int
    ) -> list[list[Fit]]:
        """Return fits that take the same batches, in an order drawn from a seed, or their own."""
        batches = SharedBatches(clouds, seed) if self.share_batches else None
        return [[replace(fit, batches=batches) for fit in some] for some in fits]

    def _without(
        self, clouds: np.ndarray, held_out: np.ndarray, targets: Targets, seed: int, decay: float
    ) -> Fit:
        inner, outer = clouds[~held_out], clouds[held_out]
        return Fit(inner, outer, seed, self.learning_rate, decay, targets.weights(inner))


def _seed(seed: int, member: int) -> int:
    return (seed + _NEXT_SEED * member) % (2**31 - 1)
