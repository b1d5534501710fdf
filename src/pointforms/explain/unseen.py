"""Predictions for versions of clouds by models that have not seen these clouds."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.sparse import coo_array
from scipy.sparse.csgraph import connected_components
from sklearn.base import clone

from pointforms.estimators.fingerprints import shared_fingerprints
from pointforms.estimators.held_out import held_out_folds
from pointforms.explain.feature_names import named_clouds
from pointforms.explain.fit_arguments import argument_for_weights, arguments_for_groups
from pointforms.explain.one_division import one_division
from pointforms.support.blame import warn_caller
from pointforms.support.options import shown

# With fewer groups than this, clones are fitted on two halves: a fold then has enough groups to
# take values from, and p-values hold their level.
_FEW_GROUPS = 25
_FOLDS = 5


@dataclass(frozen=True, eq=False)
class Unseen:
    """Models that predict clouds which they were not trained on.

    Attributes
    ----------
    parts : ndarray of int, shape (N,)
        Clouds of one part are predicted by the same models, which have seen none of them; -1 for
        clouds that every model has seen.
    predict : callable
        Takes versions of clouds and the position of the cloud that each is a version of, and
        returns probabilities (n, C), or numbers.
    cross_fitted : bool
        Whether models of one part were trained on the clouds of others.
    how : str
        Which models these are, for a sentence.
    """

    parts: np.ndarray
    predict: Callable[[Sequence[Any], np.ndarray], np.ndarray]
    cross_fitted: bool
    how: str


def unseen(
    estimator: Any,
    clouds: Sequence[Any],
    targets: Any,
    groups: np.ndarray | None,
    covariates: Any,
    batch: np.ndarray | None,
    new: bool,
    seed: int,
    names: Sequence[str] | None = None,
    weights: np.ndarray | None = None,
    ids: Sequence[str] | None = None,
) -> Unseen:
    """Return models that have not seen the clouds they predict.

    Parameters
    ----------
    estimator : estimator
        With `fit`, and `predict_proba` or `predict`.
    clouds : sequence of ndarray, each of shape (n_i, D)
        The clouds.
    targets : CloudTargets
        What is to be predicted for them.
    groups : ndarray, shape (N,), or None
        Clouds of one group stay in one fold.
    covariates : data frame, mapping or array-like, or None
        What is known about whole clouds.
    batch : ndarray, shape (N,), or None
        Batches.
    new : bool
        Whether the estimator was not trained on any of the clouds, and is used as it is.
    seed : int
        Seed of folds and fits.
    names : sequence of str or None, default None
        Names of the features as the estimator knows them; estimators are given clouds with them.
    weights : ndarray, shape (N,), or None, default None
        Weights of the clouds in refits.
    ids : sequence of str or None, default None
        Names of the clouds, for messages; by default their positions.
    """

    def given(of: np.ndarray) -> dict[str, Any]:
        options: dict[str, Any] = {}
        if covariates is not None:
            options["covariates"] = some_rows(covariates, of)
        if batch is not None:
            options["batch"] = batch[of]
        return options

    known = None
    if getattr(estimator, "training_clouds_", None) is not None:
        known = estimator.training_positions(clouds)
    if new:
        trained = 0 if known is None else int(estimator.had_weight(known[known >= 0]).sum())
        if trained:
            warn_caller(
                f"{trained} of {len(clouds)} clouds are training clouds of this "
                f"{type(estimator).__name__}, but were declared new: their importance is that of "
                "what it has learned by heart"
            )

        def predict_new(versions: Sequence[Any], of: np.ndarray) -> np.ndarray:
            return np.asarray(
                targets.predicted(estimator, named_clouds(versions, names), given(of))
            )

        everything = np.zeros(len(clouds), dtype=np.int64)
        return Unseen(everything, predict_new, False, "the model as it is")
    if known is not None and (known < 0).any():
        raise ValueError(_unknown_clouds(estimator, known, ids))
    if known is not None:
        divided = one_division(estimator)
        members = divided.unseen_members(known)
        if members.shape[1]:
            parts = np.unique(members, axis=0, return_inverse=True)[1].reshape(-1)
            parts[~members.any(1)] = -1
            if (parts < 0).any():
                warn_caller(
                    f"{int((parts < 0).sum())} clouds are left out: equal ones are in other folds"
                )

            def predict_members(versions: Sequence[Any], of: np.ndarray) -> np.ndarray:
                predicted = divided.predict_out_of_fold(versions, known[of], **given(of))
                return np.asarray(predicted)

            return Unseen(parts, predict_members, True, "members that did not train on the cloud")
    return _cross_fitted(estimator, clouds, targets, groups, given, seed, names, weights)


def _unknown_clouds(estimator: Any, known: np.ndarray, ids: Sequence[str] | None) -> str:
    """Say that clouds are not those of `fit`, and the likely remedy first."""
    count, unknown, kind = len(known), np.flatnonzero(known < 0), type(estimator).__name__
    if len(unknown) == count:
        return (
            f"this {kind} was fitted on none of these {count} clouds: pass new=True if they are "
            "new to it, or the clouds of fit, with the same weights of points"
        )
    first = int(unknown[0])
    named = f"at {first}" if ids is None else repr(ids[first])
    return (
        f"{len(unknown)} of {count} clouds, the first {named}, are not those that this {kind} was "
        "fitted on: leave them out, pass them with the same weights of points as in fit, or use "
        "new=True for new clouds only"
    )


def _cross_fitted(
    estimator: Any,
    clouds: Sequence[Any],
    targets: Any,
    groups: np.ndarray | None,
    given: Callable[[np.ndarray], dict[str, Any]],
    seed: int,
    names: Sequence[str] | None,
    weights: np.ndarray | None,
) -> Unseen:
    """Fit a clone on the complement of every fold."""
    together = _with_equal_clouds(clouds, groups)
    few = len(np.unique(together)) < _FEW_GROUPS
    divisions = held_out_folds(
        targets.for_folds, together, 2 if few else _FOLDS, seed, targets.stratify
    )
    if not len(divisions):
        raise ValueError(
            "too few groups to fit the model without some of them: expected at least two per class"
        )
    folds = divisions[0]
    fitted = []
    for_groups = [] if groups is None else arguments_for_groups(estimator)
    for fold in np.unique(folds):
        train = np.flatnonzero(folds != fold)
        one = clone(estimator)
        options = given(train)
        if groups is not None:
            options |= dict.fromkeys(for_groups, groups[train])
        if weights is not None:
            options[argument_for_weights(estimator)] = weights[train]
        unset = [
            name
            for name, value in one.get_params(deep=True).items()
            if value is None and name.rpartition("__")[2] == "random_state"
        ]
        one.set_params(**dict.fromkeys(unset, (seed + int(fold)) % 2**31))
        own = named_clouds([clouds[i] for i in train], names)
        fitted.append(one.fit(own, targets.given[train], **options))

    def predict(versions: Sequence[Any], of: np.ndarray) -> np.ndarray:
        result: np.ndarray | None = None
        for fold, one in enumerate(fitted):
            rows = np.flatnonzero(folds[of] == fold)
            if len(rows):
                own = named_clouds([versions[i] for i in rows], names)
                some = targets.predicted(one, own, given(of[rows]))
                if result is None:
                    result = np.zeros((len(versions), *some.shape[1:]))
                result[rows] = some
        assert result is not None
        return result

    return Unseen(folds, predict, True, f"{len(fitted)} refits that did not train on the cloud")


def _with_equal_clouds(clouds: Sequence[Any], groups: np.ndarray | None) -> np.ndarray:
    """Return groups (N,) in which equal clouds are together, also if some of them were rounded."""
    texts = np.unique(shared_fingerprints(clouds), return_inverse=True)[1]
    names = np.arange(len(clouds)) if groups is None else np.unique(groups, return_inverse=True)[1]
    size = int(names.max()) + 1
    total = size + int(texts.max()) + 1
    graph = coo_array((np.ones(len(names)), (names, size + texts)), shape=(total, total))
    return np.asarray(connected_components(graph, directed=False)[1][names])


def some_rows(values: Any, index: np.ndarray) -> Any:
    """Return rows of a data frame, of the columns of a mapping, or of an array."""
    if hasattr(values, "iloc"):
        return values.iloc[index]
    if isinstance(values, Mapping):
        return {name: some_rows(column, index) for name, column in values.items()}
    if isinstance(values, list | tuple):
        return [values[i] for i in index]
    return values[index]


def check_covariate_rows(covariates: Any, count: int) -> None:
    """Raise an error unless covariates are None or have one row per cloud."""
    if covariates is None:
        return
    columns = covariates.values() if isinstance(covariates, Mapping) else [covariates]
    for values in columns:
        if not hasattr(values, "__len__") or len(values) != count:
            rows = f"{len(values)} rows" if hasattr(values, "__len__") else f"{shown(values)}"
            raise ValueError(f"covariates have {rows}: expected {count}, one per cloud")
