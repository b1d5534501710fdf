"""Clouds of cells from AnnData and from FCS files."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from pointforms.clouds import Clouds
from pointforms.io.columns import (
    Annotations,
    PathLike,
    existing,
    grouped,
    one_a_cloud,
    present,
    rows_of,
)
from pointforms.support.extras import need

if TYPE_CHECKING:
    import anndata


def read_anndata(
    data: anndata.AnnData | PathLike,
    cloud: str,
    use_rep: str | None = None,
    layer: str | None = None,
) -> Clouds:
    """Clouds of cells from an AnnData object (or .h5ad file), grouped by a column of `obs`.

    Parameters
    ----------
    data : AnnData or path
    cloud : str
        The column of `data.obs` with one value a cloud.
    use_rep : str or None
        Coordinates from `data.obsm[use_rep]` instead of X.
    layer : str or None
        Coordinates from `data.layers[layer]` instead of X.
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
    """The clouds of an AnnData object, and columns of `obs` with one value a cloud: (B,) each."""
    anndata = need("anndata", "sc")
    if isinstance(data, str | os.PathLike):
        path = existing(data)
        try:
            data = anndata.read_h5ad(path)
        except (OSError, KeyError, ValueError) as error:
            raise ValueError(f"{str(path)!r} cannot be read as .h5ad: {error}") from None
    if data.isbacked:
        data = data.to_memory()
    if use_rep is not None and layer is not None:
        raise ValueError(f"use_rep={use_rep!r} and layer={layer!r}: give one of them")
    annotations = [*annotations, *(name for name in optional if name in data.obs)]
    for name in (cloud, *annotations):
        if name not in data.obs:
            there = present(list(data.obs.columns), name)
            raise ValueError(f"no column {name!r} in obs: {there}")
    for key, place, where in ((use_rep, data.obsm, "obsm"), (layer, data.layers, "layers")):
        if key is not None and key not in place:
            raise ValueError(f"no {key!r} in {where}: {present(list(place.keys()), key)}")
    if use_rep is not None:
        values = data.obsm[use_rep]
        names = [f"{use_rep}_{j}" for j in range(values.shape[1])]
    else:
        values = data.X if layer is None else data.layers[layer]
        names = list(data.var_names)
        if values is None:
            raise ValueError("X is empty: name a layer or use_rep")
    column = data.obs[cloud]
    if column.isna().any():
        raise ValueError(f"obs[{cloud!r}] is empty for {int(column.isna().sum())} cells")
    codes, ids = column.factorize()
    found = {
        name: one_a_cloud(data.obs[name].to_numpy(object), codes, list(ids), name)
        for name in annotations
    }
    if hasattr(values, "toarray"):  # sparse: its clouds are dense one at a time
        rows = rows_of(codes, len(ids))
        clouds = Clouds.from_list([values[r].toarray() for r in rows], list(ids), names)
    else:
        clouds = grouped(np.asarray(values), codes, list(ids), names)
    return clouds, found


def read_fcs(folder: PathLike, channels: Sequence[str] | None = None) -> Clouds:
    """Clouds of cells from a folder of FCS files, one cloud a file, named by its stem.

    Parameters
    ----------
    folder : path
    channels : list of str, or None
        Channels by their long name (PnS) or short name (PnN); None takes all, which every file
        must then have.
    """
    flowio = need("flowio", "fcs")
    path = Path(folder)
    if not path.is_dir():
        raise FileNotFoundError(f"no folder {str(folder)!r}")
    files = sorted(p for p in path.iterdir() if p.suffix.lower() == ".fcs")
    if not files:
        raise ValueError(f"no .fcs file in {str(folder)!r}")
    clouds = []
    names: list[str] | None = None if channels is None else list(channels)
    for file in files:
        try:
            flow = flowio.FlowData(str(file))
        except Exception as error:  # the parser raises whatever its first bad byte leads to
            raise ValueError(f"{file.name} cannot be read as FCS: {error}") from None
        labels = [
            long or short for long, short in zip(flow.pns_labels, flow.pnn_labels, strict=True)
        ]
        # the first file sets the channels and their order
        names = labels if names is None else names
        place = {
            **{n: i for i, n in enumerate(flow.pnn_labels)},
            **{n: i for i, n in enumerate(labels)},
        }
        absent = [name for name in names if name not in place]
        if absent:
            raise ValueError(
                f"{file.name} has no channel {absent[0]!r}: {present(labels, absent[0])}"
            )
        clouds.append(flow.as_array()[:, [place[name] for name in names]])
    return Clouds.from_list(clouds, [file.stem for file in files], names)
