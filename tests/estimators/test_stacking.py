"""The optimiser of stacked models."""

from __future__ import annotations

import torch

from pointforms.estimators.stacking import AdamW


def test_a_step_does_not_depend_on_strides_of_gradients():
    """The fused step of a single model reads memory as it comes."""
    torch.manual_seed(0)
    start, grad = torch.randn(1, 4, 3), torch.randn(1, 4, 3)
    found = []
    for given in (grad, grad.mT.contiguous().mT):
        params = {"weight": start.clone()}
        AdamW(params, [0.1], [0.5]).step(params, {"weight": given}, 1.0)
        found.append(params["weight"])
    assert torch.equal(*found)
    assert not torch.equal(found[0], start)
