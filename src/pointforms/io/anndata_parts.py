"""Clouds and columns of AnnData: coordinates from a matrix, everything else from `obs`."""

from __future__ import annotations

from typing import Any

import numpy as np

from pointforms.io.anndata import coordinates_of, open_anndata
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
    data = open_anndata(data, options.use_rep, options.layer, max_bytes)
    values, given = coordinates_of(data, options.use_rep, options.layer, max_bytes)
    names = [str(name) for name in given]
    known = [str(name) for name in data.obs.columns]
    if options.cloud not in known:
        raise ValueError(
            f"no column {options.cloud!r} in obs: {suggest(options.cloud, known)} (--cloud NAME "
            "names the column of cloud ids)"
        )
    wanted = choose(known, "column {!r} in obs")
    roles = {options.cloud, *wanted.names, *wanted.guessed}
    for name in (*(options.features or ()), *options.allow):
        if name not in names:
            raise ValueError(f"no feature {name!r}: {suggest(name, names)}")
    for name in options.drop:
        if name not in names and name not in known:
            raise ValueError(f"no feature {name!r}: {suggest(name, names)}")
    left_out = {name: "column of obs" for name in known if name not in roles}
    left_out |= {name: "dropped" for name in names if name in options.drop}
    chosen = [name for name in names if name not in options.drop]
    chosen = chosen if options.features is None else list(options.features)
    if chosen != names:
        place = {name: j for j, name in enumerate(names)}
        values = values[:, [place[name] for name in chosen]]
    return parts_of_rows(
        values,
        chosen,
        _objects(data.obs[options.cloud]),
        {name: _objects(data.obs[name]) for name in (*wanted.names, *wanted.guessed)},
        wanted,
        options,
        left_out,
    )


def _objects(column: Any) -> np.ndarray:
    """Return a column of `obs` as objects, with None for missing values."""
    values: np.ndarray = column.to_numpy(object, copy=True)
    values[column.isna().to_numpy()] = None
    return values
