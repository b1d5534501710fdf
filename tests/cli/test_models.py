"""`npf models`."""

from __future__ import annotations

from tests.helpers.commands import ok

from pointforms import models


def test_models_are_listed():
    listed = ok("models")
    for name, model in models.MODELS.items():
        assert name in listed
        assert model.title in listed
    assert "parameters" not in listed


def test_parameters_are_counted_on_request():
    assert "26 562" in ok("models", "--parameters")
    listed = ok("models", "--features", "45", "--classes", "7")
    for shown in ("npf-tri-1", "GraphTransformer", "173 063", "23 815", "logistic-regression"):
        assert shown in listed
