"""Large clouds, computed from some rows after the other, have the fields of small ones."""

from __future__ import annotations

import numpy as np
import pytest
import torch

import pointforms as pf
from pointforms.geometry import neighbors
from pointforms.geometry.choice import Votes
from pointforms.geometry.chunked import SearchedLists
from pointforms.geometry.evidence import Evidence
from pointforms.geometry.large import large_field
from pointforms.geometry.neighbors import neighbor_lists
from pointforms.geometry.ordered import OrderedCloud
from pointforms.geometry.ties import nearest
from pointforms.manifolds import sphere

N = 700
OPTIONS = {
    "defaults": {},
    "neighbours": {"neighbors": 32},
    "local PCA": {"neighbors": 32, "dimension": "local-pca"},
    "alpha, projector": {"neighbors": 16, "alpha": 0.7, "spectrum": "projector"},
    "rank": {"neighbors": 20, "dimension": 2, "rank": 2, "density_neighbors": 30},
    "as in the paper": {"neighbors": 24, "dimension": 2, **pf.PAPER_SETTINGS},
    "bandwidth": {"neighbors": 40, "bandwidth": "auto", "calibrate": "point"},
}


def clouds() -> dict[str, np.ndarray]:
    """A surface, noise around it, in single precision, copies, a grid, counts and an outlier."""
    rng = np.random.default_rng(0)
    surface = sphere(N, rng).points.numpy()
    frame = np.linalg.qr(rng.normal(size=(6, 6)))[0][:3]
    return {
        "sphere": surface,
        "float32": surface.astype(np.float32),
        "noise": surface @ frame + 0.05 * rng.normal(size=(N, 6)),
        "copies": rng.permutation(np.repeat(rng.normal(size=(N // 2, 3)), 2, axis=0)),
        "one place": rng.permutation(np.r_[surface[50:], np.zeros((50, 3))]),
        "grid": rng.permutation(np.stack(np.indices((28, 25)), -1).reshape(-1, 2)) * 1.0,
        "counts": rng.poisson(2.0, size=(N, 4)) * 1.0,
        "outlier": np.r_[surface[1:], [[100.0, 0.0, 0.0]]],
    }


CLOUDS = clouds()


@pytest.fixture
def large(monkeypatch: pytest.MonkeyPatch):
    """Make clouds of 700 points large when called, with several chunks and pieces."""

    def make() -> None:
        for name, value in {
            "neighbors.LARGE": 600,
            "ordered.LARGE": 600,
            "ordered.BLOCK": 2000,
            "ordered._PIECE": 5000,
            "chunked.CHUNK": 3000,
            "large._REORDERED": 1500,
        }.items():
            monkeypatch.setattr(f"pointforms.geometry.{name}", value)
        for name in ("gram.Geometry", "stream.estimate_geometry"):  # no field is computed at once
            monkeypatch.setattr(f"pointforms.geometry.{name}", None)

    return make


def assert_same(field: pf.GramField, expected: pf.GramField) -> None:
    single = field.factor.dtype == torch.float32
    tolerance = {"rtol": 1e-4, "atol": 1e-5} if single else {"rtol": 1e-9, "atol": 1e-10}
    for name in ("dimension", "neighbors", "agreement", "settings"):
        assert getattr(field, name) == getattr(expected, name), name
    assert field.bandwidth == pytest.approx(expected.bandwidth, rel=1e-9)
    assert torch.equal(field.points, expected.points)
    torch.testing.assert_close(field.matrix(), expected.matrix(), **tolerance)
    for name in ("log_density", "scale", "discarded_trace"):
        torch.testing.assert_close(getattr(field, name), getattr(expected, name), **tolerance)


@pytest.mark.filterwarnings("ignore:the estimated dimension")
@pytest.mark.parametrize("options", OPTIONS.values(), ids=OPTIONS)
@pytest.mark.parametrize("name", CLOUDS)
def test_the_field_is_that_of_all_rows_at_once(name, options, large):
    X = CLOUDS[name]
    if "rank" in options and name == "grid":
        options = options | {"rank": 1}
        X = X * [1.0, 3.0]  # whose directions differ, so that the kept one is not arbitrary
    expected = pf.gram_field(X, **options)
    large()
    assert_same(pf.gram_field(X, **options), expected)


@pytest.mark.parametrize("name", ["sphere", "copies", "grid"])
@pytest.mark.parametrize("dimension", [None, "local-pca"])
def test_points_count_as_their_weights_say(name, dimension, large, rng):
    X, weights = CLOUDS[name], rng.uniform(0.5, 2.0, size=N)
    options = {"weights": weights, "alpha": 0.5, "dimension": dimension}
    expected = pf.gram_field(X, **options)
    large()
    field = pf.gram_field(X, **options)
    assert_same(field, expected)
    assert torch.equal(field.weights, expected.weights)


def test_many_clouds_and_a_geometry_give_the_same(large, rng):
    both = [CLOUDS["sphere"], sphere(N + 100, rng).points.numpy()]
    expected = pf.gram_fields(both, neighbors=32)
    first = pf.Geometry(both[0])
    L = first.laplacian().to_dense()
    large()
    for field, reference in zip(pf.gram_fields(both, neighbors=32), expected, strict=True):
        assert_same(field, reference)
    geometry = pf.Geometry(both[0])
    assert_same(geometry.gram_field(), first.gram_field())
    torch.testing.assert_close(geometry.laplacian().to_dense(), L)


@pytest.mark.parametrize("name", CLOUDS)
def test_the_evidence_is_the_same(name, large):
    cloud = torch.from_numpy(CLOUDS[name])
    expected = Evidence(cloud)
    distances = expected.distances(2)
    large()
    evidence = Evidence(cloud)
    np.testing.assert_allclose(evidence.angles().sine, expected.angles().sine, rtol=1e-4)
    assert evidence.distances(2) == pytest.approx(distances, rel=1e-4)


@pytest.mark.parametrize("name", ["sphere", "float32", "one place"])
def test_a_search_in_the_order_of_the_tree_is_the_same(name, large):
    cloud = torch.from_numpy(CLOUDS[name])
    x = pf.geometry.units.own_units(cloud.unsqueeze(0))[0]
    expected = neighbor_lists(x, 12, "tree")
    large()
    assert len(cloud) >= neighbors.LARGE
    for lists in (neighbor_lists(x, 12, "tree"), SearchedLists(OrderedCloud(cloud), 12).whole()):
        torch.testing.assert_close(lists.sq, expected.sq)
        assert torch.equal(lists.index[..., 0], expected.index[..., 0])
        if name == "sphere":  # no two distances are the same
            assert torch.equal(lists.index, expected.index)


@pytest.mark.parametrize("name", CLOUDS)
def test_lists_of_some_rows_are_those_of_all(name, large):
    cloud = torch.from_numpy(CLOUDS[name])
    large()
    ordered = OrderedCloud(cloud)
    searched = SearchedLists(ordered, 17)
    lists = searched.nearest(16)
    x = ordered.points.contiguous()
    whole = nearest(neighbor_lists(x, 17, "tree"), x, 16, "tree")
    values = torch.randn(1, N, generator=torch.Generator().manual_seed(0)).to(x)
    torch.testing.assert_close(lists.mean(values), whole.mean(values))
    torch.testing.assert_close(lists.last_sq, whole.sq[..., -1])
    rows = []
    for part in lists.parts(release=True):
        assert part.sq.shape[1] * 16 * x.shape[-1] <= 3000
        same = whole.sq[:, part.rows, :16]
        torch.testing.assert_close(part.sq[..., :16], same)
        rows += range(N)[part.rows]
    assert rows == list(range(N))


@pytest.fixture
def widths(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """The widths of all searches of large clouds."""
    found: list[int] = []
    search = OrderedCloud.search

    def counted(self: OrderedCloud, width: int) -> list[torch.Tensor]:
        found.append(width)
        return search(self, width)

    monkeypatch.setattr(OrderedCloud, "search", counted)
    return found


def test_searched_lists_are_used_if_they_are_long_enough(large, widths):
    large()
    cloud = torch.from_numpy(CLOUDS["sphere"])
    for k, expected in ((32, [33]), (33, [33, 34])):
        widths.clear()
        settings = pf.GramSettings(neighbors=k, dimension=2)
        large_field(cloud, settings, SearchedLists(OrderedCloud(cloud), 33))
        assert widths == expected


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        ({"neighbors": 32}, [33]),
        ({"neighbors": 5}, [8]),  # more for the density
        ({"neighbors": 16, "density_neighbors": 40}, [40]),
        ({"neighbors": 16, "density_neighbors": 5000}, [N]),
    ],
)
def test_local_pca_and_the_field_share_a_search(options, expected, large, widths):
    large()
    cloud = torch.from_numpy(CLOUDS["sphere"])
    settings = pf.GramSettings(dimension="local-pca", **options)
    votes = Votes([cloud], settings)
    settings = votes.choose().applied_to(settings)
    large_field(cloud, settings, votes.lists_in_chunks())
    assert settings.dimension == 2
    assert widths == expected
