from __future__ import annotations

import warnings

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.metrics import log_loss, roc_auc_score
from sklearn.model_selection import GridSearchCV, GroupKFold, cross_val_score
from tests.helpers.tiny_estimators import SmallForest

import pointforms as pf
from pointforms.models.portfolio.heads import HEADS

pytestmark = pytest.mark.usefixtures("quick")
PARTS = ("linear", "forest", "forms", "centred forms")


def classifier(*parts: str, **options) -> pf.CloudClassifier:
    """A classifier of some parts, by default of the heads, which are fast."""
    options = {"random_state": 0, "neighbors": 6, "dimension": 2} | options
    return pf.CloudClassifier(parts=parts or ("linear", "forest"), **options)


@pytest.fixture(scope="module")
def clouds(two_classes):
    return two_classes[0]


@pytest.fixture(scope="module")
def y(two_classes):
    return two_classes[1]


@pytest.fixture
def noise():
    """40 clouds without any difference between classes."""
    rng = np.random.default_rng(3)
    return [rng.normal(size=(10, 2)) for _ in range(40)], np.arange(40) % 2


class TestFit:
    def test_all_parts_find_a_shift(self, whole, clouds, y):
        assert list(whole.parts_) == list(PARTS)
        assert whole.part_scores_.keys() == set(PARTS)
        for name in ("linear", "forest", "forms"):
            assert whole.part_scores_[name]["auroc"] > 0.8
        assert whole.oof_score_ > 0.85
        assert whole.score(clouds, y) > 0.9
        assert list(whole.contributions_) == ["geometry", "summaries"]

    def test_attributes(self, whole, clouds, y):
        oof = whole.oof_predictions_
        assert oof.shape == (24, 2)
        np.testing.assert_allclose(oof.sum(1), 1)
        assert whole.oof_score_ == whole.oof_scores_["auroc"]
        assert whole.oof_score_ == pytest.approx(roc_auc_score(y, oof[:, 1]))
        assert whole.oof_scores_["log_loss"] == pytest.approx(log_loss(y, oof))
        assert list(whole.weights_) == list(PARTS)
        assert min(whole.weights_.values()) >= 0
        assert (whole.n_features_in_, whole.classes_.tolist()) == (3, [0, 1])
        probabilities = whole.predict_proba(clouds)
        np.testing.assert_allclose(probabilities.sum(1), 1)
        np.testing.assert_array_equal(whole.predict(clouds), probabilities.argmax(1))

    def test_one_part_is_enough(self, clouds, y):
        for part in ("linear", "centred forms"):
            model = classifier(part).fit(clouds, y)
            assert list(model.parts_) == [part]
            assert model.contributions_ == {}
            assert np.isfinite(model.predict_proba(clouds)).all()

    def test_three_classes_with_names(self):
        rng = np.random.default_rng(1)
        labels = np.array(["low", "middle", "top"])[np.arange(30) % 3]
        clouds = [rng.normal(size=(10, 2)) + 1.5 * (i % 3) for i in range(30)]
        model = classifier().fit(clouds, labels)
        assert model.classes_.tolist() == ["low", "middle", "top"]
        assert model.oof_predictions_.shape == (30, 3)
        assert model.oof_score_ == pytest.approx(
            roc_auc_score(labels, model.oof_predictions_, multi_class="ovr")
        )
        assert (model.predict(clouds) == labels).mean() > 0.8

    def test_names_of_features(self, clouds, y):
        named = pf.Clouds.from_list(clouds, feature_names=["CD3", "CD4", "CD8"])
        model = classifier("linear", "forms").fit(named, y)
        other = named.in_order(["CD8", "CD3", "CD4"])
        np.testing.assert_array_equal(model.predict_proba(other), model.predict_proba(named))

    def test_progress_prints_the_contributions(self, clouds, y, capsys):
        model = classifier("linear", "forms", progress=True).fit(clouds, y)
        assert str(model.contributions_["geometry"]) in capsys.readouterr().out


class TestGroups:
    def test_they_stay_in_one_fold(self, clouds, y, monkeypatch):
        seen = []

        class Recording(SmallForest):
            def fit(self, X, y, folds, *args, **options):
                seen.append(folds)
                return super().fit(X, y, folds, *args, **options)

        monkeypatch.setitem(HEADS, "forest", Recording)
        groups = np.repeat(np.arange(12), 2)
        classifier("forest").fit(clouds, y, groups=groups)
        [folds] = seen
        assert len(np.unique(folds)) == 5
        for group in range(12):
            assert len(np.unique(folds[groups == group])) == 1

    def test_twins_in_one_group_do_not_help(self):
        """Each cloud is there twice, with a label of its own that nothing explains."""
        rng = np.random.default_rng(0)
        half = [rng.normal(size=(10, 2)) for _ in range(40)]
        clouds, y = half + half, np.tile(np.arange(40) % 2, 2)
        alone = classifier("forest").fit(clouds, y)
        together = classifier("forest").fit(clouds, y, groups=np.tile(np.arange(40), 2))
        assert alone.oof_score_ > 0.9
        assert together.oof_score_ < 0.7

    def test_a_class_needs_two(self, clouds, y):
        labels = y.copy()
        labels[5] = 7
        with pytest.raises(ValueError, match="class 7 has one cloud: expected at least two"):
            classifier().fit(clouds, labels)
        labels[6] = 7
        groups = np.arange(24)
        groups[6] = 5
        with pytest.raises(ValueError, match="class 7 has one group of clouds: expected at least"):
            classifier().fit(clouds, labels, groups=groups)


class TestWeights:
    @pytest.mark.parametrize("parts", [("linear", "forest"), ("forms",)])
    def test_a_cloud_of_weight_0_is_left_out(self, parts, clouds, y):
        weights = np.ones(24)
        weights[[3, 8]] = 0
        rest = np.flatnonzero(weights)
        spoilt = [*clouds]
        spoilt[3] = clouds[3] + 1e6
        model = classifier(*parts).fit(spoilt, y, sample_weight=weights)
        assert np.isnan(model.oof_predictions_[[3, 8]]).all()
        assert np.isfinite(model.oof_predictions_[rest]).all()
        without = classifier(*parts).fit([clouds[i] for i in rest], y[rest])
        np.testing.assert_array_equal(without.oof_predictions_, model.oof_predictions_[rest])
        np.testing.assert_array_equal(without.predict_proba(clouds), model.predict_proba(clouds))

    def test_neither_do_its_covariates_count(self, clouds, y):
        weights = np.ones(24)
        weights[3] = 0
        site = np.where(np.arange(24) % 3, "a", "b")
        odd = np.where(np.arange(24) == 3, "c", site)
        model = classifier().fit(clouds, y, sample_weight=weights, covariates={"site": odd})
        assert model.covariates_[0]["levels"] == ["a", "b"]

    def test_class_weights_are_weights_of_clouds(self, noise):
        clouds, _ = noise
        y = (np.arange(40) % 4 == 0).astype(int)
        plain = classifier("linear", "forms").fit(clouds, y)
        balanced = classifier("linear", "forms", class_weight="balanced").fit(clouds, y)
        named = classifier("linear", "forms", class_weight={0: 1, 1: 3}).fit(clouds, y)
        weighted = classifier("linear", "forms").fit(clouds, y, sample_weight=1 + 2 * y)
        assert plain.predict_proba(clouds)[:, 1].mean() < 0.35
        assert balanced.predict_proba(clouds)[:, 1].mean() > 0.4
        for same in (named, weighted):
            np.testing.assert_allclose(
                same.predict_proba(clouds), balanced.predict_proba(clouds), atol=1e-4
            )


class TestCovariates:
    def test_they_are_used_and_needed_again(self, noise):
        clouds, y = noise
        frame = pd.DataFrame({"age": 50 + 10 * y + np.arange(40) % 3, "site": ["n", "s"] * 20})
        without = classifier().fit(clouds, y)
        model = classifier("linear", "forest", "forms").fit(clouds, y, covariates=frame)
        assert model.oof_score_ > 0.95 > 0.7 > without.oof_score_
        assert model.predict_proba(clouds[:3], covariates=frame[:3]).shape == (3, 2)
        with pytest.raises(ValueError, match="covariates is None: expected those of fit, age, sit"):
            model.predict(clouds)
        with pytest.raises(ValueError, match="covariates lack 'site'"):
            model.predict(clouds, covariates={"age": frame["age"]})
        with pytest.raises(ValueError, match="covariates are given, but fit had none"):
            without.predict(clouds, covariates=frame)
        assert not hasattr(model.fit(clouds, y), "covariates_")


class TestBatch:
    def test_a_shift_of_a_batch_changes_nothing(self, clouds, y):
        batch = np.where(np.arange(24) % 4 < 2, "first", "second")
        moved = [
            cloud + 8.0 * (name == "second") for cloud, name in zip(clouds, batch, strict=True)
        ]
        model = classifier("linear", "forms").fit(clouds, y, batch=batch)
        other = classifier("linear", "forms").fit(moved, y, batch=batch)
        expected = model.predict_proba(clouds, batch=batch)
        assert np.abs(other.predict_proba(moved, batch=batch) - expected).max() < 1e-4
        assert np.abs(other.oof_predictions_ - model.oof_predictions_).max() < 1e-4
        # a new batch is centred by its own clouds
        new = np.where(batch == "second", "third", batch)
        shifted = [c + 5.0 * (name == "third") for c, name in zip(clouds, new, strict=True)]
        assert np.abs(model.predict_proba(shifted, batch=new) - expected).max() < 1e-4

    def test_it_is_needed_again(self, clouds, y):
        model = classifier().fit(clouds, y, batch=y)
        with pytest.raises(ValueError, match="batch is None: expected the batch of each cloud"):
            model.predict(clouds)
        with pytest.raises(ValueError, match="batch has 2 entries for 24 clouds"):
            model.predict(clouds, batch=[0, 1])
        with pytest.raises(ValueError, match="batch is given, but fit had none"):
            classifier().fit(clouds, y).predict(clouds, batch=y)


class TestTimeLimit:
    def test_parts_that_are_left_out_are_named(self, clouds, y):
        with pytest.warns(UserWarning, match="left out forest, forms, centred forms"):
            model = classifier(*PARTS, time_limit=1e-6).fit(clouds, y)
        assert list(model.parts_) == ["linear"]
        assert list(model.weights_) == ["linear"]
        assert model.contributions_ == {}
        assert model.oof_score_ > 0.8
        assert model.predict(clouds).shape == (24,)

    def test_the_first_part_is_fitted_whatever_it_is(self, clouds, y):
        with pytest.warns(UserWarning, match="left out linear"):
            model = classifier("forms", "linear", time_limit=1e-6).fit(clouds, y)
        assert model.predict_proba(clouds).shape == (24, 2)

    def test_enough_time_changes_nothing(self, clouds, y):
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            model = classifier("linear", "forms", time_limit=3600).fit(clouds, y)
        same = classifier("linear", "forms").fit(clouds, y)
        np.testing.assert_array_equal(model.predict_proba(clouds), same.predict_proba(clouds))


class TestConventions:
    def test_options(self):
        model = classifier(class_weight={0: 1.0, 1: 2.0})
        assert clone(model).get_params() == model.get_params()
        with pytest.raises(TypeError, match="'part': did you mean 'parts'"):
            pf.CloudClassifier(part=("linear",))

    def test_grid_search_over_parts(self, clouds, y):
        grid = GridSearchCV(
            classifier(), {"parts": [("linear",), ("forest",)]}, scoring="roc_auc", cv=2
        )
        grid.fit(clouds, y)
        assert grid.best_score_ > 0.7
        assert list(grid.best_estimator_.parts_) == list(grid.best_params_["parts"])

    def test_cross_validation(self, clouds, y):
        groups = np.repeat(np.arange(12), 2)
        scores = cross_val_score(
            classifier("linear"), clouds, y, groups=groups, cv=GroupKFold(3), scoring="roc_auc"
        )
        assert scores.mean() > 0.8

    def test_random_state(self, clouds, y):
        def fitted(seed):
            return classifier("forest", random_state=seed).fit(clouds, y).predict_proba(clouds)

        np.testing.assert_array_equal(fitted(1), fitted(1))
        assert not np.array_equal(fitted(1), fitted(2))
