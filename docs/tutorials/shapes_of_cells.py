# %% [markdown]
# # Shapes of cells
#
# Outlines of real cancer cells: what the geometry of a curve says about a treatment,
# and how to see what a model has learned.
#
# The data are outlines of mouse osteosarcoma cells from microscope images, which the
# package `geomstats` contains (extra `data`). Some cells were treated with
# jasplakinolide or cytochalasin D, which act on the cytoskeleton. Each outline becomes
# a cloud of 64 points in the plane, with its mean at the origin.

# %%
import numpy as np
import torch
from sklearn.model_selection import StratifiedGroupKFold, cross_val_score

import pointforms as pf

torch.set_num_threads(1)  # the tensors are small

task = pf.tasks.load("osteosarcoma-treatment", clouds=240, points=64)
print(task)
for name, count in zip(task.class_names, np.bincount(task.labels), strict=True):
    print(f"{count:4} {name}")

# %% [markdown]
# Look at the data first. Every row shows cells of one class.

# %%
pf.plot.contact_sheet(task.clouds, task.labels, task.class_names, each=6, path="outlines.png")

# %% [markdown]
# ## The geometry of one outline
#
# The Gram field estimates the tangent at every point from the neighbours of that point.
# It does not use the order of the points along the curve: the task has shuffled them.
# The estimated dimension is 1, as it should be for a curve. Each tangent is drawn as an
# ellipse, which is thin where the outline is smooth and wide at corners.

# %%
treated = np.flatnonzero(task.labels == 1)
field = pf.gram_field(task.clouds[treated[1]])
print("dimension:", field.dimension)
pf.plot.tangent_ellipses(field, path="tangents.png")

# %% [markdown]
# ## How well can the treatment be predicted?
#
# Three folds, the same for every model. The models on pooled summaries see means,
# spreads, quantiles and covariances of the coordinates; the point-forms see which way
# the outline runs, place by place.

# %%
models = {
    "point-forms": pf.PointFormClassifier(epochs=40, random_state=0),
    "logistic regression": pf.models.make("logistic-regression", random_state=0),
    "random forest": pf.models.make("random-forest", random_state=0),
}
for name, model in models.items():
    scores = cross_val_score(
        model,
        task.clouds,
        task.labels,
        groups=task.groups,
        cv=StratifiedGroupKFold(3),
        scoring="roc_auc_ovr",
        params={"groups": task.groups} if name == "point-forms" else None,
    )
    print(f"{name:20} AUROC {scores.mean():.2f}  folds {scores.round(2)}")

# %% [markdown]
# The three are close together, and three folds of 240 cells cannot separate them. You
# need not choose: `pf.CloudClassifier` weighs point-forms and summaries by how well
# they predict clouds that they have not seen, and reports what the geometry adds.
#
# ## What has the network learned?
#
# A smaller network with four forms is easier to look at. Each becomes a field of
# arrows; a cell has a large energy for a form if its outline runs along the arrows.

# %%
model = pf.PointFormClassifier(forms=4, epochs=40, random_state=0)
model.fit(task.clouds, task.labels, groups=task.groups)
pf.plot.form_field(model, task.clouds, task.labels, class_names=task.class_names, path="forms.png")

# %% [markdown]
# Every cell is now one 4 × 4 comparison matrix. The first two principal components of
# these matrices are a map of the shapes. The network has seen the labels of these
# cells, so the map shows what it uses, and not how well it predicts.

# %%
matrices = model.comparison_matrices(task.clouds)
print(matrices.shape)
pf.plot.comparison_pca(matrices, task.labels, task.class_names, path="map.png")
