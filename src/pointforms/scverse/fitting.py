"""`pf.tl.classify`: a classifier of samples, fitted to AnnData."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from pointforms.models.portfolio import CloudClassifier
from pointforms.scverse.choices import Choice, chosen_column, documents_choice, keep_result
from pointforms.scverse.sample_columns import column_of_samples
from pointforms.support.options import RandomState


@documents_choice
def classify(
    adata: Any,
    label: str,
    cloud: str | None = None,
    group: str | None = None,
    use_rep: str | None = None,
    layer: str | None = None,
    features: Sequence[str] | None = None,
    model: Any = None,
    random_state: RandomState = None,
) -> Any:
    """Fit a classifier of samples, such as patients, to the clouds of their cells.

    Samples without a label are left out of the fit; :func:`pointforms.tl.to_anndata` predicts them.
    What was chosen, and the scores of out-of-fold predictions, are kept in
    `adata.uns["pointforms"]`.

    Parameters
    ----------
    adata : AnnData or path-like
        Cells, in memory or backed, or the name of an .h5ad file, which is not changed.
    label : str
        Column of `obs` with the class of each cell's sample, constant within samples. It may be
        empty for whole samples.
    [options of Choice]
    group : str or None, default None
        Column of `obs` with groups of samples that are held out together, such as the patient of
        several biopsies. None makes every sample a group.
    model : estimator or None, default None
        The classifier to fit; None stands for :class:`pointforms.CloudClassifier`.
    random_state : int, RandomState or None, default None
        Seed of the default classifier.

    Returns
    -------
    estimator
        The fitted classifier.

    Examples
    --------
    >>> import anndata, numpy as np, pointforms as pf
    >>> rng = np.random.default_rng(0)
    >>> sample = np.repeat(np.arange(12), 20)
    >>> X = rng.normal(size=(240, 3)) + 2 * (sample % 2)[:, None]
    >>> obs = {"patient": [f"p{i}" for i in sample], "ill": np.where(sample % 2, "yes", "no")}
    >>> cells = anndata.AnnData(X, obs=obs)
    >>> quick = pf.CloudClassifier(parts=("linear",), random_state=0)
    >>> model = pf.tl.classify(cells, label="ill", cloud="patient", model=quick)
    >>> cells.uns["pointforms"]["scores"]["auroc"]
    1.0
    """
    chosen_column(adata, "label", label)
    chosen_column(adata, "group", group, needed=False)
    choice = Choice.of(adata, cloud, use_rep, layer, features)
    clouds = choice.read(adata)
    labels, kept = labelled(adata, choice, label)
    groups = None
    if group is not None:
        groups = np.asarray(column_of_samples(adata, choice, group).astype(str))[kept]
    if model is None:
        model = CloudClassifier(random_state=random_state)
    model.fit(clouds[kept], labels[kept], groups=groups)
    choice.keep(adata)
    scores = getattr(model, "oof_scores_", {})
    parts = getattr(model, "contributions_", {})
    found = {
        "label": label,
        "group": group,
        "scores": {name: float(value) for name, value in scores.items()} or None,
        "parts": {name: str(one) for name, one in parts.items()} or None,
    }
    for name, value in found.items():  # of an earlier fit, nothing stays
        keep_result(adata, name, value)
    return model


def labelled(adata: Any, choice: Choice, label: str) -> tuple[np.ndarray, np.ndarray]:
    """Return the label of each sample, and the positions of the samples that have one."""
    column = column_of_samples(adata, choice, label)
    kept = np.flatnonzero(column.notna().to_numpy())
    if not len(kept):
        raise ValueError(f"obs[{label!r}] is empty for all samples")
    values = column.to_numpy(object)
    # text and whole numbers keep their type; objects of one type would otherwise be refused
    known = np.array(values[kept].tolist())
    labels = np.empty(len(values), dtype=known.dtype)
    labels[kept] = known
    return labels, kept
