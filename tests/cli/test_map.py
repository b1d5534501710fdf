"""`npf map`: clouds of files by their distances."""

from __future__ import annotations

import re
import shlex
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from tests.cli.test_fit import COLUMNS, QUICK, cells
from tests.cli.test_predict import as_h5ad
from tests.helpers.commands import ok, refused

pytestmark = pytest.mark.usefixtures("folder")
DOCS = Path(__file__).parents[2] / "docs"


def test_clouds_of_several_files_are_on_one_map():
    cells().to_csv("cells.csv", index=False)
    cells(12, 4).drop(columns="response").to_csv("others.csv", index=False)
    columns = ["--cloud", "sample", "--label", "response"]
    printed = ok("map", "cells.csv", "others.csv", *columns, "--out", "map.svg", "--csv", "map.csv")
    assert "Picture" in printed
    assert re.search(r"^ *colour +response *$", printed, re.MULTILINE)
    assert "covariates" not in printed
    assert Path("map.svg").stat().st_size > 0
    table = pd.read_csv("map.csv", index_col="cloud")
    assert table.index.tolist() == [f"s{i:02}" for i in range(16)]
    assert table.response.isna().tolist() == [False] * 12 + [True] * 4
    distances = table[[f"distance to {name}" for name in table.index]].to_numpy()
    np.testing.assert_allclose(distances, distances.T)
    assert not distances.diagonal().any()


def test_distances_are_those_of_the_library():
    import pointforms as pf

    cells().to_csv("cells.csv", index=False)
    columns = ["--cloud", "sample", "--label", "response", "--features", "CD3,CD4"]
    more = ["--distance", "mmd", "--color", "donor", "--method", "mds"]
    ok("map", "cells.csv", *columns, *more, "--out", "map.png", "--csv", "map.csv")
    table = pd.read_csv("map.csv")
    clouds = pf.read_table("cells.csv", cloud="sample", features=["CD3", "CD4"])
    expected = pf.models.distribution_distances(clouds, "mmd", random_state=0)
    found = table[[f"distance to {name}" for name in clouds.ids]].to_numpy()
    np.testing.assert_allclose(found, expected)
    assert "donor" in table


def test_what_does_not_work_is_one_line():
    cells().to_csv("cells.csv", index=False)
    columns = ["--cloud", "sample", "--label", "response"]
    line = refused("map", "cells.csv", *columns, "--color", "response_", "--out", "map.png")
    assert "'response_'" in line
    assert "map.jpg" in refused("map", "cells.csv", *columns, "--out", "map.jpg")
    line = refused("map", "cells.csv", *columns, "--out", "cells.csv")
    assert "cells.csv" in line
    ok("fit", "cells.csv", *COLUMNS, *QUICK, "--out", "model")
    line = refused("map", "cells.csv", "--model", "model", "--distance", "mmd", "--out", "map.png")
    assert "--distance mmd" in line


@pytest.mark.slow
def test_the_worked_example_of_the_documentation():
    """Twelve patients, four others: fit, predict, map and explain, in at most six lines."""
    as_h5ad(cells().rename(columns={"sample": "patient"}), "cells.h5ad", ["patient", "response"])
    as_h5ad(cells(12, 4).rename(columns={"sample": "patient"}), "others.h5ad", ["patient"])
    page = (DOCS / "howto" / "data.md").read_text("utf-8")
    block = re.search(r"```sh\n(npf fit .*?)```", page, re.DOTALL)[1]
    lines = [shlex.split(line, comments=True) for line in block.splitlines()]
    assert len(lines) <= 6
    for _, *arguments in lines:
        ok(*arguments)
    assert len(pd.read_csv("table.csv")) == 4
    assert Path("map.png").stat().st_size > 0
    assert Path("importance.png").stat().st_size > 0
