from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
import torch

import pointforms as pf
from pointforms.clouds import Clouds, as_clouds, cloud_list, plain_clouds


@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf])
def test_non_finite_values_are_placed(bad):
    clouds = [np.random.default_rng(i).normal(size=(10, 3)) for i in range(4)]
    clouds[2][7, 1] = bad
    with pytest.raises(ValueError, match=r"cloud 2 has 1 non-finite .* point 7, feature 1"):
        as_clouds(clouds)


def test_lists_are_checked_as_a_whole():
    good = np.eye(3)
    with pytest.raises(ValueError, match="cloud 1 has 4 features, cloud 0 has 3"):
        as_clouds([good, np.eye(4)])
    with pytest.raises(ValueError, match="clouds is empty"):
        as_clouds([])
    with pytest.raises(TypeError, match="expected a list"):
        as_clouds(7)
    with pytest.raises(TypeError, match="expected a list"):
        as_clouds("clouds")
    with pytest.raises(ValueError, match=r"clouds has shape \(3, 3\), like one cloud"):
        as_clouds(good)
    with pytest.raises(TypeError, match=r"list\(clouds\.values"):
        as_clouds({"a": good})


def test_errors_name_ids_and_features():
    clouds = Clouds.from_list([np.eye(2), np.ones((1, 2))], ids=["a", "patient7"])
    with pytest.raises(ValueError, match=r"cloud 1 \('patient7'\) has 1 point"):
        as_clouds(clouds)
    with pytest.raises(ValueError, match=r"cloud 0 \('a'\) .* feature 'CD3'"):
        Clouds.from_list([np.array([[1, np.nan]])], ids=["a"], feature_names=["CD4", "CD3"])


def test_points_of_clouds_or_of_what_was_computed_from_them(rng):
    arrays = [rng.normal(size=(n, 2)) for n in (1, 4)]
    for clouds in (arrays, iter(arrays), Clouds.from_list(arrays)):
        for points, array in zip(plain_clouds(clouds), arrays, strict=True):
            np.testing.assert_array_equal(points.numpy(), array)
    fields = pf.gram_fields(arrays[1:])
    assert plain_clouds(fields)[0] is fields[0].points
    frame = pd.DataFrame({"points": [1.0, 2.0], "x": [0.0, 1.0]})  # a column of that name
    assert plain_clouds([frame])[0].shape == (2, 2)


class TestDataFrames:
    def test_columns_are_names_in_the_order_of_the_first(self):
        frames = [pd.DataFrame({"a": [0.0], "b": [1.0]}), pd.DataFrame({"b": [3.0], "a": [2.0]})]
        clouds = cloud_list(frames)
        assert clouds.feature_names == ("a", "b")
        assert clouds[1].tolist() == [[2.0, 3.0]]
        assert as_clouds(frames, distinct=False)[1].tolist() == [[2.0, 3.0]]
        assert Clouds.from_list(frames, feature_names=["x", "y"]).feature_names == ("x", "y")
        with pytest.raises(ValueError, match=r"cloud 1 has .*only one of them has \['b', 'c'\]"):
            cloud_list([frames[0], pd.DataFrame({"a": [0.0], "c": [1.0]})])

    def test_numbered_columns_are_no_names(self):
        frames = [pd.DataFrame(np.eye(2))]
        assert cloud_list(frames) == frames


def test_a_tensor_need_not_be_copied():
    """It shares the memory of what is given, without its gradients."""
    given = torch.eye(3, dtype=torch.float64, requires_grad=True)
    [cloud] = as_clouds([given], copy=False)
    assert cloud.data_ptr() == given.data_ptr()
    assert not cloud.requires_grad
    assert given.requires_grad
