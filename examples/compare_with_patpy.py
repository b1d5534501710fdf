"""Point-forms beside the pseudobulk and the composition of patpy, on SIMULATED patients.

Three questions about 24 patients: who has more cells of type A (composition), who has a shifted
mean, and in whom two components go together (shape). The score is that of patpy: how well the three
nearest patients predict the answer. Needs the extra `patpy`.
"""

import argparse
import warnings

import anndata as ad
import numpy as np

QUESTIONS = ("composition", "mean", "shape")


def simulate(seed: int) -> ad.AnnData:
    """Return cells with three components, and an answer to each question per patient."""
    rng = np.random.default_rng(seed)
    patient = np.repeat(np.arange(24), 150)
    more, shifted, together = rng.integers(0, 2, (24, 3))[patient].T
    is_a = rng.random(len(patient)) < np.where(more, 0.65, 0.35)
    X = rng.normal(size=(len(patient), 3))
    X[:, 1] = np.where(together, 0.9 * X[:, 0] + 0.44 * X[:, 1], X[:, 1])
    X += 4 * is_a[:, None] * [0, 0, 1] + 0.5 * shifted[:, None] * [1, 0, 0]
    cells = ad.AnnData(X.astype(np.float32), obsm={"X_pca": X})
    cells.obs["patient"] = [f"P{i:02}" for i in patient]
    cells.obs["cell_type"] = np.where(is_a, "A", "B")
    for name, values in zip(QUESTIONS, (more, shifted, together), strict=True):
        cells.obs[name] = np.where(values, "yes", "no")
    return cells


parser = argparse.ArgumentParser(description=__doc__)
parser.add_argument("--seed", type=int, default=0, help="seed of the simulation (default: 0)")
parser.add_argument("--out", default=".", help="folder for the figure (default: here)")
options = parser.parse_args()

from patpy.tl import CellGroupComposition, Pseudobulk  # noqa: E402

import pointforms as pf  # noqa: E402
from pointforms.scverse.patpy import PointFormRepresentation  # noqa: E402

warnings.simplefilter("ignore")  # patpy announces which layer it takes
cells, keys = simulate(options.seed), {"sample_key": "patient", "cell_group_key": "cell_type"}
forms = PointFormRepresentation(**keys, layer="X_pca", seed=0)
print("SIMULATED patients; score of the three nearest patients:", *QUESTIONS)
for method in (Pseudobulk(**keys, layer="X_pca"), CellGroupComposition(**keys), forms):
    method.prepare_anndata(cells)
    method.calculate_distance_matrix(force=True)
    found = [method.evaluate_representation(one, task="classification") for one in QUESTIONS]
    print(f"{type(method).__name__:24}", *(f"{one['score']:5.2f}" for one in found))
samples = pf.pp.samples(cells, cloud="patient")
samples.obsp["pf_distances"] = forms.calculate_distance_matrix()
pf.pl.samples(samples, color="shape", path=f"{options.out}/patients-by-forms.png")
