# %% [markdown]
# # Trajectories
#
# Short pieces of trajectories, of different lengths, in two regimes that share their
# starting points: where a piece lies says little, and the way it moves says more.
#
# The task `rna-velocity-quick` is **simulated**: unspliced and spliced RNA of 12 genes,
# whose rates of transcription, splicing and degradation differ between two regimes on a
# few genes. A cloud is a piece of 4 to 15 states. The two trajectories from one
# starting point form a group, which stays on one side of every split.

# %%
import torch
from sklearn.metrics import roc_auc_score

import pointforms as pf

torch.set_num_threads(1)  # the tensors are small

task = pf.tasks.load("rna-velocity-quick", clouds=400)
fold = task.fold(0)
print(task)
print("features:", ", ".join(task.feature_names[:3]), "…", task.feature_names[-1])
shared = set(fold.train.groups.tolist()) & set(fold.test.groups.tolist())
print(len(fold.train), "training clouds,", len(fold.test), "test clouds,", end=" ")
print(len(shared), "groups on both sides")

# %% [markdown]
# Pieces of one regime and of the other, on the principal plane of all states:

# %%
pf.plot.contact_sheet(task.clouds, task.labels, task.class_names, each=6, path="trajectories.png")

# %% [markdown]
# ## Learn from directions
#
# `frame="cloud"` lets the network read positions relative to the mean of each cloud,
# which suits pieces that start anywhere. The training part has a validation part
# inside, which decides when to stop; `groups` keeps it apart too.


# %%
def auroc(model):
    probabilities = model.predict_proba(fold.test.clouds)[:, 1]
    return roc_auc_score(fold.test.labels, probabilities)


forms = pf.PointFormClassifier(frame="cloud", epochs=60, random_state=0)
forms.fit(fold.train.clouds, fold.train.labels, groups=fold.train.groups)
forest = pf.models.make("random-forest", random_state=0)
forest.fit(fold.train.clouds, fold.train.labels)
print(f"point-forms   AUROC {auroc(forms):.2f}")
print(f"random forest AUROC {auroc(forest):.2f}  (on pooled summaries)")

# %% [markdown]
# One fold of a small task is a weak comparison. [Comparing models](../comparisons.md)
# has the larger task `rna-velocity`, with five folds and five seeds.
#
# ## Which genes does the model rely on?
#
# `explain` perturbs one feature at a time in clouds that the model has not seen, and
# measures how much worse the prediction gets. `new=True` says that these clouds took no
# part in the training.

# %%
table = forms.explain(
    fold.test.clouds,
    fold.test.labels,
    groups=fold.test.groups,
    feature_names=task.feature_names,
    new=True,
    pairs=None,
    repeats=2,
)
for row in table.top(6):
    print(f"{row.name:4} {row.kind:13} {row.importance:6.3f}  p = {row.p_value:.3f}")
pf.plot.importance(table, path="genes.png")

# %% [markdown]
# With few test clouds the intervals are wide, and the p-values are corrected for the
# number of features. More clouds narrow both.
