# %% [markdown]
# # A sweep on Ray
#
# Compare models over folds, seeds and options: write a manifest, run it on Ray or on
# the cores of one machine, stop and go on, and read the results as a table.
#
# The extra `ray` is needed for the engine; everything else works without it.

# %%
from pathlib import Path

import pointforms.bench as bench
import pointforms.plot

Path("sweep.toml").write_text("""\
title = "Point-forms beside summaries"
folds = 5
seeds = 1

[[sweep]]
tasks = ["circles-vs-lines"]
models = ["npf-tri-1"]
clouds = 100
points = 32
[sweep.options]
epochs = 10
[sweep.grid]
forms = [4, 8]

[[sweep]]
tasks = ["circles-vs-lines"]
models = ["logistic-regression"]
clouds = 100
points = 32
""")
manifest = bench.read_manifest("sweep.toml")
print(len(manifest.rows()), "rows:", ", ".join(r.model for r in manifest.rows()))
print(sum(len(unit.fits) for unit in manifest.units()), "fits")

# %% [markdown]
# ## Run it
#
# `RayEngine()` starts a Ray of its own for the run, and ends it afterwards. With
# `RayEngine(address="head:6379")` the fits run on a cluster, whose nodes may come and
# go. `bench.LocalEngine(workers)` uses processes of this machine instead. The store
# keeps every finished fit, so that a run that was stopped continues where it was: here
# the second run finds everything in the store.

# %%
with bench.Store("sweep.db") as store:
    first = bench.run(manifest.units(), store, bench.RayEngine(workers=1))
    second = bench.run(manifest.units(), store, bench.LocalEngine(1))
    records = store.records()
print("first run: ", first.trained, "trained,", first.failed, "failed")
print("second run:", second.trained, "trained,", second.already_stored, "stored")

# %% [markdown]
# ## Results
#
# One table per task. *NPF (selected)* chooses one of the rows of the grid in every
# fold, on validation data inside the training part.

# %%
(comparison,) = bench.compare(records)
names = [model.name for model in comparison.models]
aurocs = [model.summary("auroc") for model in comparison.models]
for name, auroc in zip(names, aurocs, strict=True):
    print(f"{name:28} AUROC {auroc.mean:.3f} ± {auroc.half:.3f}")

# %% [markdown]
# ± is half of the 95 % interval over folds and seeds.

# %%
pointforms.plot.forest(
    names,
    means=[auroc.mean for auroc in aurocs],
    lows=[auroc.mean - auroc.half for auroc in aurocs],
    highs=[auroc.mean + auroc.half for auroc in aurocs],
    path="models.png",
)

# %% [markdown]
# The same from the command line, with a table that also has tests and costs:
#
# ```sh
# npf plan sweep.toml
# npf sweep sweep.toml --store sweep.db --engine ray
# npf table sweep.db
# npf report sweep.db
# ```
#
# [Comparing models](../comparisons.md) describes manifests, stores and clusters.
