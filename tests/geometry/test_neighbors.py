from __future__ import annotations

import numpy as np
import pytest
import torch

from pointforms.geometry.neighbors import neighbor_lists, neighbors_of


def exact(points: torch.Tensor, k: int) -> torch.Tensor:
    differences = points.unsqueeze(2) - points.unsqueeze(1)
    return differences.square().sum(-1).sort(dim=-1).values[..., :k]


@pytest.mark.parametrize("search", ["tree", "brute", "auto"])
@pytest.mark.parametrize(("n", "D"), [(50, 3), (600, 2), (1500, 4), (1500, 20), (600, 20)])
def test_searches_are_exact(search, n, D, dtype):
    points = torch.randn(2, n, D, generator=torch.Generator().manual_seed(0)).to(dtype)
    lists = neighbor_lists(points, 12, search)
    tolerance = 1e-5 if dtype == torch.float32 else 1e-12
    torch.testing.assert_close(lists.sq, exact(points, 12), rtol=tolerance, atol=tolerance)
    gathered = lists.gather(points)
    torch.testing.assert_close(
        (gathered - points.unsqueeze(2)).square().sum(-1), lists.sq, rtol=1e-4, atol=tolerance
    )
    own = torch.arange(2 * n).view(2, n)
    assert torch.equal(lists.index[..., 0], own)
    assert (lists.sq[..., 0] == 0).all()


def test_approximate_search_finds_nearly_all():
    points = torch.randn(1, 4000, 24, generator=torch.Generator().manual_seed(0)).double()
    lists, true = neighbor_lists(points, 16, "approximate"), neighbor_lists(points, 16, "brute")
    in_both = [
        set(a) & set(b)
        for a, b in zip(lists.index[0].tolist(), true.index[0].tolist(), strict=True)
    ]
    assert np.mean([len(common) for common in in_both]) > 0.95 * 16
    assert torch.equal(lists.index[0, :, 0], torch.arange(4000))
    torch.testing.assert_close(
        (lists.gather(points) - points.unsqueeze(2)).square().sum(-1), lists.sq
    )


def test_small_distances_keep_their_digits():
    """Far from the origin, |x|² + |y|² - 2xy would lose them."""
    base = torch.randn(1, 1500, 20, generator=torch.Generator().manual_seed(0)).double()
    points = 1e-5 * base + 1.0
    lists = neighbor_lists(points - points.mean(1, keepdim=True), 8, "brute")
    torch.testing.assert_close(lists.sq, 1e-10 * exact(base, 8), rtol=1e-6, atol=0)


def test_brute_force_is_exact_in_single_precision_too():
    """Tight groups far apart: products in single precision could not rank their members."""
    points = 1e-4 * torch.randn(1, 1100, 20, generator=torch.Generator().manual_seed(0))
    points[:, ::2, 0] += 1.0
    lists = neighbor_lists(points, 10, "brute")
    torch.testing.assert_close(lists.sq, exact(points, 10), rtol=1e-4, atol=0)


@pytest.mark.parametrize("search", ["tree", "brute", "approximate"])
def test_points_lead_their_lists_even_among_copies(search):
    points = torch.zeros(1, 40, 3, dtype=torch.float64)
    points[0, 30:] = torch.arange(10.0).unsqueeze(1) + 1
    lists = neighbor_lists(points, 5, search)
    assert torch.equal(lists.index[0, :, 0], torch.arange(40))
    assert (lists.sq[0, :30] == 0).all()
    for row in lists.index[0].tolist():
        assert len(set(row)) == 5


def test_enough_neighbors_make_the_graph_complete():
    points = torch.randn(2, 9, 3, dtype=torch.float64)
    lists = neighbor_lists(points, 9)
    assert lists.complete
    assert lists.gather(points).shape == (2, 9, 9, 3)
    torch.testing.assert_close(lists.nearest_sq(4), exact(points, 4))
    nearest = lists.sort(4)
    assert not nearest.complete
    torch.testing.assert_close(nearest.sq, exact(points, 4))
    assert torch.equal(nearest.index[1, :, 0], torch.arange(9, 18))


@pytest.mark.parametrize("method", ["brute", "tree"])
def test_neighbors_of_some_rows(method):
    points = torch.randn(300, 5, dtype=torch.float64)
    rows = torch.tensor([4, 17, 200])
    sq, index = neighbors_of(points, rows, 7, method)
    torch.testing.assert_close(sq, exact(points.unsqueeze(0), 7)[0, rows])
    assert torch.equal(index[:, 0], rows)


def test_approximate_search_says_what_it_needs(monkeypatch):
    import sys

    monkeypatch.setitem(sys.modules, "faiss", None)
    with pytest.raises(ImportError, match=r"pointforms\[ann\]"):
        neighbor_lists(torch.randn(1, 50, 3), 5, "approximate")
