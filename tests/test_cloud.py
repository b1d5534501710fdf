from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
import scipy.sparse
import torch

from pointforms.cloud import as_cloud


def test_float32_stays_and_everything_else_becomes_float64():
    assert as_cloud(np.eye(3, dtype=np.float32)).dtype == torch.float32
    for values in (
        np.eye(3),
        np.eye(3, dtype=np.int64),
        np.eye(3, dtype=bool),
        np.eye(3, dtype=np.float16),
        [[0, 1], [2, 3]],
        torch.eye(3, dtype=torch.bfloat16),
        pd.DataFrame({"a": [1, 2], "b": [0.5, 1.5]}),
        np.array([[1, 2.5], [3, 4]], dtype=object),
        np.eye(3).astype(">f8"),
    ):
        assert as_cloud(values).dtype == torch.float64


def test_values_survive_views_and_read_only_arrays():
    array = np.arange(12.0).reshape(6, 2)
    array.flags.writeable = False
    np.testing.assert_array_equal(as_cloud(array[::-1]).numpy(), array[::-1])
    np.testing.assert_array_equal(as_cloud(array.T).numpy(), array.T)


def test_gradients_stop_at_the_cloud():
    assert not as_cloud(torch.eye(3, requires_grad=True)).requires_grad


@pytest.mark.parametrize(
    ("values", "error", "message"),
    [
        (np.zeros(128), ValueError, r"cloud has shape \(128,\): expected \(n, D\)"),
        (np.zeros((2, 3, 4)), ValueError, r"cloud has shape \(2, 3, 4\).*gram_fields"),
        (pd.DataFrame({"x": [1.0, 2.0], "id": ["a", "b"]}), TypeError, "the column 'id'"),
        (3.0, ValueError, r"shape \(\)"),
        (np.zeros((0, 3)), ValueError, "no points"),
        (np.zeros((3, 0)), ValueError, "no features"),
        (np.zeros((1, 3)), ValueError, "1 point"),
        (np.ones((5, 3)), ValueError, "all 5 points of cloud are equal"),
        ([["a", "b"], ["c", "d"]], TypeError, "expected real numbers"),
        ("points.csv", TypeError, "points.csv"),
        (None, ValueError, r"shape \(\)"),
        (np.array([["1", 2.0]], dtype=object), TypeError, "expected real numbers"),
        (np.eye(2) * 1j, TypeError, "complex128"),
        (torch.eye(2) * 1j, TypeError, "complex"),
        (scipy.sparse.eye(3).tocsr(), TypeError, "sparse matrix"),
        (torch.eye(3).to_sparse(), TypeError, "sparse tensor"),
        (np.ma.masked_greater(np.arange(6.0).reshape(3, 2), 4), ValueError, "masked"),
        ([torch.ones(2, requires_grad=True)] * 3, ValueError, "not a table"),
        ([np.zeros((3, 2)), np.zeros((4, 2))], ValueError, "gram_fields"),
    ],
)
def test_bad_clouds_are_named(values, error, message):
    with pytest.raises(error, match=message):
        as_cloud(values)


def test_values_at_the_end_of_the_range_are_refused():
    assert as_cloud(np.full((40, 2), 1e307) * np.eye(40)[:, :2]).shape == (40, 2)
    with pytest.raises(ValueError, match=r"values up to 1e\+308"):
        as_cloud(np.array([[1e308, 0.0], [1e308, 1.0]]))


@pytest.mark.parametrize("value", [1.7e308, -1.7e308])
def test_values_whose_differences_overflow_are_refused(value):
    """Although their sum is finite."""
    with pytest.raises(ValueError, match=r"cloud 3 has values up to 1\.7e\+308, at the end"):
        as_cloud([[value, 0.0], [-value, 1.0]], "cloud 3")
    with pytest.raises(ValueError, match=r"has values up to 3e\+38, at the end of the range"):
        as_cloud(np.array([[3e38, 0.0], [-3e38, 1.0]], dtype=np.float32))


def test_a_cloud_too_small_for_its_numbers_is_refused():
    with pytest.raises(ValueError, match=r"cloud 3 has an extent of 2e-310"):
        as_cloud([[2e-310], [0.0]], "cloud 3")
    assert as_cloud([[2e-310], [0.0]], distinct=False).shape == (2, 1)


def test_a_cloud_is_a_copy():
    array = np.eye(3)
    cloud = as_cloud(array)
    array[:] = 7
    assert float(cloud.max()) == 1.0
    tensor = torch.eye(3)
    cloud = as_cloud(tensor)
    tensor.zero_()
    assert float(cloud.max()) == 1.0
