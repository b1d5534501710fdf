from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

import pointforms as pf

CHOICE = {"cloud": "patient", "use_rep": "X_pca"}


def test_classify_fits_the_samples_and_remembers_it(cells, quick):
    model = pf.tl.classify(cells, label="ill", group="site", model=quick, **CHOICE)
    assert model is quick
    clouds = pf.pp.clouds(cells)
    labels = pf.pp.samples(cells).obs["ill"].astype(str).to_numpy()
    sites = pf.pp.samples(cells).obs["site"].astype(str).to_numpy()
    same = pf.CloudClassifier(parts=("linear",), random_state=0).fit(clouds, labels, groups=sites)
    np.testing.assert_allclose(model.oof_predictions_, same.oof_predictions_)
    known = cells.uns["pointforms"]
    assert (known["label"], known["group"], known["cloud"]) == ("ill", "site", "patient")
    assert known["scores"]["auroc"] == model.oof_score_
    pf.tl.classify(cells, label="ill", model=quick)
    assert "group" not in cells.uns["pointforms"]


def test_samples_without_a_label_are_predicted(cells, quick):
    truth = pf.pp.samples(cells, cloud="patient").obs["ill"].astype(str)
    new = cells.obs["patient"].isin(["p0", "p1", "p2", "p3"])
    cells.obs["ill"] = cells.obs["ill"].where(~new)
    model = pf.tl.classify(cells, label="ill", model=quick, **CHOICE)
    assert len(model.training_clouds_) == 8
    samples = pf.tl.to_anndata(cells, model)
    is_new = samples.obs_names.isin(["p0", "p1", "p2", "p3"])
    assert (samples.obs["out_of_fold"] == ~is_new).all()
    assert (samples.obs["trained_on"] == ~is_new).all()
    assert (samples.obs["prediction"] == truth).all()  # the shift is large
    clouds = pf.pp.clouds(cells)
    np.testing.assert_allclose(
        samples.obs.loc[is_new, "probability_yes"],
        model.predict_proba(clouds[np.flatnonzero(is_new)])[:, 1],
    )
    np.testing.assert_allclose(
        samples.obs.loc[~is_new, "probability_yes"], model.oof_predictions_[:, 1]
    )


@pytest.mark.parametrize(
    ("options", "error", "message"),
    [
        ({"label": "type"}, ValueError, r"obs\['type'\] differs among the cells of sample"),
        ({"label": "il"}, ValueError, "no column 'il' in obs: did you mean 'ill'"),
        ({"label": ("time", "event")}, TypeError, "survival targets.* are not supported yet"),
        ({"label": "ill", "group": "type"}, ValueError, r"obs\['type'\] differs among"),
    ],
)
def test_wrong_columns_are_named(cells, quick, options, error, message):
    with pytest.raises(error, match=message):
        pf.tl.classify(cells, model=quick, **CHOICE, **options)


def test_contributions_of_cells_sum_to_the_output(cells, small):
    model = pf.tl.classify(cells, label="ill", model=small, **CHOICE)
    split = pf.tl.contributions(cells, model)
    assert "pf_contribution_no" not in cells.obs  # the same numbers with the other sign
    sums = cells.obs.groupby("patient", observed=True)["pf_contribution_yes"].sum()
    ids = list(pf.pp.clouds(cells).ids)
    kept = cells.uns["pointforms"]["contributions"]
    assert list(kept["samples"]) == ids
    np.testing.assert_allclose(
        kept["baseline"][1] + sums[ids] + kept["rest"][:, 1], split.output[:, 1], atol=1e-6
    )
    # cells are in the order of obs, not of the clouds: a cell alone keeps its value
    order = np.argsort(cells.obs["pf_contribution_yes"].to_numpy())
    shuffled = cells[order].copy()
    pf.tl.contributions(shuffled, model)
    np.testing.assert_allclose(
        shuffled.obs["pf_contribution_yes"],
        cells.obs["pf_contribution_yes"].to_numpy()[order],
        atol=1e-6,
    )


def test_energies_of_cells_sum_to_the_trace(cells, small):
    model = pf.tl.classify(cells, label="ill", model=small, **CHOICE)
    assert pf.tl.energies(cells, model) == ["pf_energy_1"]
    clouds = pf.pp.clouds(cells)
    sums = cells.obs.groupby("patient", observed=True)["pf_energy_1"].sum()[list(clouds.ids)]
    traces = np.trace(model.comparison_matrices(clouds), axis1=1, axis2=2)
    np.testing.assert_allclose(sums, traces, rtol=1e-4)
    with pytest.raises(TypeError, match="model is a int: expected a fitted model with point-forms"):
        pf.tl.energies(cells, 3)


def test_a_portfolio_goes_all_the_way_and_back(cells, tmp_path):
    import anndata

    model = pf.CloudClassifier(parts=("linear", "forms"), time_limit=20, random_state=0)
    pf.tl.classify(cells, label="ill", model=model, **CHOICE)
    pf.tl.contributions(cells, model)
    assert pf.tl.energies(cells, model) == ["pf_energy_forms_0", "pf_energy_forms_1"]
    table = pf.tl.importance(cells, model, pairs=None, repeats=1)
    assert table.rows[0].feature == "X_pca_0"
    genes = cells.uns["pointforms"]["genes"]
    assert genes.index[0] == "g0"  # the gene that the first component is made of
    samples = pf.tl.to_anndata(cells, model)
    cells.write_h5ad(tmp_path / "cells.h5ad")
    samples.write_h5ad(tmp_path / "samples.h5ad")
    read = anndata.read_h5ad(tmp_path / "cells.h5ad")
    stored = read.uns["pointforms"]["importance"]
    assert stored["feature"].tolist() == [row.feature for row in table.rows]
    np.testing.assert_array_equal(read.obs["pf_contribution_yes"], cells.obs["pf_contribution_yes"])
    back = anndata.read_h5ad(tmp_path / "samples.h5ad")
    assert back.obs["out_of_fold"].all()
    assert back.var["part"].unique().tolist() == ["forms"]
    assert back.n_vars == 2 * 36  # degrees 0 and 1 of eight forms
    assert back.obsp["pf_distances"].shape == (12, 12)
    assert back.obsm["X_pf_pca"].shape == (12, 2)


def test_features_are_entries_of_the_comparison_matrices(cells, small):
    model = pf.tl.classify(cells, label="ill", model=small, **CHOICE)
    samples = pf.tl.to_anndata(cells, model)
    C = model.comparison_matrices(pf.pp.clouds(cells))
    entry = samples[:, "degree 1: 1 × 2"].X.ravel()
    np.testing.assert_allclose(entry, C[:, 0, 1], rtol=1e-4, atol=1e-6)
    np.testing.assert_allclose(
        samples.obsp["pf_distances"], pf.explain.comparison_distances(model, pf.pp.clouds(cells))
    )


def test_a_model_without_forms_predicts_only(cells, quick):
    samples = pf.tl.to_anndata(cells, pf.tl.classify(cells, label="ill", model=quick, **CHOICE))
    assert samples.shape == (12, 0)
    assert not len(samples.obsp)
    assert np.allclose(samples.obs[["probability_no", "probability_yes"]].sum(1), 1)


def test_numbers_are_predicted_too(cells):
    clouds = pf.pp.clouds(cells, **CHOICE)
    ages = pf.pp.samples(cells).obs["age"].to_numpy(float)
    model = pf.CloudRegressor(parts=("linear",), random_state=0).fit(clouds, ages)
    samples = pf.tl.to_anndata(cells, model)
    unseen = model.predict_out_of_fold(clouds, np.arange(12))
    np.testing.assert_allclose(samples.obs["prediction"], unseen)


def test_distances_and_places(cells):
    samples = pf.tl.distances(cells, "sliced-energy", **CHOICE)
    expected = pf.models.distribution_distances(pf.pp.clouds(cells), "sliced-energy")
    np.testing.assert_array_equal(samples.obsp["pf_distances"], expected)
    ill = (samples.obs["ill"] == "yes").to_numpy()
    assert expected[np.ix_(ill, ill)].max() < expected[np.ix_(ill, ~ill)].min()
    pf.tl.embed(samples, "mds")
    places = samples.obsm["X_pf_mds"]
    assert np.corrcoef(places[:, 0], ill)[0, 1] ** 2 > 0.8
    assert pf.tl.distances(cells, "mmd", samples=samples) is samples
    assert "X_pf_mds" not in samples.obsm  # its distances are gone
    forms = pf.PointFormTransformer(epochs=0, forms=3, neighbors=6, dimension=2, random_state=0)
    pf.tl.distances(cells, forms.fit(pf.pp.clouds(cells)), samples=samples, key_added="forms")
    assert set(samples.obsp) == {"pf_distances", "forms"}
    with pytest.raises(ValueError, match="no distance 'mdd': did you mean 'mmd'"):
        pf.tl.distances(cells, "mdd")
    with pytest.raises(ValueError, match="samples has the rows"):
        pf.tl.distances(cells, "mmd", samples=samples[::-1].copy())
    with pytest.raises(ValueError, match="no 'pf_distances' in obsp: there are none"):
        pf.tl.embed(pf.pp.samples(cells))


def test_files_and_backed_cells_are_not_changed(cells, quick, tmp_path):
    import anndata

    path = tmp_path / "cells.h5ad"
    cells.write_h5ad(path)
    before = path.read_bytes()
    model = pf.tl.classify(path, label="ill", model=quick, **CHOICE)
    from_path = pf.tl.to_anndata(path, model, **CHOICE)
    backed = anndata.read_h5ad(path, backed="r")
    pf.tl.classify(backed, label="ill", model=quick, **CHOICE)
    from_backed = pf.tl.to_anndata(backed, model)
    assert backed.isbacked
    assert from_path.obs["prediction"].equals(from_backed.obs["prediction"])
    backed.file.close()
    assert path.read_bytes() == before
    with pytest.raises(TypeError, match="expected AnnData"):
        pf.tl.contributions(path, model)


def test_missing_labels_of_all_samples(cells, quick):
    cells.obs["ill"] = pd.Series([None] * cells.n_obs, index=cells.obs_names, dtype=object)
    with pytest.raises(ValueError, match=r"obs\['ill'\] is empty for all samples"):
        pf.tl.classify(cells, label="ill", model=quick, **CHOICE)
