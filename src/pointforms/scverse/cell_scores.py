"""`pf.tl.contributions` and `pf.tl.energies`: what each cell adds, as columns of `obs`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from sklearn.base import is_classifier

from pointforms.estimators.point_form_estimator import PointFormEstimator
from pointforms.explain.energy import point_energy
from pointforms.explain.prediction import PoolsForms, PredictionSplit, prediction_split
from pointforms.io.anndata import check_anndata
from pointforms.scverse.choices import Choice, documents_choice, keep_result


@documents_choice
def contributions(
    adata: Any,
    model: Any,
    cloud: str | None = None,
    use_rep: str | None = None,
    layer: str | None = None,
    features: Sequence[str] | None = None,
    reference: Any = None,
    key_added: str = "pf_contribution",
) -> PredictionSplit:
    """Write what each cell adds to the prediction of its sample to `adata.obs`.

    The split is exact: the baseline, the contributions of a sample's cells and its rest sum to the
    output of the model; see :func:`pointforms.explain.prediction_split`. Outputs are log-odds for
    classes. The models are all of the fit, also for samples that they were trained on.

    Columns are called `<key_added>_<class>`; of two classes, the second one alone is written, since
    the first has the same numbers with the other sign. A regressor has one column `<key_added>`.
    `adata.uns["pointforms"]["contributions"]` has the baseline, the share of the decision that goes
    through cells, and the rest per sample.

    Parameters
    ----------
    adata : AnnData
        Cells, in memory or backed. The file of backed cells is not changed.
    model : estimator
        A fitted classifier or regressor with point-forms.
    [options of Choice]
    reference : Clouds, list of (n_i, D) arrays or None, default None
        Clouds whose mean is the baseline, such as the training clouds. None takes those of `adata`.
    key_added : str, default "pf_contribution"
        Start of the names of the columns.

    Returns
    -------
    PredictionSplit

    Examples
    --------
    >>> import anndata, numpy as np, pointforms as pf
    >>> sample = np.repeat(np.arange(8), 12)
    >>> obs = {"patient": [f"p{i}" for i in sample], "ill": np.where(sample % 2, "yes", "no")}
    >>> cells = anndata.AnnData(np.random.default_rng(0).normal(size=(96, 2)), obs=obs)
    >>> forms = pf.PointFormClassifier(forms=2, hidden=(4,), epochs=1, neighbors=6, dimension=2)
    >>> model = pf.tl.classify(cells, label="ill", cloud="patient", model=forms)
    >>> split = pf.tl.contributions(cells, model)
    >>> own = cells.obs["pf_contribution_yes"][cells.obs["patient"] == "p0"].sum()
    >>> bool(np.isclose(split.baseline[1] + own, split.output[0, 1]))
    True
    """
    check_anndata(adata)
    choice = Choice.of(adata, cloud, use_rep, layer, features)
    clouds = choice.read(adata)
    split = prediction_split(model, clouds, reference)
    rows = choice.rows(adata)
    names = _columns(model, split.output.shape[1], key_added)
    everything = np.concatenate(split.points)
    for output, name in names.items():
        _write(adata, name, everything[:, output], rows)
    choice.keep(adata)
    summary: dict[str, Any] = {"baseline": split.baseline, "share": split.share, "rest": split.rest}
    summary |= {"output": split.output, "samples": list(clouds.ids), "columns": [*names.values()]}
    keep_result(adata, "contributions", summary)
    return split


@documents_choice
def energies(
    adata: Any,
    model: Any,
    cloud: str | None = None,
    use_rep: str | None = None,
    layer: str | None = None,
    features: Sequence[str] | None = None,
    key_added: str = "pf_energy",
) -> list[str]:
    """Write the energy of the forms at each cell, μ(p) Σ_a |ω_a|²(p), to `adata.obs`.

    The energies of a sample's cells sum to the trace of its comparison matrix. There is one column
    per degree, `<key_added>_<degree>`; the parts of a portfolio stand in front of the degree, as in
    `pf_energy_forms_1`. Of several members, the forms are those of the first.

    Parameters
    ----------
    adata : AnnData
        Cells, in memory or backed. The file of backed cells is not changed.
    model : estimator
        A fitted model with point-forms.
    [options of Choice]
    key_added : str, default "pf_energy"
        Start of the names of the columns.

    Returns
    -------
    list of str
        The names of the columns.

    Examples
    --------
    >>> import anndata, numpy as np, pointforms as pf
    >>> X = np.random.default_rng(0).normal(size=(60, 3))
    >>> cells = anndata.AnnData(X, obs={"patient": list("abc") * 20})
    >>> model = pf.PointFormTransformer(forms=2, hidden=(4,), epochs=0, neighbors=8)
    >>> model = model.fit(pf.pp.clouds(cells, cloud="patient"))
    >>> pf.tl.energies(cells, model)
    ['pf_energy_1']
    """
    check_anndata(adata)
    choice = Choice.of(adata, cloud, use_rep, layer, features)
    clouds: Any = choice.read(adata)
    parts: dict[str, Any] = {"": model}
    if isinstance(model, PoolsForms):
        pooled = model.pooled_forms(clouds)
        parts, clouds = dict(zip(pooled.names, pooled.estimators, strict=True)), pooled.fields
    elif not isinstance(model, PointFormEstimator):
        raise TypeError(
            f"model is a {type(model).__name__}: expected a fitted model with point-forms, such as "
            "PointFormTransformer or CloudClassifier"
        )
    rows, written = choice.rows(adata), []
    for part, estimator in parts.items():
        for degree in estimator.degrees():
            start = f"{key_added}_{part.replace(' ', '_')}" if part else key_added
            written.append(f"{start}_{degree}")
            values = np.concatenate(point_energy(estimator, clouds, degree))
            _write(adata, written[-1], values, rows)
    choice.keep(adata)
    return written


def _columns(model: Any, outputs: int, key: str) -> dict[int, str]:
    """Return the outputs that are written, and the names of their columns."""
    if is_classifier(model):
        chosen = [1] if outputs == 2 else range(outputs)
        return {c: f"{key}_{model.classes_[c]}" for c in chosen}
    return {0: key} if outputs == 1 else {j: f"{key}_{j}" for j in range(outputs)}


def _write(adata: Any, name: str, values: np.ndarray, rows: np.ndarray) -> None:
    """Write values in the order of the clouds to a column of `obs`."""
    column = np.empty(len(values))
    column[rows] = values
    adata.obs[name] = column
