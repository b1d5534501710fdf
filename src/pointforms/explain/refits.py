"""Refits of an estimator on halves of the clouds, and what they show on the other halves."""

from __future__ import annotations

from math import nan
from typing import Any, NamedTuple

import numpy as np
from scipy.stats import rankdata
from sklearn.base import clone
from sklearn.metrics import r2_score

from pointforms.clouds import plain_clouds
from pointforms.estimators import PointFormRegressor, cross_fit
from pointforms.explain.cloud_labels import CloudLabels
from pointforms.explain.evaluation import CloudPoints, double_precision
from pointforms.explain.measurement import Measurement, measure_contributions
from pointforms.explain.permutation import p_values, rearrangements
from pointforms.geometry.field import GramField
from pointforms.nn.network import PointFormNetwork


class Stability(NamedTuple):
    """How far refits agree and how far chance reaches: attributes of a basis split."""

    p: np.ndarray
    rank: np.ndarray
    agreement: np.ndarray
    chance: float
    correlation: float
    score: float

    @classmethod
    def unknown(cls, measured: Measurement) -> Stability:
        """Return the ranks of the model alone, which says nothing about chance."""
        missing = np.full(measured.energy.shape, np.nan)
        return cls(missing, rankdata(-measured.explained[0]), missing, nan, nan, nan)


def combine(measured: list[list[Measurement]], score: float) -> tuple[Measurement, Stability]:
    """Return the mean over halves and refits ([half][refit]), and how far the refits agree."""
    every = [one for half in measured for one in half]
    mean = Measurement(*(np.mean(values, 0) for values in zip(*every, strict=True)))
    # refits of one half are averaged: they were measured on the same clouds
    shares = [np.mean([one.explained for one in half], 0) for half in measured]
    # twice the mean of two p-values is a p-value, however they depend on each other
    p = np.sum([p_values(half[0], half[1:]) for half in shares], 0)
    chance = float(np.mean([np.quantile(half[1:].max(1), 0.975) for half in shares]))
    each = np.array([[one.explained[0] for one in half] for half in measured])
    order = rankdata(-each.mean(0), axis=1)
    first = max(1, order.shape[1] // 10)
    return mean, Stability(
        np.minimum(p, 1.0),
        order.mean(0),
        (order <= first).mean(0),
        chance,
        _mean_correlation(each.mean(0)),
        score,
    )


def measure_half(
    models: list[tuple[PointFormNetwork, np.ndarray]],
    points: CloudPoints,
    labels: CloudLabels,
    groups: np.ndarray | None,
    tested: np.ndarray,
    permutations: int,
    rng: np.random.Generator,
) -> list[Measurement]:
    """Measure refits of one half on the other, with the same rearrangements of its labels."""
    train, test = np.flatnonzero(~tested), np.flatnonzero(tested)
    places = rearrangements(
        labels.values[test], None if groups is None else groups[test], permutations, rng
    )
    places = np.concatenate([np.arange(len(test))[None], places])
    return [
        measure_contributions(double_precision(network), points, labels, train, test, places, units)
        for network, units in models
    ]


def refit_halves(
    estimator: Any,
    fields: list[GramField],
    labels: CloudLabels,
    halves: np.ndarray,
    seeds: list[int],
    groups: np.ndarray | None,
) -> tuple[list[list[tuple[PointFormNetwork, np.ndarray]]], float]:
    """Train clones on each half, and return them by the half they have not seen.

    Each comes with the units of its outputs; then their mean score on the unseen halves.
    """
    scaled = estimator.scale is not None and not hasattr(estimator, "given_geometry_")
    estimator = clone(estimator).set_params(members=1)
    clouds: list[Any] = plain_clouds(fields) if scaled else list(fields)
    if labels.classifier:
        fitted = cross_fit(
            estimator,
            clouds,
            labels.given,
            halves,
            seeds,
            groups,
            n_jobs=estimator.n_jobs,
            progress=estimator.progress,
        )
        units = np.ones(labels.values.shape[1])
        models = [(model, units) for model in fitted.models]
        R = len(seeds)
        return [models[:R], models[R:]], float(fitted.auroc.mean())  # type: ignore[list-item]
    trained, scores = [], []
    for h in (0, 1):
        train, test = np.flatnonzero(halves != h), np.flatnonzero(halves == h)
        one_half = []
        for seed in seeds:
            one = clone(estimator).set_params(random_state=seed)
            one.fit(
                [clouds[i] for i in train],
                labels.given[train],
                None if groups is None else groups[train],
            )
            one_half.append((one.model_, output_units(one)))
            scores.append(r2_score(labels.given[test], one.predict([clouds[i] for i in test])))
        trained.append(one_half)
    return trained, float(np.mean(scores))


def output_units(estimator: Any) -> np.ndarray:
    """Return the unit of each output: one logit, or the standard deviation of a target."""
    if isinstance(estimator, PointFormRegressor):
        return np.array(estimator.target_scale_)
    return np.ones(len(estimator.classes_))


def _mean_correlation(values: np.ndarray) -> float:
    """Return the mean Spearman correlation between the rows of values (R, B)."""
    ranks = rankdata(values, axis=1)
    varied = ranks[np.ptp(ranks, axis=1) > 0]
    if len(varied) < 2:
        return nan
    correlation = np.corrcoef(varied)
    return float(correlation[np.triu_indices(len(varied), 1)].mean())
