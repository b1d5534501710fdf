from __future__ import annotations

import numpy as np
import pytest
import torch

import pointforms as pf
from pointforms.nn.batches import FormBatch
from pointforms.nn.field_store import FieldStore
from pointforms.nn.network import FeatureNorm, PointFormNetwork
from pointforms.nn.readouts import READOUTS

D = 4


def batch_of(fields, degrees=()) -> FormBatch:
    store = FieldStore(fields, degrees=degrees, dtype=torch.float64)
    return store.gather(torch.arange(len(fields)))


@pytest.mark.parametrize("coefficients", ["dense", "wedge"])
@pytest.mark.parametrize("degree", [0, 1, 2])
def test_standardised_coordinates_are_a_change_of_variables(degree, coefficients, rng):
    """(x - m)/s with V / s: the same as clouds that were standardised beforehand."""
    torch.manual_seed(0)
    network = PointFormNetwork(
        D, 2, (degree,), 3, coefficients=coefficients, hidden=(8,)
    ).double().eval()  # fmt: skip
    X = rng.normal(size=(50, D)) * [1, 10, 0.1, 3] + 5
    mean, scale = torch.from_numpy(X.mean(0)), torch.from_numpy(X.std(0))
    field = pf.gram_field(X, dimension=2)
    plain = batch_of([field])
    inside = FormBatch(
        (plain.points - mean) / scale, plain.factor / scale.unsqueeze(-1), plain.weights
    )
    expected = network.comparison_matrices(inside)[0]
    network.standardize(mean, scale)
    torch.testing.assert_close(
        network.comparison_matrices(plain)[0], expected, rtol=1e-9, atol=1e-12
    )


@pytest.mark.parametrize("readout", list(READOUTS))
@pytest.mark.parametrize("degrees", [(1,), (0, 1, 2)])
def test_gradients(readout, degrees, rng):
    torch.manual_seed(0)
    network = PointFormNetwork(D, 2, degrees, 3, readout, hidden=(5,), head=4).double()
    network.eval()
    batch = batch_of(
        pf.gram_fields([rng.normal(size=(9, D)), rng.normal(size=(14, D))], dimension=2)
    )
    parameters = dict(network.named_parameters())

    def loss(*values):
        named = dict(zip(parameters, values, strict=True))
        return torch.func.functional_call(network, named, (batch,)).square().sum()

    inputs = tuple(p.detach().clone().requires_grad_() for p in parameters.values())
    assert torch.autograd.gradcheck(loss, inputs, atol=1e-6)


def test_norm_ignores_clouds_that_do_not_count():
    norm, other = FeatureNorm(3).double(), FeatureNorm(3).double()
    x = torch.randn(12, 3, dtype=torch.float64)
    counts = torch.tensor([1.0] * 9 + [0.0] * 3, dtype=torch.float64)
    torch.testing.assert_close(norm(x, counts)[:9], other(x[:9]))
    torch.testing.assert_close(norm.center, other.center)
    out = norm(x[:9])
    torch.testing.assert_close(out.mean(0), torch.zeros(3, dtype=torch.float64), rtol=0, atol=1e-9)
    torch.testing.assert_close(
        out.std(0, correction=0), torch.ones(3, dtype=torch.float64), rtol=0, atol=1e-5
    )


@pytest.mark.parametrize("sizes", [(32, 1), (1, 32), (20, 13), (1,) * 33], ids=str)
def test_norm_counts_every_cloud_alike(sizes):
    """After batches of any sizes: the mean and variance of all clouds, the recent ones first."""
    x = torch.randn(33, 3, dtype=torch.float64) * 5 + 2
    norm = FeatureNorm(3).double()
    for batch in x.split(sizes):
        filled = torch.cat([batch, torch.full((33 - len(batch), 3), 1e6, dtype=torch.float64)])
        norm(filled, (torch.arange(33) < len(batch)).double())
    batch_of_cloud = torch.arange(len(sizes)).repeat_interleave(torch.tensor(sizes))
    weights = 0.9 ** (len(sizes) - 1.0 - batch_of_cloud.double())
    weights = (weights / weights.sum()).unsqueeze(1)
    center = (weights * x).sum(0)
    torch.testing.assert_close(norm.center, center)
    torch.testing.assert_close(norm.variance, (weights * (x - center).square()).sum(0))


@pytest.mark.parametrize("count", [1, 2, 7])
def test_norm_of_few_clouds_uses_the_averages(count):
    """One cloud would be zero by its own mean, and two would be 1 and -1 by their deviation."""
    x = torch.randn(40, 3, dtype=torch.float64) * 5 + 2
    norm = FeatureNorm(3).double()
    norm.start(x)
    for _ in range(20):
        norm(x)
    out = norm(x[:count])
    torch.testing.assert_close(out, ((x - x.mean(0)) / x.std(0))[:count], rtol=0.1, atol=0.1)
    torch.testing.assert_close(out, norm.eval()(x[:count]))


def test_gram_fields_of_points_out_of_reach_are_an_error(rng):
    clouds = [rng.normal(size=(12, 2)) for _ in range(8)]
    model = pf.PointFormClassifier(bandwidth_units=5e-324, readout="pool", epochs=1)
    with pytest.raises(ValueError, match=r"Gram fields of these clouds are 0.*bandwidth_units"):
        model.fit(clouds, np.arange(8) % 2)
