"""The Gram field as its equations read, point by point: slow, and independent of the library."""

from __future__ import annotations

import numpy as np
from scipy.special import gammainc


def gram_field(
    X: np.ndarray,
    k: int,
    d: int,
    k0: int,
    epsilon: float = 1.0,
    policy: str = "variable",
    units: str | float = "local",
    alpha: float = 0.0,
    beta: float = -0.5,
    center: str = "mean",
    calibrate: bool | str = True,
    truncation: bool = True,
) -> dict[str, np.ndarray]:
    n, D = X.shape
    distance = np.linalg.norm(X[:, None] - X[None], axis=-1)
    lists = [np.argsort(distance[i], kind="stable")[:k] for i in range(n)]
    complete = k == n
    r0 = np.array([np.sqrt(np.mean(np.sort(distance[i])[1:k0] ** 2)) for i in range(n)])
    q0, q = np.empty(n), np.empty(n)
    for i, near in enumerate(lists):
        total = sum(np.exp(-(distance[i, j] ** 2) / (2 * r0[i] * r0[j])) for j in near)
        q0[i] = (2 * np.pi) ** (-d / 2) * r0[i] ** -d / n * total
        last = near[-1]
        mass = 1.0 if complete else gammainc(d / 2, distance[i, last] ** 2 / (2 * r0[i] * r0[last]))
        q[i] = q0[i] / mass
    rho = q0**beta if policy == "variable" else np.ones(n)
    if units == "local":
        rho = rho * np.exp(np.mean(np.log(r0)) - np.mean(np.log(rho)))
    elif units != "absolute":
        rho = rho * units / np.exp(np.mean(np.log(rho)))
    K = np.zeros((n, n))
    for i, near in enumerate(lists):
        for j in near:
            K[i, j] = np.exp(-(distance[i, j] ** 2) / (4 * epsilon * rho[i] * rho[j]))
    q_epsilon = K.sum(1) / rho**d
    K = K / np.outer(q_epsilon, q_epsilon) ** alpha
    K = K / K.sum(1, keepdims=True)
    G = np.zeros((n, D, D))
    for i, near in enumerate(lists):
        c = X[i] if center == "point" else K[i] @ X
        for j in near:
            G[i] += K[i, j] * np.outer(X[j] - c, X[j] - c)
        G[i] /= 2 * epsilon * rho[i] ** 2
        if truncation and not complete:
            R2 = distance[i, near[-1]] ** 2 / (4 * epsilon * rho[i] ** 2)
            G[i] /= gammainc(d / 2 + 1, R2) / gammainc(d / 2, R2)
    trace = np.trace(G, axis1=1, axis2=2)
    if calibrate == "point":
        G *= (d / trace)[:, None, None]
    elif calibrate:
        G *= d / trace.mean()
    L = (K - np.eye(n)) / (epsilon * rho[:, None] ** 2)
    return {"G": G, "density": q, "rho": rho, "L": L}
