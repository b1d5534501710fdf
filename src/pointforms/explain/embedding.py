"""Places in a plane for things of which only the distances are known."""

from __future__ import annotations

from typing import Any, Literal

import numpy as np

from pointforms.support.checks import check_choice, check_int
from pointforms.support.extras import need

EmbeddingMethod = Literal["pca", "mds", "umap"]


def embed_distances(
    distances: Any,
    method: EmbeddingMethod = "pca",
    dimensions: int = 2,
    random_state: int | None = 0,
) -> np.ndarray:
    """Return coordinates whose distances are about the given ones.

    Parameters
    ----------
    distances : (N, N) array
        Symmetric, with zeros on the diagonal.
    method : {"pca", "mds", "umap"}, default "pca"
        "pca" is classical multidimensional scaling (principal coordinates), which is PCA where
        distances are Euclidean ones between vectors, as all distances of pointforms are. "mds" is
        metric scaling, which minimises the squared error of the distances, beginning with "pca".
        "umap" keeps neighbours together, and needs the extra `umap`.
    dimensions : int, default 2
        Number of coordinates.
    random_state : int or None, default 0
        Seed of "umap"; the other two do not depend on chance.

    Returns
    -------
    (N, dimensions) array
        Centred. Columns beyond the number of dimensions of the data are 0.

    Examples
    --------
    >>> places = embed_distances([[0, 3, 4], [3, 0, 5], [4, 5, 0]])
    >>> np.linalg.norm(places[1] - places[2]).round(6)
    np.float64(5.0)
    """
    given = checked_distances(distances)
    check_choice("method", method, "pca", "mds", "umap")
    check_int("dimensions", dimensions, at_least=1)
    if method == "umap":
        umap = need("umap", "umap")
        neighbors = max(2, min(15, len(given) - 1))
        found = umap.UMAP(
            n_components=dimensions,
            n_neighbors=neighbors,
            metric="precomputed",
            # a spectral start needs more points than this
            init="spectral" if len(given) > dimensions + 4 else "random",
            random_state=random_state,
            n_jobs=1,
        ).fit_transform(given)
        return np.asarray(found, dtype=np.float64)
    principal = _principal_coordinates(given, dimensions)
    if method == "pca":
        return principal
    from sklearn.manifold import smacof

    places, _ = smacof(
        given, n_components=dimensions, init=principal, n_init=1, normalized_stress=False
    )
    return np.asarray(places - places.mean(0))


def checked_distances(distances: Any) -> np.ndarray:
    """Return a symmetric matrix of finite distances, or raise an error."""
    given = np.asarray(distances, dtype=np.float64)
    if given.ndim != 2 or given.shape[0] != given.shape[1]:
        raise ValueError(f"distances have shape {given.shape}: expected (N, N)")
    if len(given) < 2:
        raise ValueError(f"distances between {len(given)} samples: expected at least 2")
    if not np.isfinite(given).all() or (given < 0).any():
        raise ValueError("the distances have values that are negative or not finite")
    largest = float(given.max())
    if (
        not np.allclose(given, given.T, atol=1e-8 * largest)
        or np.diag(given).max() > 1e-8 * largest
    ):
        raise ValueError("the distances are not symmetric, with zeros on the diagonal")
    exact: np.ndarray = (given + given.T) / 2
    np.fill_diagonal(exact, 0.0)
    return exact


def _principal_coordinates(distances: np.ndarray, dimensions: int) -> np.ndarray:
    """B = −½ J D² J = X Xᵀ, and X the leading eigenvectors times the roots of the eigenvalues."""
    squares = distances**2
    centred = squares - squares.mean(0) - squares.mean(1)[:, None] + squares.mean()
    values, vectors = np.linalg.eigh(-0.5 * centred)
    order = np.argsort(-values)[:dimensions]
    places = np.zeros((len(distances), dimensions))
    places[:, : len(order)] = vectors[:, order] * np.sqrt(np.maximum(values[order], 0.0))
    largest = np.take_along_axis(places, np.abs(places).argmax(0)[None], 0)
    return np.asarray(places * np.where(largest < 0, -1.0, 1.0))
