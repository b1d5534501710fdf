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


def tolerance(dtype: torch.dtype) -> float:
    """What rounding may do to numbers of order one."""
    return {torch.float32: 2e-3, torch.float64: 1e-9}[dtype]


def random_rotation(D: int, rng: np.random.Generator) -> np.ndarray:
    Q, R = np.linalg.qr(rng.normal(size=(D, D)))
    return Q * np.sign(np.diag(R))
