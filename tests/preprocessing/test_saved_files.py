"""Saved transformers, pipelines and classical classifiers whose values are not possible."""

from __future__ import annotations

import json

import numpy as np
import pytest
import torch
from safetensors import safe_open
from sklearn.pipeline import make_pipeline

import pointforms as pf
from pointforms.estimators import model_file
from pointforms.estimators.saved_state import SavedState

pp = pf.preprocessing
CLOUDS = pf.Clouds.from_list(np.random.default_rng(0).lognormal(size=(12, 6, 3)))


def rewritten(folder, change) -> None:
    """Change a saved state, and write it with a checksum that is right."""
    file = folder / "model.safetensors"
    with safe_open(file, "pt") as opened:
        config = json.loads(opened.metadata()["pointforms"])
        tensors = {name: opened.get_tensor(name) for name in opened.keys()}  # noqa: SIM118
    change(config, tensors)
    config.pop("format")
    file.write_bytes(model_file.written(SavedState(config, tensors)))


def negative_unit(config, tensors):
    tensors["unit_"][0] = -1


def short_unit(config, tensors):
    tensors["unit_"] = tensors["unit_"][:2].clone()


def infinite_center(config, tensors):
    tensors["center_"][1] = torch.inf


def unknown_array(config, tensors):
    tensors["other_"] = torch.ones(2)


def no_center(config, tensors):
    del tensors["center_"]


def more_components(config, tensors):
    config["options"]["components"] = 3


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (negative_unit, "array unit_ has values that are not possible"),
        (short_unit, "array unit_ has 2 features: expected 3"),
        (infinite_center, "array center_ has values that are not possible"),
        (unknown_array, "it has an array 'other_' that is not known"),
        (no_center, "the array 'center_' is missing"),
        (more_components, "it has 2 axes for 3 components"),
    ],
)
def test_transformers(change, message, tmp_path):
    pp.PrincipalComponents(2).fit(CLOUDS).save(tmp_path)
    rewritten(tmp_path, change)
    with pytest.raises(ValueError, match=message):
        pf.load(tmp_path)


def rename(names):
    def change(config, tensors):
        config["options"]["names"] = names

    return change


def nested(config, tensors):
    config["parts"]["0"] = {"class": "Pipeline", "options": {"names": ["a"]}, "parts": {}}


def foreign(config, tensors):
    config["parts"]["0"]["class"] = "os:system"


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (rename(["a"]), "steps and their names differ"),
        (rename(["a", "a"]), "no names of steps"),
        (rename(["a", "b__c"]), "no names of steps"),
        (rename("ab"), "no names of steps"),
        (nested, "step 'log' is a pipeline"),
        (foreign, "holds a 'os:system'"),
    ],
)
def test_pipelines(change, message, tmp_path):
    pf.save(make_pipeline(pp.Log(), pp.Standardize()).fit(CLOUDS), tmp_path)
    rewritten(tmp_path, change)
    with pytest.raises(ValueError, match=message):
        pf.load(tmp_path)


def test_a_step_that_passes_clouds_on(tmp_path):
    pipe = make_pipeline(pp.Log(), pp.Standardize()).set_params(log="passthrough").fit(CLOUDS)
    pf.save(pipe, tmp_path)
    again = pf.load(tmp_path)
    assert again.steps[0] == ("log", "passthrough")
    np.testing.assert_array_equal(again.transform(CLOUDS).points, pipe.transform(CLOUDS).points)


def backward_tree(config, tensors):
    tensors["parts.head.children"][0] = 0


def vote_above_1(config, tensors):
    tensors["parts.head.leaves"][0] = 2


def other_columns(config, tensors):
    tensors["columns"] = tensors["columns"][1:].clone()


def other_head(config, tensors):
    config["options"]["head"] = "svm"


def no_predictions(config, tensors):
    tensors["out_of_fold"] = tensors["out_of_fold"][1:].clone()


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (backward_tree, "expected leaves or splits of larger indices"),
        (vote_above_1, "array 'leaves' has values from"),
        (other_columns, "array 'origin' has shape"),
        (other_head, "array 'children' is unknown"),
        (no_predictions, "its out-of-fold predictions have shape"),
    ],
)
def test_classifiers(change, message, tmp_path, monkeypatch):
    from pointforms.models.heads import forest

    monkeypatch.setattr(forest, "_TREES", 3)
    model = pf.models.make("random-forest", random_state=0).fit(CLOUDS, np.arange(12) % 2)
    model.save(tmp_path)
    rewritten(tmp_path, change)
    with pytest.raises(ValueError, match=message):
        pf.load(tmp_path)
