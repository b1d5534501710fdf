"""Which features, and which pairs of features, the learned forms rest on."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.stats import rankdata
from sklearn.base import clone
from sklearn.metrics import r2_score

from pointforms.estimators import PointFormClassifier, PointFormRegressor, cross_fit
from pointforms.estimators.targets import check_groups
from pointforms.explain.evaluation import Points, double
from pointforms.explain.labels import Labels
from pointforms.explain.permutation import p_values, rearrangements
from pointforms.explain.reading import Reading, read
from pointforms.exterior import multi_indices
from pointforms.geometry.field import GramField
from pointforms.nn.network import PointFormNetwork
from pointforms.support.checks import check_int
from pointforms.support.extras import need


@dataclass(frozen=True, eq=False)
class Salience:
    """How much each basis form dx^I contributes, and how differently in the classes.

    B basis forms of all degrees; R refits, each cross-fitted on two halves of the clouds.

    Attributes
    ----------
    names : (B,) tuple
        "CD3" for a 1-form, "CD3 ∧ CD4" for a 2-form, "1" for the function of degree 0.
    indices : (B,) tuple of the features' places
    degree : (B,)
    share : (B,)
        Part of the energy of the forms of its degree, Σ tr C^(I) / Σ tr C, in this model over all
        clouds: what the forms consist of. It sums to 1 in each degree.
    difference : (B,)
        η², the part of the variation of C^(I) between clouds that lies between the classes, 0 to 1
        (for a regressor the part that is linear in the target), on clouds that the refits have not
        seen: what the table is sorted by.
    decision : (B,)
        Part of the class's advantage that goes through dx^I: the difference between the class's
        clouds and the others' of ⟨w, C^(I)⟩, w the gradient of the logit contrast along the path
        between the two mean matrices. In logits (for a regressor in units of the target, between
        the upper and the lower half of the targets); negative where dx^I speaks against. The
        refits' on unseen clouds.
    p : (B,)
        Family-wise p value of `difference`: of the largest over all basis forms under permuted
        labels. NaN without refits.
    rank : (B,)
        Mean rank by `difference` over refits, 1 the first.
    agreement : (B,)
        Part of the refits in which dx^I is among the first tenth (or the first).
    columns : classes, where there are more than two, or targets
    difference_by, decision_by : (columns, B)
        The same for one class against the rest, or one target.
    chance : float
        How far the largest `difference` reaches under permuted labels: p = 0.05 where the halves
        agree.
    correlation : float
        Mean Spearman correlation between the differences of refits of different seeds; NaN for
        one.
    score : float
        AUROC, or R² of a regressor, of the refits on unseen clouds: where they predict nothing,
        there is nothing to explain.
    clouds, refits, permutations : int
    """

    names: tuple[str, ...]
    indices: tuple[tuple[int, ...], ...]
    degree: np.ndarray
    share: np.ndarray
    difference: np.ndarray
    decision: np.ndarray
    p: np.ndarray
    rank: np.ndarray
    agreement: np.ndarray
    columns: tuple[str, ...]
    difference_by: np.ndarray
    decision_by: np.ndarray
    chance: float
    correlation: float
    score: float
    clouds: int
    refits: int
    permutations: int

    def __len__(self) -> int:
        return len(self.names)

    def order(self) -> np.ndarray:
        """Places of the basis forms, the largest difference first."""
        found: np.ndarray = np.argsort(-self.difference, kind="stable")
        return found

    def found(self, level: float = 0.05) -> list[str]:
        """Names of basis forms whose p value is at most the level."""
        return [self.names[i] for i in self.order() if self.p[i] <= level]

    def top(self, count: int = 10) -> list[str]:
        """Names of the first basis forms."""
        return [self.names[i] for i in self.order()[:count]]

    def rows(self) -> list[dict[str, Any]]:
        """One dictionary of plain values for each basis form, the largest difference first."""
        made = []
        for i in self.order():
            row: dict[str, Any] = {"form": self.names[i], "degree": int(self.degree[i])}
            for name in ("share", "difference", "p", "decision", "rank", "agreement"):
                row[name] = float(getattr(self, name)[i])
            for c, column in enumerate(self.columns):
                row[f"difference: {column}"] = float(self.difference_by[c, i])
                row[f"decision: {column}"] = float(self.decision_by[c, i])
            made.append(row)
        return made

    def to_frame(self) -> Any:
        """The rows as a pandas data frame."""
        return need("pandas", "sc").DataFrame(self.rows())

    def summary(self) -> str:
        """What the numbers rest on, in a line."""
        if not self.refits:
            return (
                f"{self.clouds} clouds, in-sample: without refits there are no p values, and a "
                "model fits differences into its own training clouds"
            )
        told = f"{self.clouds} clouds, {self.refits} refits on halves: score {self.score:.2f} on "
        told += "unseen clouds, "
        if self.refits > 1:
            told += f"correlation between refits {self.correlation:.2f}; "
        told += f"chance reaches {self.chance:.3f} ({self.permutations} permutations)"
        if 2 / (1 + self.permutations) > 0.05:
            told += f"; so few permutations give no p below {2 / (1 + self.permutations):.2f}"
        return told

    def __str__(self) -> str:
        wide = max(len(name) for name in self.names)
        lines = [f"{'form':{wide}}  share  difference      p  decision  rank  agreement"]
        for row in self.rows()[:10]:
            lines.append(
                f"{row['form']:{wide}}  {row['share']:5.3f}  {row['difference']:10.3f}  "
                f"{row['p']:5.3f}  {row['decision']:8.3f}  {row['rank']:4.1f}  "
                f"{row['agreement']:9.2f}"
            )
        if len(self) > 10:
            lines.append(f"… and {len(self) - 10} more")
        return "\n".join([*lines, self.summary()])


def salience(
    estimator: Any,
    clouds: Any,
    y: Any,
    groups: Any = None,
    feature_names: Sequence[str] | None = None,
    refits: int = 4,
    permutations: int = 500,
    random_state: int | None = 0,
) -> Salience:
    """What a fitted classifier or regressor rests on, by basis forms; see :class:`Salience`.

    A model that was trained on a cloud has fitted its label, so contributions of training clouds
    differ between any two classes. The differences, p values and agreement are therefore those of
    `refits` clones of other seeds, each trained on one half of the clouds and read on the other,
    both ways round. Given its training half, a refit knows nothing of the other half's labels, so
    permuting those gives an exact p value in each half. Twice their mean is reported, which holds
    its level however the halves depend on each other, and is small only where both agree.

    Of the definitions of `difference` that were tried on planted signals, η² of the whole
    matrices C^(I) found them most often with each of the readouts; the decision's own direction,
    `decision`, has the noise of the head in it, and energies alone, tr C^(I), miss what moves
    between forms. Basis forms that share a feature with a strong one may show through the terms
    that both make together.

    Parameters
    ----------
    estimator : a fitted PointFormClassifier or PointFormRegressor
    clouds : list of (n_i, D), or Gram fields
    y : (N,), or (N, targets) for a regressor
    groups : (N,) or None
        Clouds of one group stay in one half; labels are permuted between groups where each has
        one label, else inside the groups.
    feature_names : D names
    refits : int
        0 reads this model only, on the given clouds; p values are then NaN.
    permutations : int
    random_state : int or None
        Seed of halves, refits and permutations.
    """
    if not isinstance(estimator, PointFormClassifier | PointFormRegressor):
        raise TypeError(
            f"estimator is a {type(estimator).__name__}: expected a fitted PointFormClassifier or "
            "PointFormRegressor; others have no decision to explain"
        )
    check_int("refits", refits, at_least=0)
    check_int("permutations", permutations, at_least=1)
    fields = list(estimator.prepare_for_prediction(clouds))
    labels = Labels.of(estimator, y, len(fields))
    check_groups(groups, len(fields))
    groups = None if groups is None else np.asarray(groups)
    names = _feature_names(feature_names, estimator.n_features_in_)
    points = Points.of(fields, estimator.measure)
    network = double(estimator.model_)
    everyone = np.arange(len(fields))
    alone = read(network, points, labels, everyone, everyone, everyone[None], _units(estimator))
    basis = [
        tuple(I)
        for layer in network.point_forms()
        for I in multi_indices(len(names), layer.degree).tolist()
    ]
    degree = np.array([len(I) for I in basis])
    energy = np.array([alone.energy[degree == k].sum() for k in degree])
    columns = len(labels.columns)
    outcome = _Outcome.of_one(alone)
    if refits:
        rng = np.random.default_rng(random_state)
        halves = labels.halves(groups, int(rng.integers(2**31)))
        seeds = rng.choice(2**31 - 1, refits, replace=False).tolist()
        trained, score = _refit(estimator, fields, labels, halves, seeds, groups)
        outcome = _Outcome.of_halves(
            [
                _read_half(models, points, labels, groups, halves == h, permutations, rng)
                for h, models in enumerate(trained)
            ],
            score,
        )
    return Salience(
        names=tuple(" ∧ ".join(names[i] for i in I) or "1" for I in basis),
        indices=tuple(basis),
        degree=degree,
        share=alone.energy / np.where(energy > 0, energy, 1.0),
        difference=outcome.mean.explained[0],
        decision=outcome.mean.decision.mean(0),
        p=outcome.p,
        rank=outcome.rank,
        agreement=outcome.agreement,
        columns=labels.columns,
        difference_by=outcome.mean.explained_by[:columns],
        decision_by=outcome.mean.decision[:columns],
        chance=outcome.chance,
        correlation=outcome.correlation,
        score=outcome.score,
        clouds=len(fields),
        refits=refits,
        permutations=permutations if refits else 0,
    )


@dataclass(frozen=True, eq=False)
class _Outcome:
    """Readings put together."""

    mean: Reading
    p: np.ndarray
    rank: np.ndarray
    agreement: np.ndarray
    chance: float
    correlation: float
    score: float

    @classmethod
    def of_one(cls, reading: Reading) -> _Outcome:
        """The model alone, from which nothing about chance can be said."""
        unknown = np.full(reading.energy.shape, np.nan)
        nan = float("nan")
        rank = rankdata(-reading.explained[0])
        return cls(reading, unknown, rank, unknown, nan, nan, nan)

    @classmethod
    def of_halves(cls, readings: list[list[Reading]], score: float) -> _Outcome:
        """Readings of every refit on either half: [half][refit]."""
        every = [reading for half in readings for reading in half]
        mean = Reading(
            *(
                np.mean([getattr(one, name) for one in every], 0)
                for name in Reading.__dataclass_fields__
            )
        )
        # refits of one half are averaged: they were read on the same clouds
        shares = [np.mean([one.explained for one in half], 0) for half in readings]
        # twice the mean of two p values is one, however they depend on each other
        p = np.sum([p_values(half[0], half[1:]) for half in shares], 0)
        chance = float(np.mean([np.quantile(half[1:].max(1), 0.975) for half in shares]))
        each = np.array([[one.explained[0] for one in half] for half in readings])
        order = rankdata(-each.mean(0), axis=1)
        first = max(1, order.shape[1] // 10)
        return cls(
            mean,
            np.minimum(p, 1.0),
            order.mean(0),
            (order <= first).mean(0),
            chance,
            _mean_correlation(each.mean(0)),
            score,
        )


def _read_half(
    models: list[tuple[PointFormNetwork, np.ndarray]],
    points: Points,
    labels: Labels,
    groups: np.ndarray | None,
    tested: np.ndarray,
    permutations: int,
    rng: np.random.Generator,
) -> list[Reading]:
    """Refits of one half, read on the other with the same rearrangements of its labels."""
    train, test = np.flatnonzero(~tested), np.flatnonzero(tested)
    places = rearrangements(
        labels.values[test], None if groups is None else groups[test], permutations, rng
    )
    places = np.concatenate([np.arange(len(test))[None], places])
    return [
        read(double(network), points, labels, train, test, places, units)
        for network, units in models
    ]


def _refit(
    estimator: Any,
    fields: list[GramField],
    labels: Labels,
    halves: np.ndarray,
    seeds: list[int],
    groups: np.ndarray | None,
) -> tuple[list[list[tuple[PointFormNetwork, np.ndarray]]], float]:
    """For each half the clones that were trained on the other, with the units of their outputs.

    And their mean score on the halves they have not seen.
    """
    if labels.classifier:
        found = cross_fit(
            estimator,
            fields,
            labels.given,
            halves,
            seeds,
            groups,
            n_jobs=estimator.n_jobs,
            progress=estimator.progress,
        )
        units = _units(estimator)
        models = [(model, units) for model in found.models]
        R = len(seeds)
        return [models[:R], models[R:]], float(found.auroc.mean())  # type: ignore[list-item]
    trained, scores = [], []
    for h in (0, 1):
        train, test = np.flatnonzero(halves != h), np.flatnonzero(halves == h)
        one_half = []
        for seed in seeds:
            one = clone(estimator).set_params(random_state=seed)
            one.fit(
                [fields[i] for i in train],
                labels.given[train],
                None if groups is None else groups[train],
            )
            one_half.append((one.model_, _units(one)))
            scores.append(r2_score(labels.given[test], one.predict([fields[i] for i in test])))
        trained.append(one_half)
    return trained, float(np.mean(scores))


def _units(estimator: Any) -> np.ndarray:
    """What one of each output is worth: a logit, or the deviation of a target."""
    if isinstance(estimator, PointFormRegressor):
        return np.array(estimator.target_scale_)
    return np.ones(len(estimator.classes_))


def _mean_correlation(values: np.ndarray) -> float:
    """Mean Spearman correlation between the rows of values (R, B)."""
    ranks = rankdata(values, axis=1)
    varied = ranks[np.ptp(ranks, axis=1) > 0]
    if len(varied) < 2:
        return float("nan")
    found = np.corrcoef(varied)
    return float(found[np.triu_indices(len(varied), 1)].mean())


def _feature_names(given: Sequence[str] | None, features: int) -> tuple[str, ...]:
    names = tuple(f"x{i}" for i in range(features)) if given is None else tuple(map(str, given))
    if len(names) != features:
        raise ValueError(f"feature_names has {len(names)} names for {features} features")
    return names
