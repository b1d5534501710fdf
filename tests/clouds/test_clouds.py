from __future__ import annotations

import numpy as np
import pytest
import torch

import pointforms as pf
from pointforms.clouds import Clouds


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


def test_precision_of_a_batch(rng):
    mixed = Clouds.from_list([np.eye(2, dtype=np.float32), np.eye(2)])
    assert mixed.points.dtype == torch.float64
    assert mixed.to(dtype=torch.float32).points.dtype == torch.float32


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
