# %% [markdown]
# # Cytometry from FCS files
#
# A folder of FCS files, one per sample: read them, put the markers on an arcsinh scale,
# and predict the response of patients that the model has not seen.
#
# The files are **simulated**, so that this page can be built anywhere; the extra `fcs`
# reads them. In responders CD4 and Ki67 vary together. In the other patients each
# marker has the same distribution, and the two are independent.

# %%
from pathlib import Path

import flowio
import numpy as np
import torch
from sklearn.metrics import roc_auc_score

import pointforms as pf

torch.set_num_threads(1)  # the tensors are small
CHANNELS = ["FSC-A", "B1-A", "B2-A", "B3-A"]  # names of detectors
MARKERS = ["", "CD3", "CD4", "Ki67"]  # what they measure


def simulate(folder, patients=24, samples=2, cells=300):
    """Write SIMULATED samples of patients, half of them responders."""
    rng = np.random.default_rng(0)
    folder.mkdir()
    for p in range(patients):
        correlation = 0.8 if p % 2 else 0.0
        for s in range(samples):
            z = rng.normal(size=(cells, 4))
            z[:, 3] = correlation * z[:, 2] + np.sqrt(1 - correlation**2) * z[:, 3]
            values = 150 * np.sinh(1.5 + 0.6 * z + 0.2 * rng.normal(size=4))
            with open(folder / f"p{p:02}-{s}.fcs", "wb") as file:
                flowio.create_fcs(file, values.ravel(), CHANNELS, MARKERS)


simulate(Path("fcs"))
print(len(list(Path("fcs").glob("*.fcs"))), "simulated files")

# %% [markdown]
# ## Read and transform
#
# Channels are named by marker; `leave_out="technical"` drops time, scatter, beads and
# event length. Intensities span orders of magnitude, so distances between raw values
# would be distances between the brightest cells. The inverse hyperbolic sine is linear
# near zero and logarithmic above; the cofactor 150 is usual in fluorescence cytometry,
# and 5 in mass cytometry.

# %%
raw = pf.read_fcs("fcs", leave_out="technical")
print(raw, raw.feature_names)
clouds = pf.preprocessing.Arcsinh(150).fit_transform(raw)
print("first cell, raw:    ", [round(value, 1) for value in raw[0][0].tolist()])
print("first cell, arcsinh:", [round(value, 2) for value in clouds[0][0].tolist()])

# %% [markdown]
# Labels and groups come from your own table of samples; here the names of the files say
# both. Samples of one patient are one group, which must not be on both sides of a
# split.

# %%
patients = np.array([name.split("-")[0] for name in raw.ids])
response = np.array([int(patient[1:]) % 2 for patient in patients])
names = ("no response", "response")
pf.plot.contact_sheet(
    [cloud[:, 1:].numpy() for cloud in clouds],
    response,
    names,
    feature_names=("CD4", "Ki67"),
    each=4,
    path="samples.png",
)

# %% [markdown]
# ## Predict
#
# `members=3` trains three networks on grouped parts of the clouds. Each sample is
# predicted by the network that has not seen its patient, which gives an honest score
# from a single fit.

# %%
model = pf.PointFormClassifier(
    degree=(1, 2), frame="cloud", forms=4, epochs=30, members=3, random_state=0
)
model.fit(clouds, response, groups=patients)
honest = model.oof_predictions_[:, 1]
print(f"AUROC out of fold: {roc_auc_score(response, honest):.2f}")

# %% [markdown]
# ## Which markers?
#
# *Distribution* replaces the values of a marker by those of other samples;
# *covariation* shuffles them inside the sample, which keeps its distribution and breaks
# its relation to the other markers. The simulation has planted the pair CD4 × Ki67.

# %%
table = model.explain(clouds, response, groups=patients, repeats=2)
for row in table.top(5):
    print(f"{row.name:12} {row.kind:13} {row.importance:6.3f}  p = {row.p_value:.4f}")
pf.plot.importance(table, path="markers.png")

# %% [markdown]
# ## Save it, and go on in the shell
#
# `make_pipeline(pf.preprocessing.Arcsinh(150), model)` is one estimator, so that raw
# values go in; `pf.save(pipeline, "response-model")` writes it, and `pf.load` reads it
# again. With a table `samples.csv` in the folder, which has the columns file, response
# and patient, the shell does the same: `npf fit fcs --label response --out model`.
