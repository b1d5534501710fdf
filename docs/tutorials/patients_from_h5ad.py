# %% [markdown]
# # Patients from an .h5ad file
#
# One AnnData object with the cells of many patients, as scanpy leaves it: each patient
# becomes a cloud in the space of principal components, and important components lead
# back to genes.
#
# The cells are **simulated** (extra `sc` for AnnData). Sixty genes follow three
# programs; in patients with the disease, two of the programs are coupled.

# %%
import anndata as ad
import numpy as np
import pandas as pd
import torch
from sklearn.metrics import roc_auc_score

import pointforms as pf

torch.set_num_threads(1)  # the tensors are small


def simulate(path, patients=30, cells=120, genes=60):
    """Write SIMULATED cells, with principal components where scanpy puts them."""
    rng = np.random.default_rng(0)
    programs = np.zeros((3, genes))
    for number in range(3):
        programs[number, 10 * number : 10 * number + 10] = 1
    blocks, rows = [], []
    for p in range(patients):
        z = rng.normal(size=(cells, 3))
        if p % 2:  # coupled, with the same variance as before
            z[:, 1] = 0.8 * z[:, 0] + 0.6 * z[:, 1]
        noise = rng.normal(0, 0.5, (cells, genes))
        blocks.append(z @ programs + noise + 0.1 * rng.normal(size=genes))
        rows += [(f"patient{p:02}", ("healthy", "disease")[p % 2])] * cells
    obs = pd.DataFrame(rows, columns=["patient", "disease"], dtype="category")
    obs.index = [f"cell{i}" for i in range(len(obs))]
    cells = ad.AnnData(np.concatenate(blocks).astype("float32"), obs=obs)
    cells.var_names = [f"gene{g:02}" for g in range(genes)]
    centred = cells.X - cells.X.mean(0)
    _, _, axes = np.linalg.svd(centred, full_matrices=False)  # as sc.pp.pca does
    cells.obsm["X_pca"], cells.varm["PCs"] = centred @ axes[:3].T, axes[:3].T
    cells.write_h5ad(path)


simulate("cells.h5ad")
print(ad.read_h5ad("cells.h5ad"))

# %% [markdown]
# ## From cells to clouds
#
# `cloud` names the column of `obs` that says which cloud a cell belongs to, `label` the
# column to predict, and `group` what must stay together. Here one patient is one cloud
# and one group.

# %%
task = pf.tasks.read(
    "cells.h5ad", cloud="patient", label="disease", group="patient", use_rep="X_pca"
)
print(task)
pf.plot.contact_sheet(
    task.clouds,
    task.labels,
    task.class_names,
    feature_names=task.feature_names,
    each=5,
    path="patients.png",
)

# %% [markdown]
# ## Predict patients that were not seen
#
# The components were computed from all patients. That uses no labels, but it has seen
# the test patients; for an unbiased estimate fit the projection on the training part of
# each fold.

# %%
model = pf.PointFormClassifier(
    degree=(1, 2), frame="cloud", forms=4, epochs=30, members=3, random_state=0
)
model.fit(task.clouds, task.labels, groups=task.groups)
auroc = roc_auc_score(task.labels, model.oof_predictions_[:, 1])
print(f"AUROC out of fold: {auroc:.2f}")

# %% [markdown]
# ## From components to genes

# %%
table = model.explain(
    task.clouds,
    task.labels,
    groups=task.groups,
    feature_names=task.feature_names,
    repeats=2,
)
for row in table.top(5):
    print(f"{row.name:20} {row.kind:13} {row.importance:6.3f}  p = {row.p_value:.4f}")
pf.plot.importance(table, path="components.png")

# %% [markdown]
# The clouds keep the loadings that scanpy has left in `varm["PCs"]`. They say which
# genes a component is made of.

# %%
clouds = pf.read_anndata("cells.h5ad", cloud="patient", use_rep="X_pca")
loadings = pf.explain.component_loadings(clouds=clouds)
for component, genes in loadings.top(4).items():
    print(component, " ".join(f"{gene} {weight:+.2f}" for gene, weight in genes))

# %% [markdown]
# The third component weighs the genes of the first program, `gene00` to `gene09`,
# against those of the second, `gene10` to `gene19`. Where the two are coupled it varies
# less, so the model sees the planted coupling in its distribution.

# %% [markdown]
# ## Back into AnnData
#
# `pf.tl` and `pf.pl` do all of this on the AnnData object itself. `classify` fits a
# `CloudClassifier`; `to_anndata` returns one row per patient, with a prediction by
# models that have not seen the patient, and the distances behind the map.

# %%
cells = ad.read_h5ad("cells.h5ad")
best = pf.tl.classify(cells, label="disease", cloud="patient", use_rep="X_pca", random_state=0)
samples = pf.tl.to_anndata(cells, best)
print(samples.obs[["disease", "prediction", "out_of_fold"]].head(4))
pf.pl.samples(samples, color="disease", path="map.png")

# %% [markdown]
# `pf.tl.contributions(cells, best)` writes what each cell adds to the prediction into
# `cells.obs`, where scanpy can colour a UMAP by it.
