"""Samples of manifolds whose tangent spaces are known: what estimators are measured against."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

import numpy as np
import torch
from torch import Tensor

from pointforms.geometry.field import GramField


@dataclass(frozen=True, eq=False)
class Sample:
    """Points of a d-manifold in R^D, with the truth about each.

    Attributes
    ----------
    points : (n, D)
    projector : (n, D, D)
        The orthogonal projector Π on the tangent space: the Gram field of the manifold.
    dimension : int
    volume : float
        d-dimensional volume; a uniform sample has density 1 / volume.
    """

    points: Tensor
    projector: Tensor
    dimension: int
    volume: float

    def embedded(self, features: int) -> Sample:
        """The same in a space of more dimensions, along its first axes."""
        n, D = self.points.shape
        points = self.points.new_zeros(n, features)
        projector = self.points.new_zeros(n, features, features)
        points[:, :D], projector[:, :D, :D] = self.points, self.projector
        return replace(self, points=points, projector=projector)

    def noisy(self, deviation: float, rng: np.random.Generator) -> Sample:
        """With Gaussian noise in every coordinate; the truth stays that of the clean points."""
        noise = torch.from_numpy(rng.normal(size=tuple(self.points.shape)))
        return replace(self, points=self.points + deviation * noise)


def circle(n: int, rng: np.random.Generator, kappa: float = 0.0) -> Sample:
    """The unit circle in the plane, with von Mises density of concentration κ."""
    t = rng.vonmises(0.0, kappa, n) if kappa else rng.uniform(0.0, 2 * np.pi, n)
    tangent = np.stack([-np.sin(t), np.cos(t)], -1)[..., None]
    return _sample(np.stack([np.cos(t), np.sin(t)], -1), tangent, 2 * np.pi)


def sphere(n: int, rng: np.random.Generator) -> Sample:
    """The unit sphere in R^3, uniform."""
    normal = rng.normal(size=(n, 3))
    normal /= np.linalg.norm(normal, axis=-1, keepdims=True)
    return _hypersurface(normal, normal, 4 * np.pi)


def torus(n: int, rng: np.random.Generator, major: float = 2.0, minor: float = 1.0) -> Sample:
    """The torus of revolution in R^3, uniform in area."""
    v = np.empty(0)
    while len(v) < n:  # area is proportional to major + minor cos v: accept by it
        proposed, accept = rng.uniform(0.0, 2 * np.pi, 2 * n), rng.uniform(size=2 * n)
        kept = accept < (major + minor * np.cos(proposed)) / (major + minor)
        v = np.concatenate([v, proposed[kept]])
    v, u = v[:n], rng.uniform(0.0, 2 * np.pi, n)
    normal = np.stack([np.cos(v) * np.cos(u), np.cos(v) * np.sin(u), np.sin(v)], -1)
    points = minor * normal
    points[:, :2] += major * np.stack([np.cos(u), np.sin(u)], -1)
    return _hypersurface(points, normal, 4 * np.pi**2 * major * minor)


def rotations(n: int, rng: np.random.Generator) -> Sample:
    """SO(3) as matrices in R^9, uniform: a 3-manifold of constant curvature."""
    from scipy.spatial.transform import Rotation

    R = Rotation.random(n, rng=rng).as_matrix()
    generators = np.zeros((3, 3, 3))
    for a, (i, j) in enumerate([(1, 2), (2, 0), (0, 1)]):
        generators[a, i, j], generators[a, j, i] = -1.0, 1.0
    # the tangent space at R is R so(3); R E_a has length √2
    tangent = np.einsum("nij,ajk->nika", R, generators).reshape(n, 9, 3) / np.sqrt(2)
    return _sample(R.reshape(n, 9), tangent, 8 * np.pi**2 * 2**1.5)


def relative_error(field: GramField, sample: Sample) -> float:
    """Mean of ‖G - Π‖ / ‖Π‖ in the Frobenius norm."""
    difference = torch.linalg.matrix_norm(field.matrix() - sample.projector)
    return float(difference.mean() / math.sqrt(sample.dimension))


def tangent_angle(field: GramField, sample: Sample) -> float:
    """Mean largest principal angle, in degrees, of the top-d eigenspace to the tangent space."""
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
