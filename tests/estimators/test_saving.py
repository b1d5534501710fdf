from __future__ import annotations

import errno
import os
import shutil
import stat
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest
import torch
from tests.helpers.saved_models import SAVED_BY_0_1_0, changed
from tests.helpers.small_fits import SMALL

import pointforms as pf
from pointforms.estimators import saving
from pointforms.estimators.saved_values import Attribute, Floats, Names

QUICK = SMALL | {"epochs": 1}


def names(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


class TestRoundTrip:
    def test_a_model_predicts_the_same(self, fitted, data, tmp_path):
        *_, test, _ = data
        fitted.save(tmp_path / "model")
        again = pf.load(tmp_path / "model")
        np.testing.assert_array_equal(again.predict_proba(test), fitted.predict_proba(test))
        assert again.get_params() == fitted.get_params()
        assert again.classes_.dtype == fitted.classes_.dtype
        assert again.classes_.tolist() == fitted.classes_.tolist()
        assert (again.history_, again.best_epoch_) == (fitted.history_, fitted.best_epoch_)
        assert names(tmp_path / "model") == ["model.safetensors"]
        fitted.save(tmp_path / "model")  # over itself

    @pytest.mark.parametrize("kind", [pf.PointFormRegressor, pf.PointFormTransformer])
    def test_other_estimators(self, kind, data, tmp_path):
        clouds, y, _, test, _ = data
        one = kind(**(QUICK | {"degree": (1, 2)})).fit(clouds, y)
        one.save(tmp_path / "model")
        again = pf.load(tmp_path / "model")
        assert type(again) is kind
        method = "transform" if kind is pf.PointFormTransformer else "predict"
        np.testing.assert_array_equal(getattr(again, method)(test), getattr(one, method)(test))

    @pytest.mark.parametrize(
        "options",
        [
            {"dtype": "float64"},
            {"degree": (1, 2), "coefficients": "wedge", "head": 0},
            {"hidden": [8, 8], "readout": "pool", "random_state": np.random.RandomState(0)},
        ],
    )
    def test_all_kinds_of_networks(self, options, data, tmp_path):
        clouds, y, groups, test, _ = data
        one = pf.PointFormClassifier(**QUICK | options).fit(clouds, y, groups)
        one.save(tmp_path / "model")
        again = pf.load(tmp_path / "model")
        np.testing.assert_array_equal(again.predict_proba(test), one.predict_proba(test))
        for name, value in one.model_.state_dict().items():
            assert again.model_.state_dict()[name].dtype == value.dtype
        assert again.set_params(epochs=2).fit(clouds, y, groups).predict(test).shape == (40,)

    @pytest.mark.parametrize(
        ("labels", "weights"),
        [
            (np.array([0, 1]), {0: 1.0, 1: 5.0}),
            (np.array([0, 1]), {np.int64(0): 1.0, np.int64(1): np.float32(5)}),
            (np.array([False, True]), {False: 1.0, True: 5.0}),
            (np.array(["a", "b"]), {"a": 1.0, np.str_("b"): 5.0}),
            (np.array(["pairs", "values"]), {"pairs": 1.0, "values": 5.0}),
            (np.array(["a", "b"], dtype=object), "balanced"),
        ],
    )
    def test_class_weights_and_labels_keep_their_types(self, labels, weights, data, tmp_path):
        clouds, y, groups, test, _ = data
        one = pf.PointFormClassifier(**QUICK, class_weight=weights).fit(clouds, labels[y], groups)
        one.save(tmp_path / "model")
        again = pf.load(tmp_path / "model")
        assert again.class_weight == weights
        assert again.classes_.dtype == one.classes_.dtype
        np.testing.assert_array_equal(again.predict(test), one.predict(test))
        again.fit(clouds, labels[y], groups)  # with the weights it has

    def test_the_callers_random_numbers_are_left_alone(self, fitted, tmp_path):
        fitted.save(tmp_path / "model")
        state = torch.get_rng_state()
        pf.load(tmp_path / "model")
        assert torch.equal(torch.get_rng_state(), state)

    def test_a_class_of_your_own_can_be_loaded(self, data, tmp_path):
        class Renamed(pf.PointFormClassifier):
            """Joins the registry by being defined."""

        own = Renamed(**QUICK).fit(*data[:3])
        own.save(tmp_path / "own")
        assert type(pf.load(tmp_path / "own")) is Renamed

    def test_attributes_of_your_own_are_declared(self, data, tmp_path):
        class Named(pf.PointFormTransformer):
            _learned = pf.PointFormTransformer._learned | {
                "names_": Attribute(Names, "features", optional=True),
                "origin_": Attribute(Floats, "features", optional=True),
            }

        own = Named(**QUICK | {"epochs": 0}).fit(data[0])
        own.save(tmp_path)
        assert not hasattr(pf.load(tmp_path), "origin_")  # as in models of older versions
        own.names_ = np.array(["x", "y"], dtype=object)
        own.origin_ = np.array([1e300, -0.1])
        own.save(tmp_path)
        again = pf.load(tmp_path)
        assert (again.names_.dtype, again.names_.tolist()) == (object, ["x", "y"])
        assert (again.origin_.dtype, again.origin_.tolist()) == (np.float64, [1e300, -0.1])
        for name, wrong in (
            ("names_", np.array([1, 2])),
            ("names_", np.array(["x"])),
            ("names_", "xy"),
            ("origin_", np.array([np.inf, 0])),
            ("origin_", np.zeros((2, 2))),
            ("origin_", np.array([b"x", b"y"])),
        ):
            right = getattr(own, name)
            setattr(own, name, wrong)
            with pytest.raises(ValueError, match="this Named cannot be saved: "):
                own.save(tmp_path)
            setattr(own, name, right)

    def test_what_cannot_be_loaded_is_not_saved(self, fitted, tmp_path):
        fitted.save(tmp_path)
        before = (tmp_path / "model.safetensors").read_bytes()
        other = pf.load(tmp_path).set_params(forms=9)  # not those of its network
        with pytest.raises(ValueError, match="this PointFormClassifier cannot be saved: its weigh"):
            other.save(tmp_path)
        other = pf.load(tmp_path)
        other.model_.mean.fill_(np.nan)
        with pytest.raises(ValueError, match="cannot be saved: its weights 'mean' are not finite"):
            other.save(tmp_path)
        assert (tmp_path / "model.safetensors").read_bytes() == before


class TestMachines:
    def test_a_cache_does_not_travel(self, data, tmp_path):
        one = pf.PointFormClassifier(**QUICK, cache=tmp_path / "cache").fit(*data[:3])
        one.save(tmp_path / "model")
        assert "cache" not in (tmp_path / "model" / "model.safetensors").read_bytes().decode("l1")
        assert pf.load(tmp_path / "model").cache is None
        aimed = changed(tmp_path / "old", options__cache=str(tmp_path / "elsewhere"))
        again = pf.load(aimed)
        assert again.cache is None
        again.predict_proba(data[3])
        assert not (tmp_path / "elsewhere").exists()

    def test_a_device_that_is_not_there_becomes_the_cpu(self, data, tmp_path):
        clouds = list(np.load(SAVED_BY_0_1_0 / "clouds.npy"))
        with pytest.warns(UserWarning, match="saved with device='cuda:99', which is not available"):
            again = pf.load(changed(tmp_path, options__device="cuda:99"))
        assert again.device == "cpu"
        assert np.isfinite(again.predict_proba(clouds)).all()

    def test_files_have_the_permissions_of_the_user(self, fitted, tmp_path):
        mask = os.umask(0o027)
        try:
            fitted.save(tmp_path / "model")
        finally:
            os.umask(mask)
        assert stat.S_IMODE((tmp_path / "model" / "model.safetensors").stat().st_mode) == 0o640


class TestReplacing:
    """A folder holds the old model or the new one, complete, whatever fails in between."""

    @pytest.fixture
    def new(self, fitted, tmp_path):
        fitted.save(tmp_path / "other")
        return pf.load(tmp_path / "other").set_params(patience=7)

    @pytest.fixture(params=["of this version", "of 0.1.0"])
    def folder(self, request, fitted, tmp_path):
        folder = tmp_path / "model"
        if request.param == "of 0.1.0":
            shutil.copytree(SAVED_BY_0_1_0 / "classifier", folder)
        else:
            fitted.save(folder)
        (folder / "notes.txt").write_text("mine")
        return folder

    def test_other_files_stay(self, folder, new):
        (folder / "figures").mkdir()
        new.save(folder)
        assert names(folder) == ["figures", "model.safetensors", "notes.txt"]
        assert (folder / "notes.txt").read_text() == "mine"
        assert pf.load(folder).patience == 7

    def test_it_is_complete_at_every_step(self, folder, new, monkeypatch):
        """What a kill would leave: the folder is read before and after each step."""
        seen = []

        def watched(function):
            def call(*args, **kwargs):
                seen.append(pf.load(folder).patience)
                result = function(*args, **kwargs)
                seen.append(pf.load(folder).patience)
                return result

            return call

        for place, name in ((os, "fsync"), (os, "replace"), (Path, "unlink")):
            monkeypatch.setattr(place, name, watched(getattr(place, name)))
        new.save(folder)
        assert seen[:4] == [20, 20, 20, 7]
        assert set(seen[4:]) == {7}

    @pytest.mark.parametrize("step", ["fsync", "replace"])
    def test_a_full_disk_leaves_the_old_model(self, step, folder, new, monkeypatch):
        before = names(folder)

        def full(*_, **__):
            raise OSError(errno.ENOSPC, "No space left on device")

        monkeypatch.setattr(os, step, full)
        with pytest.raises(OSError, match="No space left"):
            new.save(folder)
        assert names(folder) == before
        assert pf.load(folder).patience == 20

    def test_files_of_your_own_with_our_old_name_stay(self, fitted, tmp_path):
        fitted.save(tmp_path)
        (tmp_path / "estimator.json").write_text('{"note": "mine"}')
        fitted.save(tmp_path)
        assert (tmp_path / "estimator.json").read_text() == '{"note": "mine"}'
        assert pf.load(tmp_path).get_params() == fitted.get_params()

    def test_several_can_save_to_one_folder(self, fitted, tmp_path):
        def save(patience: int) -> int:
            one = pf.load(tmp_path / "other").set_params(patience=patience)
            one.save(tmp_path / "model")
            return pf.load(tmp_path / "model").patience  # the model of one of them

        fitted.save(tmp_path / "other")
        with ThreadPoolExecutor(4) as threads:
            assert set(threads.map(save, range(1, 13))) <= set(range(1, 13))
        assert names(tmp_path / "model") == ["model.safetensors"]

    def test_another_may_save_between_two_looks(self, fitted, tmp_path, monkeypatch):
        """A folder that is empty at the first look and has a model at the next is not foreign."""
        fitted.save(tmp_path / "other")
        (folder := tmp_path / "model").mkdir()

        def another_saves_after(look):
            def call(*args):
                result = look(*args)
                shutil.copy(tmp_path / "other" / "model.safetensors", folder)
                return result

            return call

        for look in ("_is_empty", "_holds_model"):
            monkeypatch.setattr(saving, look, another_saves_after(getattr(saving, look)))
        fitted.save(folder)
        assert pf.load(folder).get_params() == fitted.get_params()

    @pytest.mark.parametrize("name", ["notes.txt", "model.safetensors", "estimator.json"])
    def test_other_folders_are_left_alone(self, name, fitted, tmp_path):
        (tmp_path / name).write_text("mine")
        with pytest.raises(ValueError, match="holds something else"):
            fitted.save(tmp_path)
        assert (tmp_path / name).read_text() == "mine"
        with pytest.raises(ValueError, match="is a file: expected a folder"):
            fitted.save(tmp_path / name)

    def test_a_killed_first_save_can_be_repeated(self, fitted, tmp_path):
        (tmp_path / ".part-1234-model.safetensors").write_bytes(b"half")
        fitted.save(tmp_path)
        assert pf.load(tmp_path).classes_.tolist() == [0, 1]


class TestSavedBy010:
    """Models that version 0.1.0 saved, and what it predicted with them."""

    @pytest.mark.parametrize(
        ("name", "kind", "method"),
        [
            ("classifier", pf.PointFormClassifier, "predict_proba"),
            ("regressor", pf.PointFormRegressor, "predict"),
            ("transformer", pf.PointFormTransformer, "transform"),
        ],
    )
    def test_they_predict_the_same(self, name, kind, method, tmp_path):
        clouds = list(np.load(SAVED_BY_0_1_0 / "clouds.npy"))
        expected = np.load(SAVED_BY_0_1_0 / "expected.npz")[name]
        estimator = pf.load(SAVED_BY_0_1_0 / name)
        assert type(estimator) is kind
        np.testing.assert_allclose(getattr(estimator, method)(clouds), expected, atol=1e-6)
        estimator.save(tmp_path / "again")
        again = pf.load(tmp_path / "again")
        np.testing.assert_allclose(getattr(again, method)(clouds), expected, atol=1e-6)

    def test_neighbors_that_were_chosen_for_each_cloud_are_fixed_with_a_warning(self, tmp_path):
        clouds = list(np.load(SAVED_BY_0_1_0 / "clouds.npy"))
        with pytest.warns(UserWarning, match="it now uses 32 for all, and predicts differently"):
            old = pf.load(changed(tmp_path, options__neighbors="auto"))
        assert old.neighbors_ == 32
        alone = np.concatenate([old.predict_proba([cloud]) for cloud in clouds])
        np.testing.assert_allclose(old.predict_proba(clouds), alone, atol=1e-6)

    def test_labels_are_those_of_fit(self):
        estimator = pf.load(SAVED_BY_0_1_0 / "classifier")
        assert estimator.classes_.tolist() == ["round", "wide"]
        assert estimator.history_[estimator.best_epoch_]["validation"] > 0

    def test_models_in_double_precision(self, tmp_path):
        def double(tensors):
            return {name: value.double() for name, value in tensors.items()}

        clouds = list(np.load(SAVED_BY_0_1_0 / "clouds.npy"))
        again = pf.load(changed(tmp_path, weights=double, options__dtype="float64"))
        expected = np.load(SAVED_BY_0_1_0 / "expected.npz")["classifier"]
        np.testing.assert_allclose(again.predict_proba(clouds), expected, atol=1e-6)

    @pytest.mark.parametrize(
        ("labels", "weights", "expected"),
        [
            ({"values": [0, 1], "dtype": "<i8"}, {"0": 1.0, "1": 5.0}, {0: 1.0, 1: 5.0}),
            ({"values": [False, True], "dtype": "|b1"}, {"true": 5.0}, {True: 5.0}),
            ({"values": [1.0, 2.0], "dtype": "<f8"}, {"1": 5.0}, {1: 5.0}),
            ({"values": ["1", "b"], "dtype": "<U1"}, {"1": 5.0}, {"1": 5.0}),
        ],
    )
    def test_weights_name_the_classes_again(self, labels, weights, expected, tmp_path):
        config = {"options__class_weight": weights, "learned__classes_": labels}
        assert pf.load(changed(tmp_path, **config)).class_weight == expected
