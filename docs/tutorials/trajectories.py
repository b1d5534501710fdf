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
fold = task.fold(1)
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
# ## Choose options on validation clouds
#
# The defaults are cautious: they suit few clouds and much noise. Here the differences
# between the regimes are small and regular, so a network with more forms and less
# weight decay may learn more. Which of them is better is decided on the validation
# clouds of the fold. The test clouds are used once, in the end.


# %%
def auroc(model, part):
    return roc_auc_score(part.labels, model.predict_proba(part.clouds)[:, 1])


settings = {
    "defaults": {},
    "less decay": {"weight_decay": 0.1},
    "larger, faster": {"weight_decay": 0.1, "forms": 16, "learning_rate": 3e-3},
}
fitted = {}
for name, options in settings.items():
    model = pf.PointFormClassifier(epochs=100, random_state=0, **options)
    model.fit(fold.train.clouds, fold.train.labels, groups=fold.train.groups)
    fitted[name] = model
    print(f"{name:15} AUROC on validation clouds {auroc(model, fold.validation):.2f}")

chosen = max(fitted, key=lambda name: auroc(fitted[name], fold.validation))
forms = fitted[chosen]
forest = pf.models.make("random-forest", random_state=0)
forest.fit(fold.train.clouds, fold.train.labels)
print()
print(f"point-forms ({chosen}): AUROC on test clouds {auroc(forms, fold.test):.2f}")
print(f"random forest on summaries: AUROC on test clouds {auroc(forest, fold.test):.2f}")

# %% [markdown]
# One fold of a small task is a weak comparison of models. [Comparing
# models](../comparisons.md) has the larger task `rna-velocity` with five folds and five
# seeds, and lets you run your own comparison.
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
