"""The split over basis forms: what it adds up to, what it finds, and what it does not find."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch
from tests.helpers.planted import PAIR, planted_pair

import pointforms as pf
from pointforms.explain import basis_split
from pointforms.explain.contributions import comparison_matrices
from pointforms.explain.decision import decision
from pointforms.explain.evaluation import CloudPoints, double_precision

SMALL: dict[str, Any] = {
    "forms": 3, "hidden": (8,), "head": 8, "epochs": 4, "neighbors": 8, "dimension": 2,
    "batch_size": 16, "random_state": 0,
}  # fmt: skip


def noise(rng: np.random.Generator, count: int = 24, D: int = 3) -> list[np.ndarray]:
    return [rng.normal(size=(14, D)) * np.exp(0.3 * rng.normal(size=D)) for _ in range(count)]


def stretched(rng: np.random.Generator, classes: int, count: int = 30) -> tuple[list, np.ndarray]:
    """Clouds of which class c is wide along feature c."""
    y = np.arange(count) % classes
    clouds = noise(rng, count, classes)
    for cloud, c in zip(clouds, y, strict=True):
        cloud[:, c] *= 3
    return clouds, y


@pytest.mark.parametrize("readout", ["tri", "flat", "diag", "pool", "gram"])
def test_the_decision_through_all_basis_forms_is_the_whole_decision(readout: str, rng) -> None:
    clouds, y = stretched(rng, 3)
    model = pf.PointFormClassifier(readout=readout, degree=(0, 1, 2), **SMALL)
    fields = model.fit(clouds, y).prepare(clouds)
    found = pf.explain.basis_split(model, fields, y, refits=0)
    network = double_precision(model.model_)
    C = comparison_matrices(network, CloudPoints.of(fields, "uniform"))
    with torch.no_grad():
        for c in range(3):
            own, others = (
                decision(network, [M[y == c].mean(0) for M in C], True)[c],
                decision(network, [M[y != c].mean(0) for M in C], True)[c],
            )
            assert found.decision_by[c].sum() == pytest.approx(float(own - others), rel=1e-3)
    np.testing.assert_allclose(found.decision, found.decision_by.mean(0))
    for k in (0, 1, 2):
        assert found.share[found.degree == k].sum() == pytest.approx(1)


def test_the_table_says_what_it_rests_on(rng) -> None:
    clouds, y = stretched(rng, 2)
    model = pf.PointFormClassifier(degree=(0, 1, 2), **SMALL).fit(clouds, y)
    alone = pf.explain.basis_split(model, clouds, y, feature_names=["CD3", "CD4"], refits=0)
    assert alone.names == ("1", "CD3", "CD4", "CD3 ∧ CD4")
    assert alone.indices == ((), (0,), (1,), (0, 1))
    assert np.isnan(alone.p).all()
    assert np.isnan(alone.agreement).all()
    assert alone.significant() == []
    assert "in-sample" in str(alone)
    again = pf.explain.basis_split(
        model, clouds, y, feature_names=["CD3", "CD4"], refits=2, permutations=50
    )
    rows = again.rows()
    names = [form.name for form in again.top(4)]
    assert [row["form"] for row in rows] == names
    assert again.top(4)[names.index("CD3 ∧ CD4")].features == ("CD3", "CD4")
    assert [form.difference for form in again.top(None)] == [row["difference"] for row in rows]
    assert [form.name for form in again.significant()] == [
        row["form"] for row in rows if row["p"] < 0.05
    ]
    assert sorted((row["difference"] for row in rows), reverse=True) == [
        row["difference"] for row in rows
    ]
    assert all(0 < row["p"] <= 1 and 0 <= row["difference"] <= 1 for row in rows)
    assert "in-sample" not in str(again)
    assert "2 refits" in str(again)
    assert list(again.to_frame()["form"]) == names
    assert again.table().csv().splitlines()[1].startswith(f"{names[0]},")
    same = pf.explain.basis_split(
        model, clouds, y, feature_names=["CD3", "CD4"], refits=2, permutations=50
    )
    np.testing.assert_array_equal(same.p, again.p)
    np.testing.assert_array_equal(same.difference, again.difference)


def test_each_class_has_its_own_feature(rng) -> None:
    clouds, y = stretched(rng, 3, 60)
    names = np.array(["a", "b", "c"])[y]
    model = pf.PointFormClassifier(**SMALL).fit(clouds, names)
    found = pf.explain.basis_split(model, clouds, names, refits=2, permutations=50)
    assert found.columns == ("a", "b", "c")
    assert (found.p <= 0.05).all()
    assert found.difference_by.argmax(1).tolist() == [0, 1, 2]
    assert "difference: b" in found.rows()[0]


def test_random_labels_find_nothing(rng) -> None:
    """The model fits them, and in its own clouds differences are large; unseen ones tell."""
    smallest, own, unseen = [], [], []
    for seed in range(6):
        clouds = noise(rng)
        y = rng.permutation(np.arange(24) % 2)
        options = SMALL | {"epochs": 20, "learning_rate": 1e-2, "random_state": seed}
        model = pf.PointFormClassifier(validation_fraction=0, **options)
        fields = model.fit(clouds, y).prepare(clouds)
        found = pf.explain.basis_split(
            model, fields, y, refits=1, permutations=99, random_state=seed
        )
        own.append(pf.explain.basis_split(model, fields, y, refits=0).decision.sum())
        unseen.append(found.decision.sum())
        smallest.append(found.p.min())
    # P(more than 3 of 6 below 0.2) = 0.017 for p values that just hold their level
    assert np.sum(np.array(smallest) <= 0.2) <= 3
    # the decision itself shows why training clouds say nothing: it is large for any labels
    assert np.mean(own) > 5 * abs(np.mean(unseen))


def test_groups_keep_their_labels(rng) -> None:
    """Two clouds a patient: what tells patients apart is no finding about their labels."""
    smallest = []
    for seed in range(8):
        wide = np.exp(0.8 * rng.normal(size=(12, 1, 3)))
        clouds = [rng.normal(size=(14, 3)) * w for w in wide for _ in range(2)]
        groups = np.repeat(np.arange(12), 2)
        y = np.repeat(rng.permutation(np.arange(12) % 2), 2)
        model = pf.PointFormClassifier(**SMALL)
        fields = model.fit(clouds, y, groups).prepare(clouds)
        found = pf.explain.basis_split(
            model, fields, y, groups, refits=1, permutations=99, random_state=seed
        )
        smallest.append(found.p.min())
    assert np.sum(np.array(smallest) <= 0.2) <= 4


def test_a_regressors_target_is_associated_with_its_feature(rng) -> None:
    target = rng.normal(size=40)
    clouds = noise(rng, 40)
    for cloud, t in zip(clouds, target, strict=True):
        cloud[:, 1] *= np.exp(0.7 * t)
    model = pf.PointFormRegressor(**SMALL).fit(clouds, 10 * target)
    found = basis_split(model, clouds, 10 * target, refits=1, permutations=200)
    assert [form.name for form in found.top(1)] == ["x1"]
    assert found.p[1] <= 0.05
    assert found.columns == ()


def test_a_target_with_an_outlier_has_a_decision(rng) -> None:
    target = np.r_[np.linspace(0, 1, 23), 1000.0]
    model = pf.PointFormRegressor(**SMALL).fit(clouds := noise(rng, 24), target)
    found = basis_split(model, clouds, target, refits=1, permutations=9)
    assert np.isfinite(found.decision).all()
    assert np.isnan(found.correlation)
    assert "no p below 0.20" in found.summary()


def test_what_cannot_be_explained_is_refused(rng) -> None:
    clouds, y = stretched(rng, 2, 8)
    model = pf.PointFormClassifier(**SMALL).fit(clouds, y)
    with pytest.raises(TypeError, match="PointFormTransformer"):
        basis_split(pf.PointFormTransformer(**SMALL).fit(clouds), clouds, y)
    with pytest.raises(ValueError, match="the classifier knows"):
        pf.explain.basis_split(model, clouds, y + 1)
    with pytest.raises(ValueError, match="feature_names has 3 names for 2 features"):
        pf.explain.basis_split(model, clouds, y, feature_names=["a", "b", "c"])
    with pytest.raises(ValueError, match="clouds of 1 group"):
        pf.explain.basis_split(model, clouds, y, groups=y)


def planted_rank(seed: int) -> tuple[int, float]:
    """Where the planted pair stands, and its p."""
    clouds, y = planted_pair(seed)
    model = pf.PointFormClassifier(
        degree=2, forms=4, hidden=(16,), epochs=30, learning_rate=1e-2, batch_size=16,
        neighbors=16, dimension=2, rank=3, random_state=seed,
    )  # fmt: skip
    fields = model.fit(clouds, y).prepare(clouds)
    found = pf.explain.basis_split(model, fields, y, refits=2, permutations=200, random_state=seed)
    place = found.indices.index(PAIR)
    return found.order().tolist().index(place) + 1, float(found.p[place])


def test_a_planted_pair_comes_first() -> None:
    rank, p = planted_rank(0)
    assert rank == 1
    assert p <= 0.05


@pytest.mark.slow
def test_a_planted_pair_comes_first_in_nine_of_ten_seeds() -> None:
    found = [planted_rank(seed) for seed in range(10)]
    assert sum(rank == 1 for rank, _ in found) >= 9
    assert sum(p <= 0.05 for _, p in found) >= 9


def test_the_planted_clouds_are_alike_but_for_the_pair() -> None:
    """Medians of every feature's and pair's spread agree between the classes, but (3, 7)'s."""
    clouds, y = planted_pair(0, clouds=1000, points=32)
    deviation = np.array([np.std(cloud, 0) for cloud in clouds])
    correlation = np.array([np.corrcoef(cloud.T) for cloud in clouds]) ** 2
    error = deviation.std(0) * 2 / len(y) ** 0.5
    gap = np.abs(deviation[y == 0].mean(0) - deviation[y == 1].mean(0))
    assert (gap < 4 * error).all()
    i, j = np.triu_indices(10, 1)
    pairs = correlation[:, i, j]
    z = np.abs(pairs[y == 0].mean(0) - pairs[y == 1].mean(0)) / (
        pairs.std(0) * 2 / len(y) ** 0.5 + 1e-12
    )
    planted = (i == PAIR[0]) & (j == PAIR[1])
    assert z[planted] > 20
    assert (z[~planted] < 4).all()
