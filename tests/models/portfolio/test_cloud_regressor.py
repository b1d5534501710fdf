from __future__ import annotations

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.metrics import r2_score
from sklearn.model_selection import GridSearchCV, cross_val_score

import pointforms as pf

pytestmark = pytest.mark.usefixtures("quick")
PARTS = ("linear", "forest", "forms", "centred forms")


def regressor(*parts: str, **options) -> pf.CloudRegressor:
    """A regressor of some parts, by default of the heads, which are fast."""
    options = {"random_state": 0, "neighbors": 6, "dimension": 2} | options
    return pf.CloudRegressor(parts=parts or ("linear", "forest"), **options)


@pytest.fixture(scope="module")
def clouds(two_classes):
    return two_classes[0]


@pytest.fixture(scope="module")
def spread(clouds):
    """The spread of each coordinate, three numbers per cloud."""
    return np.stack([cloud.std(0) for cloud in clouds])


def test_all_parts_find_a_mean(whole_regressor, clouds, numbers):
    model = whole_regressor
    assert list(model.parts_) == list(PARTS)
    for name in ("linear", "forest", "forms"):
        assert model.part_scores_[name]["r2"] > 0.7
    assert model.part_scores_["centred forms"]["r2"] < 0.3  # it cannot see positions
    assert model.oof_score_ > 0.9
    assert model.oof_score_ == model.oof_scores_["r2"]
    assert model.oof_score_ == pytest.approx(r2_score(numbers, model.oof_predictions_))
    error = np.sqrt(np.square(model.oof_predictions_ - numbers).mean()) / numbers.std()
    assert model.oof_scores_["rmse"] == pytest.approx(error)
    assert model.score(clouds, numbers) > 0.9
    assert min(model.weights_.values()) >= 0
    assert "R² to summaries alone" in str(model.contributions_["geometry"])


def test_several_targets(clouds, spread):
    model = regressor("linear", "forms").fit(clouds, spread)
    assert model.oof_predictions_.shape == model.predict(clouds).shape == (24, 3)
    assert model.oof_score_ == pytest.approx(r2_score(spread, model.oof_predictions_))
    one = regressor("linear", "forms").fit(clouds, spread[:, :1])
    assert one.predict(clouds).shape == (24, 1)
    flat = regressor("linear", "forms").fit(clouds, spread[:, 0])
    np.testing.assert_array_equal(flat.predict(clouds), one.predict(clouds)[:, 0])
    np.testing.assert_array_equal(flat.oof_predictions_, one.oof_predictions_[:, 0])


def test_predictions_have_the_units_of_y(clouds, numbers):
    model = regressor(*PARTS).fit(clouds, numbers)
    other = regressor(*PARTS).fit(clouds, 8 * numbers)
    np.testing.assert_array_equal(other.predict(clouds), 8 * model.predict(clouds))
    np.testing.assert_array_equal(other.oof_predictions_, 8 * model.oof_predictions_)
    assert other.oof_scores_ == model.oof_scores_
    model = regressor().fit(clouds, numbers)
    other = regressor().fit(clouds, 1000 - 0.3 * numbers)
    np.testing.assert_allclose(
        other.predict(clouds), 1000 - 0.3 * model.predict(clouds), atol=0.01 * numbers.std()
    )


def test_a_constant_is_predicted(clouds):
    np.testing.assert_allclose(regressor().fit(clouds, np.full(24, 3.0)).predict(clouds), 3.0)
    model = regressor(*PARTS).fit(clouds, np.full(24, 3.0))
    np.testing.assert_allclose(model.predict(clouds), 3.0, atol=0.1)
    assert np.isfinite(model.oof_score_)
    assert np.isfinite(model.contributions_["geometry"].gain)


def test_a_cloud_of_weight_0_is_left_out(clouds, numbers):
    weights = np.ones(24)
    weights[[3, 8]] = 0
    rest = np.flatnonzero(weights)
    spoilt = numbers.copy()
    spoilt[3] = 1e9
    model = regressor().fit(clouds, spoilt, sample_weight=weights)
    assert np.isnan(model.oof_predictions_[[3, 8]]).all()
    without = regressor().fit([clouds[i] for i in rest], numbers[rest])
    np.testing.assert_array_equal(without.oof_predictions_, model.oof_predictions_[rest])
    np.testing.assert_array_equal(without.predict(clouds), model.predict(clouds))


def test_weights_move_the_prediction(clouds):
    """Twins that disagree are predicted by the heavier one."""
    twins, y = [*clouds[:12], *clouds[:12]], np.repeat([0.0, 1.0], 12)
    groups = np.tile(np.arange(12), 2)
    model = regressor().fit(twins, y, groups=groups, sample_weight=1 + 98 * y)
    assert np.abs(model.predict(clouds) - 0.99).max() < 0.02


def test_covariates_and_batch(clouds, numbers):
    rng = np.random.default_rng(0)
    age = rng.normal(size=24)
    batch = np.arange(24) % 2
    model = regressor("linear").fit(clouds, age, covariates={"age": age}, batch=batch)
    assert model.oof_score_ > 0.9
    moved = [cloud + 4.0 * b for cloud, b in zip(clouds, batch, strict=True)]
    again = clone(model).fit(moved, age, covariates={"age": age}, batch=batch)
    given = {"covariates": {"age": age}, "batch": batch}
    np.testing.assert_allclose(again.predict(moved, **given), model.predict(clouds, **given))
    with pytest.raises(ValueError, match="covariates is None: expected those of fit, age"):
        model.predict(clouds, batch=batch)
    with pytest.raises(ValueError, match="batch is None: expected the batch of each cloud"):
        model.predict(clouds, covariates={"age": age})


def test_time_limit(clouds, numbers):
    with pytest.warns(UserWarning, match="left out forest, forms, centred forms"):
        model = regressor(*PARTS, time_limit=1e-6).fit(clouds, numbers)
    assert list(model.parts_) == ["linear"]
    assert model.oof_score_ > 0.9


def test_one_group_is_an_error(clouds, numbers):
    with pytest.raises(ValueError, match="there is one group of clouds: expected at least two"):
        regressor().fit(clouds, numbers, groups=np.zeros(24))
    with pytest.raises(ValueError, match="there is one cloud: expected at least two"):
        regressor().fit(clouds[:1], numbers[:1])


def test_model_selection(clouds, numbers):
    grid = GridSearchCV(regressor(), {"parts": [("linear",), ("forest",)]}, cv=2)
    grid.fit(clouds, numbers)
    assert grid.best_params_ == {"parts": ("linear",)}  # which is exact for a mean
    assert cross_val_score(regressor("linear"), clouds, numbers, cv=3).mean() > 0.9


def test_there_are_no_classes(clouds, numbers):
    with pytest.raises(TypeError, match="unexpected keyword argument 'class_weight'"):
        pf.CloudRegressor(class_weight="balanced")
    assert not hasattr(regressor(), "predict_proba")
