"""Many clouds at once, and what both entry points refuse."""

from __future__ import annotations

import numpy as np
import pytest
import torch

import pointforms as pf
from pointforms.manifolds import circle


def ragged(rng: np.random.Generator) -> list[np.ndarray]:
    sizes = [2, 5, 20, 20, 33, 40, 40, 64, 64, 700, 5]
    return [rng.normal(size=(n, 6)) * rng.uniform(0.01, 100) for n in sizes]


def assert_same(a: pf.geometry.GramField, b: pf.geometry.GramField) -> None:
    assert a.dimension == b.dimension
    assert a.neighbors == b.neighbors
    assert a.bandwidth == pytest.approx(b.bandwidth)
    assert torch.equal(a.points, b.points)
    torch.testing.assert_close(a.matrix(), b.matrix(), rtol=0, atol=1e-11)
    torch.testing.assert_close(a.log_density, b.log_density)
    torch.testing.assert_close(a.scale, b.scale)
    torch.testing.assert_close(a.discarded_trace, b.discarded_trace, rtol=0, atol=1e-10)


@pytest.mark.parametrize(
    "options",
    [{}, {"spectrum": "projector"}, {"rank": 2}, {"bandwidth": "auto"},
     {"calibrate": "point", "alpha": 0.5}, {"n_jobs": 2}, {"n_jobs": -1}],
    ids=str,
)  # fmt: skip
def test_batched_equals_one_by_one(options, rng):
    clouds = ragged(rng)
    options = options | {"neighbors": 16, "dimension": 3}  # otherwise chosen together
    single = {key: value for key, value in options.items() if key != "n_jobs"}
    together = pf.gram_fields(clouds, **options)
    assert len(together) == len(clouds)
    for cloud, field in zip(clouds, together, strict=True):
        assert_same(field, pf.gram_field(cloud, **single))
        assert field.factor.shape == pf.gram_field(cloud, **single).factor.shape


def test_precisions_may_be_mixed(rng):
    clouds = [rng.normal(size=(40, 3)), rng.normal(size=(40, 3)).astype(np.float32)]
    fields = pf.gram_fields(clouds)
    assert [f.factor.dtype for f in fields] == [torch.float64, torch.float32]


def test_clouds_may_come_as_one_array_or_iterator(rng):
    array = rng.normal(size=(3, 30, 4))
    for clouds in (array, torch.from_numpy(array), iter(list(array))):
        assert_same(pf.gram_fields(clouds)[1], pf.gram_field(array[1]))


def test_progress_goes_to_standard_error(rng, capsys):
    pf.gram_fields(ragged(rng), progress=True)
    captured = capsys.readouterr()
    assert captured.out == ""
    assert "Gram fields" in captured.err
    pf.gram_fields(ragged(rng))
    assert capsys.readouterr().err == ""


def test_every_cloud_is_checked_before_the_first_is_computed(rng, monkeypatch):
    import pointforms.geometry.stream as module

    def computed(*_):
        raise AssertionError("work was done before the check")

    monkeypatch.setattr(module, "_fields_of_batch", computed)
    clouds = ragged(rng)
    clouds[-1] = np.full((4, 6), np.nan)
    with pytest.raises(ValueError, match="cloud 10 has 24 non-finite"):
        pf.gram_fields(clouds)
    clouds[-1] = np.ones((4, 6))
    with pytest.raises(ValueError, match="all 4 points of cloud 10 are equal"):
        pf.gram_fields(clouds)
    clouds[-1] = rng.normal(size=(1, 6))
    with pytest.raises(ValueError, match="cloud 10 has 1 point"):
        pf.gram_fields(clouds)


@pytest.mark.parametrize(
    ("options", "error", "message"),
    [
        ({"neighbors": 1}, ValueError, "neighbors=1: expected at least 2"),
        ({"neighbors": 2.5}, TypeError, "neighbors=2.5"),
        ({"neighbors": True}, TypeError, "neighbors=True"),
        ({"neighbors": "many"}, ValueError, "neighbors='many'"),
        ({"neighbors": None}, TypeError, "neighbors=None"),
        ({"dimension": 0}, ValueError, "dimension=0"),
        ({"dimension": 4}, ValueError, "dimension=4 exceeds the 3 features"),
        ({"bandwidth": 0.0}, ValueError, r"bandwidth=0\.0"),
        ({"bandwidth": "wide"}, ValueError, "bandwidth='wide'"),
        ({"bandwidth": float("nan")}, ValueError, "bandwidth=nan"),
        ({"bandwidth_policy": "adaptive"}, ValueError, "'variable', 'fixed'"),
        ({"bandwidth_units": "pixels"}, ValueError, "bandwidth_units='pixels'"),
        ({"bandwidth_units": -1.0}, ValueError, "bandwidth_units=-1"),
        ({"alpha": "half"}, ValueError, "alpha='half'"),
        ({"beta": 0.5}, ValueError, "beta=0.5"),
        ({"density_neighbors": 1}, ValueError, "density_neighbors=1"),
        ({"center": "median"}, ValueError, "center='median': expected one of 'mean', 'point'"),
        ({"calibrate": "cloud"}, ValueError, "calibrate='cloud'"),
        ({"calibrate": 1}, ValueError, "calibrate=1"),
        ({"truncation": None}, ValueError, "truncation=None"),
        ({"spectrum": "flat"}, ValueError, "spectrum='flat'"),
        ({"rank": 0}, ValueError, "rank=0"),
        ({"rank": 4}, ValueError, "rank=4 exceeds the 3 features"),
        ({"search": "fast"}, ValueError, "search='fast'"),
        ({"neighbours": 8}, TypeError, "neighbours"),
    ],
)
def test_bad_options_are_named(options, error, message, rng):
    X = rng.normal(size=(20, 3))
    with pytest.raises(error, match=message):
        pf.gram_field(X, **options)
    with pytest.raises(error, match=message):
        pf.gram_fields([X], **options)
    with pytest.raises(error, match=message):
        pf.laplacian(X, **options)


@pytest.mark.parametrize("jobs", [0, -2, 1.5, True, "all"])
def test_bad_job_counts(jobs, rng):
    with pytest.raises(ValueError, match="n_jobs="):
        pf.gram_fields([rng.normal(size=(20, 3))], n_jobs=jobs)


def test_numpy_numbers_are_numbers(rng):
    X = rng.normal(size=(50, 3))
    a = pf.gram_field(X, neighbors=np.int64(16), bandwidth=np.float64(0.5), dimension=np.int32(2))
    assert_same(a, pf.gram_field(X, neighbors=16, bandwidth=0.5, dimension=2))


def test_a_field_does_not_carry_its_batch(rng):
    import pickle

    fields = pf.gram_fields([rng.normal(size=(20, 10)) for _ in range(50)])
    alone = pf.gram_field(fields[0].points)
    assert len(pickle.dumps(fields[0])) < 1.2 * len(pickle.dumps(alone))
    assert fields[0].settings == alone.settings


def test_choices_may_come_from_arrays(rng):
    X = rng.normal(size=(50, 3))
    field = pf.gram_field(X, spectrum=np.str_("projector"), truncation=np.bool_(True))
    assert field.settings == pf.gram_field(X, spectrum="projector").settings
    assert len(pf.gram_fields([X], n_jobs=np.int64(2))) == 1


def test_the_paper_read_literally_is_far_too_small(rng):
    """Trap 3: with ε = 1 in absolute units and 16 neighbours, the circle's trace is about 0.005."""
    field = pf.gram_field(circle(128, rng).points, neighbors=16, **pf.PAPER_SETTINGS)
    trace = float(field.matrix().diagonal(dim1=-2, dim2=-1).sum(-1).mean())
    assert 0.002 < trace < 0.01
