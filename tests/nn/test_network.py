from __future__ import annotations

import pytest
import torch

import pointforms as pf
from pointforms.nn.network import FeatureNorm, PointFormNetwork
from pointforms.nn.readouts import READOUTS
from pointforms.nn.stores import FieldStore, FormBatch

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
    x = torch.randn(6, 3, dtype=torch.float64)
    counts = torch.tensor([1.0, 1, 1, 1, 0, 0], dtype=torch.float64)
    torch.testing.assert_close(norm(x, counts)[:4], other(x[:4]))
    torch.testing.assert_close(norm.center, other.center)
    out = norm(x[:4])
    torch.testing.assert_close(out.mean(0), torch.zeros(3, dtype=torch.float64), rtol=0, atol=1e-9)
    torch.testing.assert_close(
        out.std(0, correction=0), torch.ones(3, dtype=torch.float64), rtol=0, atol=1e-5
    )
