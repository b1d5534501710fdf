"""Samples of more manifolds whose tangent spaces are known, to measure the default geometry on."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import torch

from pointforms.manifolds import Sample, circle, sphere

Sampler = Callable[[np.random.Generator], Sample]


def closed_curve(n: int, rng: np.random.Generator) -> Sample:
    """A closed curve of constant speed in R^4."""
    t = rng.uniform(0, 2 * np.pi, n)
    points = [np.cos(t), np.sin(t), np.cos(2 * t) / 2, np.sin(2 * t) / 2]
    return _sample(points, [[-np.sin(t), np.cos(t), -np.sin(2 * t), np.cos(2 * t)]])


def helix(n: int, rng: np.random.Generator) -> Sample:
    """Two turns of radius 1, with open ends."""
    t = rng.uniform(0, 4 * np.pi, n)
    return _sample(
        [np.cos(t), np.sin(t), t / (2 * np.pi)],
        [[-np.sin(t), np.cos(t), np.full(n, 1 / (2 * np.pi))]],
    )


def trefoil(n: int, rng: np.random.Generator) -> Sample:
    """A knot, sampled uniformly in its parameter."""
    t = rng.uniform(0, 2 * np.pi, n)
    return _sample(
        [np.sin(t) + 2 * np.sin(2 * t), np.cos(t) - 2 * np.cos(2 * t), -np.sin(3 * t)],
        [[np.cos(t) + 4 * np.cos(2 * t), -np.sin(t) + 4 * np.sin(2 * t), -3 * np.cos(3 * t)]],
    )


def two_circles(n: int, rng: np.random.Generator) -> Sample:
    """Circles of radius 1 and 1/5 with as many points on each: two scales."""
    large, small = circle(n // 2, rng), circle(n - n // 2, rng)
    points = torch.cat([large.points, 0.2 * small.points + torch.tensor([3.0, 0.0])])
    return Sample(points, torch.cat([large.projector, small.projector]), 1, 2.4 * np.pi)


def clifford_torus(n: int, rng: np.random.Generator) -> Sample:
    """The flat torus in R^4."""
    a, b, zero = *rng.uniform(0, 2 * np.pi, (2, n)), np.zeros(n)
    return _sample(
        [np.cos(a), np.sin(a), np.cos(b), np.sin(b)],
        [[-np.sin(a), np.cos(a), zero, zero], [zero, zero, -np.sin(b), np.cos(b)]],
    )


def ellipsoid(n: int, rng: np.random.Generator) -> Sample:
    """Semi-axes 3, 2 and 1: a stretched uniform sphere, so not uniform in area."""
    u, axes = sphere(n, rng).points.numpy(), np.array([3.0, 2.0, 1.0])
    return _hypersurface(u * axes, u / axes)


def moebius_strip(n: int, rng: np.random.Generator) -> Sample:
    """Radius 1, width 1, with a boundary."""
    u, v = rng.uniform(0, 2 * np.pi, n), rng.uniform(-0.5, 0.5, n)
    r, slope = 1 + v * np.cos(u / 2), -v * np.sin(u / 2) / 2
    return _sample(
        [r * np.cos(u), r * np.sin(u), v * np.sin(u / 2)],
        [
            [
                slope * np.cos(u) - r * np.sin(u),
                slope * np.sin(u) + r * np.cos(u),
                v * np.cos(u / 2) / 2,
            ],
            [np.cos(u / 2) * np.cos(u), np.cos(u / 2) * np.sin(u), np.sin(u / 2)],
        ],
    )


def swiss_roll(n: int, rng: np.random.Generator) -> Sample:
    """The roll of scikit-learn, whose density falls outwards."""
    t, y, zero = 1.5 * np.pi * (1 + 2 * rng.uniform(size=n)), 21 * rng.uniform(size=n), np.zeros(n)
    return _sample(
        [t * np.cos(t), y, t * np.sin(t)],
        [
            [np.cos(t) - t * np.sin(t), zero, np.sin(t) + t * np.cos(t)],
            [zero, zero + 1, zero],
        ],
    )


def uneven_sphere(n: int, rng: np.random.Generator) -> Sample:
    """A sphere whose upper half has ten times the density of the lower."""
    sample = sphere(4 * n, rng)
    kept = rng.uniform(size=4 * n) < np.where(sample.points[:, 2] > 0, 1.0, 0.1)
    rows = torch.from_numpy(np.flatnonzero(kept)[:n])
    return Sample(sample.points[rows], sample.projector[rows], 2, 4 * np.pi)


def hypersphere(d: int, n: int, rng: np.random.Generator) -> Sample:
    """The unit sphere of dimension d."""
    normal = rng.normal(size=(n, d + 1))
    normal /= np.linalg.norm(normal, axis=1, keepdims=True)
    return _hypersurface(normal, normal)


def cube(d: int, n: int, rng: np.random.Generator) -> Sample:
    """The unit cube of dimension d, in R^d."""
    return _flat(rng.uniform(size=(n, d)))


def gaussian(d: int, n: int, rng: np.random.Generator) -> Sample:
    """A standard Gaussian in R^d."""
    return _flat(rng.normal(size=(n, d)))


def cylinder(n: int, rng: np.random.Generator) -> Sample:
    """Radius 1, height 2, with two boundaries."""
    t, z, zero = rng.uniform(0, 2 * np.pi, n), rng.uniform(-1, 1, n), np.zeros(n)
    return _sample(
        [np.cos(t), np.sin(t), z], [[-np.sin(t), np.cos(t), zero], [zero, zero, zero + 1]]
    )


def paraboloid(n: int, rng: np.random.Generator) -> Sample:
    """z = x² + y² over a Gaussian: dense at the vertex, sparse outside."""
    x, y, one, zero = *rng.normal(size=(2, n)), np.ones(n), np.zeros(n)
    return _sample([x, y, x**2 + y**2], [[one, zero, 2 * x], [zero, one, 2 * y]])


def veronese(n: int, rng: np.random.Generator) -> Sample:
    """The projective plane in R^9: the matrices u uᵀ of unit vectors u."""
    u = sphere(n, rng).points.numpy()
    basis = np.linalg.svd(u[:, None, :])[2][:, 1:]  # two directions orthogonal to u
    tangents = [(np.einsum("ni,nj->nij", u, e) + np.einsum("ni,nj->nij", e, u)) for e in
                (basis[:, 0], basis[:, 1])]  # fmt: skip
    points = np.einsum("ni,nj->nij", u, u).reshape(n, 9)
    return _sample(list(points.T), [list(t.reshape(n, 9).T) for t in tangents])


def torus_3(n: int, rng: np.random.Generator) -> Sample:
    """The flat 3-torus in R^6."""
    t, zero = rng.uniform(0, 2 * np.pi, (3, n)), np.zeros(n)
    points = [f(a) for a in t for f in (np.cos, np.sin)]
    tangents = [[zero] * (2 * i) + [-np.sin(a), np.cos(a)] + [zero] * (4 - 2 * i)
                for i, a in enumerate(t)]  # fmt: skip
    return _sample(points, tangents)


def lissajous(n: int, rng: np.random.Generator) -> Sample:
    """A closed curve in R^3 that passes close to itself."""
    t = rng.uniform(0, 2 * np.pi, n)
    return _sample(
        [np.cos(3 * t), np.sin(2 * t), np.cos(5 * t)],
        [[-3 * np.sin(3 * t), 2 * np.cos(2 * t), -5 * np.sin(5 * t)]],
    )


def noisy(sampler: Sampler, deviation: float) -> Sampler:
    """Return a sampler that adds Gaussian noise."""

    def sample(rng: np.random.Generator) -> Sample:
        return sampler(rng).noisy(deviation, rng)

    return sample


def _sample(points: list[np.ndarray], tangents: list[list[np.ndarray]]) -> Sample:
    """Make a sample of coordinates D × (n,) and tangent vectors d × D × (n,) of any length."""
    T, _ = np.linalg.qr(np.stack([np.stack(vector, -1) for vector in tangents], -1))
    frame = torch.from_numpy(np.ascontiguousarray(T))
    return Sample(torch.from_numpy(np.stack(points, -1)), frame @ frame.mT, T.shape[-1], np.nan)


def _hypersurface(points: np.ndarray, normal: np.ndarray) -> Sample:
    N = torch.from_numpy(normal / np.linalg.norm(normal, axis=1, keepdims=True)).unsqueeze(-1)
    projector = torch.eye(N.shape[1], dtype=N.dtype) - N @ N.mT
    return Sample(torch.from_numpy(points), projector, N.shape[1] - 1, np.nan)


def _flat(points: np.ndarray) -> Sample:
    n, d = points.shape
    projector = torch.eye(d, dtype=torch.float64).expand(n, d, d)
    return Sample(torch.from_numpy(points), projector, d, np.nan)


def noisy_sphere(n: int, features: int, noise: float = 0.01) -> np.ndarray:
    """Return a large cloud: the sphere in R^D, turned, with noise in every direction."""
    rng = np.random.default_rng(0)
    points = rng.normal(size=(n, 3))
    points /= np.linalg.norm(points, axis=1, keepdims=True)
    frame = np.linalg.qr(rng.normal(size=(features, features)))[0][:3]
    return points @ frame + noise * rng.normal(size=(n, features))
