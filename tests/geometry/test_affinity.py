"""A geometry whose kernel is given: sparse affinities between the points."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp
import torch
from sklearn.neighbors import kneighbors_graph

import pointforms as pf
from pointforms.manifolds import sphere, torus


def weights(X: np.ndarray, k: int = 15) -> sp.csr_matrix:
    """A symmetric kernel with different row sums and lengths."""
    graph = kneighbors_graph(X, k, mode="distance")
    graph.data = np.exp(-((graph.data / graph.data.mean()) ** 2))
    return sp.csr_matrix(graph.maximum(graph.T))


@pytest.mark.parametrize("center", ["mean", "point"])
@pytest.mark.parametrize("calibrate", [True, "point"])
@pytest.mark.parametrize("diagonal", [0.0, 3.0])
def test_affinities_are_the_kernel(diagonal, calibrate, center, rng):
    """G = c Σ_j K̂_ij (p_j - c_i)(p_j - c_i)ᵀ / 2 with the trace d, and L = c (K̂ - I)."""
    X = torus(120, rng).points.numpy()
    A = weights(X) + diagonal * sp.eye(120)
    M = pf.Geometry(X, affinities=A, calibrate=calibrate, center=center)
    K = A.toarray() / A.toarray().sum(1, keepdims=True)
    centres = X if center == "point" else K @ X
    differences = X[None] - centres[:, None]
    G = 0.5 * np.einsum("ij,ija,ijb->iab", K, differences, differences)
    trace = np.trace(G, axis1=1, axis2=2)
    c = M.dimension / (trace if calibrate == "point" else np.full(120, trace.mean()))
    np.testing.assert_allclose(M.gram_field().matrix(), c[:, None, None] * G, atol=1e-11)
    np.testing.assert_allclose(M.carre_du_champ(X, X), c[:, None, None] * G, atol=1e-11)
    np.testing.assert_allclose(M.scale, c**-0.5, rtol=1e-11)
    L = c[:, None] * (K - np.eye(120))
    np.testing.assert_allclose(M.laplacian().to_dense(), L, rtol=0, atol=1e-10 * np.abs(L).max())
    again = M.laplacian(calibrate=calibrate).to_dense()
    np.testing.assert_allclose(again, L, rtol=0, atol=1e-10 * np.abs(L).max())
    assert M.bandwidth == 1.0


@pytest.mark.parametrize("calibrate", [True, "point"])
def test_gamma_is_that_of_the_generator(calibrate, rng):
    """½(L(fh) - f Lh - h Lf) = Γ(f, h) with center="point"."""
    X = sphere(150, rng).points
    f, h = torch.from_numpy(rng.normal(size=(2, 150)))
    M = pf.Geometry(X, affinities=weights(X.numpy()), center="point", calibrate=calibrate)
    L = M.laplacian()
    route = 0.5 * (L @ (f * h) - f * (L @ h) - h * (L @ f))
    gamma = M.carre_du_champ(f, h)
    torch.testing.assert_close(gamma, route, rtol=0, atol=1e-11 * float(gamma.abs().max()))


def test_our_own_kernel_as_affinities_gives_our_field(rng):
    """With every trace equal to d, the scale of the kernel cancels."""
    X = torus(200, rng).points
    M = pf.Geometry(X, 20, calibrate="point")
    L = M.laplacian().to_dense()
    rate = L.diagonal().neg() / (1 - M._geometry.kernel.weights[0, :, 0])
    K = L / rate.unsqueeze(1) + torch.eye(200)
    N = pf.Geometry(X, affinities=sp.csr_array(K.numpy()), calibrate="point")
    torch.testing.assert_close(N.gram_field().matrix(), M.gram_field().matrix(), rtol=0, atol=1e-10)
    torch.testing.assert_close(N.density, M.density)


def test_only_ratios_within_a_row_matter(rng):
    X = sphere(100, rng).points.numpy()
    A = weights(X)
    M = pf.Geometry(X, affinities=A)
    rows = sp.diags(np.exp2(rng.integers(-300, 300, 100).astype(float))) @ A
    f = rng.normal(size=100)
    for other in (1e-200 * A, sp.csr_matrix(rows)):
        N = pf.Geometry(X, affinities=other)
        torch.testing.assert_close(N.gram_field().matrix(), M.gram_field().matrix())
        torch.testing.assert_close(N.carre_du_champ(f, f), M.carre_du_champ(f, f))


def test_symmetric_affinities_give_a_self_adjoint_generator(rng):
    """π_i L_ij with the row sums π of the kernel; one-sided entries count for both ends."""
    X = sphere(100, rng).points.numpy()
    A = weights(X)
    M = pf.Geometry(X, affinities=A)
    pi = torch.from_numpy(np.asarray(A.sum(1))).flatten()
    L = M.laplacian().to_dense()
    S = pi.unsqueeze(1) * L
    torch.testing.assert_close(S, S.T, rtol=0, atol=1e-11 * float(S.abs().max()))
    torch.testing.assert_close(M.laplacian(symmetric=True).to_dense(), L)
    one_sided = pf.Geometry(X, affinities=sp.triu(A) + 1e-3 * A).laplacian(symmetric=True)
    assert torch.equal(one_sided.to_dense() != 0, L != 0)
    assert float(torch.linalg.eigvals(one_sided.to_dense()).imag.abs().max()) < 1e-9


def test_the_order_of_the_points_does_not_matter(rng):
    X = torus(120, rng).points.numpy()
    A, order = weights(X), rng.permutation(120)
    M = pf.Geometry(X, affinities=A)
    N = pf.Geometry(X[order], affinities=A[order][:, order])
    torch.testing.assert_close(N.gram_field().matrix(), M.gram_field().matrix()[order])
    torch.testing.assert_close(N.log_density, M.log_density[order])
