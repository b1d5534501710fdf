"""Points far from 0 keep what distinguishes them when they are rounded to single precision."""

from __future__ import annotations

import numpy as np
import pytest
import torch

import pointforms as pf
from pointforms.nn.origins import common_origin
from pointforms.nn.point_store import PointStore


def clouds(offset: object = 0.0, scale: float = 1.0) -> list[torch.Tensor]:
    generator = torch.Generator().manual_seed(0)
    drawn = [torch.randn(n, 3, dtype=torch.float64, generator=generator) for n in (9, 20, 14)]
    return [scale * cloud + torch.as_tensor(offset) for cloud in drawn]


def test_data_around_zero_has_the_origin_zero():
    assert not common_origin(clouds()).any()
    assert not common_origin(clouds(5.0)).any()
    assert not common_origin([torch.full((4, 2), 1e9)]).any()  # constant features have no range


@pytest.mark.parametrize("offset", [1e4, -1e8, 1e10])
def test_points_keep_their_digits(offset):
    store = PointStore(clouds([offset, 0.0, 7.0]), torch.float32, "cpu")
    assert store.origin[1:].tolist() == [0.0, 0.0]
    expected = torch.cat(clouds([offset, 0.0, 7.0])) - store.origin
    torch.testing.assert_close(store.points[:-1].double(), expected, rtol=0, atol=1e-4)
    assert float(expected.abs().max()) < 1e3


@pytest.mark.parametrize("offset", [3.0, 1e5, 123456789.0, -1e13])
def test_networks_can_keep_the_origin_exactly(offset):
    origin = common_origin(clouds(offset))
    assert torch.equal(origin.float().double(), origin)


def test_a_few_points_more_do_not_change_the_origin():
    some = clouds(1e8)
    assert torch.equal(common_origin(some), common_origin(some[:2]))


def test_moments_are_relative_to_the_origin():
    far, near = (PointStore(clouds(offset), torch.float32, "cpu") for offset in (2.0**30, 0.0))
    (mean, scale), (own_mean, own_scale) = far.moments([0, 2]), near.moments([0, 2])
    torch.testing.assert_close(
        mean.double() + far.origin - 2.0**30, own_mean.double(), atol=1e-5, rtol=0
    )
    torch.testing.assert_close(scale, own_scale, atol=1e-5, rtol=0)


@pytest.mark.parametrize("scale", [1e60, 1e-60])
def test_values_beyond_single_precision_are_refused(scale):
    with pytest.raises(
        ValueError, match=r"cloud \d has values up to .*e[+-]60, outside of the range"
    ):
        PointStore(clouds(scale=scale), torch.float32, "cpu")
    assert torch.isfinite(PointStore(clouds(scale=scale), torch.float64, "cpu").points).all()


def test_features_that_lost_their_digits_are_named():
    with pytest.warns(UserWarning, match=r"feature 2 varies by .* around 1e\+06"):
        common_origin([cloud.float() for cloud in clouds([0.0, 1.0, 1e6])])


def test_a_network_without_an_origin_has_zero(tmp_path):
    network = pf.nn.PointFormNetwork(features=3, outputs=2)
    state = {name: value for name, value in network.state_dict().items() if name != "origin"}
    network.origin.fill_(7.0)
    network.load_state_dict(state)
    assert not network.origin.any()


@pytest.mark.parametrize("offset", [2.0**27, -3e8])
@pytest.mark.parametrize("degree", [1, 2])
def test_an_offset_changes_no_prediction(offset, degree, tmp_path):
    task = pf.tasks.load("circles-vs-lines", clouds=24, points=24)
    near = [np.round(np.asarray(cloud) * 2**20) / 2**20 for cloud in task.clouds]
    far = [cloud + offset for cloud in near]

    def fitted(data):
        options = {"forms": 4, "hidden": (16,), "epochs": 3, "degree": degree, "random_state": 0}
        return pf.PointFormClassifier(**options).fit(data[:16], task.labels[:16])

    before, after = fitted(near), fitted(far)
    expected = before.predict_proba(near[16:])
    np.testing.assert_allclose(after.predict_proba(far[16:]), expected, atol=1e-4)
    after.save(tmp_path / "model")
    np.testing.assert_array_equal(
        pf.load(tmp_path / "model").predict_proba(far[16:]), after.predict_proba(far[16:])
    )
    np.testing.assert_allclose(
        pf.explain.coefficients(after, far[0]),
        pf.explain.coefficients(before, near[0]),
        atol=1e-4,
    )
