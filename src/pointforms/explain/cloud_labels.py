"""Labels or targets as explanations use them: as columns, as contrasts, in two halves."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.base import ClassifierMixin
from sklearn.model_selection import GroupKFold

from pointforms.estimators.targets import ClassTargets
from pointforms.support.stratified_groups import stratified_group_folds

# Number of random divisions in two that are tried.
_ATTEMPTS = 20


@dataclass(frozen=True, eq=False)
class CloudLabels:
    """Labels or targets of N clouds.

    Attributes
    ----------
    given : (N,) or (N, targets) array
        As the estimator takes them.
    values : (N, c) array
        One column per class, 1 inside and 0 outside; or the targets.
    classifier : bool
    columns : tuple of str
        Names of the contrasts, where there are several: classes against the rest if there are more
        than two, targets if there are more than one.
    """

    given: np.ndarray
    values: np.ndarray
    classifier: bool
    columns: tuple[str, ...]

    @classmethod
    def of(cls, estimator: Any, y: Any, clouds: int) -> CloudLabels:
        """Return the checked labels or targets of clouds for a fitted classifier or regressor."""
        if isinstance(estimator, ClassifierMixin):
            given = np.asarray(y)
            checked = ClassTargets.of(given, clouds)
            known = estimator.classes_.tolist()
            if checked.classes.tolist() != known:
                raise ValueError(
                    f"y has the classes {checked.classes.tolist()}, the classifier knows {known}: "
                    "explanations compare all of them"
                )
            names = tuple(str(c) for c in known) if len(known) > 2 else ()
            return cls(given, np.eye(len(known))[checked.values], True, names)
        given = np.asarray(y, dtype=np.float64)
        values = given.reshape(len(given), -1)
        if len(values) != clouds or values.shape[1] != len(estimator.target_mean_):
            raise ValueError(
                f"y has shape {given.shape} for {clouds} clouds and "
                f"{len(estimator.target_mean_)} targets"
            )
        if not np.isfinite(values).all() or (np.ptp(values, axis=0) == 0).any():
            raise ValueError("y has non-finite values, or a target that is the same for all clouds")
        targets = values.shape[1]
        names = tuple(f"target {t}" for t in range(targets)) if targets > 1 else ()
        return cls(given, values, False, names)

    def contrasts(self) -> list[tuple[int, np.ndarray]]:
        """Return outputs of the model, each with the clouds (N,) for which it should be higher.

        One per class, or the second of two classes; for a target the clouds above its median (or
        at it, where that is the largest value).
        """
        if self.classifier and self.values.shape[1] == 2:
            return [(1, self.values[:, 1] > 0)]
        middle = np.median(self.values, axis=0)
        above = self.values > middle
        above = np.where(above.any(0), above, self.values >= middle)
        return [(c, above[:, c]) for c in range(self.values.shape[1])]

    def halves(self, groups: np.ndarray | None, seed: int) -> np.ndarray:
        """Return 0 or 1 for each cloud: groups are kept together, every class is in both halves."""
        N = len(self.values)
        members = np.arange(N) if groups is None else np.unique(groups, return_inverse=True)[1]
        count = len(np.unique(members))
        if count < 2:
            raise ValueError("all clouds belong to one group: refits need two groups, or refits=0")
        codes = self.values.argmax(1) if self.classifier else None
        if codes is not None:
            for c in range(self.values.shape[1]):
                have = len(np.unique(members[codes == c]))
                if have < 2:
                    raise ValueError(
                        f"class {np.unique(self.given)[c]!r} has clouds of {have} group: refits on "
                        "halves need at least 2, or refits=0"
                    )
        masks = [mask for _, mask in self.contrasts()]
        for attempt in range(_ATTEMPTS):  # the splitters are greedy and may miss valid halves
            random_state = (seed + attempt) % 2**31
            if codes is None:
                folds = GroupKFold(2, shuffle=True, random_state=random_state)
                halves = np.zeros(N, dtype=np.int64)
                halves[next(folds.split(members, groups=members))[1]] = 1
            else:
                halves = 1 - stratified_group_folds(codes, members, 2, random_state)
            if all(len(np.unique(mask[halves == h])) == 2 for mask in masks for h in (0, 1)):
                return halves
        what = "every class is" if self.classifier else "high and low targets are"
        raise ValueError(
            f"no division of the groups in two such that {what} in both: give more groups, or "
            "refits=0"
        )
