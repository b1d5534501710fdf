"""`npf predict`: a table with one row per cloud."""

from __future__ import annotations

import anndata
import numpy as np
import pandas as pd
import pytest
from tests.cli.test_fit import COLUMNS, QUICK, cells
from tests.helpers.commands import ok, refused

import pointforms as pf

pytestmark = pytest.mark.usefixtures("folder")


def as_h5ad(table: pd.DataFrame, name: str, columns: list[str]) -> None:
    table = table.set_index(table.index.astype(str))
    anndata.AnnData(table[["CD3", "CD4"]], obs=table[columns]).write_h5ad(name)


def test_other_clouds_are_predicted_without_repeating_options():
    as_h5ad(cells(), "cells.h5ad", ["sample", "response", "donor"])
    as_h5ad(cells(12, 4), "others.h5ad", ["sample"])  # no labels, no groups
    ok("fit", "cells.h5ad", *COLUMNS, *QUICK, "--out", "model")
    printed = ok("predict", "model", "others.h5ad", "--out", "table.csv")
    assert "4 of 8 points" in printed
    table = pd.read_csv("table.csv")
    columns = ["cloud", "prediction", "probability_no", "probability_yes", "out_of_fold"]
    assert list(table.columns) == columns
    assert table.cloud.tolist() == ["s12", "s13", "s14", "s15"]
    assert not table.out_of_fold.any()
    np.testing.assert_allclose(table.probability_no + table.probability_yes, 1)
    chosen = np.where(table.probability_yes > 0.5, "yes", "no")
    assert table.prediction.tolist() == chosen.tolist()


def test_training_clouds_are_predicted_out_of_fold():
    table = pd.concat([cells(), cells(12, 2)])
    table.to_csv("all.csv", index=False)
    cells().to_csv("cells.csv", index=False)
    ok("fit", "cells.csv", *COLUMNS, *QUICK, "--out", "model")
    printed = ok("predict", "model", "all.csv", "--out", "out/table.parquet")
    assert "12 of 14 clouds were training clouds" in printed
    found = pd.read_parquet("out/table.parquet")
    assert found.out_of_fold.tolist() == [True] * 12 + [False] * 2
    expected = pf.load("model").oof_predictions_[:, 1]
    np.testing.assert_allclose(found.probability_yes[:12], expected, rtol=1e-6)
    shuffled = table.sample(frac=1, random_state=0)
    shuffled.to_csv("shuffled.csv", index=False)
    assert "yes" in ok("predict", "model", "shuffled.csv")


def test_numbers_have_one_column():
    table = cells()
    table["months"] = table.groupby("sample").CD4.transform("std")
    table.to_csv("cells.csv", index=False)
    more = ["--drop", "response", "--out", "model"]
    ok("fit", "cells.csv", "--cloud", "sample", "--label", "months", *QUICK, *more)
    ok("predict", "model", "cells.csv", "--out", "table.csv")
    found = pd.read_csv("table.csv")
    assert list(found.columns) == ["cloud", "prediction", "out_of_fold"]
    np.testing.assert_allclose(found.prediction, pf.load("model").oof_predictions_, rtol=1e-6)


def test_what_the_model_needs_is_asked_for():
    table = cells().assign(age=lambda t: 40 + t.donor.str[1:].astype(int))
    table.to_csv("cells.csv", index=False)
    ok("fit", "cells.csv", *COLUMNS, *QUICK, "--covariate", "age", "--out", "model")
    table.drop(columns="age").to_csv("young.csv", index=False)
    assert "no column 'age'" in refused("predict", "model", "young.csv")
    table.drop(columns="CD4").to_csv("few.csv", index=False)
    message = refused("predict", "model", "few.csv")
    assert "no feature column 'CD4'" in message
    assert "the model needs the features CD3, CD4" in message
    assert "did you mean" not in message  # CD3 is another feature of the model
    table.rename(columns={"CD4": "cd4"}).to_csv("lower.csv", index=False)
    assert "did you mean 'cd4'" in refused("predict", "model", "lower.csv")
    table.rename(columns={"sample": "tube"}).to_csv("renamed.csv", index=False)
    assert "no column 'sample'" in refused("predict", "model", "renamed.csv")
    assert "s11" in ok("predict", "model", "renamed.csv", "--cloud", "tube")


def test_mistakes_are_explained():
    cells().to_csv("cells.csv", index=False)
    assert "no saved estimator in 'none'" in refused("predict", "none", "cells.csv")
    ok("fit", "cells.csv", *COLUMNS, *QUICK, "--out", "model")
    assert "expected a name that ends in .csv or .parquet" in refused(
        "predict", "model", "cells.csv", "--out", "table.xlsx"
    )
    message = refused("predict", "model", "cells.csv", "--out", "cells.csv")
    assert "is read by this command" in message


@pytest.mark.slow
def test_a_whole_portfolio_from_the_shell():
    as_h5ad(cells(points=20), "cells.h5ad", ["sample", "response", "donor"])
    as_h5ad(cells(12, 4, points=20), "others.h5ad", ["sample"])
    printed = ok("fit", "cells.h5ad", *COLUMNS, "--out", "model")
    assert "geometry adds" in printed
    ok("predict", "model", "others.h5ad", "--out", "table.csv")
    assert len(pd.read_csv("table.csv")) == 4
