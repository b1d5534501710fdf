from __future__ import annotations

import json

import numpy as np
import pytest
import torch
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV, GroupKFold, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import pointforms as pf

SMALL = {
    "epochs": 30,
    "hidden": (16,),
    "forms": 4,
    "learning_rate": 1e-2,
    "batch_size": 16,
    "random_state": 0,
}


@pytest.fixture(scope="module")
def task():
    return pf.tasks.load("circles-vs-lines")


@pytest.fixture(scope="module")
def data(task):
    """60 training and 40 test clouds of 48 points."""
    clouds = [cloud[:48] for cloud in task.clouds[:100]]
    return clouds[:60], task.labels[:60], task.groups[:60], clouds[60:], task.labels[60:100]


@pytest.fixture(scope="module")
def fitted(data):
    clouds, y, groups, _, _ = data
    return pf.PointFormClassifier(**SMALL).fit(clouds, y, groups)


def test_learns_and_predicts(fitted, data):
    *_, test, y = data
    probabilities = fitted.predict_proba(test)
    assert isinstance(probabilities, np.ndarray)
    assert probabilities.shape == (40, 2)
    np.testing.assert_allclose(probabilities.sum(1), 1)
    assert fitted.score(test, y) > 0.9
    assert fitted.dimension_ == 1
    assert fitted.n_features_in_ == 2
    C = fitted.comparison_matrices(test)
    assert C.shape == (40, 4, 4)
    np.testing.assert_allclose(C, C.transpose(0, 2, 1))


def test_labels_may_be_anything(data):
    clouds, y, _, test, _ = data
    names = np.array(["circle", "line"])[y]
    clf = pf.PointFormClassifier(**SMALL).fit(clouds, names)
    assert set(clf.predict(test)) <= {"circle", "line"}
    assert clf.classes_.tolist() == ["circle", "line"]


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
    fields = clone(fitted).prepare(clouds)
    shared = pf.PointFormClassifier(**SMALL).fit(fields, y, groups)
    np.testing.assert_allclose(shared.predict_proba(test), fitted.predict_proba(test), atol=1e-5)
    np.testing.assert_allclose(
        fitted.predict_proba(fitted.prepare(test)), fitted.predict_proba(test)
    )


def test_one_dimension_for_all_clouds(data):
    """The median over the training clouds, also for clouds that alone would say another."""
    clouds, y, *_ = data
    blob = np.random.default_rng(0).normal(size=(48, 2))
    clf = pf.PointFormClassifier(**(SMALL | {"epochs": 1})).fit([*clouds[:-1], blob], y)
    assert clf.dimension_ == 1
    assert {field.dimension for field in clf.prepare([blob])} == {1}


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


def test_three_classes(rng):
    """Circles, lines across, lines along."""
    clouds, labels = [], []
    for i in range(60):
        t, kind = rng.uniform(0, 1, 30), i % 3
        angle = 2 * np.pi * t
        flat = np.c_[2 * t - 1, 0.02 * rng.normal(size=30)]
        clouds.append([np.c_[np.cos(angle), np.sin(angle)], flat, flat[:, ::-1]][kind])
        labels.append("abc"[kind])
    clf = pf.PointFormClassifier(**SMALL).fit(clouds, labels)
    assert clf.predict_proba(clouds).shape == (60, 3)
    assert clf.score(clouds, labels) > 0.9


class TestScikitLearn:
    def test_params_and_clone(self):
        clf = pf.PointFormClassifier(degree=(1, 2), neighbors=16)
        assert clf.get_params()["degree"] == (1, 2)
        assert clone(clf).get_params() == clf.get_params()
        clf.set_params(forms=5)
        assert clf.forms == 5
        with pytest.raises(TypeError, match="neighbours"):
            pf.PointFormClassifier(neighbours=3)

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

    def test_pipeline_of_random_and_of_learned_forms(self, data):
        clouds, y, _, test, labels = data
        for epochs in (0, 30):
            transformer = pf.PointFormTransformer(**(SMALL | {"epochs": epochs, "forms": 8}))
            pipe = make_pipeline(transformer, StandardScaler(), LogisticRegression(max_iter=2000))
            pipe.fit(clouds, y)
            assert pipe.score(test, labels) > 0.8
            assert pipe[0].transform(test).shape == (40, 36)

    def test_transformer_without_labels(self, data):
        clouds, *_ = data
        transformer = pf.PointFormTransformer(**SMALL)
        features = transformer.fit_transform(clouds)
        np.testing.assert_array_equal(features, clone(transformer).fit(clouds).transform(clouds))


def test_regressor(data):
    clouds, _, _, test, _ = data
    radius = lambda group: np.array([np.linalg.norm(c, axis=1).mean() for c in group])  # noqa: E731
    reg = pf.PointFormRegressor(**(SMALL | {"degree": (0, 1), "epochs": 40}))
    reg.fit(clouds, 100 + 10 * radius(clouds))
    assert reg.score(test, 100 + 10 * radius(test)) > 0.8
    two = np.stack([radius(clouds), -radius(clouds)], 1)
    assert reg.fit(clouds, two).predict(test).shape == (40, 2)


class TestStorage:
    def test_round_trip(self, fitted, data, tmp_path):
        *_, test, _ = data
        fitted.save(tmp_path / "model")
        again = pf.load(tmp_path / "model")
        np.testing.assert_array_equal(again.predict_proba(test), fitted.predict_proba(test))
        assert again.get_params() == fitted.get_params()
        assert again.classes_.tolist() == fitted.classes_.tolist()
        assert sorted(p.name for p in (tmp_path / "model").iterdir()) == [
            "estimator.json", "model.safetensors",
        ]  # fmt: skip
        fitted.save(tmp_path / "model")  # over itself

    @pytest.mark.parametrize("kind", [pf.PointFormRegressor, pf.PointFormTransformer])
    def test_other_estimators(self, kind, data, tmp_path):
        clouds, y, _, test, _ = data
        one = kind(**(SMALL | {"epochs": 2, "degree": (1, 2)})).fit(clouds, y)
        one.save(tmp_path / "model")
        again = pf.load(tmp_path / "model")
        assert type(again) is kind
        method = "transform" if kind is pf.PointFormTransformer else "predict"
        np.testing.assert_array_equal(getattr(again, method)(test), getattr(one, method)(test))

    def test_newer_and_damaged_files_say_so(self, fitted, tmp_path):
        fitted.save(tmp_path / "model")
        config = tmp_path / "model" / "estimator.json"
        content = json.loads(config.read_text())
        config.write_text(json.dumps(content | {"format": 99}))
        with pytest.raises(ValueError, match="format 99, this version reads up to 1"):
            pf.load(tmp_path / "model")
        config.write_text(json.dumps(content)[:-20])
        with pytest.raises(ValueError, match="is damaged"):
            pf.load(tmp_path / "model")
        config.write_text(json.dumps(content | {"class": "os.system"}))
        with pytest.raises(ValueError, match=r"holds a 'os\.system': expected one of Point"):
            pf.load(tmp_path / "model")
        config.write_text(json.dumps(content))
        weights = tmp_path / "model" / "model.safetensors"
        weights.write_bytes(weights.read_bytes()[:-30])
        with pytest.raises(ValueError, match="is damaged"):
            pf.load(tmp_path / "model")
        with pytest.raises(FileNotFoundError, match="no saved estimator"):
            pf.load(tmp_path)

    def test_other_folders_are_left_alone(self, fitted, tmp_path):
        (tmp_path / "notes.txt").write_text("mine")
        with pytest.raises(ValueError, match="holds something else"):
            fitted.save(tmp_path)
        assert (tmp_path / "notes.txt").read_text() == "mine"


class TestErrors:
    @pytest.mark.parametrize(
        ("y", "message"),
        [
            ([0, 1] * 29, "y has 58 labels for 60 clouds"),
            ([0] * 60, "y has 1 class, .*0"),
            ([0, 1] * 29 + [0, float("nan")], "y has 1 missing labels, the first at 59"),
            ([0, 1] * 29 + [0, None], "y has 1 missing labels"),
            (np.zeros((60, 2)), r"y has shape \(60, 2\)"),
            (np.linspace(0, 1, 60), "y has fractions"),
        ],
    )
    def test_labels(self, y, message, data):
        with pytest.raises(ValueError, match=message):
            pf.PointFormClassifier(**SMALL).fit(data[0], y)

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

    def test_groups_and_regression_targets(self, data):
        clouds, y, *_ = data
        with pytest.raises(ValueError, match="groups has 3 entries for 60 clouds"):
            pf.PointFormClassifier(**SMALL).fit(clouds, y, groups=[1, 2, 3])
        with pytest.raises(ValueError, match="y has non-finite"):
            pf.PointFormRegressor(**SMALL).fit(clouds, np.full(60, np.nan))
        with pytest.raises(ValueError, match="a regressor has no classes"):
            pf.PointFormRegressor(**SMALL, class_weight="balanced").fit(clouds, y)
