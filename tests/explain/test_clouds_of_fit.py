"""What estimators remember about the clouds of `fit`: weights, groups, points in any order."""

from __future__ import annotations

import warnings

import numpy as np
import pytest

import pointforms as pf

OPTIONS = {"pairs": None, "repeats": 2}


@pytest.fixture(scope="module")
def data():
    rng = np.random.default_rng(0)
    y = np.arange(24) % 2
    return [rng.normal(size=(10, 3)) + np.array([2.0 * label, 0, 0]) for label in y], y


def portfolio():
    return pf.CloudClassifier(parts=("linear",), random_state=0)


def network(members):
    return pf.PointFormClassifier(
        members=members, forms=2, hidden=(4,), epochs=2, neighbors=6, dimension=2, random_state=0
    )


class TestWeights:
    @pytest.mark.parametrize("make", [portfolio, lambda: network(3), lambda: network(1)])
    def test_clouds_of_weight_0_are_left_out(self, data, make, tmp_path):
        clouds, y = data
        weights = np.ones(24)
        weights[[3, 8]] = 0
        kept = np.flatnonzero(weights)
        model = make().fit(clouds, y, sample_weight=weights)
        model.save(tmp_path)
        with pytest.warns(UserWarning, match="2 clouds are left out: they had weight 0"):
            found = pf.load(tmp_path).explain(clouds, y, **OPTIONS)
        assert found.clouds == 22
        expected = model.explain([clouds[i] for i in kept], y[kept], **OPTIONS)
        assert found.rows == expected.rows

    def test_they_are_new_to_the_model(self, data):
        clouds, y = data
        weights = np.repeat([1.0, 0.0], 12)
        model = portfolio().fit(clouds, y, sample_weight=weights)
        with pytest.raises(ValueError, match="all clouds had weight 0"):
            model.explain(clouds[12:], y[12:], **OPTIONS)
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            model.explain(clouds[12:], y[12:], new=True, **OPTIONS)
        with pytest.warns(UserWarning, match="12 of 24 clouds are training clouds"):
            model.explain(clouds, y, new=True, **OPTIONS)

    def test_what_is_given_with_the_others_stays_with_them(self, data):
        clouds, y = data
        weights, rng = np.ones(24), np.random.default_rng(1)
        weights[0] = 0
        given = {"covariates": {"age": rng.normal(size=24)}, "batch": np.arange(24) // 2 % 2}
        groups = np.arange(24) // 2
        model = portfolio().fit(clouds, y, groups, sample_weight=weights, **given)
        with pytest.warns(UserWarning, match="clouds are left out: they had weight 0"):
            found = model.explain(clouds, y, groups, **given, **OPTIONS)
        predicted = model.predict_out_of_fold(
            clouds[1:],
            np.arange(1, 24),
            covariates={"age": given["covariates"]["age"][1:]},
            batch=given["batch"][1:],
        )
        assert found.loss == pytest.approx(-np.log(predicted[np.arange(23), y[1:]]).mean())
        assert found.groups == 12


class TestGroups:
    @pytest.mark.parametrize("make", [portfolio, lambda: network(3), lambda: network(1)])
    def test_those_of_fit_are_the_default(self, data, make, tmp_path):
        clouds, y = data
        groups = np.array([f"p{i // 4 * 2 + i % 2}" for i in range(24)])
        model = make().fit(clouds, y, groups)
        expected = model.explain(clouds, y, groups, **OPTIONS)
        assert expected.groups == 12
        model.save(tmp_path)
        order = np.random.default_rng(0).permutation(24)
        loaded = pf.load(tmp_path)
        assert loaded.explain(clouds, y, **OPTIONS).rows == expected.rows
        assert loaded.explain([clouds[i] for i in order], y[order], **OPTIONS).groups == 12

    def test_a_fit_without_groups_forgets_them(self, data):
        clouds, y = data
        model = portfolio().fit(clouds, y, np.arange(24) // 2)
        assert model.training_groups_ == (np.arange(24) // 2).tolist()
        assert not hasattr(model.fit(clouds, y), "training_groups_")

    @pytest.mark.parametrize("make", [portfolio, lambda: network(1)])
    def test_they_are_one_per_cloud(self, data, tmp_path, make):
        clouds, y = data
        model = make().fit(clouds, y, np.arange(24) // 2)
        model.training_groups_ = [0]
        with pytest.raises(ValueError, match="training_groups_ has 1 entries for 24"):
            model.save(tmp_path)


class TestPoints:
    def test_their_order_does_not_matter(self, data):
        clouds, y = data
        model = portfolio().fit(clouds, y)
        rng = np.random.default_rng(0)
        mixed = [rng.permutation(cloud) for cloud in clouds]
        assert model.training_positions(mixed).tolist() == list(range(24))
        assert model.training_positions([clouds[0][:, ::-1]]).tolist() == [-1]


@pytest.mark.parametrize("rows", [5, 30])
@pytest.mark.parametrize("kind", ["array", "mapping", "frame"])
def test_covariates_have_one_row_per_cloud(data, rows, kind):
    pd = pytest.importorskip("pandas")
    clouds, y = data
    make = {"array": np.asarray, "mapping": lambda v: {"age": v}, "frame": pd.DataFrame}[kind]
    values = np.random.default_rng(0).normal(size=30)
    model = portfolio().fit(clouds, y, covariates=make(values[:24]))
    with pytest.raises(ValueError, match=f"covariates have {rows} rows: expected 24"):
        model.explain(clouds, y, covariates=make(values[:rows]), **OPTIONS)


@pytest.mark.parametrize("make", [portfolio, lambda: network(1)])
def test_models_of_older_versions_say_that_refits_are_explained(data, make):
    clouds, y = data
    model = make().fit(clouds, y)
    del model.training_clouds_
    with pytest.warns(UserWarning, match="saved by an older version.*refits on these clouds"):
        assert "refits" in model.explain(clouds, y, **OPTIONS).models
    with pytest.raises(ValueError, match="does not know its training clouds"):
        model.unseen_members([0, 1])
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        pf.explain.importance(make(), clouds, y, **OPTIONS)  # not fitted
        model.explain(clouds, y, new=True, **OPTIONS)
