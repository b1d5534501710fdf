"""Options about one's own file: the same in every command that takes data."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from tests.cli.test_fit import COLUMNS, cells
from tests.helpers.commands import ok, refused

pytestmark = pytest.mark.usefixtures("folder")


@pytest.fixture
def leaking(folder) -> None:
    """A file with a column of the cloud among the coordinates."""
    table = cells()
    table["os_months"] = table.donor.str[1:].astype(int) * 3.5
    table.to_csv("cells.csv", index=False)


MANIFEST = """
folds = 1
[[sweep]]
tasks = ["cells.csv"]
models = ["logistic-regression"]
"""


@pytest.mark.usefixtures("leaking")
@pytest.mark.parametrize(
    "command",
    [
        ["tasks", "show", "cells.csv", *COLUMNS],
        ["tasks", "write", "cells.csv", "out.npz", *COLUMNS],
        ["inspect", "cells.csv", "--cloud", "sample", "--neighbors", "6"],
        ["run", "cells.csv", "logistic-regression", "--folds", "1", *COLUMNS],
        ["sweep", "small.toml", *COLUMNS],
    ],
)
def test_a_leak_is_refused_and_can_be_dropped(command):
    Path("small.toml").write_text(MANIFEST)
    assert "column 'os_months' has one value per cloud" in refused(*command)
    printed = ok(*command, "--drop", "os_months")
    assert "os_months (dropped)" in printed
    assert "2: CD3, CD4" in printed


def test_runs_write_predictions_by_the_ids_of_clouds():
    table = cells().assign(age=lambda t: 40 + t.donor.str[1:].astype(int))
    table.to_csv("cells.csv", index=False)
    ok("run", "cells.csv", "logistic-regression", "--folds", 3, *COLUMNS, "--drop", "age",
       "--predictions", "table.csv")  # fmt: skip
    found = pd.read_csv("table.csv")
    assert sorted(found.cloud) == sorted(table["sample"].unique())
    truth = table.groupby("sample").response.first()
    assert found.label.tolist() == truth[found.cloud].tolist()
    assert {"model", "fold", "seed", "prediction", "probability_yes"} <= set(found.columns)
    # what is read differently is another row of the store
    again = ok("run", "cells.csv", "logistic-regression", "--folds", 3, *COLUMNS,
               "--features", "CD3")  # fmt: skip
    assert "3 fits trained" in again
    message = refused("run", "cells.csv", "logistic-regression", "--folds", 3, *COLUMNS,
                      "--covariate", "age")  # fmt: skip
    assert "logistic-regression reads clouds only, no covariates" in message


def test_covariates_reach_the_cloud_classifier():
    table = cells().assign(age=lambda t: np.where(t.response == "yes", 60, 40))
    table.to_csv("cells.csv", index=False)
    run = ["run", "cells.csv", "cloud-classifier", "--folds", 1, *COLUMNS]
    run += ["--set", 'parts=["linear"]', "--predictions"]
    ok(*run, "with.csv", "--covariate", "age")
    ok(*run, "without.csv", "--drop", "age")
    found = [pd.read_csv(f"{name}.csv").probability_yes for name in ("with", "without")]
    assert (found[0] != found[1]).all()


def test_comparisons_refuse_numbers():
    cells().assign(months=lambda t: t.donor.str[1:].astype(int) + 0.5).to_csv(
        "cells.csv", index=False
    )
    message = refused("run", "cells.csv", "svm", "--cloud", "sample", "--label", "months")
    assert "the label holds numbers, and comparisons are of classifiers" in message


def test_options_of_files_are_not_for_tasks_of_the_catalogue():
    message = refused("run", "colocated", "svm", "--label", "mine")
    assert "columns are chosen in files only" in message


@pytest.mark.parametrize("given", [["age, sex"], ["age,sex"], ["age", "--covariate", "sex"]])
def test_covariates_are_separated_by_commas_or_repeated(given):
    table = cells()
    number = table.donor.str[1:].astype(int)
    table.assign(age=40 + number, sex=np.where(number % 2, "f", "m")).to_csv("mine.csv")
    printed = ok("tasks", "write", "mine.csv", "out.csv", *COLUMNS, "--covariate", *given)
    assert "age, sex" in next(line for line in printed.splitlines() if "covariates" in line)
