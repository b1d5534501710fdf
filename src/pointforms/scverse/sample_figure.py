"""`pf.pl.samples`: a map of samples, coloured by a column of `obs`."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

import numpy as np

from pointforms.explain.embedding import EmbeddingMethod
from pointforms.io.anndata import check_anndata
from pointforms.plot.distance_map import sample_map
from pointforms.scverse.choices import check_column
from pointforms.scverse.sample_distances import DISTANCES, distances_at

if TYPE_CHECKING:
    from matplotlib.figure import Figure


def samples(
    samples: Any,
    color: str | None = None,
    method: EmbeddingMethod = "pca",
    key: str = DISTANCES,
    marked: str | None = None,
    path: str | os.PathLike[str] | None = None,
) -> Figure:
    """Draw samples by their distances: a map, and a clustered heat map.

    Parameters
    ----------
    samples : AnnData
        Samples with distances, from :func:`pointforms.tl.to_anndata` or
        :func:`pointforms.tl.distances`.
    color : str or None, default None
        Column of `samples.obs` that colours them.
    method : {"pca", "mds", "umap"}, default "pca"
        Which places to draw: those of `obsm["X_pf_<method>"]`, if it is there; otherwise they are
        computed from the distances.
    key : str, default "pf_distances"
        Where `obsp` has the distances.
    marked : str or None, default None
        Column of `samples.obs` with True for samples that get a ring, and False for others.
    path : path-like or None, default None
        A file to write (.pdf, .svg, .png).

    Returns
    -------
    matplotlib.figure.Figure

    Examples
    --------
    >>> import anndata, numpy as np, pointforms as pf
    >>> X = np.random.default_rng(0).normal(size=(60, 3))
    >>> cells = anndata.AnnData(X, obs={"patient": list("abc") * 20})
    >>> figure = pf.pl.samples(pf.tl.distances(cells, cloud="patient"))
    >>> figure.axes[0].get_xlabel()
    'PC 1'
    """
    check_anndata(samples)
    for name in (color, marked):
        if name is not None:
            check_column(name, list(samples.obs.columns))
    matrix = distances_at(samples, key)
    # places of other distances are no places of these
    places = samples.obsm.get(f"X_pf_{method}") if key == DISTANCES else None
    return sample_map(
        matrix,
        None if color is None else samples.obs[color].to_numpy(object),
        list(samples.obs_names),
        coordinates=None if places is None else np.asarray(places),
        method=method,
        color_label=color,
        marked=None if marked is None else _flags(samples.obs[marked], marked),
        path=path,
    )


def _flags(column: Any, name: str) -> np.ndarray:
    """Return a column of True and False, or raise an error if it holds anything else."""
    values = column.to_numpy(object)
    other = [value for value in values if not isinstance(value, bool | np.bool_)]
    if other:
        raise TypeError(
            f"marked={name!r}: this column of obs holds {other[0]!r}, expected True or False only, "
            f"such as samples.obs['new'] = samples.obs[{name!r}] == VALUE for marked='new'"
        )
    flags: np.ndarray = values.astype(bool)
    return flags
