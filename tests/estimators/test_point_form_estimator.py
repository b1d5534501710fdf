from __future__ import annotations

import inspect

import numpy as np
import pytest
import torch
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.model_selection import GridSearchCV, GroupKFold, cross_val_score
from sklearn.neighbors import kneighbors_graph
from tests.helpers.small_fits import SMALL

import pointforms as pf
from pointforms.estimators import cross_fit
from pointforms.geometry.settings import GramSettings
from pointforms.nn.stored_pairs import StoredPairs


def test_repeats_exactly_and_leaves_torch_alone(fitted, data):
    clouds, y, groups, test, _ = data
    torch.manual_seed(5)
    before = torch.rand(1)
    torch.manual_seed(5)
    again = clone(fitted).fit(clouds, y, groups)
    assert torch.equal(torch.rand(1), before)
    np.testing.assert_array_equal(again.predict_proba(test), fitted.predict_proba(test))
    other = pf.PointFormClassifier(**(SMALL | {"random_state": 1})).fit(clouds, y, groups)
    assert not np.allclose(other.predict_proba(test), fitted.predict_proba(test))


def test_permutations_change_nothing(fitted, data, rng):
    *_, test, _ = data
    expected = fitted.predict_proba(test)
    shuffled = [cloud[rng.permutation(len(cloud))] for cloud in test]
    np.testing.assert_allclose(fitted.predict_proba(shuffled), expected, atol=1e-4)
    order = rng.permutation(len(test))
    np.testing.assert_allclose(
        fitted.predict_proba([test[i] for i in order]), expected[order], atol=1e-6
    )


def test_precomputed_fields_serve_many_fits(fitted, data):
    clouds, y, groups, test, _ = data
    fields = fitted.prepare(clouds)
    shared = clone(fitted).fit(fields, y, groups)
    np.testing.assert_allclose(shared.predict_proba(test), fitted.predict_proba(test), atol=1e-5)
    np.testing.assert_allclose(
        fitted.predict_proba(fitted.prepare(test)), fitted.predict_proba(test)
    )


def test_one_geometry_for_all_clouds(data):
    """That of the training clouds, also for clouds that alone would say another."""
    clouds, y, *_ = data
    blob = np.random.default_rng(0).normal(size=(48, 2))
    clf = pf.PointFormClassifier(**(SMALL | {"epochs": 1})).fit([*clouds[:-1], blob], y)
    assert clf.dimension_ == 1
    assert {field.dimension for field in clf.prepare([blob])} == {1}
    assert {field.neighbors for field in clf.prepare([blob, *clouds])} == {clf.neighbors_}


def test_prepared_fields_of_other_clouds_do_not_set_the_geometry(data, rng):
    """It is chosen on the clouds of the fit."""
    clouds, y, *_ = data
    blobs = [rng.normal(size=(500, 2)) for _ in range(70)]
    clf = pf.PointFormClassifier(**(SMALL | {"epochs": 1}), scale=None)
    fields = clf.prepare([*clouds, *blobs])
    assert {field.dimension for field in fields} == {2}
    shared, alone = clone(clf).fit(fields[:60], y), clone(clf).fit(clouds, y)
    assert (shared.dimension_, alone.dimension_) == (1, 1)
    assert shared.neighbors_ == alone.neighbors_ != fields[-1].neighbors
    np.testing.assert_array_equal(shared.predict_proba(fields), alone.predict_proba(clouds + blobs))


def test_given_numbers_are_those_of_prepared_fields(data):
    clouds, y, *_ = data
    fields = pf.PointFormClassifier(scale=None).prepare(clouds[:20])
    options = SMALL | {"epochs": 1, "neighbors": 12, "dimension": 2, "scale": None}
    shared = pf.PointFormClassifier(**options).fit(fields, y[:20])
    alone = pf.PointFormClassifier(**options).fit(clouds[:20], y[:20])
    assert (shared.neighbors_, shared.dimension_) == (12, 2)
    np.testing.assert_array_equal(shared.predict_proba(clouds), alone.predict_proba(clouds))


def test_fields_with_contradicting_numbers_are_refused(data):
    clouds, y, *_ = data
    fields = pf.gram_fields(clouds[:20], neighbors=9, dimension=2)
    for options in ({"neighbors": 12}, {"dimension": 1}):
        [(name, number)] = options.items()
        with pytest.raises(ValueError, match=f"{name} is {min(number, 9 if number > 2 else 1)} "):
            pf.PointFormClassifier(**(SMALL | options)).fit(fields, y[:20])
    others = pf.gram_fields(clouds[20:40], neighbors=9, dimension=1)
    with pytest.raises(ValueError, match="dimension is 1 and 2: expected one number"):
        pf.PointFormClassifier(**SMALL).fit([*fields, *others], y[:40])


def test_fields_of_graphs_are_never_computed_again(data, rng):
    clouds, y, *_ = data
    mixed = [rng.normal(size=(48, 2)) if i % 3 == 0 else cloud for i, cloud in enumerate(clouds)]

    def fields(**options):
        graphs = [kneighbors_graph(cloud, 12, mode="distance") for cloud in mixed]
        pairs = zip(mixed, graphs, strict=True)
        return [pf.Geometry(c, distances=graph, **options).gram_field() for c, graph in pairs]

    clf = pf.PointFormClassifier(**(SMALL | {"epochs": 1}))
    with pytest.raises(ValueError, match="dimension is 1 and 2"):
        clf.fit(fields(), y)
    given = fields(dimension=1)
    prepared = clf.fit(given, y).prepare(given)
    assert all(a.factor is b.factor for a, b in zip(prepared, given, strict=True))


def test_fields_with_numbers_of_their_own_keep_them(data):
    clouds, y, *_ = data
    fields = pf.gram_fields(clouds[:20], neighbors=9, dimension=2)
    clf = pf.PointFormClassifier(**(SMALL | {"epochs": 1})).fit(fields, y[:20])
    assert (clf.neighbors_, clf.dimension_) == (9, 2)
    assert clf.prepare(fields)[0].neighbors == 9


def test_a_given_dimension_is_that_of_prepared_fields(data):
    clouds, y, *_ = data
    fields = pf.PointFormClassifier(scale=None).prepare(clouds[:20])
    options = SMALL | {"epochs": 1, "dimension": 2, "scale": None}
    shared = pf.PointFormClassifier(**options).fit(fields, y[:20])
    alone = pf.PointFormClassifier(**options).fit(clouds[:20], y[:20])
    assert shared.dimension_ == 2
    np.testing.assert_array_equal(shared.predict_proba(clouds), alone.predict_proba(clouds))


def test_ragged_clouds_of_many_sizes(rng):
    clouds = [rng.normal(size=(n, 3)) for n in (2, 5, 40, 7, 100, 33, 12, 64)]
    y = [0, 1] * 4
    clf = pf.PointFormClassifier(**(SMALL | {"epochs": 2})).fit(clouds, y)
    assert clf.predict(clouds).shape == (8,)


@pytest.mark.parametrize("options", [
    {"degree": 0}, {"degree": 2}, {"degree": (0, 1, 2)}, {"degree": 2, "coefficients": "wedge"},
    {"readout": "flat"}, {"readout": "diag"}, {"readout": "pool"}, {"readout": "gram"},
    {"measure": "volume-normalized"}, {"rank": 1}, {"spectrum": "projector"},
    {"class_weight": "balanced"}, {"class_weight": {0: 2.0}}, {"points_per_epoch": 20},
    {"validation_fraction": 0.0}, {"head": 0}, {"dtype": "float64"},
], ids=str)  # fmt: skip
def test_every_option_trains(options, data):
    clouds, y, groups, test, _ = data
    clf = pf.PointFormClassifier(**(SMALL | {"epochs": 2} | options)).fit(clouds, y, groups)
    assert np.isfinite(clf.predict_proba(test)).all()


class TestScikitLearn:
    def test_params_and_clone(self):
        clf = pf.PointFormClassifier(degree=(1, 2), neighbors=16)
        assert clf.get_params()["degree"] == (1, 2)
        assert clone(clf).get_params() == clf.get_params()
        clf.set_params(forms=5)
        assert clf.forms == 5

    @pytest.mark.parametrize(
        "kind", [pf.PointFormClassifier, pf.PointFormRegressor, pf.PointFormTransformer]
    )
    def test_constructors_take_known_keywords_only(self, kind):
        message = rf"{kind.__name__}\(\) got .* 'neighbours': did you mean 'neighbors'\?"
        with pytest.raises(TypeError, match=message):
            kind(neighbours=3)
        with pytest.raises(TypeError, match="keyword arguments only"):
            kind(1)
        with pytest.raises(ValueError, match="neighbours"):
            kind().set_params(neighbours=3)
        assert set(kind().get_params()) == set(inspect.signature(kind).parameters)
        assert clone(kind(forms=3)).get_params() == kind(forms=3).get_params()

    def test_cross_validation_with_groups(self, data):
        clouds, y, groups, *_ = data
        clf = pf.PointFormClassifier(**SMALL)
        scores = cross_val_score(clf, clouds, y, groups=groups, cv=GroupKFold(3), scoring="roc_auc")
        assert scores.shape == (3,)
        assert scores.mean() > 0.8

    def test_grid_search(self, data):
        clouds, y, *_ = data
        grid = GridSearchCV(
            pf.PointFormClassifier(**(SMALL | {"epochs": 2})),
            {"readout": ["tri", "diag"], "neighbors": np.array([8, 16])},
            cv=2,
        ).fit(clouds, y)
        assert set(grid.best_params_) == {"readout", "neighbors"}


class TestErrors:
    @pytest.mark.parametrize(
        ("options", "message"),
        [
            ({"readout": "mean"}, "readout='mean': expected one of"),
            ({"coefficients": "sparse"}, "coefficients='sparse'"),
            ({"measure": "area"}, "measure='area'"),
            ({"degree": -1}, "degree=-1"),
            ({"degree": ()}, r"degree=\(\)"),
            ({"forms": 0}, "forms=0"),
            ({"epochs": 0}, "epochs=0"),
            ({"neighbors": 1}, "neighbors=1"),
            ({"validation_fraction": 1.0}, "validation_fraction=1.0"),
            ({"class_weight": {7: 1.0}}, "class_weight names 7"),
            ({"class_weight": "even"}, "class_weight='even'"),
        ],
    )
    def test_options(self, options, message, data):
        clouds, y, *_ = data
        with pytest.raises(ValueError, match=message):
            pf.PointFormClassifier(**(SMALL | options)).fit(clouds, y)

    def test_another_width(self, fitted):
        with pytest.raises(
            ValueError,
            match="the clouds have 3 features, but PointFormClassifier was fitted with 2",
        ):
            fitted.predict([np.random.default_rng(0).normal(size=(20, 3))])

    def test_unfitted(self, data, tmp_path):
        clf = pf.PointFormClassifier()
        for call in (clf.predict_proba, clf.comparison_matrices):
            with pytest.raises(NotFittedError):
                call(data[0])
        with pytest.raises(NotFittedError):
            clf.save(tmp_path / "model")


def test_a_batch_left_with_one_cloud_does_not_blur_the_features():
    """33 clouds in batches of 32: evaluated on the clouds it was trained on, the spread is 1."""
    task = pf.tasks.load("circles-vs-lines", clouds=40, points=24)
    clf = pf.PointFormClassifier(
        forms=3, hidden=(8,), epochs=20, batch_size=32, validation_fraction=0, random_state=0
    ).fit(task.clouds[:33], task.labels[:33])  # fmt: skip
    model = clf.model_
    store = clf.make_store(clf.prepare(task.clouds[:33]))
    with torch.no_grad():
        entering = model.norm(model.features(store.gather(torch.arange(33))))
    spread = (entering.std(0, correction=0) / model.norm.gain.abs()).detach()
    torch.testing.assert_close(spread, torch.ones_like(spread), rtol=0.15, atol=0)


def test_batches_of_one_cloud_train_too():
    task = pf.tasks.load("circles-vs-lines", clouds=40, points=24)
    clf = pf.PointFormClassifier(forms=4, hidden=(16,), epochs=6, batch_size=1, random_state=0)
    clf.fit(task.clouds, task.labels)
    assert clf.history_[-1]["train"] < 0.5  # the constant predictor has log 2 = 0.69


@pytest.mark.parametrize("coefficients", ["dense", "wedge"])
@pytest.mark.parametrize("degree", [3, 60, (0, 3)])
def test_degrees_above_the_features_are_an_error_before_any_geometry(
    degree, coefficients, data, monkeypatch
):
    clouds, y, *_ = data
    monkeypatch.setattr("pointforms.estimators.common_geometry.gram_fields", None)
    above = max(np.atleast_1d(degree))
    options = {"degree": degree, "coefficients": coefficients}
    with pytest.raises(ValueError, match=f"degree={above} exceeds the 2 features"):
        pf.PointFormClassifier(**options).fit(clouds, y)
    with pytest.raises(ValueError, match=f"degree={above} exceeds the 2 features"):
        cross_fit(pf.PointFormClassifier(**options), clouds, y, np.arange(60) % 2)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"rank": 1}, "degree=2 with rank=1: all forms"),
        ({"spectrum": "projector", "dimension": 1}, "degree=2 with spectrum.*d=1 are zero"),
        ({"spectrum": "projector"}, "degree=2 with spectrum.*d=1 are zero"),
    ],
)
def test_degrees_that_vanish_on_the_gram_field_are_an_error(options, message, data):
    """All comparison matrices would be zero, or the rounding errors of a zero."""
    clouds, y, *_ = data
    with pytest.raises(ValueError, match=message):
        pf.PointFormClassifier(**SMALL, degree=2, **options).fit(clouds, y)


def test_degrees_above_the_number_of_points_are_an_error(rng):
    clouds = [rng.normal(size=(2, 4)) for _ in range(12)]
    with pytest.raises(ValueError, match="degree=3: the Gram fields of these clouds have rank 2"):
        pf.PointFormClassifier(**SMALL, degree=3, dimension=1).fit(clouds, np.arange(12) % 2)


@pytest.mark.parametrize(
    ("scale", "options"),
    [
        (1e20, {}),
        (1e-25, {}),
        (1e10, {"degree": 2}),
        (1e-15, {"degree": 2}),
        (1e10, {"degree": (0, 2), "coefficients": "wedge"}),
    ],
)
def test_units_beyond_the_precision_are_an_error(scale, options, data):
    """Forms have the unit length⁻ᵏ; without an error the network would train on zeros.

    Where features are scaled, there is nothing wrong with them.
    """
    clouds, y = data[0][:16], data[1][:16]
    far = [scale * np.asarray(cloud) for cloud in clouds]
    raw = SMALL | options | {"epochs": 4, "scale": None}
    with pytest.raises(ValueError, match=r"forms of degree . on features with deviations of"):
        pf.PointFormClassifier(**raw).fit(far, y)
    precise = pf.PointFormClassifier(**raw, dtype="float64").fit(far, y)
    plain = pf.PointFormClassifier(**raw, dtype="float64").fit(clouds, y)
    np.testing.assert_allclose(
        precise.predict_proba(far), plain.predict_proba(clouds), rtol=1e-6, atol=1e-9
    )
    scaled = SMALL | options | {"epochs": 4}
    far_and_near = [pf.PointFormClassifier(**scaled).fit(data, y) for data in (far, clouds)]
    np.testing.assert_allclose(
        far_and_near[0].predict_proba(far), far_and_near[1].predict_proba(clouds), atol=1e-4
    )


def test_units_that_a_network_cannot_keep_are_an_error(data):
    clouds, y = data[0][:16], data[1][:16]
    far = [1e60 * np.asarray(cloud) for cloud in clouds]
    options = SMALL | {"epochs": 1}
    with pytest.raises(ValueError, match=r"deviations of .* are beyond the range of float32"):
        pf.PointFormClassifier(**options).fit(far, y)
    model = pf.PointFormClassifier(**options, dtype="float64").fit(far, y)
    assert np.isfinite(model.predict_proba(far)).all()


def test_more_coefficients_than_fit_in_memory_are_an_error(rng):
    clouds = [rng.normal(size=(30, 40)) for _ in range(4)]
    with pytest.raises(ValueError, match=r"degree=20 on 40 features: .* coefficients per point"):
        pf.PointFormClassifier(**SMALL, degree=20).fit(clouds, [0, 1, 0, 1])


@pytest.mark.parametrize("members", [1, 2])
def test_pairs_train_and_predict_as_factors_do(members, rng, monkeypatch):
    """Clouds with fewer points than features are stored as pairs; new ones need not be."""
    clouds = [rng.normal(size=(n, 30)) + i % 2 for i, n in enumerate(rng.integers(4, 24, 40))]
    new = [*clouds[:5], rng.normal(size=(60, 30))]
    found, stored = [], []
    finish = StoredPairs.finish
    monkeypatch.setattr(StoredPairs, "finish", lambda own: (stored.append(own), finish(own)))
    for pairs in (True, False):
        if not pairs:
            monkeypatch.setattr(GramSettings, "has_pairs", lambda *_: False)
        model = pf.PointFormClassifier(
            forms=4, hidden=(8,), epochs=4, members=members, dtype="float64", random_state=0
        )
        model.fit(clouds, [i % 2 for i in range(40)])
        assert bool(stored) == pairs
        found.append((model.predict_proba(clouds), model.predict_proba(new)))
        stored.clear()
    for ours, expected in zip(*found, strict=True):
        np.testing.assert_allclose(ours, expected, rtol=1e-7, atol=1e-9)
