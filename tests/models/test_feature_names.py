"""Names of features travel through fit, save and predict, in every estimator."""

from __future__ import annotations

import warnings

import numpy as np
import pytest
from tests.helpers.tiny_estimators import (
    NAMES,
    POINT_FORMS,
    answers,
    make_quick,
    some_clouds,
    targets,
    tiny,
)

import pointforms as pf
from pointforms.models.hodge import HodgeFeatures
from pointforms.summaries import PooledSummaries

FEATURES = ["CD3", "CD4", "CD8"]
OTHER_ORDER = ["CD8", "CD3", "CD4"]
CLOUDS = some_clouds()
NAMED = pf.Clouds.from_list(CLOUDS, feature_names=FEATURES)
SAVED = [*POINT_FORMS, "CloudRegressor", "cloud-classifier"]


@pytest.fixture(autouse=True)
def quick(monkeypatch):
    make_quick(monkeypatch)


def fitted(name, clouds):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # two epochs do not learn much
        return tiny(name).fit(clouds, targets(name))


def check_names(model) -> None:
    """Features are found by their names, and other names are refused."""
    assert model.feature_names_in_.tolist() == FEATURES
    expected = answers(model, NAMED)
    np.testing.assert_array_equal(answers(model, NAMED.in_order(OTHER_ORDER)), expected)
    np.testing.assert_allclose(answers(model, CLOUDS), expected, rtol=1e-6)
    with pytest.raises(ValueError, match=r"only one of them has \['CD19', 'CD8'\]"):
        answers(model, pf.Clouds.from_list(CLOUDS, feature_names=["CD3", "CD4", "CD19"]))
    fewer = pf.Clouds.from_list([X[:, :2] for X in CLOUDS], feature_names=["CD3", "CD19"])
    with pytest.raises(ValueError, match=r"missing \['CD4', 'CD8'\], not known \['CD19'\]"):
        answers(model, fewer)


@pytest.mark.parametrize("name", NAMES)
def test_clouds_are_read_by_their_names(name, tmp_path):
    model = fitted(name, NAMED)
    check_names(model)
    if name in SAVED:
        model.save(tmp_path / "model")
        check_names(pf.load(tmp_path / "model"))
    assert not hasattr(fitted(name, CLOUDS), "feature_names_in_")


@pytest.mark.parametrize("make", [PooledSummaries, lambda: HodgeFeatures(neighbors=4, dimension=1)])
def test_transformers_read_clouds_by_their_names(make):
    check_names(make().fit(NAMED))


@pytest.mark.parametrize("name", [*SAVED, "mlp", "gcn", "random-forest", "hodge"])
def test_data_frames_are_read_by_their_columns(name):
    pd = pytest.importorskip("pandas")
    frames = [pd.DataFrame(X, columns=FEATURES) for X in CLOUDS]
    model = fitted(name, frames)
    check_names(model)
    mixed = [frame[OTHER_ORDER] if i % 2 else frame for i, frame in enumerate(frames)]
    np.testing.assert_array_equal(answers(model, mixed), answers(model, frames))
    with pytest.raises(ValueError, match="'CD19'"):
        answers(model, [frame.rename(columns={"CD8": "CD19"}) for frame in frames])


@pytest.mark.parametrize("name", SAVED)
def test_tables_and_anndata_are_read_by_their_names(name, tmp_path):
    pd, anndata = pytest.importorskip("pandas"), pytest.importorskip("anndata")
    cells = pd.DataFrame(np.concatenate(CLOUDS), columns=FEATURES)
    patient = np.repeat([f"P{i}" for i in range(len(CLOUDS))], [len(X) for X in CLOUDS])
    data = anndata.AnnData(cells.set_axis([f"cell {i}" for i in cells.index]))
    data.obs["patient"] = patient
    model = fitted(name, pf.read_anndata(data, "patient"))
    check_names(model)
    cells.insert(0, "patient", patient)
    cells[["CD8", "patient", "CD3", "CD4"]].to_csv(tmp_path / "cells.csv", index=False)
    table = pf.read_table(tmp_path / "cells.csv", cloud="patient")
    assert table.feature_names == ("CD8", "CD3", "CD4")
    np.testing.assert_allclose(answers(model, table), answers(model, NAMED), rtol=1e-5, atol=1e-7)


@pytest.mark.parametrize("name", [*SAVED, "mlp", "logistic-regression"])
def test_some_clouds_keep_their_names(name):
    train = np.flatnonzero(np.arange(16) < 12)
    some = NAMED[train]
    assert some.feature_names == NAMED.feature_names
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = tiny(name).fit(some, targets(name)[train])
    check_names(model)


@pytest.mark.parametrize("name", list(POINT_FORMS))
def test_clouds_that_await_units_keep_their_names(name):
    model = tiny(name)
    assert fitted(name, model.prepare(NAMED)).feature_names_in_.tolist() == FEATURES
