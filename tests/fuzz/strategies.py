"""Strategies that several batteries draw from: clouds, and values no option expects."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from decimal import Decimal
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import scipy.sparse
import torch
from hypothesis import strategies as st

SIZES = (0, 1, 2, 2, 3, 3, 5, 5, 9, 9, 17, 17, 40, 40)

#: What somebody may pass where something else is expected.
AWKWARD: tuple[Any, ...] = (
    None, True, False, 0, 1, 2, 3, -1, -(10**30), 10**400, 0.0, -0.0, 0.5, 1.0, 2.5, -1.5, 5e-324,
    1e-300, 1e300, float("inf"), float("-inf"), float("nan"), 1j, "", "auto", "1", "none",
    "\x1b[2J",
    b"auto", (), [], [1], (1, 2), [None], ["a"], {}, {"a": 1}, {1}, np.int64(3), np.int8(-1),
    np.float32(0.5), np.float64("nan"), np.bool_(True), np.str_("mean"), np.array(3),
    np.array([1, 2]), np.array([]), torch.tensor(2), torch.tensor([0.5]), Fraction(1, 3),
    Decimal("0.5"), Path("nowhere"), int, len, pd.NA, range(2),
)  # fmt: skip

awkward = st.sampled_from(AWKWARD)


@st.composite
def changes(
    draw: Callable[..., Any], plausible: Mapping[str, tuple[Any, ...]], most: int = 2
) -> dict[str, Any]:
    """Draw options to change: values at and beyond their edges, or of another kind."""
    names = draw(st.lists(st.sampled_from(sorted(plausible)), unique=True, max_size=most))
    return {name: draw(st.sampled_from(plausible[name]) | awkward) for name in names}


# --- clouds ---------------------------------------------------------------------------------


def _normal(rng: np.random.Generator, n: int, D: int) -> np.ndarray:
    return rng.normal(size=(n, D))


def _grid(rng: np.random.Generator, n: int, D: int) -> np.ndarray:
    side = max(1, round(n ** (1 / D)))
    return np.stack(np.unravel_index(np.arange(n) % side**D, (side,) * D), 1).astype(float)


def _line(rng: np.random.Generator, n: int, D: int) -> np.ndarray:
    return np.outer(rng.uniform(-1, 1, n), rng.normal(size=D))


def _circle(rng: np.random.Generator, n: int, D: int) -> np.ndarray:
    t = 2 * np.pi * np.arange(n) / max(n, 1)
    return np.stack([np.cos((j + 1) * t / 2 + j) for j in range(D)], 1)


def _counts(rng: np.random.Generator, n: int, D: int) -> np.ndarray:
    return rng.poisson(1.0, (n, D)).astype(float)


def _duplicates(rng: np.random.Generator, n: int, D: int) -> np.ndarray:
    return rng.normal(size=(max(1, n // 3), D))[rng.integers(0, max(1, n // 3), n)]


def _constant_column(rng: np.random.Generator, n: int, D: int) -> np.ndarray:
    points = rng.normal(size=(n, D))
    points[:, -1] = 7.0
    return points


def _outlier(rng: np.random.Generator, n: int, D: int) -> np.ndarray:
    points = rng.normal(size=(n, D))
    points[:1] = 1e12
    return points


def _equal(rng: np.random.Generator, n: int, D: int) -> np.ndarray:
    return np.full((n, D), 3.0)


SHAPES = (
    _normal, _grid, _line, _circle, _counts, _duplicates, _constant_column, _outlier, _equal,
)  # fmt: skip


@st.composite
def points(
    draw: Callable[..., Any], sizes: tuple[int, ...] = SIZES, widths: tuple[int, ...] = (1, 2, 3, 5)
) -> np.ndarray:
    """Draw the points of a cloud, (n, D), finite or not."""
    n, D = draw(st.sampled_from(sizes)), draw(st.sampled_from(widths))
    rng = np.random.default_rng(draw(st.integers(0, 999)))
    cloud = draw(st.sampled_from(SHAPES))(rng, n, D)
    cloud = cloud * draw(
        st.sampled_from((1,) * 12 + (1e-300, 1e-20, 1e-8, 1e8, 1e20, 1e150, 1e300))
    )
    cloud = cloud + draw(st.sampled_from((0,) * 12 + (1, 1e8, 1e12, -1e300, 1.7e308)))
    spoiled = draw(st.sampled_from((None,) * 20 + (np.nan, np.inf, -np.inf)))
    if spoiled is not None and cloud.size:
        cloud.flat[draw(st.integers(0, cloud.size - 1))] = spoiled
    return cloud


#: Forms in which a table of numbers comes, right or wrong.
WRAPPERS: dict[str, Callable[[np.ndarray], Any]] = {
    "array": lambda x: x,
    "float32": lambda x: x.astype(np.float32),
    "float16": lambda x: x.astype(np.float16),
    "longdouble": lambda x: x.astype(np.longdouble),
    "big-endian": lambda x: x.astype(">f8"),
    "int": lambda x: x.astype(np.int64),
    "uint8": lambda x: x.astype(np.uint8),
    "bool": lambda x: x > 0,
    "object": lambda x: x.astype(object),
    "complex": lambda x: x.astype(complex),
    "text": lambda x: x.astype(str),
    "dates": lambda x: x.astype(np.int64).astype("datetime64[s]"),
    "Fortran": np.asfortranarray,
    "read-only": lambda x: _read_only(x),
    "strided": lambda x: np.repeat(x, 2, axis=0)[::2],
    "reversed": lambda x: x[::-1],
    "masked": lambda x: np.ma.masked_invalid(x),
    "matrix of SciPy": scipy.sparse.csr_array,
    "list": lambda x: x.tolist(),
    "tuple of rows": lambda x: tuple(x),
    "ragged": lambda x: [row[: 1 + i % 2] for i, row in enumerate(x.tolist())],
    "with None": lambda x: [[None, *row[1:]] for row in x.tolist()],
    "with text": lambda x: [["a", *row[1:]] for row in x.tolist()],
    "frame": pd.DataFrame,
    "frame of text": lambda x: pd.DataFrame(x).assign(name="a"),
    "tensor": torch.from_numpy,
    "tensor with gradient": lambda x: torch.from_numpy(x).requires_grad_(),
    "half tensor": lambda x: torch.from_numpy(x).half(),
    "bfloat16 tensor": lambda x: torch.from_numpy(x).bfloat16(),
    "integer tensor": lambda x: torch.from_numpy(x).long(),
    "sparse tensor": lambda x: torch.from_numpy(x).to_sparse(),
    "transposed tensor": lambda x: torch.from_numpy(np.ascontiguousarray(x.T)).T,
    "meta tensor": lambda x: torch.from_numpy(x).to("meta"),
    "column": lambda x: x[:, 0],
    "three axes": lambda x: x[None],
    "no features": lambda x: x[:, :0],
    "scalar": lambda x: x.sum(),
    "wider": lambda x: np.hstack([x, x]),
}


def _read_only(x: np.ndarray) -> np.ndarray:
    x = x.copy()
    x.flags.writeable = False
    return x


@st.composite
def clouds(draw: Callable[..., Any], **options: Any) -> Any:
    """Draw what somebody may pass as one cloud."""
    usual = draw(st.booleans())
    wrapper = WRAPPERS["array" if usual else draw(st.sampled_from(sorted(WRAPPERS)))]
    with np.errstate(all="ignore"):
        return wrapper(draw(points(**options)))
