"""Tolerances and random matrices of the tests."""

from __future__ import annotations

import numpy as np
import torch


def tolerance(dtype: torch.dtype) -> float:
    """What rounding may do to numbers of order one."""
    return {torch.float32: 2e-3, torch.float64: 1e-9}[dtype]


def random_rotation(D: int, rng: np.random.Generator) -> np.ndarray:
    Q, R = np.linalg.qr(rng.normal(size=(D, D)))
    return Q * np.sign(np.diag(R))
