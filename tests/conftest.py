from __future__ import annotations

import numpy as np
import pytest
import torch

torch.set_num_threads(1)  # the tensors are small, and the machine may be busy


@pytest.fixture
def rng() -> np.random.Generator:
    return np.random.default_rng(0)


@pytest.fixture(params=[torch.float32, torch.float64], ids=["float32", "float64"])
def dtype(request: pytest.FixtureRequest) -> torch.dtype:
    return request.param
