"""Which features does a model's decision rely on?"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from itertools import combinations
from math import isnan, nan
from typing import Any, Literal

import numpy as np

from pointforms.clouds import cloud_list
from pointforms.estimators.per_cloud import (
    check_groups,
    check_order,
    checked_weights,
    one_per_cloud,
)
from pointforms.explain.cloud_targets import CloudTargets
from pointforms.explain.clouds_of_fit import groups_of_fit, positions_in_fit, with_weight
from pointforms.explain.exchange_test import p_values, smallest_p
from pointforms.explain.feature_names import FeatureNames
from pointforms.explain.importance_table import Importance, Reliance, StandIns
from pointforms.explain.perturbed_losses import MeasuredRow, PerturbedLosses
from pointforms.explain.stand_ins import correlated_features
from pointforms.explain.unseen import Unseen, check_covariate_rows, some_rows, unseen
from pointforms.support.checks import check_int, is_word
from pointforms.support.progress import track
from pointforms.support.suggestions import suggest

# Number of features whose pairs are measured, and of correlated sets that are perturbed together.
_PAIRED, _SETS = 10, 10
# Rank correlation from which features stand in for each other.
_CORRELATED = 0.8

Pairs = Literal["top", "all"] | Sequence[tuple[Any, Any]] | bool | None


def importance(
    estimator: Any,
    clouds: Any,
    y: Any,
    groups: Any = None,
    random_state: int = 0,
    *,
    feature_names: Sequence[str] | None = None,
    pairs: Pairs = "top",
    new: bool = False,
    repeats: int | None = None,
    sample_weight: Any = None,
    covariates: Any = None,
    batch: Any = None,
    progress: bool = False,
) -> Importance:
    """Measure which features a model relies on, on clouds that it has not seen.

    Two questions are kept apart for each feature:

    - *distribution*: its values in a cloud are replaced, rank by rank, by the quantiles of the same
      feature in a random cloud of any class. Ranks stay, and with them the dependence on other
      features.
    - *covariation*: its values are shuffled inside the cloud. Its distribution stays, its
      dependence on other features goes.

    For a pair of features, one is shuffled, and the other either by the same permutation, which
    keeps the dependence of the two, or by others, which destroy it.

    `importance` is the mean increase per cloud of the loss: of the log loss of a classifier (whose
    probabilities are at least 1e-4), or of the squared error of a regressor in units of the
    variance of y, that is, the drop of R². Everything that the estimator computes from a cloud,
    such as its Gram field, is computed anew from the perturbed cloud.

    A cloud is predicted by models that were not trained on it: members of the estimator that held
    it out, where there are any (`members=5`, :class:`pointforms.CloudClassifier`), otherwise clones
    that are fitted without its fold. With more than five members, those of the first five folds
    predict, so that all clouds of a fold have the same models.

    Values come from clouds that these models have not seen either, that is, from other groups of
    the same fold. The random cloud may as well be the cloud itself, so the mean increase over the
    k - 1 others of a block of k groups is multiplied by (k - 1) / k, and so is the drop of the
    score. In a small fold that has each class once or twice, the others alone are of another class
    too often, which makes the increase up to twice as large. A group that is alone in its fold is
    left out of the rows of kind distribution, which are NaN if all groups are; the summary says so.

    P-values are one-sided and family-wise: corrected for everything in the table. They are the
    larger ones of two tests, by sign flips of the differences of groups, and by exchanging the
    original with its perturbed versions; see `pointforms.explain.exchange_test`.

    The answer is about *this model*. A feature that it ignores has an importance of 0, however
    different the classes are in it, and correlated features stand in for each other: with one of
    them perturbed, the model still has the others. Such sets are listed, and perturbed together.

    Parameters
    ----------
    estimator : estimator
        Any estimator on clouds with `fit` and `predict_proba` or `predict`.
    clouds : Clouds, or list of array-like or tensor, each of shape (n_i, D)
        The clouds of `fit`, in any order, or some of them; or others with new=True. Those that had
        weight 0 in `fit` are left out.
    y : array-like, shape (N,) or (N, targets)
        Labels or numbers, as in `fit`.
    groups : array-like, shape (N,), or None, default None
        Clouds that belong together, such as those of one patient. They are the units of the tests.
        None stands for the groups of `fit`, if it had any and the clouds are those of `fit`.
    random_state : int, default 0
        Seed of folds, perturbations and tests.
    feature_names : sequence of str or None, default None
        Names of the features, in the order of the clouds; by default those of the clouds, or x0,
        x1, ….
    pairs : "top", "all", sequence of pairs, None or False, default "top"
        Pairs to measure: all among the ten most important features, all, or some by name or
        position; None or False measures none.
    new : bool, default False
        Declare that the estimator was trained on none of the clouds. It is then used as it is.
    repeats : int or None, default None
        Number of times that each cloud is shuffled, and about the number of other groups that it
        takes values from, if its fold has as many; by default 400 divided by the number of clouds,
        from 1 to 20. Of more than 600 clouds, by default, randomly drawn groups with about 400
        clouds are perturbed.
    sample_weight : array-like, shape (N,), or None, default None
        Weights of the clouds, as in `fit`. Clones are fitted with them where clones are needed. All
        clouds count equally in the loss that is measured.
    covariates : data frame, mapping or array-like, or None, default None
        What is known about whole clouds, as in `fit`.
    batch : array-like, shape (N,), or None, default None
        Batches, as in `fit`.
    progress : bool, default False
        Show a progress bar.

    Returns
    -------
    Importance
        A table with one row per feature and kind, and per pair, the most important first.

    Examples
    --------
    >>> import pointforms as pf
    >>> rng = np.random.default_rng(0)
    >>> y = np.arange(40) % 2
    >>> clouds = [rng.normal(size=(12, 3)) + [2 * label, 0, 0] for label in y]
    >>> model = pf.CloudClassifier(parts=("linear",), random_state=0).fit(clouds, y)
    >>> table = pf.explain.importance(model, clouds, y, pairs=None)
    >>> [(row.name, row.kind) for row in table.found()]
    [('x0', 'distribution')]
    """
    if repeats is not None:
        check_int("repeats", repeats, at_least=1)
    if isinstance(estimator, type):
        raise TypeError(f"estimator is the class {estimator.__name__}: expected an instance of it")
    check_order(
        clouds, y=y, groups=groups, sample_weight=sample_weight, covariates=covariates, batch=batch
    )
    features = FeatureNames.of(estimator, cloud_list(clouds), feature_names)
    names, points = features.shown, features.points
    chosen_pairs = _check_pairs(pairs, names)
    count = len(points)
    targets = CloudTargets.of(estimator, y, count)
    groups = check_groups(groups, count)
    batch = None if batch is None else one_per_cloud("batch", batch, count)
    check_covariate_rows(covariates, count)
    weights = checked_weights(sample_weight, count)
    positions = None if new else positions_in_fit(estimator, points)
    if positions is not None:
        groups = groups_of_fit(estimator, positions) if groups is None else groups
        kept = with_weight(estimator, positions)
        if len(kept) < count:
            points, count = [points[i] for i in kept], len(kept)
            targets = CloudTargets.of(estimator, targets.given[kept], count)
            groups = None if groups is None else groups[kept]
            batch = None if batch is None else batch[kept]
            weights = None if weights is None else weights[kept]
            covariates = None if covariates is None else some_rows(covariates, kept)
    seed = _seed(random_state)
    models = unseen(
        estimator,
        points,
        targets,
        groups,
        covariates,
        batch,
        new,
        seed,
        features.known,
        weights,
        getattr(clouds, "ids", None),
    )
    own = np.arange(count) if groups is None else np.unique(groups, return_inverse=True)[1]
    measured = PerturbedLosses(points, targets, models, own, repeats, seed)
    D = len(names)
    sets = correlated_features(points, _CORRELATED, np.random.default_rng(seed))
    rows: list[MeasuredRow] = []
    total = 2 * D + 2 * min(len(sets), _SETS)
    with track(total, "perturbed features", progress) as advance:
        for j in range(D):
            rows.append(measured.distribution((j,)))
            rows.append(measured.covariation((j,)))
            advance(2)
        by_feature = np.array(
            [np.nanmax([r.importance for r in rows if r.features == (j,)]) for j in range(D)]
        )
        sets.sort(key=lambda own: -by_feature[list(own)].sum())
        for own_set in sets[:_SETS]:
            rows.append(measured.distribution(own_set))
            rows.append(measured.covariation(own_set))
            advance(2)
    if is_word(pairs, "top"):
        first = np.sort(np.argsort(-by_feature, kind="stable")[:_PAIRED]).tolist()
        chosen_pairs = list(combinations(first, 2))
    with track(len(chosen_pairs), "pairs of features", progress) as advance:
        for pair in chosen_pairs:
            rows.append(measured.pair(*pair))
            advance(1)
    tested = p_values([row.versions for row in rows], models.cross_fitted, seed)
    return _result(rows, tested, sets, names, measured, models)


def _seed(random_state: Any) -> int:
    try:
        return int(np.random.default_rng(random_state).integers(2**31 - 1))
    except (TypeError, ValueError):
        raise ValueError(
            f"random_state={random_state!r}: expected a whole number of at least 0"
        ) from None


def _check_pairs(pairs: Pairs, names: Sequence[str]) -> list[tuple[int, int]]:
    """Return pairs of positions; none for "top", which needs to know the features first."""
    if pairs is None or pairs is False or is_word(pairs, "top"):
        return []
    if is_word(pairs, "all"):
        return list(combinations(range(len(names)), 2))
    listed: Any = pairs.tolist() if isinstance(pairs, np.ndarray) else pairs
    if not _is_list_of_pairs(listed):
        raise ValueError(
            f"pairs={listed!r}: expected 'top', 'all', None, or pairs of names of features, such "
            f"as {[tuple(names[:2])]}"
        )
    found = []
    for pair in listed:
        places = [_position(feature, names) for feature in pair]
        if places[0] == places[1]:
            raise ValueError(f"pairs has {pair!r}: expected two different features")
        found.append((min(places), max(places)))
    return sorted(set(found))


def _is_list_of_pairs(pairs: Any) -> bool:
    """Return whether something is a collection of pairs; text of two letters is no pair."""
    if isinstance(pairs, str | bytes) or not isinstance(pairs, Collection):
        return False
    kinds = list, tuple, np.ndarray
    return all(isinstance(pair, kinds) and np.shape(pair) == (2,) for pair in pairs)


def _position(feature: Any, names: Sequence[str]) -> int:
    if feature in names:
        return list(names).index(feature)
    if isinstance(feature, int | np.integer) and 0 <= feature < len(names):
        return int(feature)
    raise ValueError(f"no feature {feature!r}: {suggest(str(feature), names)}")


def _result(
    rows: Sequence[MeasuredRow],
    tested: np.ndarray,
    sets: Sequence[tuple[int, ...]],
    names: Sequence[str],
    measured: PerturbedLosses,
    models: Unseen,
) -> Importance:
    made: list[Reliance] = []
    together: dict[tuple[int, ...], dict[str, tuple[float, float]]] = {}
    for row, p in zip(rows, tested.tolist(), strict=True):
        if len(row.features) > 1:
            together.setdefault(row.features, {})[row.kind] = (row.importance, p)
            continue
        other = None if row.other is None else names[row.other]
        made.append(
            Reliance(
                names[row.features[0]],
                other,
                row.kind,
                row.importance,
                p,
                row.importance - row.half,
                row.importance + row.half,
                row.score,
            )
        )
    unmeasured = {"distribution": (nan, nan), "covariation": (nan, nan)}
    stand_ins = []
    for own in sets:
        (a, p_a), (b, p_b) = (together.get(own, unmeasured)[k] for k in unmeasured)
        stand_ins.append(StandIns(tuple(names[j] for j in own), a, b, p_a, p_b))
    smallest = {row.kind: smallest_p(row.versions, models.cross_fitted) for row in rows[:2]}
    return Importance(
        rows=tuple(sorted(made, key=lambda row: (isnan(row.importance), -row.importance))),
        stand_ins=tuple(stand_ins),
        feature_names=tuple(names),
        loss=float(measured.losses.mean()),
        score=measured.score,
        score_name=measured.targets.score_name,
        smallest_p=smallest,
        clouds=len(measured.index),
        groups=measured.groups,
        repeats=measured.repeats,
        models=models.how,
        donors=measured.donors,
        alone=measured.alone,
    )
