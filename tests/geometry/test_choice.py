"""What is chosen when nothing is given, for one cloud and for many."""

from __future__ import annotations

import warnings

import numpy as np
import pytest
import torch
from benchmarks.defaults import CASES, COUNTS

import pointforms as pf
from pointforms.geometry import choice
from pointforms.geometry.choice import Votes
from pointforms.manifolds import circle, relative_error, sphere


@pytest.mark.parametrize(
    "case",
    [
        "sphere, n = 2000, noise 0.05",
        "circle, n = 1000",
        "swiss roll, n = 2000",
        "curve in R^4, n = 1000, noise 0.05",
        "helix, n = 100",
        "4-cube in R^8, n = 2000, noise 0.02",
        "2-D Gaussian, n = 200",
        "Möbius strip, n = 1000, noise 0.03",
        "sphere, n = 64",
        "line in R^3, n = 200, noise 0.02",
    ],
)
def test_with_nothing_given_the_field_is_nearly_the_best(case, rng):
    sample = CASES[case](rng)
    field = pf.gram_field(sample.points)
    assert field.dimension == sample.dimension
    fixed = [pf.gram_field(sample.points, neighbors=k, dimension=sample.dimension) for k in COUNTS]
    least = min(relative_error(one, sample) for one in fixed)
    assert relative_error(field, sample) < 1.3 * least


def test_noise_wants_more_neighbors_and_curvature_fewer(rng):
    assert pf.gram_field(sphere(1000, rng).noisy(0.05, rng).points).neighbors >= 128
    t = np.sort(rng.uniform(0, 2 * np.pi, 1000))
    knot = np.column_stack([np.cos(t), np.sin(2 * t), np.cos(5 * t)])
    assert pf.gram_field(knot).neighbors <= 64


def test_the_chosen_numbers_give_the_same_field(rng):
    """Also where neighbours that were searched for the choice are used again."""
    for X in (circle(100, rng).points, sphere(600, rng).points, rng.normal(size=(80, 4))):
        chosen = pf.gram_field(X)
        given = pf.gram_field(X, neighbors=chosen.neighbors, dimension=chosen.dimension)
        torch.testing.assert_close(chosen.matrix(), given.matrix(), rtol=0, atol=1e-12)
        torch.testing.assert_close(chosen.log_density, given.log_density)


def test_numbers_that_are_given_are_not_asked_for(monkeypatch, rng):
    X = rng.normal(size=(60, 3))
    expected = pf.gram_field(X, dimension=2).neighbors
    monkeypatch.setattr(choice, "Evidence", None)
    field = pf.gram_field(X, neighbors=expected, dimension=2)
    assert (field.neighbors, field.dimension, field.agreement) == (expected, 2, None)
    assert len(pf.gram_fields([X, X[:20]], neighbors=16, dimension=1)) == 2


class TestAgreement:
    @pytest.fixture
    def mixture(self, rng):
        """A line, a square and a ball, far from each other."""
        parts = [np.pad(rng.uniform(size=(200, d)), ((0, 0), (0, 3 - d))) for d in (1, 2, 3)]
        return np.concatenate([part + np.array([9.0 * i, 0, 0]) for i, part in enumerate(parts)])

    def test_points_of_a_manifold_agree(self, rng):
        field = pf.gram_field(sphere(500, rng).points)
        assert field.agreement > 0.9
        assert pf.Geometry(field.points).agreement == field.agreement

    def test_a_doubtful_dimension_warns_where_it_was_asked_for(self, mixture):
        with pytest.warns(UserWarning, match=r"dimension \d is doubtful: less than half") as caught:
            assert pf.gram_field(mixture).agreement < 0.5
        assert caught[0].filename == __file__
        with pytest.warns(UserWarning, match="doubtful") as caught:
            pf.gram_fields([mixture, mixture[:400]])
        assert caught[0].filename == __file__

    def test_clouds_too_small_to_tell_more_are_doubtful(self, rng):
        with pytest.warns(UserWarning, match="the estimated dimension 4 is doubtful"):
            assert pf.gram_field(rng.normal(size=(50, 12))).agreement == 0
        assert pf.gram_field(rng.normal(size=(300, 12))).dimension == 12

    def test_a_given_dimension_does_not(self, mixture):
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            pf.gram_field(mixture, dimension=3)


class TestManyClouds:
    def test_they_share_one_choice(self, rng):
        clouds = [sphere(n, rng).noisy(0.03, rng).points for n in (100, 300, 400, 500)]
        fields = pf.gram_fields(clouds)
        assert {field.dimension for field in fields} == {2}
        assert len({field.agreement for field in fields}) == 1
        k = max(field.neighbors for field in fields)
        assert [field.neighbors for field in fields] == [min(len(c), k) for c in clouds]

    def test_one_cloud_is_a_set_of_one(self, rng):
        X = sphere(300, rng).points
        [together], alone = pf.gram_fields([X]), pf.gram_field(X)
        assert together.neighbors == alone.neighbors
        torch.testing.assert_close(together.factor, alone.factor)

    def test_the_larger_half_votes(self, rng):
        tiny = [rng.normal(size=(6, 3)) for _ in range(5)]
        curves = [circle(200, rng).embedded(3).points for _ in range(5)]
        fields = pf.gram_fields([*tiny, *curves])
        assert {field.dimension for field in fields} == {1}
        assert fields[-1].neighbors == pf.gram_fields(curves)[0].neighbors

    def test_small_clouds_abstain_from_dimensions_they_cannot_tell(self, rng):
        clouds = [*(rng.normal(size=(10, 3)) for _ in range(3)), rng.normal(size=(3000, 3))]
        fields = pf.gram_fields(clouds)
        assert fields[-1].dimension == 3
        assert fields[-1].neighbors == pf.gram_field(clouds[-1]).neighbors

    def test_their_order_does_not_matter(self, rng):
        flat = [np.c_[rng.normal(size=(100, 2)), np.zeros(100)] for _ in range(40)]
        clouds = [*flat, *(rng.normal(size=(100, 3)) for _ in range(40))]
        settings = pf.GramSettings()
        choices = set()
        for _ in range(4):
            rng.shuffle(clouds)
            choices.add(Votes([torch.from_numpy(cloud) for cloud in clouds], settings).choose())
        assert len(choices) == 1

    def test_the_chosen_numbers_give_the_same_fields(self, rng):
        clouds = [sphere(n, rng).points for n in (60, 80, 80)]
        chosen = pf.gram_fields(clouds)
        k, d = max(field.neighbors for field in chosen), chosen[0].dimension
        given = pf.gram_fields(clouds, neighbors=k, dimension=d)
        for a, b in zip(chosen, given, strict=True):
            assert torch.equal(a.factor, b.factor)

    def test_clouds_are_asked_once(self, rng, monkeypatch):
        asked = []
        evidence = choice.Evidence
        monkeypatch.setattr(
            choice, "Evidence", lambda cloud, search: asked.append(len(cloud)) or evidence(cloud)
        )
        clouds = [circle(100 + i, rng).points for i in range(6)]
        votes = Votes(clouds, pf.GramSettings())
        choices = [votes.choose(rows) for rows in ([3, 4, 5], [2, 4, 5], [4, 5], None)]
        assert {one.dimension for one in choices} == {1}
        assert sorted(asked) == [103, 104, 105]

    def test_local_pca_takes_the_median_of_all(self, rng):
        clouds = [circle(100, rng).points] * 3 + [rng.normal(size=(100, 2))] * 2
        fields = pf.gram_fields(clouds, neighbors=32, dimension="local-pca")
        assert {field.dimension for field in fields} == {1}
        assert fields[0].agreement is None
        own = [pf.geometry.estimate_dimension(c, "local-pca") for c in clouds]
        assert own == [1, 1, 1, 2, 2]


@pytest.mark.filterwarnings("ignore:the estimated dimension")
class TestSmallClouds:
    """Where nothing can be estimated well, the choice is safe."""

    def test_of_5_to_40_points_in_50_dimensions(self, rng):
        for scale in (np.ones(50), 0.9 ** np.arange(50)):
            clouds = [rng.normal(size=(n, 50)) * scale for n in range(5, 41)]
            fields = pf.gram_fields(clouds)
            assert fields[0].dimension <= 8
            assert [field.neighbors for field in fields] == [min(len(c), 32) for c in clouds]
            assert all(torch.isfinite(field.factor).all() for field in fields)
            assert all(torch.isfinite(field.log_density).all() for field in fields)

    @pytest.mark.parametrize("n", [2, 3, 10, 16, 17, 32, 33, 40])
    @pytest.mark.parametrize("D", [1, 3, 50])
    def test_alone(self, n, D, rng):
        field = pf.gram_field(rng.normal(size=(n, D)))
        assert field.neighbors <= n
        assert 1 <= field.dimension <= max(1, n // 4)
        assert torch.isfinite(field.factor).all()

    def test_enough_neighbors_for_a_given_dimension(self, rng):
        assert pf.gram_field(rng.normal(size=(500, 80)), dimension=70).neighbors >= 256
        assert pf.gram_field(rng.normal(size=(100, 80)), dimension=70).neighbors == 100
