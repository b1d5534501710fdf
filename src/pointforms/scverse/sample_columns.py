"""`pf.pp.samples`: what is known about each sample, from columns of `obs`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from pointforms.io.anndata import cells_of, cloud_codes
from pointforms.scverse.choices import Choice, check_column
from pointforms.support.extras import need

if TYPE_CHECKING:
    import anndata


def samples(adata: Any, cloud: str | None = None) -> anndata.AnnData:
    """Return one row per sample, with the columns of `obs` that are constant within samples.

    Parameters
    ----------
    adata : AnnData or path-like
        Cells, or the name of an .h5ad file.
    cloud : str or None, default None
        Column of `obs` with the sample of each cell. None takes the one that an earlier call has
        chosen.

    Returns
    -------
    AnnData
        Samples in the order in which they first appear, without features. `obs` has the number of
        cells as `n_cells`, then the columns.

    Examples
    --------
    >>> import anndata, numpy as np, pointforms as pf
    >>> obs = {"patient": list("aabb"), "age": [40, 40, 50, 50], "type": list("BTTT")}
    >>> pf.pp.samples(anndata.AnnData(np.eye(4), obs=obs), cloud="patient").obs
       n_cells  age
    a        2   40
    b        2   50
    """
    choice = Choice.of(adata, cloud)
    pandas, module = need("pandas", "sc"), need("anndata", "sc")
    with cells_of(adata) as cells:
        known = cells.columns()
        check_column(choice.cloud, known)
        codes, ids = cloud_codes(cells, choice.cloud)
        found = {"n_cells": np.bincount(codes, minlength=len(ids))}
        for name in known:
            if name not in (choice.cloud, "n_cells"):
                values = constant_values(cells.column(name), codes)
                if values is not None:
                    found[name] = values
    frame = pandas.DataFrame(found)
    frame.index = pandas.Index([str(one) for one in ids])
    return module.AnnData(obs=frame)


def constant_values(column: Any, codes: np.ndarray) -> Any:
    """Return the value of each sample, which may be missing; None if it varies within a sample."""
    own, _ = column.factorize()
    first = np.unique(codes, return_index=True)[1]
    if (own != own[first][codes]).any():
        return None
    values = column.iloc[first].reset_index(drop=True)
    return values.cat.remove_unused_categories() if hasattr(values, "cat") else values


def column_of_samples(adata: Any, choice: Choice, name: str) -> Any:
    """Return the values of a column per sample, or raise an error if it varies within a sample."""
    with cells_of(adata) as cells:
        check_column(name, cells.columns())
        codes, ids = cloud_codes(cells, choice.cloud)
        column = cells.column(name)
    values = constant_values(column, codes)
    if values is None:
        varied = next(
            ids[b] for b in range(len(ids)) if column[codes == b].nunique(dropna=False) > 1
        )
        raise ValueError(
            f"obs[{name!r}] differs among the cells of sample {varied!r}: expected one value per "
            f"value of obs[{choice.cloud!r}]"
        )
    return values
