"""`pf.tl.distances` and `pf.tl.embed`: samples by how far apart they are."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from pointforms.explain.embedding import EmbeddingMethod, embed_distances
from pointforms.explain.matrix_distances import Metric, comparison_distances
from pointforms.io.anndata import check_anndata
from pointforms.models.distances import Distance, distribution_distances
from pointforms.scverse.choices import Choice, documents_choice, keep_result
from pointforms.scverse.sample_columns import samples as samples_of
from pointforms.support.suggestions import suggest

if TYPE_CHECKING:
    import anndata

#: Where `obsp` of samples has distances.
DISTANCES = "pf_distances"
_NAMES = ("sliced-wasserstein", "sliced-energy", "mmd")


@documents_choice
def distances(
    adata: Any,
    distance: Distance | Any = "sliced-wasserstein",
    cloud: str | None = None,
    use_rep: str | None = None,
    layer: str | None = None,
    features: Sequence[str] | None = None,
    metric: Metric = "log-euclidean",
    samples: Any = None,
    random_state: int = 0,
    key_added: str = DISTANCES,
) -> anndata.AnnData:
    """Compute the distances between samples.

    Parameters
    ----------
    adata : AnnData or path-like
        Cells, in memory or backed, or the name of an .h5ad file, which is not changed.
    distance : str or estimator, default "sliced-wasserstein"
        "sliced-wasserstein", "sliced-energy" or "mmd" between the distributions of cells; or a
        fitted model, whose comparison matrices are compared, see
        :func:`pointforms.explain.comparison_distances`.
    [options of Choice]
    metric : {"log-euclidean", "euclidean"}, default "log-euclidean"
        How the comparison matrices of a model are compared.
    samples : AnnData or None, default None
        Samples to write the distances to. None makes them, see :func:`pointforms.pp.samples`.
    random_state : int, default 0
        Seed of random directions.
    key_added : str, default "pf_distances"
        Where `obsp` gets the distances.

    Returns
    -------
    AnnData
        One row per sample, with the distances in `obsp`.

    Examples
    --------
    >>> import anndata, numpy as np, pointforms as pf
    >>> X = np.random.default_rng(0).normal(size=(60, 3))
    >>> cells = anndata.AnnData(X, obs={"patient": list("abc") * 20})
    >>> samples = pf.tl.distances(cells, "mmd", cloud="patient")
    >>> samples.obsp["pf_distances"].shape
    (3, 3)
    """
    choice = Choice.of(adata, cloud, use_rep, layer, features)
    if isinstance(distance, str) and distance not in _NAMES:
        raise ValueError(f"no distance {distance!r}: {suggest(distance, _NAMES)}")
    clouds = choice.read(adata)
    found = samples_of(adata, choice.cloud) if samples is None else check_anndata(samples)
    if tuple(found.obs_names) != clouds.ids:
        raise ValueError(
            f"samples has the rows {list(found.obs_names[:3])}, …: expected those of "
            f"obs[{choice.cloud!r}], {list(clouds.ids[:3])}, …"
        )
    if isinstance(distance, str):
        matrix = distribution_distances(clouds, distance, random_state=random_state)  # type: ignore[arg-type]
        name = distance
    else:
        matrix = comparison_distances(distance, clouds, metric)
        name = f"{type(distance).__name__}, {metric}"
    choice.keep(adata)
    found.obsp[key_added] = matrix
    if key_added == DISTANCES:
        for place in [one for one in found.obsm if one.startswith("X_pf_")]:
            del found.obsm[place]  # by other distances
    keep_result(found, "distance", name)
    return found


def embed(
    samples: Any,
    method: EmbeddingMethod = "pca",
    key: str = DISTANCES,
    dimensions: int = 2,
    random_state: int | None = 0,
    key_added: str | None = None,
) -> None:
    """Write places of samples, by their distances, to `samples.obsm`.

    Parameters
    ----------
    samples : AnnData
        Samples with distances, from :func:`pointforms.tl.distances` or
        :func:`pointforms.tl.to_anndata`.
    method : {"pca", "mds", "umap"}, default "pca"
        How places are computed; see :func:`pointforms.explain.embed_distances`.
    key : str, default "pf_distances"
        Where `obsp` has the distances.
    dimensions : int, default 2
        Number of coordinates.
    random_state : int or None, default 0
        Seed of "umap".
    key_added : str or None, default None
        Where `obsm` gets the places; None stands for `X_pf_<method>`.

    Examples
    --------
    >>> import anndata, numpy as np, pointforms as pf
    >>> X = np.random.default_rng(0).normal(size=(60, 3))
    >>> cells = anndata.AnnData(X, obs={"patient": list("abc") * 20})
    >>> samples = pf.tl.distances(cells, cloud="patient")
    >>> pf.tl.embed(samples, "mds")
    >>> samples.obsm["X_pf_mds"].shape
    (3, 2)
    """
    check_anndata(samples)
    matrix = distances_at(samples, key)
    places = embed_distances(matrix, method, dimensions, random_state)
    samples.obsm[f"X_pf_{method}" if key_added is None else key_added] = places


def distances_at(samples: Any, key: str) -> Any:
    """Return distances of samples, or raise an error that says where they come from."""
    if key not in samples.obsp:
        raise ValueError(
            f"no {key!r} in obsp: {suggest(key, list(samples.obsp))}; pf.tl.distances and "
            "pf.tl.to_anndata compute distances"
        )
    values = samples.obsp[key]
    return values.toarray() if hasattr(values, "toarray") else values
