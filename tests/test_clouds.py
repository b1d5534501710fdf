from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
import scipy.sparse
import torch

import pointforms as pf
from pointforms.cloud import as_cloud
from pointforms.clouds import Clouds, as_clouds, cloud_list, plain_clouds


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


@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf])
def test_non_finite_values_are_placed(bad):
    clouds = [np.random.default_rng(i).normal(size=(10, 3)) for i in range(4)]
    clouds[2][7, 1] = bad
    with pytest.raises(ValueError, match=r"cloud 2 has 1 non-finite .* point 7, feature 1"):
        as_clouds(clouds)


def test_values_at_the_end_of_the_range_are_refused():
    assert as_cloud(np.full((40, 2), 1e307) * np.eye(40)[:, :2]).shape == (40, 2)
    with pytest.raises(ValueError, match=r"values up to 1e\+308"):
        as_cloud(np.array([[1e308, 0.0], [1e308, 1.0]]))


def test_a_cloud_is_a_copy():
    array = np.eye(3)
    cloud = as_cloud(array)
    array[:] = 7
    assert float(cloud.max()) == 1.0
    tensor = torch.eye(3)
    cloud = as_cloud(tensor)
    tensor.zero_()
    assert float(cloud.max()) == 1.0


def test_a_tensor_need_not_be_copied():
    """It shares the memory of what is given, without its gradients."""
    given = torch.eye(3, dtype=torch.float64, requires_grad=True)
    [cloud] = as_clouds([given], copy=False)
    assert cloud.data_ptr() == given.data_ptr()
    assert not cloud.requires_grad
    assert given.requires_grad


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


def test_ragged_batch_gives_back_its_clouds(rng):
    arrays = [rng.normal(size=(n, 3)) for n in (4, 1, 7)]
    clouds = Clouds.from_list(arrays, ids=["a", "b", "c"], feature_names=["x", "y", "z"])
    assert len(clouds) == 3
    assert clouds.offsets.tolist() == [0, 4, 5, 12]
    assert clouds.sizes.tolist() == [4, 1, 7]
    for cloud, array in zip(clouds, arrays, strict=True):
        np.testing.assert_array_equal(cloud.numpy(), array)
    np.testing.assert_array_equal(clouds[-1].numpy(), arrays[2])
    part = clouds[1:]
    assert part.ids == ("b", "c")
    np.testing.assert_array_equal(part[0].numpy(), arrays[1])
    with pytest.raises(IndexError):
        clouds[3]
    assert repr(clouds) == "Clouds(3 clouds of 1-7 points in R^3)"


def test_small_clouds_can_be_left_out(rng):
    clouds = Clouds.from_list([rng.normal(size=(n, 2)) for n in (4, 1, 7)], ids=["a", "b", "c"])
    assert clouds.at_least(4).ids == ("a", "c")
    with pytest.raises(ValueError, match="no cloud has at least 8 points: the largest has 7"):
        clouds.at_least(8)


def test_padded_arrays_lose_their_padding(rng):
    padded = rng.normal(size=(3, 5, 2))
    padded[1, 2:] = np.nan
    clouds = Clouds.from_padded(padded, [5, 2, 3])
    assert clouds.sizes.tolist() == [5, 2, 3]
    np.testing.assert_array_equal(clouds[1].numpy(), padded[1, :2])
    with pytest.raises(ValueError, match="cloud 2 has length 6"):
        Clouds.from_padded(padded, [5, 2, 6])
    with pytest.raises(ValueError, match="expected 3 whole numbers"):
        Clouds.from_padded(padded, [5, 2])
    with pytest.raises(ValueError, match=r"expected \(B, n_max, D\)"):
        Clouds.from_padded(padded[0], [5])


def test_names_must_fit(rng):
    with pytest.raises(ValueError, match="ids has 1 names: expected 2"):
        Clouds.from_list([np.eye(2), np.eye(2)], ids=["a"])
    with pytest.raises(ValueError, match="feature_names has 3 names: expected 2"):
        Clouds.from_list([np.eye(2)], feature_names=["a", "b", "c"])


def test_errors_name_ids_and_features():
    clouds = Clouds.from_list([np.eye(2), np.ones((1, 2))], ids=["a", "patient7"])
    with pytest.raises(ValueError, match=r"cloud 1 \('patient7'\) has 1 point"):
        as_clouds(clouds)
    with pytest.raises(ValueError, match=r"cloud 0 \('a'\) .* feature 'CD3'"):
        Clouds.from_list([np.array([[1, np.nan]])], ids=["a"], feature_names=["CD4", "CD3"])


def test_precision_of_a_batch(rng):
    mixed = Clouds.from_list([np.eye(2, dtype=np.float32), np.eye(2)])
    assert mixed.points.dtype == torch.float64
    assert mixed.to(dtype=torch.float32).points.dtype == torch.float32


def test_points_of_clouds_or_of_what_was_computed_from_them(rng):
    arrays = [rng.normal(size=(n, 2)) for n in (1, 4)]
    for clouds in (arrays, iter(arrays), Clouds.from_list(arrays)):
        for points, array in zip(plain_clouds(clouds), arrays, strict=True):
            np.testing.assert_array_equal(points.numpy(), array)
    fields = pf.gram_fields(arrays[1:])
    assert plain_clouds(fields)[0] is fields[0].points
    frame = pd.DataFrame({"points": [1.0, 2.0], "x": [0.0, 1.0]})  # a column of that name
    assert plain_clouds([frame])[0].shape == (2, 2)


@pytest.mark.parametrize("lengths", [[2, None], [2, "a"], [True, True], [2, [1, 2]], [2.0, 3.0], 2])
def test_lengths_are_whole_numbers(lengths):
    with pytest.raises(ValueError, match=r"lengths has shape .*: expected 2 whole numbers"):
        Clouds.from_padded(np.zeros((2, 5, 3)), lengths)


@pytest.mark.parametrize("names", ["ab", 3, np.array("ab"), np.array(1.5)], ids=repr)
def test_names_are_a_sequence(names):
    for what in ("ids", "feature_names"):
        with pytest.raises(TypeError, match=f"{what} is .*: expected a sequence of names"):
            Clouds.from_list([np.eye(2), np.eye(2)], **{what: names})


def test_tensors_without_numbers_are_refused():
    with pytest.raises(TypeError, match="cloud 1 is a tensor on the device meta"):
        Clouds.from_list([np.eye(2), torch.eye(2, device="meta")])


def test_whole_numbers_beyond_all_floats_are_refused():
    with pytest.raises(TypeError, match="cloud 0 is a list of length 2: expected real numbers"):
        Clouds.from_list([[[0, 10**400], [1, 2]]])


class TestFeatureNames:
    CLOUDS = pf.Clouds.from_list([[[0.0, 1.0, 2.0]], [[3.0, 4.0, 5.0]]], feature_names=list("abc"))

    def test_features_in_another_order(self):
        other = self.CLOUDS.in_order(["c", "a", "b"])
        assert other.feature_names == ("c", "a", "b")
        assert other[1].tolist() == [[5.0, 3.0, 4.0]]
        assert other.in_order("abc").points.equal(self.CLOUDS.points)
        assert self.CLOUDS.in_order("abc") is self.CLOUDS

    @pytest.mark.parametrize("names", ["abd", "ab", "abcd", "aab"])
    def test_other_features_are_refused(self, names):
        with pytest.raises(ValueError, match=r"have the features \('a', 'b', 'c'\): expected"):
            self.CLOUDS.in_order(names)

    def test_numbered_features_have_no_names(self):
        assert self.CLOUDS.has_names
        assert not pf.Clouds.from_list([[[0.0, 1.0]]]).has_names


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


class TestSomeClouds:
    CLOUDS = pf.Clouds.from_list(
        [[[0.0, 1.0]], [[2.0, 3.0]], [[4.0, 5.0]]], ids=list("abc"), feature_names=["CD4", "CD8"]
    )

    @pytest.mark.parametrize(
        "index",
        [
            [2, 0],
            np.array([2, 0]),
            torch.tensor([2, 0]),
            np.array([-1, 0]),
        ],
    )
    def test_an_array_chooses_clouds(self, index):
        some = self.CLOUDS[index]
        assert some.ids == ("c", "a")
        assert some.feature_names == ("CD4", "CD8")
        assert some[0].tolist() == [[4.0, 5.0]]

    def test_a_mask_chooses_clouds(self):
        assert self.CLOUDS[np.array([True, False, True])].ids == ("a", "c")
        with pytest.raises(IndexError, match="2 entries for 3 clouds"):
            self.CLOUDS[np.array([True, False])]

    @pytest.mark.parametrize("index", [[0.0], ["a"]])
    def test_other_arrays_are_refused(self, index):
        with pytest.raises(TypeError, match="expected whole numbers or bool"):
            self.CLOUDS[index]

    @pytest.mark.parametrize("index", ["a", None, [[0]]])
    def test_other_shapes_are_refused(self, index):
        with pytest.raises(TypeError, match="expected a number or one axis"):
            self.CLOUDS[index]

    def test_none_at_all_is_an_error(self):
        with pytest.raises(ValueError, match="clouds is empty"):
            self.CLOUDS[[]]


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
