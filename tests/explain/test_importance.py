"""What models rely on: rules with a known answer, and noise."""

from __future__ import annotations

import tempfile

import numpy as np
import pytest
from scipy.stats import spearmanr
from sklearn.base import BaseEstimator, ClassifierMixin, RegressorMixin

import pointforms as pf
from pointforms.estimators.member_outputs import predict_member
from pointforms.explain.perturbation import shuffled, with_quantiles_of


class Rule(ClassifierMixin, BaseEstimator):
    """A classifier that does not learn: the sign of a statistic of the cloud."""

    def __init__(self, statistic="mean", slope=3.0):
        self.statistic, self.slope = statistic, slope

    def fit(self, clouds, y):
        self.classes_ = np.unique(y)
        return self

    def predict_proba(self, clouds):
        score = [
            cloud[:, 0].mean() if self.statistic == "mean" else spearmanr(cloud[:, :2])[0]
            for cloud in map(np.asarray, clouds)
        ]
        p = 1 / (1 + np.exp(-self.slope * np.array(score)))
        return np.stack([1 - p, p], 1)


class Memory(ClassifierMixin, BaseEstimator):
    """A classifier that knows its training clouds by the values of feature 0, and no others."""

    def fit(self, clouds, y):
        self.classes_ = np.unique(y)
        self.known_ = {self._key(c): int(label) for c, label in zip(clouds, y, strict=True)}
        return self

    def _key(self, cloud):
        return tuple(np.sort(np.asarray(cloud)[:, 0]).tolist())

    def predict_proba(self, clouds):
        labels = [self.known_.get(self._key(c)) for c in clouds]
        return np.array([[0.5, 0.5] if k is None else np.eye(2)[k] for k in labels])


class Centroids(ClassifierMixin, BaseEstimator):
    """A linear classifier of cloud means, along the difference between the classes."""

    def fit(self, clouds, y):
        means, self.classes_ = np.array([c.mean(0) for c in clouds]), np.unique(y)
        low, high = (means[np.asarray(y) == k].mean(0) for k in self.classes_)
        self.middle_, self.slope_ = (low + high) / 2, 4 * (high - low)
        return self

    def predict_proba(self, clouds):
        score = (np.array([np.asarray(c).mean(0) for c in clouds]) - self.middle_) @ self.slope_
        p = 1 / (1 + np.exp(-score))
        return np.stack([1 - p, p], 1)


class MeanRegressor(RegressorMixin, BaseEstimator):
    """Predicts the mean of feature 1."""

    def fit(self, clouds, y):
        return self

    def predict(self, clouds):
        return np.array([np.asarray(cloud)[:, 1].mean() for cloud in clouds])


class Level(RegressorMixin, BaseEstimator):
    """Predicts the mean of feature 1 in some unit."""

    def __init__(self, unit=1.0):
        self.unit = unit

    def fit(self, clouds, y):
        return self

    def predict(self, clouds):
        return np.array([np.asarray(cloud)[:, 1].mean() for cloud in clouds]) / self.unit


def shifted(count=40, points=20, features=3, shift=2.0, seed=0):
    rng = np.random.default_rng(seed)
    y = np.arange(count) % 2
    return [
        rng.normal(size=(points, features)) + np.r_[shift * k - shift / 2, [0] * (features - 1)]
        for k in y
    ], y


def by(table, feature, kind, other=None):
    [row] = [r for r in table.rows if (r.feature, r.kind, r.other) == (feature, kind, other)]
    return row


class TestPerturbation:
    def test_quantiles_keep_ranks_and_take_the_donors_values(self):
        rng = np.random.default_rng(0)
        cloud, donor = rng.normal(size=(30, 3)), rng.gamma(2.0, size=(30, 3))
        made = with_quantiles_of(cloud, donor, [1], rng)
        assert np.array_equal(made[:, 1].argsort(), cloud[:, 1].argsort())
        assert np.array_equal(np.sort(made[:, 1]), np.sort(donor[:, 1]))
        assert np.array_equal(made[:, [0, 2]], cloud[:, [0, 2]])

    def test_quantiles_of_another_size_are_interpolated(self):
        rng = np.random.default_rng(0)
        cloud = np.arange(4.0)[::-1, None]
        made = with_quantiles_of(cloud, np.array([[0.0], [8.0]]), [0], rng)
        # the donor's two values are its quantiles at 1/4 and 3/4; the cloud asks for 1/8, 3/8, …
        assert np.allclose(made[:, 0], [8, 6, 2, 0])

    def test_shuffling_keeps_the_values_and_the_dependence_inside_the_set(self):
        rng = np.random.default_rng(0)
        cloud = rng.normal(size=(30, 3))
        made = shuffled(cloud, [0, 2], rng.permutation(30))
        rows = {tuple(row) for row in cloud[:, [0, 2]].tolist()}
        assert {tuple(row) for row in made[:, [0, 2]].tolist()} == rows
        assert not np.array_equal(made, cloud)
        assert np.array_equal(made[:, 1], cloud[:, 1])


class TestKnownRules:
    def test_a_rule_on_the_mean_of_one_feature(self):
        clouds, y = shifted()
        table = pf.explain.importance(Rule().fit(clouds, y), clouds, y, new=True)
        assert [(row.name, row.kind) for row in table.found()] == [("x0", "distribution")]
        others = [row for row in table.rows if row.feature != "x0"]
        assert all(row.importance == 0 and row.p_value == 1 for row in others)
        assert by(table, "x0", "covariation").importance == 0

    def test_importance_is_the_increase_of_the_log_loss(self):
        clouds, y = shifted(count=2)
        rule = Rule().fit(clouds, y)
        table = pf.explain.importance(rule, clouds, y, new=True, pairs=None)
        swapped = rule.predict_proba(
            [np.c_[clouds[1][:, 0], clouds[0][:, 1:]], np.c_[clouds[0][:, 0], clouds[1][:, 1:]]]
        )
        losses = [-np.log(p[[0, 1], y]).mean() for p in (rule.predict_proba(clouds), swapped)]
        row = by(table, "x0", "distribution")
        # a random cloud is the cloud itself in one half of all cases
        assert row.importance == pytest.approx((losses[1] - losses[0]) / 2)
        assert table.loss == pytest.approx(losses[0])
        assert row.score == pytest.approx(0.5)  # AUROC falls from 1 to 0, or not

    def test_a_rule_on_a_correlation(self):
        rng = np.random.default_rng(0)
        y = np.arange(40) % 2
        covariance = np.eye(3) + 0.7 * np.array([[0, 1, 0], [1, 0, 0], [0, 0, 0]])
        signs = [np.diag([1, 2 * k - 1, 1]) for k in y]
        clouds = [rng.multivariate_normal(np.zeros(3), s @ covariance @ s, 30) for s in signs]
        rule = Rule("correlation").fit(clouds, y)
        table = pf.explain.importance(rule, clouds, y, new=True)
        found = {(row.name, row.kind) for row in table.found()}
        assert found == {(name, "covariation") for name in ("x0", "x1", "x0 × x1")}
        assert by(table, "x0", "distribution").importance == 0
        assert by(table, "x2", "covariation").importance == 0

    def test_the_importance_of_a_regressor_is_the_drop_of_r2(self):
        rng = np.random.default_rng(0)
        clouds = [rng.normal(size=(20, 2)) + np.r_[0, shift] for shift in rng.normal(size=30)]
        y = np.array([cloud[:, 1].mean() for cloud in clouds])
        table = pf.explain.importance(MeanRegressor(), clouds, y, pairs=None)
        first = table.rows[0]
        assert (first.name, first.kind, table.score_name) == ("x1", "distribution", "r2")
        assert first.importance == pytest.approx(first.score, rel=0.05)
        assert [row.name for row in table.found()] == ["x1"]
        assert table.score == pytest.approx(1.0)

    def test_a_wrong_number_of_targets_is_refused(self):
        rng = np.random.default_rng(0)
        clouds = [rng.normal(size=(8, 2)) for _ in range(20)]
        y = np.array([cloud.mean(0) for cloud in clouds])
        two = pf.CloudRegressor(parts=("linear",), random_state=0).fit(clouds, y)
        one = pf.CloudRegressor(parts=("linear",), random_state=0).fit(clouds, y[:, 0])
        with pytest.raises(ValueError, match=r"y has 1 number per cloud.* predicts 2"):
            two.explain(clouds, y[:, 0])
        with pytest.raises(ValueError, match=r"y has 2 numbers per cloud.* predicts 1"):
            one.explain(clouds, y)

    def test_the_frame_has_the_promised_columns(self):
        clouds, y = shifted(count=12)
        frame = pf.explain.importance(Rule(), clouds, y).to_frame()
        expected = ["feature", "other", "kind", "importance", "p_value"]
        assert list(frame.columns)[:5] == expected
        assert frame["importance"].is_monotonic_decreasing
        assert frame["other"].isna().sum() == 6  # two kinds of three features
        assert set(frame["kind"]) == {"distribution", "covariation"}

    def test_pairs_by_name(self):
        clouds, y = shifted(count=12)
        names = ["a", "b", "c"]
        table = pf.explain.importance(
            Rule(), clouds, y, feature_names=names, pairs=[("c", "a")], repeats=2
        )
        assert [row.name for row in table.rows if row.other] == ["a × c"]
        with pytest.raises(ValueError, match="no feature 'd'"):
            pf.explain.importance(Rule(), clouds, y, feature_names=names, pairs=[("d", "a")])


class TestWhoPredicts:
    def test_a_model_that_knows_its_clouds_by_heart_relies_on_nothing(self):
        clouds, y = shifted()
        memory = Memory().fit(clouds, y)
        table = pf.explain.importance(memory, clouds, y)
        assert all(row.importance == 0 for row in table.rows)
        assert table.score == 0.5

    def test_equal_clouds_stay_in_one_fold(self):
        clouds, y = shifted()
        twins, labels = [*clouds, *clouds], np.r_[y, y]
        table = pf.explain.importance(Memory(), twins, labels, pairs=None)
        assert table.score == 0.5

    def test_members_that_held_a_cloud_out(self):
        clouds, y = shifted(count=30, shift=1.5)
        model = pf.PointFormClassifier(
            members=5, forms=2, hidden=(8,), epochs=20, neighbors=8, dimension=2, random_state=0
        ).fit(clouds, y)
        given = pf.explain.importance(model, clouds, y, pairs=None, repeats=2)
        assert "members" in given.models
        predicted = model.predict_out_of_fold(clouds, np.arange(30))
        # those have the epoch that other folds choose, these the common one
        assert np.abs(predicted - model.oof_predictions_).max() < 0.05
        assert given.loss == pytest.approx(-np.log(predicted[np.arange(30), y]).mean())
        with tempfile.TemporaryDirectory() as folder:
            model.save(folder)
            loaded = pf.load(folder)
        again = pf.explain.importance(loaded, clouds, y, pairs=None, repeats=2)
        assert again.rows == given.rows

    def test_members_of_several_divisions(self):
        clouds, y = shifted(count=20, shift=2.0)
        model = pf.PointFormClassifier(
            members=10, forms=2, hidden=(8,), epochs=3, neighbors=8, dimension=2, random_state=0
        ).fit(clouds, y)
        before = [list(own) for own in model.held_out_]
        table = pf.explain.importance(model, clouds, y, pairs=None, repeats=1)
        # five folds of four clouds each, in which every cloud has three others
        assert (table.alone, table.donors) == (0, (3, 3))
        losses = []
        for member, own in enumerate(before[:5]):
            outputs = predict_member(model, member, model.prepare([clouds[i] for i in own]))
            p = np.exp(outputs - np.logaddexp.reduce(outputs, axis=1, keepdims=True))
            losses += (-np.log(p[np.arange(len(own)), y[own]])).tolist()
        assert table.loss == pytest.approx(np.mean(losses), rel=1e-4)
        assert model.held_out_ == before

    def test_training_clouds_are_found_in_any_order(self):
        clouds, y = shifted(count=30)
        model = pf.CloudClassifier(parts=("linear",), random_state=0).fit(clouds, y)
        order = np.random.default_rng(0).permutation(30)[:20]
        some = [clouds[i].astype(np.float64) for i in order]
        assert np.array_equal(model.training_positions(some), order)
        table = pf.explain.importance(model, some, y[order], pairs=None)
        predicted = model.predict_out_of_fold(some, order)
        assert table.loss == pytest.approx(-np.log(predicted[np.arange(20), y[order]]).mean())

    def test_other_clouds_need_to_be_declared(self):
        clouds, y = shifted(count=30)
        model = pf.CloudClassifier(parts=("linear",), random_state=0).fit(clouds, y)
        others, labels = shifted(count=20, seed=1)
        with pytest.raises(ValueError, match="none of these 20 clouds: pass new=True if they are"):
            pf.explain.importance(model, others, labels)
        some, of_some = [*clouds[:15], *others[:5]], np.r_[y[:15], labels[:5]]
        with pytest.raises(ValueError, match="5 of 20 clouds, the first at 15, are not those"):
            pf.explain.importance(model, some, of_some)
        named = pf.Clouds.from_list(some, [f"s{i}" for i in range(20)])
        with pytest.raises(ValueError, match="5 of 20 clouds, the first 's15', are not those"):
            pf.explain.importance(model, named, of_some)
        table = pf.explain.importance(model, others, labels, new=True, pairs=None)
        assert table.rows[0].name == "x0"
        with pytest.warns(UserWarning, match="30 of 30 clouds are training clouds"):
            pf.explain.importance(model, clouds, y, new=True, pairs=None)


class TestDonors:
    """Groups in one fold take values from each other."""

    def test_groups_that_are_alone_in_their_folds(self):
        rng = np.random.default_rng(0)
        groups = np.arange(20) // 4
        clouds = [rng.normal(size=(10, 2)) + rng.normal(size=2) for _ in groups]
        y = np.array([cloud[:, 0].mean() for cloud in clouds])
        model = pf.CloudRegressor(parts=("linear",), random_state=0).fit(clouds, y, groups=groups)
        table = model.explain(clouds, y, groups, pairs=None)
        kinds = [row.kind for row in table.rows]
        assert kinds == ["covariation", "covariation", "distribution", "distribution"]
        for row in table.rows[2:]:
            assert np.isnan([row.importance, row.low, row.high, row.score]).all()
            assert row.p_value == 1
        assert table.smallest_p["distribution"] == 1
        assert "5 of 5 groups have no other group in their fold" in table.summary()
        assert pf.plot.importance(table).axes

    def test_a_group_alone_in_its_fold_is_left_out(self):
        rng = np.random.default_rng(0)
        groups = np.repeat([0, 1, 2], 3)
        clouds = [np.c_[rng.normal(size=10), np.full(10, float(g))] for g in groups]
        y = groups / groups.std()
        table = pf.explain.importance(Level(groups.std()), clouds, y, groups, pairs=None)
        assert table.alone == 1
        assert table.donors == (1, 1)
        assert "1 of 3 groups have no other group" in table.summary()
        # the groups that swap differ by 1 or 2, and each is itself in one half of all cases
        importance = by(table, "x1", "distribution").importance
        swapped = [(d / groups.std()) ** 2 / 2 for d in (1, 2)]
        assert min(abs(importance - value) for value in swapped) < 1e-9

    def test_a_random_cloud_of_any_class(self):
        # folds have two or three clouds: donors of a cloud are of the other class far too often
        clouds, y = shifted(count=12, shift=3.0)
        model = pf.CloudClassifier(parts=("linear",), random_state=0).fit(clouds, y)
        rng = np.random.default_rng(0)
        increases = []
        for i, cloud in enumerate(clouds):
            versions = [with_quantiles_of(cloud, donor, [0], rng) for donor in [cloud, *clouds]]
            p = model.predict_out_of_fold(versions, [i] * 13)[:, y[i]]
            losses = -np.log(np.maximum(p, 1e-4))
            increases.append(losses[1:].mean() - losses[0])
        row = by(model.explain(clouds, y, pairs=None), "x0", "distribution")
        assert row.importance == pytest.approx(np.mean(increases), rel=0.25)

    def test_groups_that_fit_did_not_know_are_the_units(self):
        clouds, y = shifted(count=24, shift=3.0)
        groups = np.arange(24) // 8 * 2 + y  # six patients
        model = pf.CloudClassifier(parts=("linear",), random_state=0).fit(clouds, y)
        with pytest.warns(UserWarning, match="clouds of one group are in several folds"):
            table = model.explain(clouds, y, groups, pairs=None)
        assert (table.clouds, table.groups) == (24, 6)
        assert "24 clouds in 6 groups" in table.summary()
        assert min(table.smallest_p.values()) >= 2**-6
        assert min(row.p_value for row in table.rows) >= 2**-6 * (1 + 12 / 6)

    @pytest.mark.parametrize(("count", "measured"), [(600, 600), (602, 400)])
    def test_some_of_more_than_600_clouds_are_measured(self, count, measured):
        clouds, y = shifted(count=count, points=3, features=1)
        table = pf.explain.importance(Rule().fit(clouds, y), clouds, y, new=True, pairs=None)
        assert (table.clouds, table.repeats) == (measured, 1)

    def test_versions_are_counted_by_kind(self):
        clouds, y = shifted(count=24)
        model = pf.CloudClassifier(parts=("linear",), random_state=0).fit(clouds, y)
        table = model.explain(clouds, y, pairs=None)
        sizes = np.bincount(model.fold_models_.folds)
        assert table.donors == (sizes.min() - 1, sizes.max() - 1)
        text = f"values of {sizes.min() - 1} to {sizes.max() - 1} other groups (distribution)"
        assert f"{text} and shuffled 17 times (covariation)" in table.summary()


class TestLevel:
    def test_the_shifted_feature_is_found_and_nothing_else(self):
        y = np.arange(100) % 2
        rng = np.random.default_rng(0)
        clouds = [rng.normal(size=(50, 5)) + np.r_[1.0 * k, 0, 0, 0, 0] for k in y]
        model = Centroids()
        table = pf.explain.importance(model, clouds, y)
        assert [(row.name, row.kind) for row in table.found()] == [("x0", "distribution")]
        assert table.rows[0].name == "x0"

    def test_noise_labels_are_seldom_found(self):
        false = 0
        for seed in range(20):
            rng = np.random.default_rng(seed)
            clouds = [rng.normal(size=(10, 3)) + rng.normal(size=3) for _ in range(30)]
            y = rng.permutation(np.arange(30) % 2)
            model = Centroids()
            false += bool(pf.explain.importance(model, clouds, y, pairs=None).found())
        assert false <= 3  # more have a probability of 0.016 at a level of 0.05

    def test_few_groups_say_that_nothing_can_be_found(self):
        clouds, y = shifted(count=24, shift=6.0)
        groups = np.arange(24) // 2 % 2 * 2 + y  # four patients, two per class
        table = pf.explain.importance(Rule(), clouds, y, groups)
        assert not table.found()
        assert "no finding below 0.05 is possible" in table.summary()

    def test_eight_patients_with_a_perfect_signal(self):
        clouds, y = shifted(count=8, shift=6.0)
        table = pf.explain.importance(Rule().fit(clouds, y), clouds, y, new=True)
        assert table.smallest_p["covariation"] == pytest.approx(2**-8)
        assert [row.name for row in table.found()] == ["x0"]


class TestStandIns:
    def test_correlated_features_are_listed_and_perturbed_together(self):
        clouds, y = shifted()
        rng = np.random.default_rng(1)
        clouds = [np.c_[c, c[:, 0] + 0.1 * rng.normal(size=len(c))] for c in clouds]
        model = Centroids()
        table = pf.explain.importance(model, clouds, y, pairs=None)
        [own] = table.stand_ins
        assert own.features == ("x0", "x3")
        assert own.distribution > by(table, "x0", "distribution").importance
        assert "x0, x3 (together" in str(table)
