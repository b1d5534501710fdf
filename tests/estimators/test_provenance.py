"""Where a saved model comes from."""

from __future__ import annotations

import pytest

import pointforms as pf
from pointforms.estimators import Provenance, read_provenance, save


@pytest.fixture(scope="module")
def model():
    task = pf.tasks.load("circles-vs-lines", clouds=20, points=8)
    return pf.PointFormTransformer(forms=2, epochs=0, neighbors=6, random_state=0).fit(task.clouds)


def test_it_is_in_the_file_of_the_model(model, tmp_path):
    given = Provenance("cells.csv", "ab12", {"drop": ["batch"], "drop_missing": True}, 3, 20, "npf")
    save(model, tmp_path, given)
    assert read_provenance(tmp_path) == given
    assert [path.name for path in tmp_path.iterdir()] == ["model.safetensors"]
    assert pf.load(tmp_path).n_features_in_ == 2


def test_models_may_have_none(model, tmp_path):
    model.save(tmp_path)
    assert read_provenance(tmp_path) is None
    with pytest.raises(FileNotFoundError, match="no saved estimator"):
        read_provenance(tmp_path / "absent")


@pytest.mark.parametrize("values", [3, {"data": 3}, {"data": "a", "reading": []}])
def test_damaged_ones_are_refused(values):
    with pytest.raises(ValueError, match="its provenance is damaged"):
        Provenance.from_json(values)
