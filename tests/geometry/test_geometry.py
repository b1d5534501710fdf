"""One geometry serves the field, the generator and the carré du champ."""

from __future__ import annotations

import pickle

import numpy as np
import pytest
import torch

import pointforms as pf
from pointforms.geometry import geometry as module
from pointforms.geometry.assemble import fields_of_geometry
from pointforms.manifolds import sphere, torus

OPTIONS = [
    {},
    {"calibrate": "point", "alpha": 0.3},
    {"neighbors": "auto", "bandwidth": "auto"},
    {"rank": 2, "dimension": 2, "neighbors": 500},
    pf.PAPER_SETTINGS,
]


def with_copies(rng: np.random.Generator) -> np.ndarray:
    """A third of the points in one place, the others on a small grid."""
    return np.r_[np.zeros((100, 2)), rng.integers(-4, 5, (200, 2))].astype(float)


@pytest.mark.parametrize("options", OPTIONS, ids=str)
def test_methods_equal_the_functions(options, rng):
    X = torus(300, rng).points
    f, h = rng.normal(size=(2, 300))
    M = pf.Geometry(X, **options)
    field = pf.gram_field(X, **options)
    assert torch.equal(M.gram_field().factor, field.factor)
    assert M.gram_field().settings == M.settings == field.settings
    for name in ("points", "log_density", "scale", "density"):
        assert torch.equal(getattr(M, name), getattr(field, name))
    for name in ("dimension", "neighbors", "bandwidth"):
        assert getattr(M, name) == getattr(field, name)
    assert torch.equal(M.carre_du_champ(f, h), pf.carre_du_champ(f, h, X, **options))
    calibrate = options.get("calibrate", True)
    for symmetric in (False, True):
        L = pf.laplacian(X, symmetric=symmetric, **options | {"calibrate": calibrate})
        assert torch.equal(M.laplacian(symmetric, calibrate).to_dense(), L.to_dense())
    L = pf.laplacian(X, **options | {"calibrate": False})
    assert torch.equal(M.laplacian().to_dense(), L.to_dense())


def test_calibration_rescales_the_generator(rng):
    """Γ of the coordinates by the calibrated L has the mean trace d, with center="point"."""
    X = sphere(300, rng).points
    M = pf.Geometry(X, center="point")
    L, plain = M.laplacian(calibrate=True), M.laplacian()
    trace = 0.5 * (L @ X.square() - 2 * X * (L @ X)).sum(-1)
    assert float(trace.mean()) == pytest.approx(2.0)
    ratio = L.values() / plain.values()
    torch.testing.assert_close(ratio, ratio[:1].expand_as(ratio))


@pytest.mark.parametrize(("copies", "times"), [(False, 1), (True, 2)])
def test_the_geometry_is_estimated_once(copies, times, rng, monkeypatch):
    """Twice if copies of a point are merged for the field, since functions may differ there."""
    calls = []
    real = module.estimate_geometry

    def counting(*args, **options):
        calls.append(options)
        return real(*args, **options)

    monkeypatch.setattr(module, "estimate_geometry", counting)
    M = pf.Geometry(with_copies(rng) if copies else rng.normal(size=(300, 2)))
    assert len(calls) == 1
    f = rng.normal(size=300)
    for _ in range(2):
        M.gram_field(), M.laplacian(), M.laplacian(symmetric=True), M.carre_du_champ(f, f)
    assert len(calls) == times


def test_copies_of_a_point_are_listed_once_for_the_field_and_one_by_one_for_functions(rng):
    X = with_copies(rng)
    M = pf.Geometry(X, neighbors=32, dimension=2)
    merged, unmerged = M._geometry.lists, M._unmerged.lists
    assert merged.sq.shape[-1] < 45 < 100 <= unmerged.sq.shape[-1]
    field = fields_of_geometry(M.points.unsqueeze(0), M._unmerged, M._resolved)[0]
    torch.testing.assert_close(M.gram_field().matrix(), field.matrix(), rtol=0, atol=1e-11)
    torch.testing.assert_close(M.carre_du_champ(X, X), M.gram_field().matrix(), rtol=0, atol=1e-11)
    # a function that differs between the copies, by the definition of Γ
    f = torch.from_numpy(rng.normal(size=300))
    M = pf.Geometry(X, dimension=2, center="point", calibrate=False)
    L = M.laplacian().to_dense()
    expected = 0.5 * (L * (f.unsqueeze(0) - f.unsqueeze(1)).square()).sum(-1)
    torch.testing.assert_close(M.carre_du_champ(f, f), expected)
    assert float(M.carre_du_champ(f, f)[:100].min()) > 0


def test_many_functions_equal_one_by_one(rng, dtype):
    X = torch.from_numpy(rng.normal(size=(200, 3))).to(dtype)
    f, h = rng.normal(size=(200, 4)), rng.normal(size=(200, 3))
    M = pf.Geometry(X)
    gamma = M.carre_du_champ(f, h)
    assert gamma.shape == (200, 4, 3)
    assert gamma.dtype == dtype
    tolerance = {
        "rtol": 0,
        "atol": (1e-12 if dtype == torch.float64 else 1e-5) * float(gamma.max()),
    }
    for a in range(4):
        for b in range(3):
            one = M.carre_du_champ(f[:, a], h[:, b])
            assert one.shape == (200,)
            torch.testing.assert_close(gamma[:, a, b], one, **tolerance)
    torch.testing.assert_close(M.carre_du_champ(f, h[:, 0]), gamma[:, :, 0], **tolerance)
    torch.testing.assert_close(M.carre_du_champ(f[:, 0], h), gamma[:, 0], **tolerance)
    torch.testing.assert_close(pf.carre_du_champ(f, h, X), gamma, **tolerance)
    torch.testing.assert_close(M.carre_du_champ(f, f), M.carre_du_champ(f, f.copy()), **tolerance)
    assert M.carre_du_champ(f[:, :1], h[:, :1]).shape == (200, 1, 1)
    assert M.carre_du_champ(f[:, :0], h).shape == (200, 0, 3)
    assert M.carre_du_champ(f, h[:, :0]).shape == (200, 4, 0)
    by_columns = torch.from_numpy(f.T.copy()).T
    torch.testing.assert_close(M.carre_du_champ(by_columns, h), gamma, **tolerance)


def test_gamma_of_one_set_of_functions_is_symmetric_and_positive(rng):
    f = rng.normal(size=(200, 5))
    gamma = pf.Geometry(rng.normal(size=(200, 3))).carre_du_champ(f, f)
    torch.testing.assert_close(gamma, gamma.mT)
    assert float(torch.linalg.eigvalsh(gamma).min()) > -1e-12 * float(gamma.max())


def test_each_function_has_a_range_of_its_own(rng):
    """Γ(s f, t h) = s t Γ(f, h), for powers of two far apart."""
    M = pf.Geometry(rng.normal(size=(100, 2)))
    f, h = rng.normal(size=(2, 100, 3))
    s, t = np.exp2([0, 600, -600]), np.exp2([0, -600, 30])
    gamma, again = M.carre_du_champ(f, h), M.carre_du_champ(s * f, t * h)
    for a in range(3):
        for b in range(3):
            if s[a] * t[b] > 1e-300:
                assert torch.equal(again[:, a, b], gamma[:, a, b] * s[a] * t[b])
    with pytest.raises(ValueError, match=r"exceeds the range of torch\.float64: rescale f, h"):
        M.carre_du_champ(s * f, s * f)


def test_a_geometry_says_what_it_is(rng):
    M = pf.Geometry(rng.normal(size=(50, 3)), neighbors=32, dimension=2)
    assert repr(M) == "Geometry(n=50, D=3, dimension=2, neighbors=32, bandwidth=1)"
    assert len(M) == 50
    again = pickle.loads(pickle.dumps(M))
    assert torch.equal(again.gram_field().factor, M.gram_field().factor)


def test_automatic_choices_are_numbers(rng):
    M = pf.Geometry(sphere(300, rng).points, neighbors="auto", bandwidth="auto")
    assert M.settings.neighbors == "auto"
    assert type(M.neighbors) is int
    assert type(M.bandwidth) is float


def test_arguments_are_checked(rng):
    X = rng.normal(size=(30, 2))
    with pytest.raises(TypeError, match=r"Geometry\(\).*'neighbours': did you mean 'neighbors'\?"):
        pf.Geometry(X, neighbours=3)
    with pytest.raises(ValueError, match="dimension=3 exceeds the 2 features"):
        pf.Geometry(X, dimension=3)
    M = pf.Geometry(X)
    with pytest.raises(ValueError, match="calibrate='cloud'"):
        M.laplacian(calibrate="cloud")
    with pytest.raises(ValueError, match="symmetric='yes'"):
        M.laplacian("yes")
    with pytest.raises(ValueError, match=r"f has shape \(2, 30\): expected \(30,\) or \(30, m\)"):
        M.carre_du_champ(X.T, X)
    with pytest.raises(ValueError, match=r"h has shape \(30, 2, 1\)"):
        M.carre_du_champ(X, X[..., None])
    with pytest.raises(ValueError, match="h has non-finite values"):
        M.carre_du_champ(X, np.full((30, 2), np.inf))
