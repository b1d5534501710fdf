"""`pf.pp.clouds`: the cells of each sample as a cloud."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from pointforms.clouds import Clouds
from pointforms.scverse.choices import Choice, documents_choice


@documents_choice
def clouds(
    adata: Any,
    cloud: str | None = None,
    use_rep: str | None = None,
    layer: str | None = None,
    features: Sequence[str] | None = None,
    max_bytes: int | None = None,
) -> Clouds:
    """Return one cloud of cells per sample, and remember how they were chosen.

    The choice is kept in `adata.uns["pointforms"]`. Later calls of `pf.pp` and `pf.tl` for the same
    object use it unless they are told otherwise. Nothing else is loaded; see
    :func:`pointforms.read_anndata`.

    Parameters
    ----------
    adata : AnnData or path-like
        Cells, in memory or backed, or the name of an .h5ad file, which is not changed.
    [options of Choice]
    max_bytes : int or None, default None
        The largest size that is accepted, as for :func:`pointforms.read_anndata`.

    Returns
    -------
    Clouds
        In the order in which samples first appear.

    Examples
    --------
    >>> import anndata, numpy as np, pointforms as pf
    >>> cells = anndata.AnnData(np.eye(6, 2), obs={"patient": list("aabbbb")})
    >>> pf.pp.clouds(cells, cloud="patient")
    Clouds(2 clouds of 2-4 points in R^2)
    >>> pf.pp.clouds(cells).ids
    ('a', 'b')
    """
    choice = Choice.of(adata, cloud, use_rep, layer, features)
    found = choice.read(adata, max_bytes)
    choice.keep(adata)
    return found
