from __future__ import annotations

import json
import subprocess
import sys
import tracemalloc
from io import BytesIO
from pathlib import Path

import numpy as np
import pytest
import torch

import pointforms as pf
from pointforms.estimators import model_file
from pointforms.estimators.saved_state import SavedState
from pointforms.support.saved_classes import registered_class

FILE = "model.safetensors"


def read(folder: Path) -> SavedState:
    content = (folder / FILE).read_bytes()
    return model_file.read(BytesIO(content), len(content))


def predictions(model, clouds, **given):
    return getattr(model, "predict_proba", model.predict)(clouds, **given)


@pytest.fixture(scope="module")
def clouds(two_classes):
    return two_classes[0]


@pytest.fixture(scope="module")
def saved(whole, tmp_path_factory):
    folder = tmp_path_factory.mktemp("classifier")
    whole.save(folder)
    return folder


@pytest.fixture(scope="module")
def saved_regressor(whole_regressor, tmp_path_factory):
    folder = tmp_path_factory.mktemp("regressor")
    whole_regressor.save(folder)
    return folder


def same_attributes(one, other) -> None:
    """All fitted attributes but the parts are equal, and so are the options."""
    assert vars(one).keys() == vars(other).keys()
    assert one.get_params() == other.get_params()
    for name, value in vars(one).items():
        if isinstance(value, np.ndarray):
            np.testing.assert_array_equal(getattr(other, name), value)
            assert getattr(other, name).dtype == value.dtype
        elif name == "fold_models_":
            for key, array in value.arrays().items():
                np.testing.assert_array_equal(getattr(other, name).arrays()[key], array)
        elif name not in ("parts_", "pool_"):
            assert getattr(other, name) == value, name
    assert one.weights_ == other.weights_
    assert list(one.parts_) == list(other.parts_)


class TestRoundTrip:
    @pytest.mark.parametrize("kind", ["whole", "whole_regressor"])
    def test_all_parts(self, kind, clouds, tmp_path, request):
        model = request.getfixturevalue(kind)
        model.save(tmp_path / "model")
        assert [path.name for path in (tmp_path / "model").iterdir()] == [FILE]
        again = pf.load(tmp_path / "model")
        assert type(again) is type(model)
        same_attributes(model, again)
        np.testing.assert_array_equal(predictions(again, clouds), predictions(model, clouds))
        again.save(tmp_path / "again")
        first, second = (read(tmp_path / name) for name in ("model", "again"))
        assert first.config == second.config
        assert first.tensors.keys() == second.tensors.keys()

    def test_everything_that_fit_may_be_given(self, clouds, two_classes, tmp_path):
        labels = np.array(["healthy", "ill"])[two_classes[1]]
        given = {"covariates": {"age": np.arange(24.0), "site": ["n", "s"] * 12},
                 "batch": np.arange(24) % 3}  # fmt: skip
        weights = np.ones(24)
        weights[4] = 0
        named = pf.Clouds.from_list(clouds, feature_names=["CD3", "CD4", "CD8"])
        model = pf.CloudClassifier(
            parts=["forest", "linear"], class_weight={"ill": 2.0}, random_state=1
        ).fit(named, labels, sample_weight=weights, **given)
        model.save(tmp_path)
        again = pf.load(tmp_path)
        assert again.parts == ("forest", "linear")
        same_attributes(model.set_params(parts=("forest", "linear")), again)
        assert np.isnan(again.oof_predictions_[4]).all()
        expected = model.predict_proba(named, **given)
        other = named.in_order(["CD8", "CD3", "CD4"])
        np.testing.assert_array_equal(again.predict_proba(other, **given), expected)
        assert again.fit(named, labels, **given).predict(named, **given).shape == (24,)

    @pytest.mark.parametrize("targets", [1, 2])
    def test_tables_of_numbers(self, targets, clouds, tmp_path):
        y = np.stack([cloud.std(0) for cloud in clouds])[:, :targets]
        model = pf.CloudRegressor(parts=("linear", "forms"), random_state=0).fit(clouds, y)
        model.save(tmp_path)
        again = pf.load(tmp_path)
        np.testing.assert_array_equal(again.predict(clouds), model.predict(clouds))
        np.testing.assert_array_equal(again.oof_predictions_, model.oof_predictions_)

    def test_parts_that_were_left_out(self, clouds, two_classes, tmp_path):
        with pytest.warns(UserWarning, match="left out linear"):
            model = pf.CloudClassifier(parts=("forest", "linear"), time_limit=1e-9).fit(
                *two_classes
            )
        model.save(tmp_path)
        assert list(pf.load(tmp_path).parts_) == ["forest"]

    def test_a_class_of_your_own(self, two_classes, tmp_path):
        class OwnClassifier(pf.CloudClassifier):
            """Joins the registry by being defined."""

        OwnClassifier(parts=("linear",)).fit(*two_classes).save(tmp_path)
        assert type(pf.load(tmp_path)) is OwnClassifier

    def test_another_process_finds_the_class(self, saved):
        code = (
            "import sys, pointforms as pf; assert 'torch' not in sys.modules; "
            f"print(type(pf.load({str(saved)!r})).__name__)"
        )
        run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
        assert run.stdout.strip() == "CloudClassifier", run.stderr

    def test_no_cache_and_no_pickle(self, two_classes, tmp_path):
        model = pf.CloudClassifier(parts=("forms",), cache=tmp_path / "fields").fit(*two_classes)
        model.save(tmp_path / "model")
        content = (tmp_path / "model" / FILE).read_bytes()
        assert b"fields" not in content
        again = pf.load(tmp_path / "model")
        assert again.cache is None
        assert again.parts_["forms"].cache is None
        length = int.from_bytes(content[:8], "little")
        assert json.loads(content[8 : 8 + length])["__metadata__"].keys() == {
            "pointforms",
            "sha256",
        }


def changed(folder: Path, target: Path, change) -> Path:
    """Write a model with another state and the checksum that belongs to it."""
    state = read(folder)
    change(state.config, state.tensors)
    target.mkdir()
    (target / FILE).write_bytes(model_file.written(state))
    return target


def option(name, value):
    def change(config, tensors):
        config["options"][name] = value

    return change


def learned(name, value):
    def change(config, tensors):
        config["learned"][name] = value

    return change


def tensor(name, make):
    def change(config, tensors):
        tensors[name] = make(tensors[name])

    return change


def without(name):
    def change(config, tensors):
        del tensors[name]

    return change


def top(name, value):
    def change(config, tensors):
        config[name] = value

    return change


def part(name, key, value):
    def change(config, tensors):
        config["parts"][name][key] = value

    return change


def part_option(name, key, value):
    def change(config, tensors):
        config["parts"][name]["options"][key] = value

    return change


def part_learned(name, key, value):
    def change(config, tensors):
        config["parts"][name]["learned"][key] = value

    return change


def renamed_part(config, tensors):
    config["parts"] = {{"linear": "other"}.get(k, k): v for k, v in config["parts"].items()}
    for key in list(tensors):
        tensors[key.replace("parts.linear.", "parts.other.")] = tensors.pop(key)


def swapped_parts(config, tensors):
    """The arrays of the forest as those of the linear model, and the reverse."""
    other = {"linear": "forest", "forest": "linear"}
    for key, value in list(tensors.items()):
        _, name, *rest = f"{key}..".split(".", 2)
        if name in other:
            del tensors[key]
            tensors[f"new.{other[name]}.{rest[0]}".rstrip(".")] = value
    for key in [key for key in tensors if key.startswith("new.")]:
        tensors[key.replace("new.", "parts.", 1)] = tensors.pop(key)


def nested(config, tensors):
    """A portfolio as a part of itself, without end."""
    inner = json.loads(json.dumps(config))
    config["parts"]["forms"] = inner


def infinite(values):
    values = values.clone()
    values[0] = torch.inf
    return values


def undefined(values):
    values = values.clone()
    values[0] = torch.nan
    return values


TWO = {"values": [5, 6], "dtype": "<i8"}


class TestDamage:
    def test_a_flipped_bit_anywhere_is_found(self, saved, tmp_path, rng):
        content = (saved / FILE).read_bytes()
        header = 8 + int.from_bytes(content[:8], "little")
        places = [*range(8), *rng.integers(8, header, 30), *rng.integers(header, len(content), 30)]
        for place in places:
            damaged = bytearray(content)
            damaged[place] ^= 1 << rng.integers(8)
            (tmp_path / FILE).write_bytes(damaged)
            with pytest.raises(ValueError, match="cannot be loaded: "):
                pf.load(tmp_path)

    def test_a_file_that_was_cut_off_is_found(self, saved, tmp_path, rng):
        content = (saved / FILE).read_bytes()
        for length in [*range(10), *rng.integers(10, len(content), 20), len(content) - 1]:
            (tmp_path / FILE).write_bytes(content[:length])
            with pytest.raises(ValueError, match="cannot be loaded: "):
                pf.load(tmp_path)

    @pytest.mark.parametrize(
        ("change", "message"),
        [
            (top("class", "CloudRegressor"), "'class_weight' is no option"),
            (top("class", "os:system"), "holds a 'os:system': expected one of .*Cloud"),
            (top("class", "pointforms.models.portfolio:CloudClassifier"), "expected one of .*Clo"),
            (top("parts", None), "its configuration is damaged: no parts"),
            (top("parts", {}), "weights 'parts.* of a part that it does not describe"),
            (top("parts", {"linear": 3}), "its configuration is damaged: no parts"),
            (option("parts", []), r"parts=\(\): expected a sequence"),
            (option("parts", ["linear", "forest"]), "its parts have 'forms': expected some of lin"),
            (option("device", "meta"), "device='meta' holds no numbers"),
            (option("neighbors", -1), "neighbors=-1: expected"),
            (option("part", 1), "'part' is no option: did you mean 'parts'"),
            (renamed_part, "its parts have 'other'"),
            (swapped_parts, "part 'linear': array 'children' is unknown"),
            (nested, "part 'forms': it is a 'CloudClassifier': expected a 'PointFormClassifier'"),
            (part("forms", "class", "PointFormRegressor"), "part 'forms': it is a 'PointFormRegr"),
            (part("forms", "options", None), "part 'forms': its configuration is damaged: no opt"),
            (part_option("forms", "forms", 99), "part 'forms': its weights .* describe"),
            (part_option("forms", "hidden", [10**6, 10**6]), "part 'forms': .* options describe"),
            (part_option("forms", "bandwidth", 3.0), "its networks do not have one geometry"),
            (part_learned("forms", "n_features_in_", 4), "part 'forms': attribute .* 4 features"),
            (part_learned("forms", "classes_", TWO), "part 'forms': its classes are not those of"),
            (part_learned("forms", "neighbors_", 5), "its networks do not have one geometry"),
            (learned("n_features_in_", 10**9), "part 'linear': it reads 27 summaries .* 5"),
            (learned("n_features_in_", 0), "attribute n_features_in_ is 0"),
            (learned("classes_", {"values": [0, 1, 2], "dtype": "<i8"}), "3 entries for 2 outputs"),
            (learned("oof_score_", float("nan")), "attribute oof_score_ is nan"),
            (learned("oof_scores_", {"auroc": "1"}), "attribute oof_scores_ is"),
            (learned("part_scores_", {"linear": 1.0}), "attribute part_scores_ is"),
            (learned("batch_centers_", {"a": [1.0]}), "batch_centers_: expected 3 numbers"),
            (learned("batch_centers_", {}), "batch_centers_: expected 3 numbers"),
            (learned("covariates_", [{"name": "age"}]), "attribute covariates_ is"),
            (learned("covariates_", [{"name": "age", "mean": 0.0, "scale": 1.0, "levels": []}]),
             "part 'linear': it reads 27 summaries .* expected 28"),
            (learned("parts_", {}), "'parts_' is no fitted attribute"),
            (learned("pool_", {}), "'pool_' is no fitted attribute"),
            (top("contributions", None), "its contributions are damaged"),
            (top("contributions", {"geometry": {"gain": 1.0}}), "its contributions are damaged"),
            (top("contributions", {"all": {}}), "its contributions are damaged"),
            (without("pool.weights"), "array 'weights' is missing"),
            (without("pool.constant"), "array 'constant' is missing"),
            (without("oof_predictions"), "its out-of-fold predictions are missing"),
            (without("parts.linear.scale"), "part 'linear': array 'scale' is missing"),
            (without("parts.forms.members.0.mean"), "part 'forms': it has too few weights for 5"),
            (tensor("pool.weights", lambda w: w[1:].clone()), r"'weights' has shape \(4,\)"),
            (tensor("pool.weights", lambda w: -w), "array 'weights' has values from"),
            (tensor("pool.weights", undefined), "array 'weights' has values that are not finite"),
            (tensor("pool.weights", torch.Tensor.float), "array 'weights' has the type float32"),
            (tensor("pool.constant", lambda c: c[:1].clone()), "'constant' has one entry"),
            (tensor("oof_predictions", infinite), "out-of-fold predictions are not finite"),
            (tensor("oof_predictions", lambda p: p[:, :1].clone()), r"have shape \(24, 1\)"),
            (tensor("oof_predictions", torch.Tensor.float), "out-of-fold predictions are missing"),
            (tensor("parts.linear.centre", undefined), "part 'linear': array 'centre' has"),
            (tensor("parts.forest.children", lambda c: c * 0), "part 'forest': array 'children'"),
            (tensor("parts.forest.leaves", lambda v: v * 2), "part 'forest': array 'leaves'"),
            (tensor("parts.forms.members.0.mean", undefined), "part 'forms': .* are not finite"),
        ],
    )  # fmt: skip
    def test_nothing_in_a_file_is_trusted(self, change, message, saved, tmp_path):
        folder = changed(saved, tmp_path / "model", change)
        size = (folder / FILE).stat().st_size
        tracemalloc.start()
        try:
            with pytest.raises(ValueError, match=f"model' cannot be loaded: .*{message}"):
                pf.load(folder)
            assert tracemalloc.get_traced_memory()[1] < 30 * size + 2**22
        finally:
            tracemalloc.stop()

    @pytest.mark.parametrize(
        ("change", "message"),
        [
            (part_learned("forms", "single_target_", True), "part 'forms': it has 1 outputs"),
            (part("forms", "class", "PointFormClassifier"), "part 'forms': it is a 'PointFormClas"),
            (learned("single_target_", False), r"have shape \(24,\): expected \(24, 1\)"),
            (learned("target_scale_", [1.0, 1.0]), "target_scale_ has 2 entries for 1 outputs"),
            (learned("target_mean_", [float("inf")]), "attribute target_mean_ is"),
        ],
    )
    def test_nor_in_that_of_a_regressor(self, change, message, saved_regressor, tmp_path):
        with pytest.raises(ValueError, match=f"cannot be loaded: .*{message}"):
            pf.load(changed(saved_regressor, tmp_path / "model", change))

    def test_a_header_that_names_more_than_the_file_has(self, saved, tmp_path):
        content = (saved / FILE).read_bytes()
        length = int.from_bytes(content[:8], "little")
        header = json.loads(content[8 : 8 + length])
        for shape in ([10**12], [2] * 100, [-1], [True], "all"):
            header["pool.weights"]["shape"] = shape
            text = json.dumps(header).encode()
            (tmp_path / FILE).write_bytes(
                len(text).to_bytes(8, "little") + text + content[8 + length :]
            )
            with pytest.raises(ValueError, match=r"weights (are|is) damaged"):
                pf.load(tmp_path)

    def test_what_cannot_be_loaded_is_not_saved(self, saved, tmp_path):
        model = pf.load(saved)
        model.save(tmp_path)
        before = (tmp_path / FILE).read_bytes()
        model.pool_.weights[0] = np.nan
        with pytest.raises(
            ValueError, match="this CloudClassifier cannot be saved: array 'weights"
        ):
            model.save(tmp_path)
        assert (tmp_path / FILE).read_bytes() == before


class TestDevices:
    def test_one_that_is_not_there_becomes_the_cpu(self, saved, clouds, whole, tmp_path):
        def elsewhere(config, tensors):
            for own in (config, config["parts"]["forms"], config["parts"]["centred forms"]):
                own["options"]["device"] = "cuda:99"

        folder = changed(saved, tmp_path / "model", elsewhere)
        with pytest.warns(UserWarning, match="saved with device='cuda:99', which is not available"):
            model = pf.load(folder)
        assert model.device == model.parts_["forms"].device == "cpu"
        np.testing.assert_array_equal(model.predict_proba(clouds), whole.predict_proba(clouds))


def test_only_registered_names_are_found():
    assert registered_class("CloudClassifier") is pf.CloudClassifier
    for name in ("json:loads", "OrderedDict", "", None, 3, ["CloudClassifier"]):
        with pytest.raises(ValueError, match="expected one of Arcsinh, CloudClassifier, Cloud"):
            registered_class(name)
