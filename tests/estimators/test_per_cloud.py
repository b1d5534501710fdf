from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
import torch

from pointforms.estimators.per_cloud import check_groups, checked_weights, one_per_cloud


@pytest.mark.parametrize(("values", "kind"), [
    (["a", "b"], "U"), (("a", "b"), "U"), (np.array(["a", "b"], dtype=object), "O"),
    ([0, 1], "i"), ([0, 1.0], "f"), (np.array([0, 1], dtype=object), "i"), ([True, False], "b"),
    (torch.tensor([0, 1]), "i"), ([torch.tensor(0), torch.tensor(1)], "i"),
    (pd.Series([0, 1], dtype="Int64"), "i"),
    (pd.Categorical(["a", "b"]), "O"), (pd.Series([True, False]), "b"), ([b"a", b"b"], "S"),
    (pd.Series(pd.to_datetime(["2020-01-01", "2020-01-02"])), "M"), (range(2), "i"),
])  # fmt: skip
def test_values_keep_their_kind(values, kind):
    array = one_per_cloud("y", values, 2)
    assert (array.shape, array.dtype.kind) == ((2,), kind)
    assert len(np.unique(array)) == 2


def test_arrays_are_returned_as_they_are():
    for array in (np.array([0, 1], dtype=np.int8), np.array([0, 1], dtype=np.float32)):
        assert one_per_cloud("y", array, 2) is array


def test_objects_that_have_no_order():
    with pytest.raises(
        ValueError, match=r"y has entries like .*object.*: expected values that can"
    ):
        one_per_cloud("y", [object(), object()], 2)


def test_groups_may_be_absent():
    assert check_groups(None, 3) is None
    np.testing.assert_array_equal(check_groups(["a", "b", "a"], 3), ["a", "b", "a"])


@pytest.mark.parametrize("scale", [1.0, 0.25, 1e-300, 1e300])
def test_only_ratios_of_weights_matter(scale):
    weights = checked_weights(scale * np.array([1.0, 0.0, 3.0]), 3)
    np.testing.assert_allclose(weights, [0.5, 0, 1.5])
    assert checked_weights(np.full(3, scale), 3) is None
