"""A geometry on the graph that the caller already has."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp
import torch
from scipy.special import gammainc
from sklearn.neighbors import NearestNeighbors, kneighbors_graph, radius_neighbors_graph

import pointforms as pf
from pointforms.manifolds import sphere, torus

OPTIONS = [
    {},
    {"calibrate": False, "center": "point", "alpha": 0.3},
    {"calibrate": "point", "density_neighbors": 10, "bandwidth": "auto"},
    {"bandwidth_policy": "fixed", "bandwidth_units": 0.5, "truncation": False, "rank": 2},
]


def assert_same(M: pf.Geometry, N: pf.Geometry, tolerance: float = 1e-11) -> None:
    """Two geometries agree in everything that is computed from them, relative to its size."""
    assert (M.dimension, M.neighbors, len(M)) == (N.dimension, N.neighbors, len(N))
    f = torch.sin(3 * M.points)
    for compute in (
        lambda geometry: geometry.gram_field().matrix(),
        lambda geometry: geometry.laplacian().to_dense(),
        lambda geometry: geometry.laplacian(symmetric=True, calibrate=True).to_dense(),
        lambda geometry: geometry.carre_du_champ(f, f),
        lambda geometry: geometry.density,
        lambda geometry: geometry.scale,
    ):
        a, b = compute(M), compute(N)
        torch.testing.assert_close(a, b, rtol=0, atol=tolerance * float(b.abs().max()))


def lists_with_the_point(X: np.ndarray, k: int) -> np.ndarray:
    index = NearestNeighbors(n_neighbors=k).fit(X).kneighbors(X)[1]
    assert (index[:, 0] == np.arange(len(X))).all()
    return index


@pytest.mark.parametrize("options", OPTIONS, ids=str)
@pytest.mark.parametrize("layout", ["first", "anywhere", "left out", "tensor"])
def test_indices(layout, options, rng):
    X = torus(250, rng).points.numpy()
    index = lists_with_the_point(X, 21)
    if layout == "anywhere":
        index = rng.permuted(index, axis=1)
    elif layout == "left out":
        index = index[:, 1:]
    elif layout == "tensor":
        index = torch.from_numpy(index).int()
    assert_same(pf.Geometry(X, indices=index, **options), pf.Geometry(X, 21, **options))


def test_points_that_are_not_listed_are_added(rng):
    """As if every row had listed the point itself: some rows are then one longer."""
    X = torus(250, rng).points.numpy()
    index = lists_with_the_point(X, 22)
    odd = np.arange(250)[:, None] % 2 == 1
    M = pf.Geometry(X, indices=np.where(odd, index[:, :21], index[:, 1:]))
    places = np.column_stack([index[:, :21], np.where(odd, -1, index[:, 21:])])
    rows, columns = np.repeat(np.arange(250), 22), places.ravel()
    rows, columns = rows[columns >= 0], columns[columns >= 0]
    distance = np.linalg.norm(X[rows] - X[columns], axis=1)
    graph = sp.coo_array((distance, (rows, columns)), (250, 250))
    assert_same(M, pf.Geometry(X, distances=graph))


@pytest.mark.parametrize("options", OPTIONS, ids=str)
def test_distances(options, rng):
    X = 1e5 * torus(250, rng).points.numpy()
    if "bandwidth_units" in options:
        options = options | {"bandwidth_units": 5e4}
    expected = pf.Geometry(X, 21, **options)
    assert_same(
        pf.Geometry(X, distances=kneighbors_graph(X, 20, mode="distance"), **options), expected
    )
    search = NearestNeighbors(n_neighbors=21).fit(X)
    own = search.kneighbors_graph(X, mode="distance")  # with stored zeros on the diagonal
    assert own.nnz == 250 * 21
    assert_same(pf.Geometry(X, distances=own, **options), expected)


@pytest.mark.parametrize(
    "convert",
    [
        sp.csc_matrix,
        sp.coo_matrix,
        sp.lil_array,
        sp.csr_array,
        lambda graph: torch.from_numpy(graph.toarray()).to_sparse_coo(),
        lambda graph: torch.from_numpy(graph.toarray()).to_sparse_csr(),
    ],
)
@pytest.mark.filterwarnings("ignore:Sparse CSR tensor support")
def test_every_sparse_format_is_read(convert, rng):
    X = rng.normal(size=(60, 3))
    graph = kneighbors_graph(X, 11, mode="distance")
    M = pf.Geometry(X, distances=convert(graph))
    assert_same(M, pf.Geometry(X, 12))
    kernel = graph.copy()
    kernel.data = np.exp(-kernel.data)
    assert_same(pf.Geometry(X, affinities=convert(kernel)), pf.Geometry(X, affinities=kernel))


@pytest.mark.parametrize(("precision", "tolerance"), [("float64", 1e-11), ("float32", 1e-6)])
def test_the_layout_of_scanpy(precision, tolerance, rng):
    """obsp["distances"]: n_neighbors counts the point itself, which is not stored."""
    X = sphere(200, rng).points.numpy()
    distance, index = NearestNeighbors(n_neighbors=15).fit(X).kneighbors(X)
    stored = distance[:, 1:].ravel().astype(precision)
    obsp = sp.csr_matrix((stored, index[:, 1:].ravel(), np.arange(0, 200 * 14 + 1, 14)), (200, 200))
    assert_same(pf.Geometry(X, distances=obsp), pf.Geometry(X, 15), tolerance)


def test_scanpy_itself(rng):
    scanpy, anndata = pytest.importorskip("scanpy"), pytest.importorskip("anndata")
    X = sphere(200, rng).points.numpy()
    adata = anndata.AnnData(X)
    scanpy.pp.neighbors(adata, n_neighbors=15, use_rep="X")
    assert_same(pf.Geometry(X, distances=adata.obsp["distances"]), pf.Geometry(X, 15), 1e-6)
    M = pf.Geometry(X, affinities=adata.obsp["connectivities"], dimension=2)
    assert float(
        M.gram_field().matrix().diagonal(dim1=-2, dim2=-1).sum(-1).mean()
    ) == pytest.approx(2)


def test_the_complete_graph_has_no_cut(rng):
    X = rng.normal(size=(30, 3))
    graph = kneighbors_graph(X, 29, mode="distance")
    M = pf.Geometry(X, distances=graph)
    assert M._geometry.lists.complete
    assert_same(M, pf.Geometry(X, 30))
    everyone = np.tile(np.arange(30), (30, 1))
    assert_same(pf.Geometry(X, indices=rng.permuted(everyone, axis=1)), pf.Geometry(X, 30))


def test_stored_zeros_are_neighbours(rng):
    """Two copies of every point are at distance 0 and listed."""
    X = np.repeat(rng.normal(size=(60, 2)), 2, axis=0)
    distance, index = NearestNeighbors(n_neighbors=16).fit(X).kneighbors(X)
    graph = sp.csr_matrix((distance.ravel(), index.ravel(), np.arange(0, 120 * 16 + 1, 16)))
    graph = graph[:120, :120]
    assert (graph.data == 0).sum() == 240
    M = pf.Geometry(X, distances=graph)
    assert M.neighbors == 16
    assert_same(M, pf.Geometry(X, 16), 1e-9)


def ragged_reference(X: np.ndarray, graph: sp.csr_matrix, d: int, k0: int) -> dict[str, np.ndarray]:
    """The equations of the Gram field on lists of different lengths, point by point."""
    n, D = X.shape
    lists = []
    for i in range(n):
        near, distance = graph[[i]].indices, graph[[i]].data
        order = np.argsort(distance)
        lists.append((np.r_[i, near[order]], np.r_[0.0, distance[order]]))
    r0 = np.array([np.sqrt(np.sum(r[:k0] ** 2) / (len(r[:k0]) - 1)) for _, r in lists])
    q0, q = np.empty(n), np.empty(n)
    for i, (near, r) in enumerate(lists):
        terms = r**2 / (2 * r0[i] * r0[near])
        q0[i] = (2 * np.pi) ** (-d / 2) * r0[i] ** -d / n * np.exp(-terms).sum()
        q[i] = q0[i] / gammainc(d / 2, terms[-1])
    rho = q0**-0.5
    rho *= np.exp(np.mean(np.log(r0)) - np.mean(np.log(rho)))
    G, L = np.empty((n, D, D)), np.zeros((n, n))
    for i, (near, r) in enumerate(lists):
        K = np.exp(-(r**2) / (4 * rho[i] * rho[near]))
        K /= K.sum()
        centred = X[near] - K @ X[near]
        R2 = r[-1] ** 2 / (4 * rho[i] ** 2)
        kept = gammainc(d / 2 + 1, R2) / gammainc(d / 2, R2)
        G[i] = (centred.T * K) @ centred / (2 * rho[i] ** 2 * kept)
        L[i, near] = K / (rho[i] ** 2 * kept)
        L[i, i] -= 1 / (rho[i] ** 2 * kept)
    G *= d / np.trace(G, axis1=1, axis2=2).mean()
    return {"G": G, "q": q, "rho": rho, "L": L}


def test_lists_may_differ_in_length(rng):
    X = sphere(200, rng).points.numpy()
    graph = radius_neighbors_graph(X, 0.6, mode="distance").tocsr()
    lengths = 1 + np.diff(graph.indptr)
    assert lengths.min() >= 3
    assert lengths.max() > 2 * lengths.min()
    M = pf.Geometry(X, distances=graph, dimension=2)
    assert M.neighbors == np.sort(lengths)[99]
    slow = ragged_reference(X, graph, d=2, k0=8)
    for fast, expected in (
        (M.gram_field().matrix(), slow["G"]),
        (M.density, slow["q"]),
        (M.scale, slow["rho"]),
        (M.laplacian().to_dense(), slow["L"]),
        (M.carre_du_champ(X, X), slow["G"]),
    ):
        np.testing.assert_allclose(fast, expected, rtol=0, atol=1e-10 * np.abs(expected).max())
    # the graph is symmetric, so that joining both ends changes nothing
    torch.testing.assert_close(M.laplacian(symmetric=True).to_dense(), M.laplacian().to_dense())
    assert pf.Geometry(X, distances=graph).dimension == 2


def test_given_distances_are_used(rng):
    """Twice the distances are twice the widths, and a quarter of G unless it is calibrated."""
    X = sphere(150, rng).points.numpy()
    graph = kneighbors_graph(X, 20, mode="distance")
    for calibrate, factor in ((False, 0.25), (True, 1.0)):
        M = pf.Geometry(X, distances=graph, calibrate=calibrate)
        N = pf.Geometry(X, distances=2 * graph, calibrate=calibrate)
        torch.testing.assert_close(N.scale, 2 * M.scale)
        torch.testing.assert_close(N.gram_field().matrix(), factor * M.gram_field().matrix())


def test_single_precision_stays(rng):
    X = rng.normal(size=(80, 3)).astype(np.float32)
    graph = kneighbors_graph(X, 15, mode="distance")
    for given in (
        {"distances": graph},
        {"affinities": graph},
        {"indices": graph.indices.reshape(80, 15)},
    ):
        M = pf.Geometry(X, **given)
        assert {M.gram_field().factor.dtype, M.scale.dtype, M.laplacian().dtype} == {torch.float32}
        assert M.carre_du_champ(X, X).dtype == torch.float32
    assert_same(pf.Geometry(X, distances=graph), pf.Geometry(X, 16), 1e-4)


@pytest.mark.parametrize(
    ("kind", "options", "message"),
    [
        (
            "indices",
            {"neighbors": 8},
            "neighbors=8 has no effect with indices, which are the neigh",
        ),
        ("distances", {"search": "tree"}, "search='tree' has no effect with distances"),
        ("affinities", {"neighbors": 32}, "neighbors=32 has no effect with affinities"),
        (
            "affinities",
            {"alpha": 0.5},
            "alpha=0.5 has no effect with affinities, which are the ker",
        ),
        ("affinities", {"bandwidth": 2}, r"bandwidth=2\.0 has no effect with affinities"),
        ("affinities", {"truncation": False}, "truncation=False has no effect with affinities"),
        ("affinities", {"calibrate": False}, "calibrate=False: affinities have no length scale"),
    ],
)
def test_options_that_cannot_act_are_refused(kind, options, message, rng):
    X = rng.normal(size=(40, 3))
    graph = kneighbors_graph(X, 8, mode="distance")
    given = graph.indices.reshape(40, 8) if kind == "indices" else graph
    with pytest.raises(ValueError, match=message):
        pf.Geometry(X, **{kind: given}, **options)


def changed(place: tuple[int, int], value: float) -> sp.csr_matrix:
    graph = sp.lil_matrix(np.ones((6, 6)) - np.eye(6))
    graph[place] = value
    return graph.tocsr()


def without_row(i: int) -> sp.csr_matrix:
    graph = np.ones((6, 6)) - np.eye(6)
    graph[i] = 0
    return sp.csr_matrix(graph)


@pytest.mark.parametrize(
    ("given", "error", "message"),
    [
        ({"distances": changed((2, 3), -1)}, ValueError, r"distances\[2, 3\] is -1\.0: expect"),
        ({"distances": changed((2, 3), np.nan)}, ValueError, r"distances\[2, 3\] is nan"),
        ({"affinities": changed((0, 5), np.inf)}, ValueError, r"affinities\[0, 5\] is inf"),
        ({"distances": changed((4, 4), 2)}, ValueError, r"distances\[4, 4\] is 2\.0: the dist"),
        ({"distances": without_row(3)}, ValueError, "row 3 of distances has no neighbours"),
        ({"affinities": without_row(3)}, ValueError, "row 3 of affinities has no neighbours"),
        ({"affinities": sp.eye(6)}, ValueError, r"row 0 of affinities has no .* \(6 such rows\)"),
        ({"distances": sp.eye(5)}, ValueError, r"distances has shape \(5, 5\): expected \(6, 6\)"),
        ({"distances": np.ones((6, 6))}, TypeError, "distances is an array of dtype float64, in"),
        ({"affinities": np.ones((6, 6))}, TypeError, r"csr_array\(affinities\)"),
        ({"distances": torch.ones(6, 6)}, TypeError, "distances is a Tensor, in which every pair"),
        ({"affinities": 1j * sp.eye(6)}, TypeError, "dtype complex128: expected real numbers"),
        ({"distances": "graph"}, TypeError, "distances is str 'graph'"),
        ({"distances": changed((0, 1), 1)}, ValueError, "distances has only ones, and the points"),
        ({"indices": np.ones((6, 2))}, TypeError, "indices is an array of dtype float64: expected"),
        ({"indices": np.zeros(6, int)}, ValueError, r"indices has shape \(6,\): expected \(6, k\)"),
        ({"indices": np.zeros((5, 2), int)}, ValueError, r"indices has shape \(5, 2\)"),
        ({"indices": [[1, 2], [0]] * 3}, ValueError, "indices is a list of length 6 whose rows"),
        ({"distances": sp.coo_array(np.ones(6))}, ValueError, r"distances has shape \(6,\)"),
        ({"indices": np.full((6, 2), 6)}, ValueError, r"indices\[0, 0\] is 6: expected 0 to 5"),
        ({"indices": np.full((6, 2), -1)}, ValueError, r"is -1 \(a neighbour that the search did"),
        ({"indices": np.full((6, 2), 1)}, ValueError, "row 0 of indices has the point 1 more than"),
        ({"indices": np.arange(6)[:, None]}, ValueError, "row 0 of indices has no neighbours"),
        ({"indices": np.eye(6, dtype=int), "distances": sp.eye(6)}, ValueError,
         "indices and distances were given: expected at most one"),
    ],
)  # fmt: skip
def test_wrong_graphs_are_refused_by_name(given, error, message, rng):
    with pytest.raises(error, match=message):
        pf.Geometry(rng.normal(size=(6, 2)), **given)


def test_distances_beyond_the_number_range_are_refused(rng):
    X = rng.normal(size=(6, 2)).astype(np.float32)
    with pytest.raises(
        ValueError, match=r"distances has values up to 1e\+30, for points with an ext"
    ):
        pf.Geometry(X, distances=changed((1, 2), 1e30))


def test_a_grid_of_spacing_one_has_distances_of_one():
    X = np.stack(np.meshgrid(np.arange(8.0), np.arange(8.0)), -1).reshape(-1, 2)
    graph = radius_neighbors_graph(X, 1.1, mode="distance")
    assert (graph.data == 1).all()
    assert pf.Geometry(X, distances=graph, dimension=2).neighbors == 5
