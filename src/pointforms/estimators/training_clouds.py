"""Which clouds an estimator was trained on, and which of its members held each of them out."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Any

import numpy as np
from pydantic import NonNegativeInt, StringConstraints

from pointforms.clouds import cloud_list
from pointforms.estimators.fingerprints import (
    BYTES,
    possible_fingerprints,
    recognised,
    shared_fingerprints,
)
from pointforms.estimators.per_cloud import one_per_cloud
from pointforms.estimators.saved_values import Attribute

#: The fingerprint of a cloud, as text.
Fingerprint = Annotated[str, StringConstraints(pattern=rf"^-?[0-9a-f]{{{2 * BYTES}}}$")]
# What stands before the fingerprint of a cloud that had weight 0, and was not trained on.
_WEIGHTLESS = "-"
#: How `training_clouds_` is saved; models of version 0.2.0 and older do not have it.
TRAINING_CLOUDS = Attribute(list[Fingerprint], optional=True)
#: How `held_out_` is saved.
HELD_OUT = Attribute(list[list[NonNegativeInt]], optional=True)
#: How `training_groups_` is saved; models that were fitted without groups do not have it.
TRAINING_GROUPS = Attribute(list[NonNegativeInt], optional=True)


def fingerprints_of_fit(clouds: Any, kept: np.ndarray) -> list[str]:
    """Return the fingerprints of the clouds of `fit`, and which of them were trained on.

    A cloud and the same cloud with rounded values have one fingerprint.

    Parameters
    ----------
    clouds : Clouds, or list of array-like or tensor, each of shape (n_i, D)
        All clouds of `fit`.
    kept : ndarray of int
        Positions of those that do not have weight 0.

    Examples
    --------
    >>> one, other = fingerprints_of_fit([[[0, 1]], [[2, 3]]], np.array([0]))
    >>> one[:1] == "-", other[:1] == "-"
    (False, True)
    """
    trained = set(kept.tolist())
    texts = enumerate(shared_fingerprints(clouds))
    return [text if i in trained else _WEIGHTLESS + text for i, text in texts]


def training_places(known: Sequence[str], clouds: Any) -> np.ndarray:
    """Return the position in `fit` of each cloud, or raise an error for one that was not there.

    Of several equal clouds the first is found first.

    Parameters
    ----------
    known : sequence of str
        Fingerprints of the clouds of `fit`.
    clouds : Clouds, or list of array-like or tensor, each of shape (n_i, D)
        Clouds of `fit`, in any order.

    Examples
    --------
    >>> first, second = [[0.0, 1.0]], [[2.0, 3.0]]
    >>> training_places(shared_fingerprints([first, second]), [second, first]).tolist()
    [1, 0]
    """
    places: dict[str, list[int]] = {}
    for i, one in enumerate(known):
        places.setdefault(one, []).append(i)
    seen: dict[str, int] = {}
    found = []
    for i, possible in enumerate(possible_fingerprints(clouds)):
        text = recognised(possible, places)
        if text is None:
            raise ValueError(f"cloud {i} is not one of the {len(known)} clouds of fit")
        found.append(places[text][seen.get(text, 0) % len(places[text])])
        seen[text] = seen.get(text, 0) + 1
    return np.array(found, dtype=np.int64)


class KnowsTrainingClouds:
    """A mixin for estimators that recognise the clouds of `fit`.

    After `fit`, `training_clouds_` has the fingerprint of each cloud, after a minus sign if the
    cloud had weight 0. Where several members hold out parts of the clouds, each cloud can be
    predicted by those that were not trained on it, see `predict_out_of_fold`.
    """

    training_clouds_: list[str]
    training_groups_: list[int]

    def _keep_training_clouds(
        self, clouds: Any, kept: np.ndarray, groups: np.ndarray | None
    ) -> None:
        """Keep the fingerprints of the clouds of `fit`, and their groups by number.

        Parameters
        ----------
        clouds : Clouds, or list of array-like or tensor, each of shape (n_i, D)
            All clouds of `fit`.
        kept : ndarray of int
            Positions of those that do not have weight 0.
        groups : ndarray, shape (N,), or None
            The groups of all clouds.
        """
        self.training_clouds_ = fingerprints_of_fit(clouds, kept)
        if groups is not None:
            self.training_groups_ = np.unique(groups, return_inverse=True)[1].tolist()

    def training_positions(self, clouds: Any) -> np.ndarray:
        """Find clouds among those of `fit`.

        Parameters
        ----------
        clouds : Clouds, or list of array-like or tensor, each of shape (n_i, D)
            Any clouds, in any order.

        Returns
        -------
        ndarray of int, shape (N,)
            The position of each cloud in `fit`, also if its values were rounded meanwhile; -1 for a
            cloud that was not there. Of several equal clouds the first is found first, and those of
            weight 0 after the others.
        """
        places: dict[str, list[int]] = {}
        texts = getattr(self, "training_clouds_", [])
        for weightless in (False, True):
            for i, one in enumerate(texts):
                if one.startswith(_WEIGHTLESS) == weightless:
                    places.setdefault(one.removeprefix(_WEIGHTLESS), []).append(i)
        by_name: Any = getattr(self, "_by_name", lambda given: given)
        seen: dict[str, int] = {}
        found = []
        for possible in possible_fingerprints(by_name(cloud_list(clouds))):
            text = recognised(possible, places)
            if text is None:
                found.append(-1)
                continue
            own = places[text]
            found.append(own[seen.get(text, 0) % len(own)])
            seen[text] = seen.get(text, 0) + 1
        return np.array(found, dtype=np.int64)

    def _places_of(self, clouds: Any, of: Any) -> Any:
        """Return `of`, or where the clouds were in `fit` if it is None."""
        if of is not None:
            return of
        if not hasattr(self, "training_clouds_"):
            return np.zeros(len(clouds), dtype=np.int64)  # whoever checks them says what is wrong
        found = self.training_positions(clouds)
        if (found < 0).any():
            raise ValueError(
                f"cloud {int(found.argmin())} is not one of the {len(self.training_clouds_)} "
                "clouds of fit: pass of=..., the training clouds of which these are versions"
            )
        return found

    def had_weight(self, of: np.ndarray) -> np.ndarray:
        """Return which of some clouds of `fit` were trained on, rather than having weight 0.

        Parameters
        ----------
        of : ndarray of int, shape (N,)
            Positions of the clouds in `fit`.

        Returns
        -------
        ndarray of bool, shape (N,)
        """
        trained = [not text.startswith(_WEIGHTLESS) for text in self.training_clouds_]
        return np.asarray(np.array(trained, dtype=bool)[of])

    def unseen_members(self, of: Any) -> np.ndarray:
        """Return which members were trained on none of some training clouds, or of clouds equal.

        Parameters
        ----------
        of : array-like of int, shape (N,)
            Positions of the clouds in `fit`.

        Returns
        -------
        ndarray of bool, shape (N, members)
            (N, 0) if the estimator has no members that hold out parts of the training clouds. A
            cloud of weight 0, which belongs to no member's part, has False.
        """
        positions = self._checked_positions(of, len(of))
        columns = [self._unseen(own)[positions] for own in self._held_out_by_member()]
        return np.stack(columns, 1) if columns else np.zeros((len(positions), 0), dtype=bool)

    def _held_out_by_member(self) -> Sequence[Any]:
        """Return the training clouds that each member held out; nothing without such members."""
        held_out: Sequence[Any] = getattr(self, "held_out_", [])
        return held_out

    def _checked_positions(self, of: Any, count: int) -> np.ndarray:
        """Return positions in `fit` as an array, one per cloud."""
        positions = one_per_cloud("of", of, count)
        if not hasattr(self, "training_clouds_"):
            raise ValueError(
                f"this {type(self).__name__} does not know its training clouds: it is not fitted, "
                "or was saved by an older version, which did not keep them; fit it again"
            )
        known = len(self.training_clouds_)
        if positions.dtype.kind not in "iu" or positions.min() < 0 or positions.max() >= known:
            raise ValueError(
                f"of has values like {positions[0]!r}: expected positions of training clouds, 0 to "
                f"{known - 1}"
            )
        return positions

    def _unseen(self, held_out: Any) -> np.ndarray:
        """Return which training clouds (N,) a member has not seen, given those it held out.

        A cloud with a twin among the clouds that the member was trained on has been seen.
        """
        out = np.zeros(len(self.training_clouds_), dtype=bool)
        out[list(held_out)] = True
        texts = np.array(self.training_clouds_)
        return np.asarray(out & ~np.isin(texts, texts[~out]))


def check_training_groups(estimator: Any) -> None:
    """Raise an error unless a restored estimator has one group per training cloud, or none."""
    groups = getattr(estimator, "training_groups_", None)
    clouds = len(getattr(estimator, "training_clouds_", []))
    if groups is not None and len(groups) != clouds:
        raise ValueError(
            f"attribute training_groups_ has {len(groups)} entries for {clouds} training clouds"
        )


def check_held_out(held_out: Sequence[Sequence[int]], clouds: int, members: int) -> None:
    """Raise an error unless what members held out fits the numbers of clouds and members."""
    if len(held_out) != members:
        raise ValueError(f"attribute held_out_ has {len(held_out)} entries for {members} members")
    if any(i >= clouds for own in held_out for i in own):
        raise ValueError(f"attribute held_out_: expected positions of {clouds} training clouds")
