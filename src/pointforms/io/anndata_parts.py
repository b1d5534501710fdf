"""Clouds and columns of AnnData: coordinates from a matrix, everything else from `obs`."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from pointforms.io.anndata import cells_of, coordinates, loadings_of
from pointforms.io.cells import Cells
from pointforms.io.columns import missing_feature
from pointforms.io.file_parts import ChooseColumns, FileParts, parts_of_rows
from pointforms.io.read_options import ReadOptions
from pointforms.support.suggestions import suggest


def anndata_parts(
    data: Any, options: ReadOptions, choose: ChooseColumns, max_bytes: int | None
) -> FileParts:
    """Return the clouds of AnnData or of an .h5ad file, with all genes or components.

    Parameters
    ----------
    data : AnnData or path-like
        The cells.
    options : ReadOptions
        Roles of the columns of `obs`, and where the coordinates are.
    choose : callable
        Chooses the columns of `obs` to read beside the coordinates.
    max_bytes : int or None
        The largest size that is accepted.
    """
    with cells_of(data, max_bytes) as cells:
        known = cells.columns()
        if options.cloud not in known:
            raise ValueError(
                f"no column {options.cloud!r} in obs: {suggest(options.cloud, known)} "
                "(--cloud NAME names the column of cloud ids)"
            )
        wanted = choose(known, "column {!r} in obs", "obs has the columns")
        columns = {name: _objects(cells.column(name)) for name in wanted.names}
        cloud = _objects(cells.column(options.cloud))
        values, names, left_out = _chosen(cells, options, wanted.left_out)
        unused = {options.cloud, *wanted.names, *wanted.ignored, *names}
        left_out = {name: "column of obs" for name in known if name not in unused} | left_out
        parts = parts_of_rows(values, names, cloud, columns, options, left_out)
        if options.use_rep is None:
            return parts
        found = loadings_of(cells, options.use_rep, None, names)
        return replace(parts, clouds=replace(parts.clouds, loadings=found))


def _chosen(
    cells: Cells, options: ReadOptions, elsewhere: dict[str, str]
) -> tuple[Any, list[str], dict[str, str]]:
    """Return the coordinates of all cells, their names, and what is dropped here or elsewhere."""
    use_rep, layer = options.use_rep, options.layer
    if use_rep is None and options.features is not None:
        values, names = coordinates(cells, None, layer, options.features)
        return _in_memory(values), names, elsewhere
    values, names = coordinates(cells, use_rep, layer, None)
    features = options.features or ()
    for name in features:
        if name not in names:
            raise missing_feature(f"no feature {name!r}", name, names, features)
    for name in options.allow:
        if name not in names:
            raise ValueError(f"no feature {name!r}: {suggest(name, names)}")
    for name in options.drop:
        if name not in (*names, *cells.columns(), *elsewhere):
            raise ValueError(f"no feature {name!r}: {suggest(name, names)}")
    dropped = {name: "dropped" for name in names if name in options.drop}
    chosen = [name for name in names if name not in dropped]
    chosen = chosen if options.features is None else list(options.features)
    values = _in_memory(values)
    if chosen != names:
        place = {name: j for j, name in enumerate(names)}
        values = values[:, [place[name] for name in chosen]]
    return values, chosen, elsewhere | dropped


def _in_memory(values: Any) -> Any:
    return values if isinstance(values, np.ndarray) or hasattr(values, "toarray") else values[:]


def _objects(column: Any) -> np.ndarray:
    """Return a column of `obs` as objects, with None for missing values."""
    values: np.ndarray = column.to_numpy(object, copy=True)
    values[column.isna().to_numpy()] = None
    return values
