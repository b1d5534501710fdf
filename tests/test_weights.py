"""Weights of points: who carries them, and what is refused."""

from __future__ import annotations

import copy
import pickle

import numpy as np
import pytest
import torch
from sklearn.model_selection import KFold
from sklearn.utils import _safe_indexing

import pointforms as pf
from pointforms.clouds import as_clouds
from pointforms.weights import WeightedPoints, plain, relative_weights, weights_of


@pytest.fixture
def clouds():
    rng = np.random.default_rng(0)
    arrays = [rng.normal(size=(n, 3)) for n in (5, 4, 6)]
    names = ["a", "b", "c"]
    weights = [[1, 2, 3, 4, 5], None, np.arange(6) + 0.5]
    return pf.Clouds.from_list(arrays, ["p", "q", "r"], names, weights)


def test_clouds_keep_their_weights(clouds):
    assert clouds.weights.tolist() == [1, 2, 3, 4, 5, 1, 1, 1, 1, 0.5, 1.5, 2.5, 3.5, 4.5, 5.5]
    assert "weighted" in repr(clouds)
    assert clouds[2].weights.tolist() == [0.5, 1.5, 2.5, 3.5, 4.5, 5.5]
    assert clouds[[2, 0]].weights.tolist() == [*clouds[2].weights.tolist(), 1, 2, 3, 4, 5]
    assert clouds[1:].weights.tolist() == clouds.weights[5:].tolist()
    assert clouds.at_least(5).weights.tolist() == clouds[[0, 2]].weights.tolist()
    assert torch.equal(clouds.in_order(["c", "a", "b"]).weights, clouds.weights)
    moved = clouds.to(dtype=torch.float32)
    assert moved.points.dtype == torch.float32
    assert torch.equal(moved.weights, clouds.weights)
    again = pf.Clouds.from_list(list(clouds))
    assert torch.equal(again.weights, clouds.weights)
    assert pf.Clouds.from_list([np.eye(3)]).weights is None


def test_single_clouds_carry_weights_through_lists_folds_and_processes(clouds):
    train, _ = next(KFold(3).split(clouds))
    folded = _safe_indexing(clouds, train)
    assert [own.tolist() for own in map(weights_of, folded)] == [
        clouds[int(i)].weights.tolist() for i in train
    ]
    for one in (pickle.loads(pickle.dumps(clouds[0])), copy.deepcopy(clouds[0])):
        assert isinstance(one, WeightedPoints)
        assert torch.equal(one, clouds[0])
        assert one.weights.tolist() == [1, 2, 3, 4, 5]
    assert [weights_of(one) is not None for one in as_clouds(list(clouds))] == [True] * 3
    assert type(2 * clouds[0]) is torch.Tensor
    assert type(plain(clouds[0])) is torch.Tensor


def test_only_ratios_that_differ_are_weights(clouds):
    assert relative_weights(clouds[1]) is None  # all 1
    assert relative_weights(np.eye(3)) is None
    mass = relative_weights(clouds[0])
    assert mass.mean() == pytest.approx(1)
    assert mass[4] / mass[0] == pytest.approx(5)


@pytest.mark.parametrize(
    ("weights", "message"),
    [
        ([[1, 2]], "weights of cloud 0 has shape (2,): expected (3,)"),
        ([[1, 2, 0]], "weights of cloud 0[2] is 0.0: expected finite numbers above 0"),
        ([[1, 2, np.nan]], "weights of cloud 0[2] is nan"),
        ([[1, 2, 3], [1]], "weights has 2 entries: expected 1"),
    ],
)
def test_wrong_weights_are_named(weights, message):
    with pytest.raises(ValueError) as error:
        pf.Clouds.from_list([np.eye(3)], weights=weights)
    assert message in str(error.value)
    with pytest.raises(ValueError, match=r"weights has shape \(2,\)"):
        pf.gram_field(np.eye(3), weights=[1, 2])


def test_npz_keeps_weights(clouds, tmp_path):
    path = tmp_path / "clouds.npz"
    pf.io.save_npz(clouds, path, {"label": np.array([0, 1, 0])})
    read = pf.read_npz(path)
    assert torch.equal(read.weights, clouds.weights)
    assert read.ids == clouds.ids
    with pytest.raises(ValueError, match="annotations has the name 'weights'"):
        pf.io.save_npz(clouds, path, {"weights": np.ones(3)})
    # one value per cloud is an annotation, as ever
    np.savez(path, points=np.eye(5, 2), offsets=[0, 2, 5], weights=[1.0, 2.0])
    assert pf.read_npz(path).weights is None
    assert pf.io.read_annotated_npz(path, ["weights"])[1]["weights"].tolist() == [1, 2]
    np.savez(path, points=np.eye(5, 2), offsets=[0, 2, 5], weights=[1.0, 2.0, 3.0])
    with pytest.raises(ValueError, match=r"has shape \(3,\)"):
        pf.read_npz(path)
