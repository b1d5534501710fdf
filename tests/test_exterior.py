from __future__ import annotations

from itertools import permutations
from math import comb

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.helpers.numbers import tolerance

from pointforms.exterior import compound, multi_indices, pull


def minors(A: torch.Tensor, k: int) -> torch.Tensor:
    """Compound matrix by determinants, entry by entry."""
    rows, columns = multi_indices(A.shape[-2], k), multi_indices(A.shape[-1], k)
    out = A.new_zeros(*A.shape[:-2], len(rows), len(columns))
    for a, I in enumerate(rows):
        for b, J in enumerate(columns):
            out[..., a, b] = torch.linalg.det(A[..., I, :][..., J])
    return out


def test_multi_indices_are_increasing_and_complete():
    indices = multi_indices(5, 3)
    assert indices.shape == (10, 3)
    assert (indices.diff(dim=1) > 0).all()
    assert indices.tolist() == sorted(indices.tolist())
    assert multi_indices(4, 0).shape == (1, 0)
    assert multi_indices(2, 3).shape == (0, 3)


@pytest.mark.parametrize("k", range(5))
def test_compound_is_the_matrix_of_minors(k):
    A = torch.randn(3, 5, 4, generator=torch.Generator().manual_seed(k)).double()
    torch.testing.assert_close(compound(A, k), minors(A, k), rtol=1e-10, atol=1e-12)


@given(
    m=st.integers(1, 6), n=st.integers(1, 6), p=st.integers(1, 6), k=st.integers(0, 4),
    seed=st.integers(0, 2**16),
)  # fmt: skip
@settings(max_examples=60, deadline=None)
def test_cauchy_binet(m, n, p, k, seed):
    generator = torch.Generator().manual_seed(seed)
    A = torch.randn(m, n, generator=generator).double()
    B = torch.randn(n, p, generator=generator).double()
    torch.testing.assert_close(
        compound(A @ B, k), compound(A, k) @ compound(B, k), rtol=1e-9, atol=1e-9
    )
    torch.testing.assert_close(compound(A.T, k), compound(A, k).T)


@pytest.mark.parametrize("k", range(5))
def test_compounds_of_an_empty_batch(k):
    A = torch.zeros(0, 4, 3, requires_grad=True)
    minors = compound(A, k)
    assert minors.shape == (0, comb(4, k), comb(3, k))
    if 0 < k < 4:
        minors.sum().backward()
        assert A.grad.shape == A.shape


def test_compound_at_the_ends():
    A = torch.randn(4, 4, dtype=torch.float64)
    assert torch.equal(compound(A, 0), torch.ones(1, 1, dtype=torch.float64))
    assert torch.equal(compound(A, 1), A)
    torch.testing.assert_close(compound(A, 4).squeeze(), torch.linalg.det(A))
    assert compound(A, 5).shape == (0, 0)
    # no minors, found without those of lower degrees, which would not fit in any memory
    assert compound(torch.zeros(40, 60), 50).shape == (0, comb(60, 50))
    with pytest.raises(ValueError, match="degree=-1"):
        compound(A, -1)


@pytest.mark.parametrize("route", ["compound", "slots"])
@pytest.mark.parametrize("k", range(5))
@pytest.mark.parametrize(("D", "r"), [(5, 5), (6, 3), (4, 7), (7, 1), (1, 1), (3, 2)])
def test_routes_equal_the_dense_compound(route, k, D, r, dtype):
    generator = torch.Generator().manual_seed(10 * D + r + k)
    V = torch.randn(4, D, r, generator=generator).to(dtype) / D**0.5
    F = torch.randn(4, 3, comb(D, k), generator=generator).to(dtype)
    pulled = pull(F, V, k, route)
    assert pulled.shape == (4, 3, comb(r, k))
    dense = F @ compound(V @ V.mT, k) @ F.mT
    torch.testing.assert_close(pulled @ pulled.mT, dense, rtol=0, atol=tolerance(dtype))


@pytest.mark.parametrize("route", ["compound", "slots"])
def test_pulled_form_is_the_form_on_the_columns(route):
    """(Vᵀω)_A = ω(V_a1, V_a2, V_a3), by the sum over permutations."""
    D, k = 4, 3
    generator = torch.Generator().manual_seed(0)
    V = torch.randn(1, D, 4, generator=generator).double()
    omega = torch.randn(1, 1, comb(D, k), generator=generator).double()
    value = pull(omega, V, k, route)[0, 0]
    for place, A in enumerate(multi_indices(4, k)):
        total = 0.0
        for c, I in zip(omega[0, 0], multi_indices(D, k), strict=True):
            for sigma in permutations(range(k)):
                sign = np.linalg.det(np.eye(k)[list(sigma)])
                total += (
                    float(c)
                    * sign
                    * np.prod([float(V[0, I[s], A[j]]) for j, s in enumerate(sigma)])
                )
        assert float(value[place]) == pytest.approx(total, abs=1e-10)


@pytest.mark.parametrize("route", ["compound", "slots"])
@pytest.mark.parametrize("k", [0, 1, 2, 3])
def test_gradients_pass_through_both_routes(route, k):
    generator = torch.Generator().manual_seed(0)
    V = torch.randn(2, 4, 3, generator=generator).double()
    F = torch.randn(2, 2, comb(4, k), generator=generator).double().requires_grad_()
    assert torch.autograd.gradcheck(lambda f: pull(f, V, k, route), F)
