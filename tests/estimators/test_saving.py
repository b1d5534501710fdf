from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from tests.helpers.small_fits import SMALL

import pointforms as pf
from pointforms.estimators import saving


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


class TestSavedBy010:
    """Models that version 0.1.0 saved, and what it predicted with them."""

    folder = Path(__file__).parents[1] / "data" / "saved-by-0.1.0"

    @pytest.mark.parametrize(
        ("name", "kind", "method"),
        [
            ("classifier", pf.PointFormClassifier, "predict_proba"),
            ("regressor", pf.PointFormRegressor, "predict"),
            ("transformer", pf.PointFormTransformer, "transform"),
        ],
    )
    def test_they_predict_the_same(self, name, kind, method, tmp_path):
        clouds = list(np.load(self.folder / "clouds.npy"))
        expected = np.load(self.folder / "expected.npz")[name]
        estimator = pf.load(self.folder / name)
        assert type(estimator) is kind
        np.testing.assert_allclose(getattr(estimator, method)(clouds), expected, atol=1e-6)
        estimator.save(tmp_path / "again")
        again = pf.load(tmp_path / "again")
        np.testing.assert_allclose(getattr(again, method)(clouds), expected, atol=1e-6)

    def test_labels_are_those_of_fit(self):
        estimator = pf.load(self.folder / "classifier")
        assert estimator.classes_.tolist() == ["round", "wide"]
        assert estimator.history_[estimator.best_epoch_]["validation"] > 0


def test_a_class_of_your_own_can_be_loaded(fitted, data, tmp_path):
    class Renamed(pf.PointFormClassifier):
        """Joins the registry by being defined."""

    own = Renamed(**SMALL | {"epochs": 1}).fit(*data[:3])
    own.save(tmp_path / "own")
    assert type(pf.load(tmp_path / "own")) is Renamed


def test_a_failed_save_leaves_the_old_model(fitted, data, tmp_path, monkeypatch):
    fitted.save(tmp_path / "model")
    before = pf.load(tmp_path / "model").predict_proba(data[3])

    def fail(*_):
        raise OSError("no space left on device")

    monkeypatch.setattr(saving, "save_file", fail)
    with pytest.raises(OSError, match="no space"):
        fitted.save(tmp_path / "model")
    np.testing.assert_array_equal(pf.load(tmp_path / "model").predict_proba(data[3]), before)
    assert [path.name for path in tmp_path.iterdir()] == ["model"]
