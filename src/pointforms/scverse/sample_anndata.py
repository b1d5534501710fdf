"""`pf.tl.to_anndata`: what a model makes of each sample, as AnnData."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from pointforms.estimators.point_form_estimator import PointFormEstimator
from pointforms.explain.embedding import embed_distances
from pointforms.explain.matrix_distances import (
    Metric,
    distances_of_matrices,
    features_of_matrices,
    form_matrices,
)
from pointforms.explain.prediction import PoolsForms
from pointforms.scverse.choices import KEY, Choice, documents_choice
from pointforms.scverse.predictions import predict_samples
from pointforms.scverse.sample_columns import samples as samples_of
from pointforms.scverse.sample_distances import DISTANCES
from pointforms.support.checks import check_choice
from pointforms.support.extras import need

if TYPE_CHECKING:
    import anndata


@documents_choice
def to_anndata(
    adata: Any,
    model: Any,
    cloud: str | None = None,
    use_rep: str | None = None,
    layer: str | None = None,
    features: Sequence[str] | None = None,
    metric: Metric = "log-euclidean",
) -> anndata.AnnData:
    """Return one row per sample: predictions, comparison features, distances and a map.

    - `obs`: the columns that are constant within samples; `prediction` and `probability_<class>`;
      `out_of_fold`, True for samples of the fit that were predicted by models not trained on them;
      and `trained_on`, True for samples of the fit.
    - `X`: the entries of the comparison matrices, see
      :func:`pointforms.explain.comparison_features`; `var` says which forms they are of.
    - `obsp["pf_distances"]`: distances between the comparison matrices, and
      `obsm["X_pf_pca"]`: places of the samples by these distances.

    A model without point-forms gives predictions only. Forms that were learned from labels show
    samples of the fit as better separated than new ones.

    Parameters
    ----------
    adata : AnnData or path-like
        Cells, in memory or backed, or the name of an .h5ad file, which is not changed.
    model : estimator
        A fitted model, such as :func:`pointforms.tl.classify` returns, or a fitted transformer.
    [options of Choice]
    metric : {"log-euclidean", "euclidean"}, default "log-euclidean"
        How comparison matrices are compared.

    Returns
    -------
    AnnData

    Examples
    --------
    >>> import anndata, numpy as np, pointforms as pf
    >>> X = np.random.default_rng(0).normal(size=(60, 3))
    >>> cells = anndata.AnnData(X, obs={"patient": list("abc") * 20})
    >>> model = pf.PointFormTransformer(forms=2, hidden=(4,), epochs=0, neighbors=8)
    >>> model = model.fit(pf.pp.clouds(cells, cloud="patient"))
    >>> samples = pf.tl.to_anndata(cells, model)
    >>> samples.shape, list(samples.var_names)
    ((3, 3), ['degree 1: 1 × 1', 'degree 1: 1 × 2', 'degree 1: 2 × 2'])
    """
    check_choice("metric", metric, "log-euclidean", "euclidean")
    choice = Choice.of(adata, cloud, use_rep, layer, features)
    clouds = choice.read(adata)
    obs = samples_of(adata, choice.cloud).obs
    if hasattr(model, "predict"):
        for name, values in predict_samples(model, clouds).items():
            obs[name] = values
    module, pandas = need("anndata", "sc"), need("pandas", "sc")
    choice.keep(adata)
    summary: dict[str, Any] = {"model": type(model).__name__}
    if not _has_forms(model):
        return module.AnnData(obs=obs, uns={KEY: summary})
    blocks = form_matrices(model, clouds)
    own = features_of_matrices(blocks)
    forms = np.array(own.forms)
    var = pandas.DataFrame(
        {"part": own.parts, "degree": own.degrees, "form": forms[:, 0], "other": forms[:, 1]},
        index=list(own.names),
    )
    samples = module.AnnData(own.values, obs=obs, var=var)
    summary["distance"] = f"{type(model).__name__}, {metric}"
    samples.uns[KEY] = summary
    if len(clouds) > 1:
        matrix = distances_of_matrices([block.matrices for block in blocks], metric)
        samples.obsp[DISTANCES] = matrix
        samples.obsm["X_pf_pca"] = embed_distances(matrix)
    return samples


def _has_forms(model: Any) -> bool:
    """Whether a model has comparison matrices that depend on clouds alone."""
    if isinstance(model, PoolsForms):
        parts = getattr(model, "parts_", {}).values()
        with_forms = any(isinstance(part, PointFormEstimator) for part in parts)
        return with_forms and not any(
            hasattr(model, name) for name in ("covariates_", "batch_centers_")
        )
    return isinstance(model, PointFormEstimator)
