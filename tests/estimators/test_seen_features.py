"""The option `sees`: which features the coefficients of forms read."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from tests.helpers.small_fits import SMALL

import pointforms as pf
from pointforms.explain.contributions import comparison_matrices, parts
from pointforms.explain.evaluation import cloud_points, double_precision

NAMES = ["CD3", "CD4", "CD8"]


def shifted(rng, count: int = 40, points: int = 30) -> tuple[list[np.ndarray], np.ndarray]:
    """Normal clouds; in class 1 the second feature is stretched."""
    y = np.arange(count) % 2
    clouds = [rng.normal(size=(points, 3)) for _ in y]
    for cloud, label in zip(clouds, y, strict=True):
        cloud[:, 1] *= 1 + label
    return clouds, y


def small(**options):
    return pf.PointFormClassifier(**{**SMALL, "neighbors": 12, "dimension": 3, **options})


@pytest.mark.parametrize("degree", [1, 2, (0, 1)])
@pytest.mark.parametrize("sees", ["own", [1, 2]])
def test_a_planted_signal_is_learned(degree, sees, rng):
    clouds, y = shifted(rng)
    model = small(degree=degree, sees=sees).fit(clouds[:28], y[:28])
    assert pf.estimators.auroc(y[28:], model.predict_proba(clouds[28:])) > 0.9


@pytest.mark.parametrize("frame", ["absolute", "cloud", "shape", "both", "batch"])
@pytest.mark.parametrize("scale", [None, "standard"])
def test_every_frame(frame, scale, rng):
    clouds, y = shifted(rng, 16)
    batch = {"batch": np.arange(16) % 3} if frame == "batch" else {}
    model = small(sees="own", frame=frame, scale=scale, epochs=2).fit(clouds, y, **batch)
    assert np.isfinite(model.predict_proba(clouds, **batch)).all()


@pytest.mark.parametrize("coefficients", ["dense", "wedge"])
@pytest.mark.parametrize("degree", [1, 2])
def test_other_features_do_not_change_a_coefficient(degree, coefficients, rng):
    clouds, y = shifted(rng, 16)
    model = small(degree=degree, sees="own", coefficients=coefficients, epochs=2).fit(clouds, y)
    moved = clouds[0].copy()
    moved[:, 2] += rng.normal(size=len(moved))
    F, other = (pf.explain.coefficients(model, points) for points in (clouds[0], moved))
    unread = [0, 1] if degree == 1 else [0]  # dx⁰, dx¹, or dx⁰ ∧ dx¹
    read = [2] if degree == 1 else [1, 2]
    np.testing.assert_array_equal(F[..., unread], other[..., unread])
    assert (np.abs(F[..., read] - other[..., read]).max((0, 1)) > 0).all()


def test_contributions_still_sum_to_the_comparison_matrix(rng):
    clouds, y = shifted(rng, 16)
    model = small(degree=2, sees="own", epochs=2, dtype="float64").fit(clouds, y)
    network, points = double_precision(model.model_), cloud_points(model, clouds)
    [C], [layer] = comparison_matrices(network, points), network.point_forms()
    torch.testing.assert_close(parts(network, layer, points).sum(1), C)
    np.testing.assert_allclose(C.numpy(), model.comparison_matrices(clouds), rtol=1e-8)


@pytest.mark.parametrize("sees", ["own", ["CD8", "CD3"], [0], (1, "CD8")])
@pytest.mark.parametrize("members", [1, 3])
def test_saved_and_loaded(sees, members, rng, tmp_path):
    clouds, y = shifted(rng, 16)
    named = pf.Clouds.from_list(clouds, feature_names=NAMES)
    model = small(sees=sees, members=members, epochs=2, frame="both").fit(named, y)
    model.save(tmp_path / "model")
    again = pf.load(tmp_path / "model")
    assert list(again.sees) == list(sees)
    np.testing.assert_array_equal(again.predict_proba(named), model.predict_proba(named))


@pytest.mark.parametrize("kind", [pf.PointFormRegressor, pf.PointFormTransformer])
def test_other_estimators_have_it(kind, rng):
    clouds, y = shifted(rng, 16)
    model = kind(**{**SMALL, "epochs": 2}, neighbors=12, dimension=3, sees="own")
    assert hasattr(model.fit(clouds, y * 1.0), "model_")
    assert pf.models.make("npf-tri-1", sees="own").sees == "own"


def test_names_are_those_of_the_features(rng):
    clouds, y = shifted(rng, 16)
    named = pf.Clouds.from_list(clouds, feature_names=NAMES)
    by_name = small(sees=["CD8", "CD3"], epochs=2).fit(named, y)
    by_place = small(sees=[2, 0], epochs=2).fit(clouds, y)
    np.testing.assert_array_equal(by_name.predict_proba(clouds), by_place.predict_proba(clouds))


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"sees": "owm"}, r"sees='owm': expected one of 'all', 'own' or a sequence"),
        ({"sees": []}, r"sees=\[\]: expected"),
        ({"sees": ["CD44"]}, r"sees has 'CD44', which is no feature: did you mean 'CD4'\?"),
        ({"sees": [3]}, "sees has 3: expected places below 3"),
        ({"sees": [0, "CD3"]}, "has feature 0 twice"),
        ({"sees": ["CD3"], "components": 2}, "places of components, which have no names"),
        ({"sees": [2], "components": 2}, "expected places below 2"),
        ({"sees": "own", "degree": 0}, "no features of their own"),
    ],
)
def test_what_cannot_be_seen_is_refused(options, message, rng):
    clouds, y = shifted(rng, 16)
    with pytest.raises(ValueError, match=message):
        small(**options).fit(pf.Clouds.from_list(clouds, feature_names=NAMES), y)


def test_names_of_clouds_without_names_are_refused(rng):
    clouds, y = shifted(rng, 16)
    with pytest.raises(ValueError, match="the features have no names"):
        small(sees=["CD3"]).fit(clouds, y)
