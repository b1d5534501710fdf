"""Errors of pydantic, in one line."""

import pytest

from pointforms.bench.sweep import read_sweep
from pointforms.bench.validation import key_path


def test_paths_are_written_as_in_a_manifest():
    assert key_path(("sweep", 1, "grid", "weight_decay")) == "sweep[1].grid.weight_decay"
    assert key_path(("options", "a.b")) == 'options."a.b"'


def test_a_misspelt_key_comes_before_the_one_that_is_missing():
    with pytest.raises(ValueError, match=r"^task: not a valid key: did you mean 'tasks'\?$"):
        read_sweep({"task": ["colocated"], "models": ["mlp"]})
