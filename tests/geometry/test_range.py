"""At the ends of the floating-point range: finite numbers, or an error that says what is wrong."""

from __future__ import annotations

import re

import numpy as np
import pytest
import torch

import pointforms as pf

NORMAL = np.random.default_rng(0).normal(size=(40, 3))
COUNTS = np.random.default_rng(0).poisson(1.0, size=(40, 2)).astype(float)

EXTREME_OPTIONS = [
    {"bandwidth": 1e-30},
    {"bandwidth": 1e30},
    {"bandwidth": 1e30, "truncation": False},
    {"beta": -100.0},
    {"beta": -100.0, "bandwidth": "auto"},
    {"beta": -100.0, "spectrum": "projector"},
    {"bandwidth_units": 1e-300},
    {"bandwidth_units": 1e300},
    {"alpha": 100.0},
    {"alpha": -100.0, "calibrate": "point"},
    dict(pf.PAPER_SETTINGS),
]
SCALES = {
    torch.float64: (1e-307, 1e-150, 1e150, 1e307),
    torch.float32: (1e-37, 1e-20, 1e20, 1e37),
}


def ones(points):
    return torch.ones_like(torch.as_tensor(points))


def results(X, **options):
    """Yield callables for everything that can be computed of a cloud."""
    yield lambda: pf.laplacian(X, **options).to_dense()
    yield lambda: pf.laplacian(X, symmetric=True, **options).to_dense()
    yield lambda: pf.carre_du_champ(X[:, 0], X[:, 1], X, **options)
    yield lambda: pf.carre_du_champ(np.arange(len(X)), X[:, 0], X, **options)
    try:
        field = pf.gram_field(X, **options)
    except ValueError as error:
        assert "the Gram field exceeds the range" in str(error)  # noqa: PT017
        return
    yield from (lambda name=name: getattr(field, name) for name in ("factor", "log_density"))
    yield from (lambda name=name: getattr(field, name) for name in ("scale", "density"))
    yield field.matrix
    yield lambda: field.compound(2)
    yield lambda: torch.tensor(field.off_tangent_share())
    yield lambda: pf.inner(ones, ones, field)
    for measure in ("uniform", "volume", "volume-normalized"):
        yield lambda measure=measure: field.measure(measure)
        yield lambda measure=measure: pf.inner_global(ones, ones, field, measure=measure)
        yield lambda measure=measure: pf.comparison_matrix(
            lambda p: ones(p).unsqueeze(1), field, measure=measure
        )


def assert_finite_or_clear(X, **options):
    clear = re.compile("beyond the range|exceeds? the range|at the end of the range")
    for result in results(X, **options):
        try:
            value = result()
        except ValueError as error:
            assert clear.search(str(error)), error  # noqa: PT017
        else:
            assert torch.isfinite(value).all()


@pytest.mark.parametrize("options", EXTREME_OPTIONS, ids=str)
def test_extreme_options(options, dtype):
    for X in (torch.from_numpy(NORMAL).to(dtype), torch.from_numpy(COUNTS).to(dtype)):
        for calibrate in (True, False):
            assert_finite_or_clear(X, neighbors=12, **{"calibrate": calibrate, **options})


def test_wide_bandwidth_functions_give_finite_fields(rng):
    X = rng.normal(size=(60, 3))
    for options in ({"beta": -100.0}, {"beta": -30.0, "bandwidth_units": "absolute"}):
        for spectrum in ("raw", "projector"):
            field = pf.gram_field(X, spectrum=spectrum, **options)
            assert torch.isfinite(field.matrix()).all()


@pytest.mark.parametrize("options", [{}, {"calibrate": False}, dict(pf.PAPER_SETTINGS)], ids=str)
def test_extreme_coordinates(options, dtype):
    for scale in SCALES[dtype]:
        X = torch.from_numpy(NORMAL / np.abs(NORMAL).max() * scale).to(dtype)
        assert_finite_or_clear(X, neighbors=12, **options)


@pytest.mark.parametrize("scale", [1e-300, 1e-150, 1e150, 1e300])
def test_scale_free_results_stay_right(scale):
    X = NORMAL / np.abs(NORMAL).max()
    before, after = pf.gram_field(X), pf.gram_field(scale * X)
    torch.testing.assert_close(after.matrix(), before.matrix(), rtol=0, atol=1e-9)
    for measure in ("uniform", "volume-normalized"):
        torch.testing.assert_close(after.measure(measure), before.measure(measure))
    # f / length² · f: units cancel, although the square of the length leaves the range
    gamma = pf.carre_du_champ(X[:, 0], X[:, 1], X)
    again = pf.carre_du_champ(scale * X[:, 0], scale * X[:, 1], scale * X)
    torch.testing.assert_close(again, gamma, rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("bandwidth", [1e6, 1e20, 1e30])
def test_wide_kernels_have_a_limit(bandwidth, dtype):
    """A kernel much wider than its list is constant on it, and the truncation makes up for it."""
    X = torch.from_numpy(NORMAL).to(dtype)
    options = {"neighbors": 12, "calibrate": False}
    limit = pf.gram_field(X, bandwidth=1e4, **options).matrix()
    found = pf.gram_field(X, bandwidth=bandwidth, **options).matrix()
    torch.testing.assert_close(found, limit, rtol=1e-2, atol=1e-3)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"bandwidth": 1e-300}, "bandwidth=1e-300: expected a number from 1e-30 to 1e+30"),
        ({"bandwidth": 1e300}, "bandwidth=1e+300: expected a number from 1e-30 to 1e+30"),
        ({"beta": -1e6}, "beta=-1000000.0: expected a number from -100 to 0"),
        ({"alpha": 1e6}, "alpha=1000000.0: expected a number from -100 to 100"),
    ],
)
def test_options_without_a_meaning_are_refused(options, message):
    with pytest.raises(ValueError, match=re.escape(message)):
        pf.gram_field(NORMAL, **options)


def test_errors_name_what_to_use_instead():
    field = pf.gram_field(1e150 * NORMAL, dimension=3)
    with pytest.raises(ValueError, match=r'use measure\("volume-normalized"\)'):
        field.measure("volume")
    with pytest.raises(ValueError, match="use log_density"):
        _ = field.density
    with pytest.raises(ValueError, match="the generator, a rate per area, is beyond the range"):
        pf.laplacian(1e-200 * NORMAL)
    with pytest.raises(ValueError, match="the carré du champ"):
        pf.carre_du_champ(1e200 * NORMAL[:, 0], 1e200 * NORMAL[:, 0], NORMAL)
