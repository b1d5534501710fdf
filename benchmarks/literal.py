"""The formulas of the paper, implemented literally, to measure the library against.

Dense distances, a sparse Laplacian, and one sparse product for each pair of coordinates:
G_ij = ½(L(x_i x_j) - x_i L x_j - x_j L x_i). (The paper's sign is that of -L.)
"""

from __future__ import annotations

import math

import torch
from torch import Tensor


def laplacian(points: Tensor, neighbors: int = 32, k0: int = 8, d: int = 2) -> Tensor:
    n = len(points)
    distances = torch.cdist(points, points)
    nearest, index = distances.topk(neighbors, largest=False)
    r0 = nearest[:, 1:k0].square().mean(-1).sqrt()
    gauss = torch.exp(-distances.square() / (2 * r0[:, None] * r0))
    q0 = gauss.sum(-1) / ((2 * math.pi) ** (d / 2) * n * r0**d)
    rho = q0**-0.5
    K = torch.exp(-nearest.square() / (4 * rho[:, None] * rho[index]))
    K = K / K.sum(-1, keepdim=True)
    rows = torch.arange(n).repeat_interleave(neighbors)
    own = torch.arange(n)
    places = torch.stack([torch.cat([rows, own]), torch.cat([index.flatten(), own])])
    values = torch.cat([(K / rho[:, None] ** 2).flatten(), -1 / rho**2])
    return torch.sparse_coo_tensor(places, values, (n, n), check_invariants=False).coalesce()


def gram_matrix(points: Tensor, rows: bool = False) -> Tensor:
    """Return G (n, D, D), with L in coordinate format or, for faster products, in CSR format."""
    n, D = points.shape
    L = laplacian(points).to_sparse_csr() if rows else laplacian(points)
    Lx = L @ points
    G = points.new_empty(n, D, D)
    for i in range(D):
        for j in range(i, D):
            x, y = points[:, i], points[:, j]
            G[:, i, j] = 0.5 * (L @ (x * y) - x * Lx[:, j] - y * Lx[:, i])
            G[:, j, i] = G[:, i, j]
    return G
