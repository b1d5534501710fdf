from __future__ import annotations

import pytest

from pointforms import models


def test_every_model_can_be_made():
    for name in models.names():
        assert hasattr(models.make(name, random_state=0), "predict_proba")


def test_an_unknown_model_is_explained():
    with pytest.raises(ValueError, match="no model 'resnet': expected one of 'npf-tri-1'"):
        models.make("resnet")
    with pytest.raises(ValueError, match="no model 'mpl': did you mean 'mlp'"):
        models.make("mpl")


def test_options_of_an_entry_are_defaults_that_can_be_changed():
    assert models.make("mlp").epochs == models.MODELS["mlp"].options["epochs"]
    assert models.make("mlp", epochs=3).epochs == 3
    with pytest.raises(TypeError, match="epoch"):
        models.make("mlp", epoch=3)
