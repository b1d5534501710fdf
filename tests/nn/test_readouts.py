from __future__ import annotations

from typing import get_args

import pytest
import torch

import pointforms as pf
from pointforms.estimators.point_form_options import PointFormOptions
from pointforms.nn.readouts import READOUTS, ReadoutName, readout_width

# Numbers that a readout makes of an l × l matrix.
WIDTHS = {
    "tri": lambda l: l * (l + 1) // 2,
    "flat": lambda l: l**2,
    "diag": lambda l: l,
    "pool": lambda l: l + 5,
    "gram": lambda l: l * (l + 1) // 2,
}


def test_one_registry():
    """The type, the documentation and the models have the readouts of the registry."""
    assert set(get_args(ReadoutName)) == set(READOUTS), "nn/readouts.py:ReadoutName"
    assert set(WIDTHS) == set(READOUTS), "WIDTHS of this file"
    entry = "readout : {" + ", ".join(f'"{name}"' for name in READOUTS) + "}"
    for documented in (PointFormOptions, pf.nn.PointFormNetwork):
        assert entry in documented.__doc__, f"the docstring of {documented}"
    models = {f"npf-{name}-{k}" for name in READOUTS for k in (1, 2)}
    assert models <= set(pf.models.names()), "models/registry.py:MODELS"


class TestReadouts:
    @pytest.fixture
    def C(self):
        A = torch.randn(6, 4, 7, generator=torch.Generator().manual_seed(0)).double()
        return A @ A.mT

    @pytest.mark.parametrize("name", list(READOUTS))
    def test_widths(self, name, C):
        assert READOUTS[name](C).shape == (6, WIDTHS[name](4))
        assert [readout_width(name, l) for l in (1, 2, 8)] == [WIDTHS[name](l) for l in (1, 2, 8)]

    def test_entries(self, C):
        assert torch.equal(READOUTS["tri"](C)[0, :4], C[0, 0])
        assert torch.equal(READOUTS["flat"](C)[0], C[0].flatten())
        assert torch.equal(READOUTS["diag"](C)[0], C[0].diagonal())

    def test_pool_ignores_the_order_of_the_forms(self, C):
        order = torch.tensor([2, 0, 3, 1])
        torch.testing.assert_close(READOUTS["pool"](C), READOUTS["pool"](C[:, order][:, :, order]))

    def test_gram_is_logarithms_and_correlations(self, C):
        features = READOUTS["gram"](C)
        torch.testing.assert_close(
            features[:, :4], C.diagonal(dim1=1, dim2=2).log(), rtol=0, atol=1e-4
        )
        assert float(features[:, 4:].abs().max()) <= 1.0
        scale = torch.diag(torch.tensor([1.0, 100.0, 1.0, 1.0], dtype=torch.float64))
        moved = READOUTS["gram"](scale @ C @ scale)
        torch.testing.assert_close(moved[:, 4:], features[:, 4:], rtol=0, atol=1e-2)

    @pytest.mark.parametrize("name", list(READOUTS))
    def test_zero_matrices_are_harmless(self, name):
        C = torch.zeros(2, 3, 3, requires_grad=True)
        READOUTS[name](C).sum().backward()
        assert torch.isfinite(C.grad).all()
