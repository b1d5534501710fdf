"""Clouds of cells from AnnData objects and .h5ad files."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from pointforms.clouds import Clouds
from pointforms.io.columns import (
    Annotations,
    PathLike,
    constant_per_cloud,
    existing_file,
    group_rows,
)
from pointforms.support.extras import need
from pointforms.support.suggestions import suggest

if TYPE_CHECKING:
    import anndata


def read_anndata(
    data: anndata.AnnData | PathLike,
    cloud: str,
    use_rep: str | None = None,
    layer: str | None = None,
) -> Clouds:
    """Read clouds of cells from AnnData, one cloud per value of a column of `obs`.

    Needs the extra `sc`.

    Parameters
    ----------
    data : AnnData or path-like
        The cells, or the name of an .h5ad file.
    cloud : str
        Column of `data.obs` with the id of each cell's cloud. Clouds come in the order in which
        their ids first appear.
    use_rep : str or None, default None
        Take the coordinates from `data.obsm[use_rep]` instead of `data.X`.
    layer : str or None, default None
        Take the coordinates from `data.layers[layer]` instead of `data.X`.

    Returns
    -------
    Clouds

    Examples
    --------
    >>> import anndata, numpy as np, pandas as pd, pointforms as pf
    >>> obs = pd.DataFrame({"patient": ["b", "a", "b"]}, index=["c0", "c1", "c2"])
    >>> cells = anndata.AnnData(np.eye(3, 2), obs=obs)
    >>> clouds = pf.read_anndata(cells, cloud="patient")
    >>> clouds.ids, clouds.sizes.tolist()
    (('b', 'a'), [2, 1])
    """
    return read_annotated_anndata(data, cloud, use_rep, layer)[0]


def read_annotated_anndata(
    data: anndata.AnnData | PathLike,
    cloud: str,
    use_rep: str | None = None,
    layer: str | None = None,
    annotations: Sequence[str] = (),
    optional: Sequence[str] = (),
) -> tuple[Clouds, Annotations]:
    """Read clouds and columns of `obs` with one value per cloud, such as labels, from AnnData.

    Needs the extra `sc`.

    Parameters
    ----------
    data : AnnData or path-like
        The cells, or the name of an .h5ad file.
    cloud : str
        Column of `data.obs` with the id of each cell's cloud. Clouds come in the order in which
        their ids first appear.
    use_rep : str or None, default None
        Take the coordinates from `data.obsm[use_rep]` instead of `data.X`.
    layer : str or None, default None
        Take the coordinates from `data.layers[layer]` instead of `data.X`.
    annotations : sequence of str, default ()
        Columns of `data.obs` to read, each constant within a cloud.
    optional : sequence of str, default ()
        Further columns to read where they exist.

    Returns
    -------
    clouds : Clouds
    annotations : dict of array, shape (B,)
        Values of the annotations, one per cloud.

    Examples
    --------
    >>> import anndata, numpy as np, pandas as pd, pointforms as pf
    >>> obs = pd.DataFrame(
    ...     {"patient": ["b", "a", "b"], "response": ["yes", "no", "yes"]}, index=["0", "1", "2"]
    ... )
    >>> cells = anndata.AnnData(np.eye(3, 2), obs=obs)
    >>> clouds, values = pf.io.read_annotated_anndata(cells, "patient", annotations=["response"])
    >>> values["response"].tolist()
    ['yes', 'no']
    """
    anndata = need("anndata", "sc")
    if isinstance(data, str | os.PathLike):
        path = existing_file(data)
        try:
            data = anndata.read_h5ad(path)
        except (OSError, KeyError, ValueError) as error:
            raise ValueError(f"{str(path)!r} cannot be read as .h5ad: {error}") from None
    if data.isbacked:
        data = data.to_memory()
    if use_rep is not None and layer is not None:
        raise ValueError(f"use_rep={use_rep!r} and layer={layer!r}: expected one of them, not both")
    annotations = [*annotations, *(name for name in optional if name in data.obs)]
    for name in (cloud, *annotations):
        if name not in data.obs:
            raise ValueError(f"no column {name!r} in obs: {suggest(name, data.obs.columns)}")
    for key, place, where in ((use_rep, data.obsm, "obsm"), (layer, data.layers, "layers")):
        if key is not None and key not in place:
            raise ValueError(f"no {key!r} in {where}: {suggest(key, place.keys())}")
    if use_rep is not None:
        values = data.obsm[use_rep]
        names = [f"{use_rep}_{j}" for j in range(values.shape[1])]
    else:
        values = data.X if layer is None else data.layers[layer]
        names = list(data.var_names)
        if values is None:
            raise ValueError("X is empty: expected the name of a layer or use_rep")
    column = data.obs[cloud]
    if column.isna().any():
        raise ValueError(f"obs[{cloud!r}] is empty for {int(column.isna().sum())} cells")
    codes, ids = column.factorize()
    values_per_cloud = {
        name: constant_per_cloud(data.obs[name].to_numpy(object), codes, list(ids), name)
        for name in annotations
    }
    if not hasattr(values, "toarray"):
        values = np.asarray(values)
    return group_rows(values, codes, list(ids), names), values_per_cloud
