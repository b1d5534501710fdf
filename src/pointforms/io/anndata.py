"""Clouds of cells from AnnData objects and .h5ad files."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from pointforms.clouds import Clouds
from pointforms.io.cells import (
    Cells,
    CellsInMemory,
    CellsOnDisk,
    ChosenColumns,
    by_rows,
    declared_bytes,
    is_old_file,
    opened,
)
from pointforms.io.columns import (
    Annotations,
    PathLike,
    column_name,
    column_names,
    constant_per_cloud,
    existing_file,
    group_rows,
    missing_feature,
)
from pointforms.io.limits import check_size
from pointforms.loadings import Loadings
from pointforms.support.extras import need
from pointforms.support.suggestions import suggest

if TYPE_CHECKING:
    import anndata

# Other containers of cells, and what to pass instead.
_OTHERS = {
    "MuData": 'pass one modality, such as data.mod["rna"]',
    "SpatialData": 'pass a table of it, such as data.tables["table"]',
}


def read_anndata(
    data: anndata.AnnData | PathLike,
    cloud: str,
    use_rep: str | None = None,
    layer: str | None = None,
    max_bytes: int | None = None,
    features: Sequence[str] | None = None,
    loadings: str | None = None,
) -> Clouds:
    """Read clouds of cells from AnnData, one cloud per value of a column of `obs`.

    Only the columns and arrays that are asked for are read. Those of an .h5ad file, or of an
    AnnData object that is backed by one, are read in blocks, so that `X` stays on disk unless it
    has the coordinates. Needs the extra `sc`.

    Parameters
    ----------
    data : AnnData or path-like
        The cells, in memory or backed by a file, or the name of an .h5ad file.
    cloud : str
        Column of `data.obs` with the id of each cell's cloud. Clouds come in the order in which
        their ids first appear.
    use_rep : str or None, default None
        Take the coordinates from `data.obsm[use_rep]` instead of `data.X`.
    layer : str or None, default None
        Take the coordinates from `data.layers[layer]` instead of `data.X`.
    max_bytes : int or None, default None
        The largest size of the coordinates, sparse ones counted as dense, and of each column that
        is accepted, in bytes. None stands for the environment variable POINTFORMS_MAX_BYTES, or for
        8 GiB.
    features : sequence of str or None, default None
        Coordinates by name: genes of `data.var_names`, or numeric columns of `data.obs`. None takes
        all genes.
    loadings : str or None, default None
        Key of `data.varm` with the genes' weights in the components of `use_rep`. None looks for
        "PCs" with "X_pca", and otherwise for a key that is named after `use_rep`; there may be
        none.

    Returns
    -------
    Clouds
        Its `loadings` lead from components back to genes.

    Examples
    --------
    >>> import anndata, numpy as np, pandas as pd, pointforms as pf
    >>> obs = pd.DataFrame({"patient": ["b", "a", "b"]}, index=["c0", "c1", "c2"])
    >>> cells = anndata.AnnData(np.eye(3, 2), obs=obs)
    >>> clouds = pf.read_anndata(cells, cloud="patient")
    >>> clouds.ids, clouds.sizes.tolist()
    (('b', 'a'), [2, 1])
    """
    return read_annotated_anndata(
        data, cloud, use_rep, layer, max_bytes=max_bytes, features=features, loadings=loadings
    )[0]


def read_annotated_anndata(
    data: anndata.AnnData | PathLike,
    cloud: str,
    use_rep: str | None = None,
    layer: str | None = None,
    annotations: Sequence[str] = (),
    optional: Sequence[str] = (),
    max_bytes: int | None = None,
    features: Sequence[str] | None = None,
    loadings: str | None = None,
) -> tuple[Clouds, Annotations]:
    """Read clouds and columns of `obs` with one value per cloud, such as labels, from AnnData.

    Needs the extra `sc`.

    Parameters
    ----------
    data : AnnData or path-like
        The cells, in memory or backed by a file, or the name of an .h5ad file.
    cloud : str
        Column of `data.obs` with the id of each cell's cloud.
    use_rep : str or None, default None
        Key of `data.obsm` with the coordinates, as for :func:`read_anndata`.
    layer : str or None, default None
        Key of `data.layers` with the coordinates, as for :func:`read_anndata`.
    annotations : sequence of str, default ()
        Columns of `data.obs` to read, each constant within a cloud.
    optional : sequence of str, default ()
        Further columns to read where they exist.
    max_bytes : int or None, default None
        The largest size that is accepted, as for :func:`read_anndata`.
    features : sequence of str or None, default None
        Coordinates by name: genes, or numeric columns of `data.obs`.
    loadings : str or None, default None
        Key of `data.varm` with the genes' weights in the components of `use_rep`.

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
    for name, chosen in (("layer", layer), ("features", features)):
        if use_rep is not None and chosen is not None:
            raise ValueError(
                f"use_rep={use_rep!r} and {name}={chosen!r}: expected one of them, not both"
            )
    if loadings is not None and use_rep is None:
        raise ValueError(f"loadings={loadings!r}: expected the components they are of, use_rep=…")
    with cells_of(data, max_bytes) as cells:
        known = cells.columns()
        cloud = column_name("cloud", cloud)
        annotations = [*annotations, *(name for name in optional if name in known)]
        for name in (cloud, *annotations):
            if name not in known:
                raise ValueError(f"no column {name!r} in obs: {suggest(name, known)}")
        values, names = coordinates(cells, use_rep, layer, features)
        codes, ids = cloud_codes(cells, cloud)
        values_per_cloud = {
            name: _one_per_cloud(cells.column(name), codes, ids, name) for name in annotations
        }
        clouds = group_rows(values, codes, ids, names)
        if use_rep is not None:
            found = loadings_of(cells, use_rep, loadings, names)
            clouds = replace(clouds, loadings=found)
    return clouds, values_per_cloud


@contextmanager
def cells_of(data: Any, max_bytes: int | None = None) -> Iterator[Cells]:
    """Give access to the parts of AnnData for a block; a file is closed after it.

    Parameters
    ----------
    data : AnnData or path-like
        The cells, or the name of an .h5ad file.
    max_bytes : int or None, default None
        The largest size that is accepted, as for readers.
    """
    if not isinstance(data, str | os.PathLike):
        yield CellsInMemory(check_anndata(data), max_bytes)
        return
    path = existing_file(data)
    anndata = need("anndata", "sc")
    if is_old_file(path):
        check_size(path, declared_bytes(path), max_bytes)
        yield CellsInMemory(anndata.read_h5ad(path), max_bytes)
        return
    with opened(path) as file:
        yield CellsOnDisk(anndata, file, path, max_bytes)


def check_anndata(data: Any) -> Any:
    """Return AnnData, or raise an error that says what to pass instead of something else."""
    anndata = need("anndata", "sc")
    if isinstance(data, anndata.AnnData):
        return data
    kind = type(data).__name__
    if kind in _OTHERS:
        raise TypeError(f"{kind} is not supported yet: {_OTHERS[kind]}, which is AnnData")
    raise TypeError(f"data is a {kind}: expected AnnData, or the path of an .h5ad file")


def cloud_codes(cells: Cells, cloud: str) -> tuple[np.ndarray, list[object]]:
    """Return the cloud of each cell by number, and the ids of the clouds by first appearance."""
    column = cells.column(cloud)
    if column.isna().any():
        raise ValueError(f"obs[{cloud!r}] is empty for {int(column.isna().sum())} cells")
    codes, ids = column.factorize()
    return codes, list(ids)


def coordinates(
    cells: Cells, use_rep: str | None, layer: str | None, features: Sequence[str] | None
) -> tuple[Any, list[str]]:
    """Return the coordinates of all cells, which may be on disk, and their names."""
    if use_rep is not None:
        _check_key(use_rep, cells.keys("obsm"), "obsm")
        given = cells.values("obsm", use_rep)
        is_frame = hasattr(given, "columns")
        values = _checked(cells, given.to_numpy() if is_frame else given, f"obsm[{use_rep!r}]")
        if is_frame:
            return values, list(map(str, given.columns))
        return values, [f"{use_rep}_{j}" for j in range(values.shape[1])]
    if layer is not None:
        _check_key(layer, cells.keys("layers"), "layers")
    if features is not None:
        return _by_name(cells, layer, column_names("features", features))
    values = cells.values("X" if layer is None else "layers", layer)
    if values is None:
        raise ValueError("X is empty: expected the name of a layer or use_rep")
    return _checked(cells, values, "X"), cells.var_names()


def _checked(cells: Cells, values: Any, name: str) -> Any:
    """Return a table of coordinates whose rows can be read, if it is not too large."""
    if not hasattr(values, "dtype"):
        values = np.asarray(values)
    if len(values.shape) != 2:
        raise ValueError(f"{name} has shape {tuple(values.shape)}: expected one row per cell")
    cells.check(values, values.shape[1])
    return by_rows(values)


def _by_name(cells: Cells, layer: str | None, features: list[str]) -> tuple[Any, list[str]]:
    """Return genes and columns of `obs` by their names."""
    known = cells.columns()
    genes = {name: j for j, name in enumerate(cells.var_names())}
    for name in features:
        if name not in genes and name not in known:
            message = f"no {name!r} among the genes or the columns of obs"
            raise missing_feature(message, name, [*known, *genes], features)
        if name in genes and name in known:
            raise ValueError(f"{name!r} is a gene and a column of obs: rename one of them")
    if not features or len(set(features)) < len(features):
        raise ValueError(f"features={features!r}: expected one or more different names")
    beside = []
    for name in features:
        if name in known:
            column = cells.column(name)
            if column.dtype.kind not in "fiub":
                raise ValueError(f"obs[{name!r}] has dtype {column.dtype}: expected numbers")
            beside.append(column.to_numpy())
    values = None
    if len(beside) < len(features):
        values = cells.values("X" if layer is None else "layers", layer)
        if values is None:
            raise ValueError("X is empty: expected the name of a layer")
        cells.check(values, len(features) - len(beside))
        values = by_rows(values)
    return ChosenColumns(values, [genes.get(name) for name in features], beside), features


def _one_per_cloud(column: Any, codes: np.ndarray, ids: Sequence[object], name: str) -> np.ndarray:
    """Return the value of each cloud in a column that must be constant within a cloud: (B,)."""
    own, _ = column.factorize()
    first = np.unique(codes, return_index=True)[1]
    if (own < 0).any() or (own != own[first][codes]).any():  # the slow way finds where
        return constant_per_cloud(column.to_numpy(object), codes, ids, name)
    return np.asarray(column.iloc[first].to_numpy(object))


def loadings_of(
    cells: Cells, use_rep: str, key: str | None, components: Sequence[str]
) -> Loadings | None:
    """Return the weights of the genes in components, or None if `varm` does not have them."""
    keys = cells.keys("varm")
    if key is not None:
        _check_key(key, keys, "varm")
        found = _loadings_at(cells, key, components)
        if found is None:
            shape = tuple(cells.values("varm", key).shape)
            raise ValueError(
                f"varm[{key!r}] has shape {shape}: expected finite weights of genes in "
                f"{len(components)} components"
            )
        return found
    bare = use_rep.removeprefix("X_")
    likely = ["PCs"] if use_rep == "X_pca" else []
    likely += [use_rep, bare, f"{use_rep}_loadings", f"{bare}_loadings"]
    for name in likely:
        found = _loadings_at(cells, name, components) if name in keys else None
        if found is not None:
            return found
    return None


def _loadings_at(cells: Cells, key: str, components: Sequence[str]) -> Loadings | None:
    values = cells.values("varm", key)
    if len(values.shape) != 2 or values.shape[1] < len(components):
        return None
    cells.check(values, values.shape[1])
    weights = np.asarray(values[:] if not hasattr(values, "to_numpy") else values, dtype=np.float64)
    weights = weights[:, : len(components)]
    if not np.isfinite(weights).all():
        return None
    used = np.flatnonzero(weights.any(1))  # genes that the components were computed from
    genes = cells.var_names()
    return Loadings(weights[used].T, tuple(components), tuple(genes[j] for j in used))


def _check_key(key: str, keys: Iterable[str], where: str) -> None:
    if key not in keys:
        raise ValueError(f"no {key!r} in {where}: {suggest(key, keys)}")
