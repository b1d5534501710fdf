from __future__ import annotations

import numpy as np
import pytest

from pointforms.io.columns import constant_per_cloud, group_rows, show_rows

CODES = np.array([1, 0, 1, 2, 0, 1])
IDS = ["a", "b", "c"]


def test_rows_keep_the_order_of_the_table():
    clouds = group_rows(np.arange(6.0)[:, None], CODES, IDS, ["x"])
    assert [cloud.flatten().tolist() for cloud in clouds] == [[1, 4], [0, 2, 5], [3]]
    assert clouds.ids == ("a", "b", "c")


def test_a_value_per_cloud_is_constant_in_it():
    values = np.array(["v", "u", "v", "w", "u", "v"], dtype=object)
    assert constant_per_cloud(values, CODES, IDS, "label").tolist() == ["u", "v", "w"]
    values[2] = "x"
    message = "column 'label' differs inside cloud 'b': 'v' in row 0, 'x' in row 2$"
    with pytest.raises(ValueError, match=message):
        constant_per_cloud(values, CODES, IDS, "label")
    values[4] = "y"
    with pytest.raises(ValueError, match=r"and in 1 more cloud"):
        constant_per_cloud(values, CODES, IDS, "label")
    values[3] = None
    with pytest.raises(ValueError, match="column 'label' is empty in 1 row: row 3"):
        constant_per_cloud(values, CODES, IDS, "label")


def test_some_rows_are_shown():
    assert show_rows(np.array([2])) == "row 2"
    assert show_rows(np.array([0, 2]), ["p", "q", "r"]) == "rows 0 ('p'), 2 ('r')"
    assert show_rows(np.arange(9), most=2) == "rows 0, 1, … (9 in all)"
