"""Models with units, frames, members, covariates and batches on disk; models without any."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from safetensors import safe_open
from safetensors import torch as safetensors
from tests.helpers.tiny_estimators import answers, some_clouds, targets

import pointforms as pf
from pointforms.estimators import model_file

DATA = Path(__file__).parents[1] / "data"
TINY: dict[str, Any] = {
    "forms": 2, "hidden": (4,), "head": 4, "neighbors": 5, "dimension": 2, "epochs": 2,
    "random_state": 0,
}  # fmt: skip
KINDS = {
    "PointFormClassifier": pf.PointFormClassifier,
    "PointFormRegressor": pf.PointFormRegressor,
    "PointFormTransformer": pf.PointFormTransformer,
}
CLOUDS = some_clouds()
Y = np.arange(16) % 2
AGE = {"age": np.arange(16.0) % 5, "sex": np.array(["f", "m"])[np.arange(16) // 3 % 2]}
BATCHES = np.array(["a", "b"])[np.arange(16) // 4 % 2]
FAR = [1e8 + cloud for cloud in CLOUDS]


@pytest.mark.parametrize("kind", list(KINDS))
@pytest.mark.parametrize(
    "options",
    [
        {"scale": "standard"},
        {"scale": "isotropic", "frame": "both", "degree": (1, 2)},
        {"scale": "robust", "frame": "shape", "members": 3},
        {"scale": None, "frame": "cloud"},
        {"scale": None, "components": 2},
        {"components": 2, "members": 2, "weight_decay": "auto"},
    ],
)
def test_a_model_predicts_the_same(kind, options, tmp_path):
    y = targets(kind)
    for clouds in (CLOUDS, FAR):
        model = KINDS[kind](**(TINY | options)).fit(clouds, y)
        model.save(tmp_path / "model")
        again = pf.load(tmp_path / "model")
        np.testing.assert_array_equal(answers(again, clouds), answers(model, clouds))
        assert again.get_params() == model.get_params()
        np.testing.assert_array_equal(again.unit_, model.unit_)
        np.testing.assert_array_equal(again.center_, model.center_)
        assert getattr(again, "axes_", None) == getattr(model, "axes_", None)
        assert not hasattr(again, "oof_predictions_")
        again.fit(clouds, y)  # with the options it has


@pytest.mark.parametrize("kind", ["PointFormClassifier", "PointFormRegressor"])
@pytest.mark.parametrize("members", [1, 2])
def test_covariates_are_read_as_before(kind, members, tmp_path):
    model = KINDS[kind](**TINY, members=members).fit(CLOUDS, targets(kind), covariates=AGE)
    model.save(tmp_path)
    again = pf.load(tmp_path)
    assert again.covariates_ == model.covariates_
    np.testing.assert_array_equal(
        again.predict(CLOUDS, covariates=AGE), model.predict(CLOUDS, covariates=AGE)
    )
    with pytest.raises(ValueError, match="covariates is None: expected those of fit, age, sex"):
        again.predict(CLOUDS)


@pytest.mark.parametrize("labels", [BATCHES, np.arange(16) // 4 % 2, BATCHES == "a"])
@pytest.mark.parametrize("components", [None, 2])
def test_batches_keep_their_centres(labels, components, tmp_path):
    """And their labels their type."""
    model = pf.PointFormClassifier(**TINY, frame="batch", components=components)
    model.fit(FAR, Y, batch=labels).save(tmp_path)
    again = pf.load(tmp_path)
    assert again.batch_centers_ == model.batch_centers_
    assert {len(center) for center in again.batch_centers_.values()} == {components or 3}
    found, expected = (m.predict_proba(FAR[:2], batch=labels[:2]) for m in (again, model))
    np.testing.assert_array_equal(found, expected)


@pytest.mark.parametrize(
    ("name", "method"),
    [("classifier", "predict_proba"), ("regressor", "predict"), ("transformer", "transform")],
)
@pytest.mark.parametrize("version", ["0.1.0", "0.2.0"])
def test_models_of_older_versions_have_no_units(version, name, method, tmp_path):
    """They predict as they did, also when this version saves them."""
    clouds = list(np.load(DATA / "saved-by-0.1.0" / "clouds.npy"))
    expected = np.load(DATA / f"saved-by-{version}" / "expected.npz")[name]
    model = pf.load(DATA / f"saved-by-{version}" / name)
    assert (model.scale, model.components, model.frame, model.members) == (
        None, None, "absolute", 1,
    )  # fmt: skip
    assert model.units is None
    np.testing.assert_allclose(getattr(model, method)(clouds), expected, atol=1e-6)
    model.save(tmp_path / "again")
    again = pf.load(tmp_path / "again")
    np.testing.assert_array_equal(getattr(again, method)(clouds), getattr(model, method)(clouds))


def without(name: str) -> Callable[[Any], None]:
    return lambda model: delattr(model, name)


def setting(name: str, value: Any) -> Callable[[Any], None]:
    return lambda model: setattr(model, name, value)


def column(**changes: Any) -> Callable[[Any], None]:
    def change(model: Any) -> None:
        model.covariates_ = [model.covariates_[0] | changes, *model.covariates_[1:]]

    return change


@pytest.fixture(scope="module")
def scaled() -> Any:
    return pf.PointFormClassifier(**TINY).fit(CLOUDS, Y)


@pytest.fixture(scope="module")
def projected() -> Any:
    return pf.PointFormClassifier(**TINY, components=2).fit(CLOUDS, Y)


@pytest.fixture(scope="module")
def batched() -> Any:
    return pf.PointFormClassifier(**TINY, frame="batch").fit(CLOUDS, Y, batch=BATCHES)


@pytest.fixture(scope="module")
def with_covariates() -> Any:
    return pf.PointFormClassifier(**TINY).fit(CLOUDS, Y, covariates=AGE)


@pytest.mark.parametrize(
    ("kind", "change", "message"),
    [
        ("scaled", without("unit_"), "its units do not fit its options"),
        ("scaled", without("center_"), "its units do not fit its options"),
        ("scaled", setting("scale", None), "its units do not fit its options"),
        ("scaled", setting("unit_", np.array([1.0, 0.0, 1.0])), "unit_: expected positive"),
        ("scaled", setting("unit_", np.array([1.0, -2.0, 1.0])), "unit_: expected positive"),
        ("scaled", setting("unit_", np.array([1.0, np.nan, 1.0])), "array .* has other values"),
        ("scaled", setting("unit_", np.array([1, 1, 1])), "attribute unit_ is"),
        ("scaled", setting("unit_", np.ones(2)), "unit_ has 2 entries for 3 features"),
        ("scaled", setting("center_", np.array([np.inf, 0, 0])), "attribute center_ is"),
        ("scaled", setting("center_", "far"), "attribute center_ is 'far'"),
        ("scaled", setting("axes_", [[1.0, 0.0, 0.0]]), "axes_ does not fit components"),
        ("scaled", setting("components", 2), "axes_ does not fit components"),
        ("scaled", setting("frame", "both"), "its options describe"),
        ("scaled", setting("frame", "batch"), "batch_centers_ does not fit frame"),
        ("scaled", setting("frame", "elsewhere"), "frame='elsewhere': expected"),
        ("scaled", setting("members", 0), "members=0: expected"),
        ("projected", without("axes_"), "axes_ does not fit components"),
        ("projected", setting("axes_", [[1.0, 0.0, 0.0]]), "axes_: expected 2 rows of 3 numbers"),
        ("projected", setting("axes_", [[1.0, 0.0]] * 2), "axes_: expected 2 rows of 3 numbers"),
        ("projected", setting("axes_", [[1.0, np.nan, 0.0]] * 2), "attribute axes_ is"),
        ("projected", setting("components", 3), "axes_: expected 3 rows"),
        ("batched", without("batch_centers_"), "batch_centers_ does not fit frame"),
        ("batched", setting("batch_centers_", {}), "batch_centers_ does not fit frame"),
        ("batched", setting("batch_centers_", {"a": [0.0]}), "expected 3 numbers per batch"),
        ("batched", setting("batch_centers_", {"a": [0.0, 0.0, np.inf]}), "batch_centers_ is"),
        ("batched", setting("batch_centers_", [0.0]), "attribute batch_centers_ is"),
        ("with_covariates", without("covariates_"), "its weights .* are .*: its options describe"),
        ("with_covariates", column(scale=0.0), "attribute covariates_ is"),
        ("with_covariates", column(scale=-1.0), "attribute covariates_ is"),
        ("with_covariates", column(mean=np.nan), "attribute covariates_ is"),
        ("with_covariates", column(levels="fm"), "attribute covariates_ is"),
        ("with_covariates", column(levels=["a", "b", "c"]), "its options describe"),
        ("with_covariates", column(name=3), "attribute covariates_ is"),
        ("with_covariates", setting("covariates_", ["age"]), "attribute covariates_ is"),
    ],
)
def test_damaged_attributes_are_refused(kind, change, message, request, tmp_path):
    request.getfixturevalue(kind).save(tmp_path)
    model = pf.load(tmp_path)
    change(model)
    (tmp_path / "model.safetensors").write_bytes(model_file.written(model._to_saved()))
    with pytest.raises(ValueError, match=message):
        pf.load(tmp_path)
    with pytest.raises(ValueError, match=f"this PointFormClassifier cannot be saved: .*{message}"):
        model.save(tmp_path)


def write(file: Path, tensors: dict[str, Any], config: str) -> None:
    """Write weights as `save` does, with a checksum that fits."""
    content = safetensors.save(tensors, {"pointforms": config, "sha256": "0" * 64})
    checksum = hashlib.sha256(content).hexdigest()
    entry = '"sha256":"{}"'
    file.write_bytes(
        content.replace(entry.format("0" * 64).encode(), entry.format(checksum).encode(), 1)
    )


@pytest.mark.parametrize(
    ("rename", "message"),
    [
        (lambda name: name.replace("members.1", "members.7"), "it has no weights 'members.1"),
        (lambda name: name.replace("members.1", "members.01"), "'members.01.energy', which its"),
        (lambda name: name.replace("members.1.mean", "members.2.mean"), "too few weights for 3"),
        (lambda name: name.replace("members.1.mean", "members.1.center"), "'members.1.center', wh"),
        (lambda name: name.replace("members.0.", ""), "it has no weights|which its options do not"),
    ],
)
def test_members_are_complete(rename, message, tmp_path):
    model = pf.PointFormClassifier(**TINY, members=2).fit(CLOUDS, Y)
    model.save(tmp_path)
    file = tmp_path / "model.safetensors"
    tensors = safetensors.load(file.read_bytes())
    with safe_open(file, "pt") as opened:
        config = opened.metadata()["pointforms"]
    write(file, tensors, config)
    np.testing.assert_array_equal(pf.load(tmp_path).predict(CLOUDS), model.predict(CLOUDS))
    write(file, {rename(name): value for name, value in tensors.items()}, config)
    with pytest.raises(ValueError, match=message):
        pf.load(tmp_path)


def test_nothing_but_numbers_and_text_is_written(batched, with_covariates, tmp_path):
    for i, model in enumerate((batched, with_covariates)):
        model.save(tmp_path / str(i))
        with safe_open(tmp_path / str(i) / "model.safetensors", "pt") as opened:
            config = json.loads(opened.metadata()["pointforms"])
        assert config["options"]["scale"] == "standard"
        assert config["learned"]["unit_"]["values"] == model.unit_.tolist()
