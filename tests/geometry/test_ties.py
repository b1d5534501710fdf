"""Grids and counts: many points are equally far away, and their order must not matter."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
import torch
from tests.helpers.numbers import random_rotation

import pointforms as pf
from pointforms.geometry import ties
from pointforms.geometry.neighbors import neighbor_lists
from pointforms.geometry.ties import nearest, nearest_of, shares


def grid(*sizes: int) -> np.ndarray:
    axes = [np.arange(size, dtype=float) for size in sizes]
    return np.stack(np.meshgrid(*axes, indexing="ij"), -1).reshape(-1, len(sizes))


def poisson(rate: float, n: int, D: int) -> np.ndarray:
    return np.random.default_rng(0).poisson(rate, size=(n, D)).astype(float)


def copies() -> np.ndarray:
    rng = np.random.default_rng(0)
    return np.r_[np.zeros((150, 3)), rng.integers(0, 3, (100, 3)), rng.normal(size=(30, 3))]


CLOUDS = {
    "square": grid(12, 12),
    "rectangle": grid(9, 17),
    "cube": grid(6, 6, 6),
    "counts in 2-D": poisson(3, 400, 2),
    "many counts": poisson(2, 1100, 2),
    "counts in 3-D": poisson(1, 300, 3),
    "counts in 12-D": poisson(0.7, 250, 12),
    "counts in 40-D": poisson(0.2, 200, 40),
    "copies": copies(),
}
each_cloud = pytest.mark.parametrize("name", CLOUDS)

OPTIONS = [
    {},
    {"neighbors": "auto"},
    {"bandwidth": "auto"},
    {"alpha": 0.5, "center": "point", "density_neighbors": 40},
    {"neighbors": 8, "spectrum": "projector", "dimension": 2},
    {"neighbors": 8, "calibrate": "point", "dimension": 2},
    {**pf.PAPER_SETTINGS},
]


def assert_same(a: pf.GramField, b: pf.GramField, tolerance: float) -> None:
    assert (a.dimension, a.neighbors) == (b.dimension, b.neighbors)
    assert a.bandwidth == pytest.approx(b.bandwidth, rel=1e3 * tolerance)
    G = a.matrix()
    atol = tolerance * max(1.0, float(G.abs().max()))
    torch.testing.assert_close(b.matrix(), G, rtol=0, atol=atol)
    torch.testing.assert_close(b.log_density, a.log_density, rtol=0, atol=tolerance)
    torch.testing.assert_close(b.scale, a.scale, rtol=tolerance, atol=0)


def permuted(field: pf.GramField, order: np.ndarray) -> pf.GramField:
    names = ("points", "factor", "log_density", "scale", "discarded_trace")
    return replace(field, **{name: getattr(field, name)[order] for name in names})


@each_cloud
@pytest.mark.parametrize("options", OPTIONS[:4], ids=str)
def test_the_order_of_points_does_not_matter(name, options, dtype, rng):
    X = torch.from_numpy(CLOUDS[name]).to(dtype)
    order = rng.permutation(len(X))
    before, after = pf.gram_field(X, **options), pf.gram_field(X[order], **options)
    assert_same(permuted(before, order), after, 1e-10 if dtype == torch.float64 else 1e-3)


@each_cloud
@pytest.mark.parametrize("options", OPTIONS[:4], ids=str)
def test_rotations_break_no_ties(name, options, dtype, rng):
    """G(RX) = R G(X) Rᵀ, although tied distances differ by rounding errors after a rotation."""
    X = CLOUDS[name]
    R = torch.from_numpy(random_rotation(X.shape[1], rng))
    before = pf.gram_field(torch.from_numpy(X).to(dtype), **options)
    after = pf.gram_field((torch.from_numpy(X) @ R.T).to(dtype), **options)
    turned = replace(before, factor=R.to(dtype) @ before.factor)
    assert_same(turned, after, 1e-9 if dtype == torch.float64 else 1e-2)


@pytest.mark.parametrize("options", OPTIONS[4:], ids=str)
def test_other_options_do_not_depend_on_the_order_either(options, rng):
    for X in (CLOUDS["rectangle"] * [1.0, 0.3], CLOUDS["counts in 2-D"]):
        order = rng.permutation(len(X))
        before, after = pf.gram_field(X, **options), pf.gram_field(X[order], **options)
        assert_same(permuted(before, order), after, 1e-9)


@pytest.mark.parametrize("search", ["tree", "brute"])
def test_every_exact_search_shares_alike(search):
    for X in (CLOUDS["counts in 2-D"], CLOUDS["cube"], grid(36, 36)):
        assert_same(pf.gram_field(X), pf.gram_field(X, search=search), 1e-11)


def test_batched_equals_one_by_one(rng):
    """Also where clouds without ties are in the batch of one with long lists."""
    clouds = [poisson(2, 144, 2), rng.normal(size=(144, 2)), grid(12, 12)]
    options = {"neighbors": 32, "dimension": 2}
    for cloud, field in zip(clouds, pf.gram_fields(clouds, **options), strict=True):
        assert_same(pf.gram_field(cloud, **options), field, 1e-11)


def test_comparison_matrices_and_measures_do_not_depend_on_the_order(rng):
    def forms(points):
        x = torch.as_tensor(points)
        return torch.stack([torch.sin(x), x.flip(-1), torch.cos(2 * x)], 1)

    for X in (CLOUDS["square"], CLOUDS["many counts"]):
        order = rng.permutation(len(X))
        before, after = pf.gram_field(X), pf.gram_field(X[order])
        for measure in ("uniform", "volume", "volume-normalized"):
            torch.testing.assert_close(before.measure(measure)[order], after.measure(measure))
            C = pf.comparison_matrix(forms, before, measure=measure)
            torch.testing.assert_close(pf.comparison_matrix(forms, after, measure=measure), C)


@pytest.mark.parametrize("name", ["square", "counts in 2-D", "copies"])
def test_operators_do_not_depend_on_the_order(name, rng):
    """Functions may differ between copies of a point."""
    X = CLOUDS[name]
    f, h = rng.normal(size=(2, len(X)))
    order = rng.permutation(len(X))
    gamma, again = (
        pf.carre_du_champ(*values) for values in ((f, h, X), (f[order], h[order], X[order]))
    )
    torch.testing.assert_close(again, gamma[order], rtol=1e-9, atol=1e-9 * float(gamma.abs().max()))
    for symmetric in (False, True):
        L, again = (pf.laplacian(x, symmetric=symmetric).to_dense() for x in (X, X[order]))
        torch.testing.assert_close(
            again, L[order][:, order], rtol=1e-9, atol=1e-9 * float(L.abs().max())
        )


def test_operators_agree_with_the_field_where_copies_are_merged():
    X = CLOUDS["copies"]
    G = pf.gram_field(X).matrix()
    gamma = pf.carre_du_champ(X[:, 0], X[:, 1], X)
    torch.testing.assert_close(gamma, G[:, 0, 1], rtol=0, atol=1e-11)


@each_cloud
@pytest.mark.parametrize("merge", [False, True])
def test_lists_equal_a_slow_reference(name, merge):
    X, k = torch.from_numpy(CLOUDS[name]), 20
    x = X - X.mean(0)
    lists = nearest(neighbor_lists(x.unsqueeze(0), k + 1), x.unsqueeze(0), k, merge=merge)
    share = torch.ones_like(lists.sq) if lists.share is None else lists.share
    assert lists.length == k
    squared = (X.unsqueeze(0) - X.unsqueeze(1)).square().sum(-1)
    _, place = X.unique(dim=0, return_inverse=True)
    for i in range(0, len(X), 7):
        last = squared[i].sort().values[k - 1]
        same = (squared[i] - last).abs() < 1e-6
        inside = (squared[i] < last) & ~same
        weights = inside + same.double() * (k - int(inside.sum())) / int(same.sum())
        listed = torch.zeros(len(X), dtype=torch.float64)
        listed.index_add_(0, lists.index[0, i], share[0, i])
        # merged copies have their weight together
        torch.testing.assert_close(
            torch.zeros_like(listed).index_add(0, place, listed),
            torch.zeros_like(listed).index_add(0, place, weights),
        )
        assert merge or torch.allclose(listed, weights)
        assert float(lists.sq[0, i, -1]) == pytest.approx(float(last))


def test_without_ties_nothing_is_shared():
    points = torch.randn(2, 300, 3, dtype=torch.float64)
    lists = neighbor_lists(points, 13)
    shorter = nearest(lists, points, 12)
    assert shorter.share is None
    assert torch.equal(shorter.sq, lists.sq[..., :12])
    assert torch.equal(shorter.index, lists.index[..., :12])


def test_neighbors_of_some_points_include_all_that_are_tied():
    X = torch.from_numpy(grid(9, 9))
    sq, _ = nearest_of(X, torch.tensor([40]), 7, most=81)  # the centre: 1, 4 and 4 neighbours
    weights = shares(sq, 7)
    assert weights is not None
    assert weights[0, :5].tolist() == [1.0] * 5
    assert weights[0, 5:9].tolist() == pytest.approx([0.5] * 4)
    assert float(weights.sum()) == pytest.approx(7)
    assert shares(sq, 9) is None


def test_copies_are_listed_once():
    """Half of 4000 points in one place: lists of all of them would be long."""
    rng = np.random.default_rng(0)
    X = torch.from_numpy(np.r_[np.zeros((2000, 2)), rng.integers(-4, 5, (2000, 2))]).double()
    x = X.unsqueeze(0) / 8
    lists = nearest(neighbor_lists(x, 33), x, 32)
    assert lists.sq.shape[-1] < 50


def test_too_many_ties_are_reported(monkeypatch):
    monkeypatch.setattr(ties, "_MAX_ENTRIES", 1)
    with pytest.warns(UserWarning, match=r"a cloud of 60 points has more than 8 points tied"):
        pf.gram_field(np.eye(60), neighbors=4, dimension=2)
