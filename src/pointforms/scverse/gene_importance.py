"""`pf.tl.importance`: which features a model relies on, and the genes behind them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from pointforms.explain.importance import Pairs
from pointforms.explain.importance import importance as measure
from pointforms.explain.importance_table import Importance
from pointforms.io.anndata import check_anndata
from pointforms.scverse.choices import Choice, chosen_column, documents_choice, keep_result
from pointforms.scverse.fitting import labelled
from pointforms.scverse.sample_columns import column_of_samples
from pointforms.support.extras import need


@documents_choice
def importance(
    adata: Any,
    model: Any,
    label: str | None = None,
    cloud: str | None = None,
    group: str | None = None,
    use_rep: str | None = None,
    layer: str | None = None,
    features: Sequence[str] | None = None,
    pairs: Pairs = "top",
    new: bool = False,
    repeats: int | None = None,
    random_state: int = 0,
) -> Importance:
    """Measure which features a model relies on, and write the table to `adata.uns`.

    `adata.uns["pointforms"]["importance"]` is the table of :func:`pointforms.explain.importance`.
    Where `varm` has the loadings of the components, `adata.uns["pointforms"]["genes"]` has the
    score of each gene: the importance of components, shared out by squared loadings.

    Parameters
    ----------
    adata : AnnData
        Cells, in memory or backed: those of the fit, or others with new=True.
    model : estimator
        A fitted classifier or regressor.
    label : str or None, default None
        Column of `obs` with what is predicted. None takes that of :func:`pointforms.tl.classify`.
        Samples without a label are left out.
    [options of Choice]
    group : str or None, default None
        Column of `obs` with groups of samples, the units of the tests. None takes that of
        :func:`pointforms.tl.classify`.
    pairs : "top", "all", sequence of pairs, None or False, default "top"
        Pairs of features to measure, as for :func:`pointforms.explain.importance`.
    new : bool, default False
        Declare that the model was trained on none of the samples.
    repeats : int or None, default None
        Number of perturbed versions of each cloud; None chooses by the number of clouds.
    random_state : int, default 0
        Seed of perturbations and tests.

    Returns
    -------
    Importance

    Examples
    --------
    >>> import anndata, numpy as np, pointforms as pf
    >>> sample = np.repeat(np.arange(40), 12)
    >>> X = np.random.default_rng(0).normal(size=(480, 2)) + 2 * (sample % 2)[:, None] * [1, 0]
    >>> obs = {"patient": [f"p{i}" for i in sample], "ill": np.where(sample % 2, "yes", "no")}
    >>> cells = anndata.AnnData(X, obs=obs)
    >>> quick = pf.CloudClassifier(parts=("linear",), random_state=0)
    >>> model = pf.tl.classify(cells, label="ill", cloud="patient", model=quick)
    >>> [row.name for row in pf.tl.importance(cells, model, pairs=None).found()]
    ['0']
    """
    check_anndata(adata)
    choice = Choice.of(adata, cloud, use_rep, layer, features)
    label = chosen_column(adata, "label", label)
    group = chosen_column(adata, "group", group, needed=False)
    assert label is not None
    clouds = choice.read(adata)
    labels, kept = labelled(adata, choice, label)
    groups = None
    if group is not None:
        groups = np.asarray(column_of_samples(adata, choice, group).astype(str))[kept]
    table = measure(
        model,
        clouds[kept],
        labels[kept],
        groups,
        random_state,
        pairs=pairs,
        new=new,
        repeats=repeats,
    )
    choice.keep(adata)
    frame = table.to_frame()
    frame["other"] = frame["other"].fillna("")  # files have no missing text
    frame.index = frame.index.astype(str)
    keep_result(adata, "importance", frame)
    if clouds.loadings is not None:
        best = dict.fromkeys(clouds.feature_names, 0.0)
        for row in table.rows:
            if row.other is None and np.isfinite(row.importance):
                best[row.feature] = max(best[row.feature], row.importance)
        own = clouds.loadings.table([best[name] for name in clouds.feature_names], top=None)
        genes = need("pandas", "sc").DataFrame(own.rows).set_index("feature")
        keep_result(adata, "genes", genes)
    return table
