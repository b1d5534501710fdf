"""Samples of manifolds with known tangent spaces, to measure the error of estimates."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

import numpy as np
import torch
from torch import Tensor

from pointforms.geometry.field import GramField


@dataclass(frozen=True, eq=False)
class Sample:
    """Points sampled from a d-manifold in R^D, with their tangent spaces.

    Parameters
    ----------
    points : Tensor, shape (n, D)
        The sample.
    projector : Tensor, shape (n, D, D)
        The orthogonal projector Π on the tangent space: the Gram field of the manifold.
    dimension : int
        d.
    volume : float
        d-dimensional volume of the manifold; a uniform sample has density 1 / volume.

    Examples
    --------
    >>> import numpy as np, pointforms as pf
    >>> sample = pf.manifolds.sphere(100, np.random.default_rng(0))
    >>> sample.points.shape, sample.dimension
    (torch.Size([100, 3]), 2)
    >>> sample.embedded(5).points.shape
    torch.Size([100, 5])
    """

    points: Tensor
    projector: Tensor
    dimension: int
    volume: float

    def embedded(self, features: int) -> Sample:
        """Return the sample in R^features, with zeros in the added coordinates."""
        n, D = self.points.shape
        points = self.points.new_zeros(n, features)
        projector = self.points.new_zeros(n, features, features)
        points[:, :D], projector[:, :D, :D] = self.points, self.projector
        return replace(self, points=points, projector=projector)

    def noisy(self, deviation: float, rng: np.random.Generator) -> Sample:
        """Return the sample with Gaussian noise; the tangent spaces stay those without noise."""
        noise = torch.from_numpy(rng.normal(size=tuple(self.points.shape)))
        return replace(self, points=self.points + deviation * noise)


def circle(n: int, rng: np.random.Generator, kappa: float = 0.0) -> Sample:
    """Sample the unit circle in the plane.

    Parameters
    ----------
    n : int
        Number of points.
    rng : numpy.random.Generator
        Source of random numbers.
    kappa : float, default 0.0
        Concentration κ of the von Mises density; 0 is uniform.

    Examples
    --------
    >>> circle(50, np.random.default_rng(0)).points.norm(dim=1).allclose(torch.ones(50).double())
    True
    """
    t = rng.vonmises(0.0, kappa, n) if kappa else rng.uniform(0.0, 2 * np.pi, n)
    tangent = np.stack([-np.sin(t), np.cos(t)], -1)[..., None]
    return _sample(np.stack([np.cos(t), np.sin(t)], -1), tangent, 2 * np.pi)


def sphere(n: int, rng: np.random.Generator) -> Sample:
    """Sample the unit sphere in R^3 uniformly.

    Parameters
    ----------
    n : int
        Number of points.
    rng : numpy.random.Generator
        Source of random numbers.

    Examples
    --------
    >>> sphere(50, np.random.default_rng(0)).points.norm(dim=1).allclose(torch.ones(50).double())
    True
    """
    normal = rng.normal(size=(n, 3))
    normal /= np.linalg.norm(normal, axis=-1, keepdims=True)
    return _hypersurface(normal, normal, 4 * np.pi)


def torus(n: int, rng: np.random.Generator, major: float = 2.0, minor: float = 1.0) -> Sample:
    """Sample the torus of revolution in R^3 uniformly in area.

    Parameters
    ----------
    n : int
        Number of points.
    rng : numpy.random.Generator
        Source of random numbers.
    major : float, default 2.0
        Distance of the centre of the tube from the axis.
    minor : float, default 1.0
        Radius of the tube.

    Examples
    --------
    >>> float(torus(50, np.random.default_rng(0)).points[:, 2].abs().max()) <= 1
    True
    """
    v = np.empty(0)
    while len(v) < n:  # rejection sampling: area is proportional to major + minor cos v
        proposed, accept = rng.uniform(0.0, 2 * np.pi, 2 * n), rng.uniform(size=2 * n)
        kept = accept < (major + minor * np.cos(proposed)) / (major + minor)
        v = np.concatenate([v, proposed[kept]])
    v, u = v[:n], rng.uniform(0.0, 2 * np.pi, n)
    normal = np.stack([np.cos(v) * np.cos(u), np.cos(v) * np.sin(u), np.sin(v)], -1)
    points = minor * normal
    points[:, :2] += major * np.stack([np.cos(u), np.sin(u)], -1)
    return _hypersurface(points, normal, 4 * np.pi**2 * major * minor)


def rotations(n: int, rng: np.random.Generator) -> Sample:
    """Sample SO(3), as matrices in R^9, uniformly: a 3-manifold of constant curvature.

    Parameters
    ----------
    n : int
        Number of points.
    rng : numpy.random.Generator
        Source of random numbers.

    Examples
    --------
    >>> R = rotations(5, np.random.default_rng(0)).points.view(5, 3, 3)
    >>> (R @ R.mT).allclose(torch.eye(3).double())
    True
    """
    from scipy.spatial.transform import Rotation

    R = Rotation.random(n, rng=rng).as_matrix()
    generators = np.zeros((3, 3, 3))
    for a, (i, j) in enumerate([(1, 2), (2, 0), (0, 1)]):
        generators[a, i, j], generators[a, j, i] = -1.0, 1.0
    # the tangent space at R is R so(3); R E_a has length √2
    tangent = np.einsum("nij,ajk->nika", R, generators).reshape(n, 9, 3) / np.sqrt(2)
    return _sample(R.reshape(n, 9), tangent, 8 * np.pi**2 * 2**1.5)


def relative_error(field: GramField, sample: Sample) -> float:
    """Return the mean of ‖G - Π‖ / ‖Π‖ over the points, in the Frobenius norm.

    Parameters
    ----------
    field : GramField
        The estimate G.
    sample : Sample
        The sample it was computed from, with the true projector Π.

    Examples
    --------
    >>> import pointforms as pf
    >>> sample = circle(1000, np.random.default_rng(0))
    >>> relative_error(pf.gram_field(sample.points), sample) < 0.2
    True
    """
    difference = torch.linalg.matrix_norm(field.matrix() - sample.projector)
    return float(difference.mean() / math.sqrt(sample.dimension))


def tangent_angle(field: GramField, sample: Sample) -> float:
    """Return the mean largest angle, in degrees, from the top-d eigenspace to the tangent space.

    Parameters
    ----------
    field : GramField
        The estimate.
    sample : Sample
        The sample it was computed from, with the true tangent spaces.

    Examples
    --------
    >>> import pointforms as pf
    >>> sample = circle(1000, np.random.default_rng(0))
    >>> tangent_angle(pf.gram_field(sample.points), sample) < 2
    True
    """
    U = field.tangents(sample.dimension)
    outside = torch.linalg.matrix_norm(U - sample.projector @ U, ord=2)
    return float(torch.rad2deg(torch.arcsin(outside.clamp_max(1.0))).mean())


def _sample(points: np.ndarray, tangent: np.ndarray, volume: float) -> Sample:
    T = torch.from_numpy(np.ascontiguousarray(tangent))
    return Sample(torch.from_numpy(points), T @ T.mT, T.shape[-1], volume)


def _hypersurface(points: np.ndarray, normal: np.ndarray, volume: float) -> Sample:
    N = torch.from_numpy(normal).unsqueeze(-1)
    projector = torch.eye(N.shape[1], dtype=N.dtype) - N @ N.mT
    return Sample(torch.from_numpy(points), projector, N.shape[1] - 1, volume)
