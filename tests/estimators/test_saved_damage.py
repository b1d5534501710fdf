"""Saved models that are damaged, or not models."""

from __future__ import annotations

import tracemalloc

import numpy as np
import pytest
import torch
from tests.helpers.saved_models import changed

import pointforms as pf


class TestDamage:
    def test_no_model(self, tmp_path):
        for folder in (tmp_path, tmp_path / "absent"):
            with pytest.raises(FileNotFoundError, match="no saved estimator in"):
                pf.load(folder)

    def test_a_flipped_bit_anywhere_is_found(self, fitted, tmp_path, rng):
        fitted.save(tmp_path)
        file = tmp_path / "model.safetensors"
        content = file.read_bytes()
        header = int.from_bytes(content[:8], "little")
        places = [
            *range(8),
            *rng.integers(8, header + 8, 30),
            *rng.integers(header, len(content), 20),
        ]
        for place in places:
            damaged = bytearray(content)
            damaged[place] ^= 1 << rng.integers(8)
            file.write_bytes(damaged)
            with pytest.raises(ValueError, match=r"test_a_flipped_bit.* cannot be loaded: "):
                pf.load(tmp_path)

    def test_a_file_that_was_cut_off_is_found(self, fitted, tmp_path, rng):
        fitted.save(tmp_path)
        file = tmp_path / "model.safetensors"
        content = file.read_bytes()
        for length in [*range(10), *rng.integers(10, len(content), 20), len(content) - 1]:
            file.write_bytes(content[:length])
            with pytest.raises(ValueError, match="cannot be loaded: "):
                pf.load(tmp_path)
        file.write_bytes(content + b"\0")
        with pytest.raises(ValueError, match="bytes do not fit the header"):
            pf.load(tmp_path)

    @pytest.mark.parametrize(
        ("config", "message"),
        [
            ({"format": 99}, "has format 99, this version reads up to 2: update"),
            ({"format": True}, "has format True"),
            ({"class": "os.system"}, r"holds a 'os\.system': expected one of .*Point"),
            ({"class": ["PointFormClassifier"]}, "holds a .* expected one of .*Point"),
            ({"options": []}, "its configuration is damaged: no options"),
            ({"options__hiden": [4]}, "'hiden' is no option: did you mean 'hidden'"),
            ({"options__forms": "2"}, "forms='2': expected a whole number"),
            ({"options__forms": True}, "forms=True: expected a whole number"),
            ({"options__hidden": "ab"}, "hidden='ab': expected a sequence"),
            ({"options__dtype": "float16"}, "dtype='float16': expected one of"),
            ({"options__bandwidth": float("nan")}, "bandwidth=nan: expected a finite number"),
            ({"options__neighbors": 0}, "neighbors=0: expected at least 2"),
            ({"options__device": "meta"}, "device='meta' holds no numbers"),
            ({"options__device": "toaster"}, "toaster"),
            ({"options__device": 0}, "device=0: expected text"),
            ({"options__dtype": "float64"}, "are float32 .*: its options describe float64"),
            ({"options__forms": 3}, "its weights .* its options describe"),
            ({"options__hidden": [50000, 50000]}, "its weights .* its options describe"),
            ({"options__hidden": [4] * 10**4}, "more layers than it has weights"),
            ({"options__degree": 10**9, "learned__n_features_in_": 2 * 10**9}, "is too high"),
            ({"options__head": 0}, "has 2 entries for 32 outputs"),
            ({"learned__predict": 1}, "'predict' is no fitted attribute"),
            ({"learned__model_": 1}, "'model_' is no fitted attribute"),
            ({"learned": {}}, "the fitted attribute 'n_features_in_' is missing"),
            ({"learned__n_features_in_": 10**12}, "2e.12 coefficients per point"),
            ({"learned__n_features_in_": "2"}, "attribute n_features_in_ is '2'"),
            ({"learned__dimension_": -1}, "attribute dimension_ is -1"),
            ({"learned__history_": [{"train": "x"}]}, "attribute history_ is"),
            ({"learned__classes_": ["a", "b"]}, "attribute classes_ is"),
            ({"learned__classes_": {"values": ["a"], "dtype": "<U1"}}, "has 1 entries for 2 outp"),
            ({"learned__classes_": {"values": ["a", "a"], "dtype": "<U1"}}, "different values"),
            ({"learned__classes_": {"values": ["ab", "a"], "dtype": "<U1"}}, "has other values"),
            ({"learned__classes_": {"values": [1.5, 2], "dtype": "<i8"}}, "has other values"),
            ({"learned__classes_": {"values": [1, 2], "dtype": "i4,i4"}}, "type 'i4,i4' is none"),
            ({"learned__classes_": {"values": [[], {}], "dtype": "O"}}, "something else than text"),
            ({"learned__classes_": {"values": ["a", "b"], "dtype": "<U99999999"}}, "is too large"),
        ],
    )  # fmt: skip
    def test_the_configuration_is_not_trusted(self, config, message, tmp_path):
        folder = changed(tmp_path, **config)
        size = sum(file.stat().st_size for file in folder.iterdir())
        tracemalloc.start()
        try:
            with pytest.raises(ValueError, match=f"model' cannot be loaded: .*{message}"):
                pf.load(folder)
            assert tracemalloc.get_traced_memory()[1] < 30 * size + 2**22
        finally:
            tracemalloc.stop()

    @pytest.mark.parametrize("text", ["", "[" * 10**5, "[1]", "null", '{"format": 1', "\x00", "{}"])
    def test_json_of_other_forms(self, text, tmp_path):
        folder = changed(tmp_path)
        (folder / "estimator.json").write_text(text)
        with pytest.raises(ValueError, match="cannot be loaded: "):
            pf.load(folder)

    @pytest.mark.parametrize(
        ("weights", "message"),
        [
            (lambda old: {"mean": old["mean"] * np.nan}, "'mean' are not finite"),
            (lambda old: {"more": torch.zeros(1)}, "weights 'more', which its options do not desc"),
            (lambda old: {"mean": torch.zeros(3)}, "weights 'mean' are .*: its options describe"),
            (lambda old: {"mean": old["mean"].double()}, "weights 'mean' are float64"),
        ],
    )
    def test_the_weights_are_not_trusted(self, weights, message, tmp_path):
        with pytest.raises(ValueError, match=f"model' cannot be loaded: .*{message}"):
            pf.load(changed(tmp_path, weights=weights))

    def test_half_a_model_of_0_1_0(self, tmp_path):
        folder = changed(tmp_path)
        (folder / "model.safetensors").rename(tmp_path / "weights")
        with pytest.raises(ValueError, match=r"cannot be loaded: .*model\.safetensors"):
            pf.load(folder)
        (tmp_path / "weights").rename(folder / "model.safetensors")
        (folder / "estimator.json").unlink()
        with pytest.raises(ValueError, match="are not those of a saved estimator"):
            pf.load(folder)
