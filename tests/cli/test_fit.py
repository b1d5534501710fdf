"""`npf fit`: a file, what was understood of it, and a saved model."""

from __future__ import annotations

import os
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from tests.helpers.commands import ok, refused

import pointforms as pf

pytestmark = pytest.mark.usefixtures("folder")
QUICK = ["--set", 'parts=["linear"]']


def cells(first: int = 0, count: int = 12, points: int = 8) -> pd.DataFrame:
    """Samples whose CD4 is wider in the class yes; two of one donor after each other."""
    rng = np.random.default_rng(first)
    of = np.repeat(np.arange(first, first + count), points)
    return pd.DataFrame(
        {
            "sample": [f"s{i:02d}" for i in of],
            "response": np.where(of // 2 % 2, "yes", "no"),
            "donor": [f"d{i // 2}" for i in of],
            "CD3": rng.normal(size=len(of)),
            "CD4": rng.normal(size=len(of)) * (1 + 3 * (of // 2 % 2)),
        }
    )


COLUMNS = ["--cloud", "sample", "--label", "response"]


def test_a_model_is_saved_with_where_it_comes_from():
    cells().to_csv("cells.csv", index=False)
    printed = ok("fit", "cells.csv", *COLUMNS, *QUICK, "--out", "model", "--seed", 3)
    assert "donor: 6 groups (taken by its name; --group names another column)" in printed
    assert "response: no 6, yes 6 (classification)" in printed
    assert "Out of fold: AUROC" in printed
    assert printed.rstrip().endswith(f"Model: {Path('model').resolve()}")
    model = pf.load("model")
    assert model.feature_names_in_.tolist() == ["CD3", "CD4"]
    assert model.classes_.tolist() == ["no", "yes"]
    assert len(set(model.training_groups_)) == 6
    found = pf.estimators.read_provenance("model")
    assert (found.data, found.clouds, found.seed) == ("cells.csv", 12, 3)
    assert found.reading == {"cloud": "sample", "label": "response"}
    assert (found.model, found.version) == ("cloud-classifier", pf.__version__)
    assert len(found.content) == 16


def test_a_leak_is_refused_before_anything_is_trained():
    table = cells()
    table["os_months"] = np.where(table.response == "yes", 40, 10) + table.donor.str[1:].astype(int)
    table.to_csv("cells.csv", index=False)
    message = refused("fit", "cells.csv", *COLUMNS, *QUICK, "--out", "model")
    assert "column 'os_months' has one value per cloud" in message
    assert "--drop os_months leaves it out" in message
    assert os.listdir() == ["cells.csv"]
    ok("fit", "cells.csv", *COLUMNS, *QUICK, "--out", "model", "--drop", "os_months")
    assert pf.load("model").feature_names_in_.tolist() == ["CD3", "CD4"]


def test_covariates_and_batches_reach_the_model():
    table = cells().assign(age=lambda t: 40 + t.donor.str[1:].astype(int), plate="a")
    table.to_csv("cells.csv", index=False)
    more = ["--covariate", "age", "--batch", "plate"]
    printed = ok("fit", "cells.csv", *COLUMNS, *QUICK, *more, "--out", "model")
    assert "plate: a 12" in printed
    model = pf.load("model")
    assert [column["name"] for column in model.covariates_] == ["age"]
    assert list(model.batch_centers_) == ["a"]


def test_numbers_are_predicted_by_a_regressor():
    table = cells()
    table["months"] = table.groupby("sample").CD4.transform("std")
    table.drop(columns="response").to_csv("cells.csv", index=False)
    printed = ok("fit", "cells.csv", *COLUMNS[:3], "months", *QUICK, "--out", "model")
    assert "(regression, because it has fractions" in printed
    assert "Out of fold: R²" in printed
    assert isinstance(pf.load("model"), pf.CloudRegressor)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--model", "cloud-clasifier"], "did you mean 'cloud-classifier'"),
        (["--model", "cloud-regressor"], "the label holds classes; --task regression"),
        (["--set", "partz=1"], "partz"),
        (["--features", "CD3,CD5"], "no feature column 'CD5'"),
    ],
)
def test_mistakes_are_explained_and_leave_nothing(arguments, message):
    cells().to_csv("cells.csv", index=False)
    assert message in refused("fit", "cells.csv", *COLUMNS, "--out", "model", *arguments)
    assert os.listdir() == ["cells.csv"]


def test_any_model_of_the_registry_is_fitted_and_saved():
    cells().to_csv("cells.csv", index=False)
    printed = ok("fit", "cells.csv", *COLUMNS, "--model", "svm", "--out", "model")
    assert "Out of fold: AUROC" in printed or "no out-of-fold score" in printed
    assert len(ok("predict", "model", "cells.csv")) > 0


def test_other_folders_are_left_alone():
    cells().to_csv("cells.csv", index=False)
    Path("mine").mkdir()
    Path("mine", "thesis.txt").write_text("work")
    assert "holds something else" in refused("fit", "cells.csv", *COLUMNS, "--out", "mine")


def test_tasks_of_the_catalogue_can_be_fitted():
    ok("fit", "circles-vs-lines", "--clouds", 20, "--points", 8, *QUICK, "--out", "model")
    assert pf.estimators.read_provenance("model").data == "circles-vs-lines"
    message = refused("fit", "circles-vs-lines", "--label", "mine", *QUICK, "--out", "other")
    assert "columns are chosen in files only" in message
