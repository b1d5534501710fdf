"""Clouds of cells from AnnData objects and .h5ad files."""

from __future__ import annotations

import math
import os
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from pointforms.clouds import Clouds
from pointforms.io.columns import (
    Annotations,
    PathLike,
    constant_per_cloud,
    existing_file,
    group_rows,
)
from pointforms.io.limits import check_size
from pointforms.loadings import Loadings
from pointforms.support.extras import need
from pointforms.support.suggestions import suggest

if TYPE_CHECKING:
    import anndata

# Where scanpy keeps the weights of genes in the components of `obsm`.
_LOADINGS: dict[str | None, str] = {"X_pca": "PCs"}


def read_anndata(
    data: anndata.AnnData | PathLike,
    cloud: str,
    use_rep: str | None = None,
    layer: str | None = None,
    max_bytes: int | None = None,
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
        Take the coordinates from `data.obsm[use_rep]` instead of `data.X`. With "X_pca", the
        `loadings` of the clouds are the genes' weights in `data.varm["PCs"]`, if it is there.
    layer : str or None, default None
        Take the coordinates from `data.layers[layer]` instead of `data.X`.
    max_bytes : int or None, default None
        The largest size of the coordinates, sparse ones counted as dense, and of `obs` that is
        accepted, in bytes. None stands for the environment variable POINTFORMS_MAX_BYTES, or for
        8 GiB.

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
    return read_annotated_anndata(data, cloud, use_rep, layer, max_bytes=max_bytes)[0]


def read_annotated_anndata(
    data: anndata.AnnData | PathLike,
    cloud: str,
    use_rep: str | None = None,
    layer: str | None = None,
    annotations: Sequence[str] = (),
    optional: Sequence[str] = (),
    max_bytes: int | None = None,
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
    max_bytes : int or None, default None
        The largest size of the coordinates, sparse ones counted as dense, and of `obs` that is
        accepted, in bytes. None stands for the environment variable POINTFORMS_MAX_BYTES, or for
        8 GiB.

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
    data = open_anndata(data, use_rep, layer, max_bytes)
    annotations = [*annotations, *(name for name in optional if name in data.obs)]
    for name in (cloud, *annotations):
        if name not in data.obs:
            raise ValueError(f"no column {name!r} in obs: {suggest(name, data.obs.columns)}")
    values, names = coordinates_of(data, use_rep, layer, max_bytes)
    column = data.obs[cloud]
    if column.isna().any():
        raise ValueError(f"obs[{cloud!r}] is empty for {int(column.isna().sum())} cells")
    codes, ids = column.factorize()
    values_per_cloud = {
        name: constant_per_cloud(data.obs[name].to_numpy(object), codes, list(ids), name)
        for name in annotations
    }
    clouds = group_rows(values, codes, list(ids), names)
    if use_rep in _LOADINGS:
        clouds = replace(clouds, loadings=_loadings(data, _LOADINGS[use_rep], names))
    return clouds, values_per_cloud


def open_anndata(
    data: anndata.AnnData | PathLike, use_rep: str | None, layer: str | None, max_bytes: int | None
) -> anndata.AnnData:
    """Return AnnData in memory: what was given, or the parts of an .h5ad file that are needed."""
    anndata = need("anndata", "sc")
    if use_rep is not None and layer is not None:
        raise ValueError(f"use_rep={use_rep!r} and layer={layer!r}: expected one of them, not both")
    if isinstance(data, str | os.PathLike):
        return _read_h5ad(anndata, existing_file(data), use_rep, layer, max_bytes)
    if data.isbacked:
        if data.X is not None:
            check_size("AnnData", data.n_obs * data.n_vars * data.X.dtype.itemsize, max_bytes)
        data = data.to_memory()
    return data


def coordinates_of(
    data: anndata.AnnData, use_rep: str | None, layer: str | None, max_bytes: int | None
) -> tuple[Any, list[str]]:
    """Return the coordinates of cells, (N, D), dense or sparse, and their names."""
    _check_key(use_rep, data.obsm, "obsm")
    _check_key(layer, data.layers, "layers")
    if use_rep is not None:
        values = data.obsm[use_rep]
    else:
        values = data.X if layer is None else data.layers[layer]
    if values is None:
        raise ValueError("X is empty: expected the name of a layer or use_rep")
    if hasattr(values, "toarray"):  # which is what happens to it
        check_size("AnnData", math.prod(values.shape) * values.dtype.itemsize, max_bytes)
    else:
        values = np.asarray(values)
    names = list(data.var_names)
    if use_rep is not None:
        names = [f"{use_rep}_{j}" for j in range(values.shape[1])]
    return values, names


def _loadings(data: Any, key: str, components: Sequence[str]) -> Loadings | None:
    """Return the weights of the genes in components, or None if `varm` does not have them."""
    if key not in data.varm:
        return None
    values = np.asarray(data.varm[key], dtype=np.float64)
    if values.ndim != 2 or values.shape[1] < len(components) or not np.isfinite(values).all():
        return None
    values = values[:, : len(components)]
    used = np.flatnonzero(values.any(1))  # genes that the components were computed from
    names = tuple(str(data.var_names[j]) for j in used)
    return Loadings(values[used].T, tuple(components), names)


def _check_key(key: str | None, keys: Iterable[str], where: str) -> None:
    if key is not None and key not in keys:
        raise ValueError(f"no {key!r} in {where}: {suggest(key, keys)}")


def _read_h5ad(
    anndata: Any, path: Path, use_rep: str | None, layer: str | None, max_bytes: int | None
) -> anndata.AnnData:
    """Read `obs`, `var` and the coordinates, if they are not too large, and nothing else."""
    with _opened(path) as file:
        keys = {place: list(file.get(place, ())) for place in ("obsm", "layers")}
        is_group = hasattr(file["obs"], "keys")
    _check_key(use_rep, keys["obsm"], "obsm")
    _check_key(layer, keys["layers"], "layers")
    values = "X" if layer is None else f"layers/{layer}"
    if use_rep is not None:
        values = f"obsm/{use_rep}"
    wanted = ["obs", "var", values] if is_group else ["/"]  # anndata before 0.7 had tables
    loadings = f"varm/{_LOADINGS[use_rep]}" if use_rep in _LOADINGS else None
    if loadings is not None and is_group:
        wanted.append(loadings)
    with _opened(path) as file:
        declared = sum(_declared_bytes(file[key]) for key in wanted if key in file)
    check_size(path, declared, max_bytes)
    with _opened(path) as file:
        if not is_group:
            return anndata.read_h5ad(path)
        read = {key: anndata.io.read_elem(file[key]) for key in wanted if key in file}
        if loadings in read:
            varm = {_LOADINGS[use_rep]: read[loadings]}
            return anndata.AnnData(
                obs=read["obs"], var=read["var"], obsm={use_rep: read[values]}, varm=varm
            )
        if use_rep is not None:
            return anndata.AnnData(obs=read["obs"], obsm={use_rep: read[values]})
        if layer is not None:
            return anndata.AnnData(obs=read["obs"], var=read["var"], layers={layer: read[values]})
        return anndata.AnnData(read.get("X"), read["obs"], read["var"])


def _declared_bytes(element: Any) -> int:
    """Return the size of the arrays in a part of an .h5ad file, sparse matrices as dense ones."""
    if hasattr(element, "dtype"):
        return math.prod(element.shape or ()) * int(element.dtype.itemsize)
    shape = element.attrs.get("shape", element.attrs.get("h5sparse_shape"))
    if shape is not None and "data" in element:
        return math.prod(map(int, shape)) * int(element["data"].dtype.itemsize)
    return sum(_declared_bytes(part) for part in element.values())


@contextmanager
def _opened(path: Path) -> Iterator[Any]:
    """Open an .h5ad file for a block whose errors are those of its content."""
    import h5py

    try:
        with h5py.File(path, "r") as file:
            yield file
    except Exception as error:  # whatever a bad byte leads to
        raise ValueError(f"{str(path)!r} cannot be read as .h5ad: {error}") from None
