from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

import pointforms as pf

PATIENTS, CELLS = 12, 20


@pytest.fixture
def cells(rng):
    """Cells of 12 patients in mixed order, ill ones shifted along the first component."""
    import anndata

    patient = rng.permutation(np.repeat(np.arange(PATIENTS), CELLS))
    ill = patient % 2
    obs = pd.DataFrame(
        {
            "patient": pd.Categorical([f"p{i}" for i in patient]),
            "ill": pd.Categorical(np.where(ill, "yes", "no")),
            "age": 40 + patient,
            "site": pd.Categorical([f"s{i // 2}" for i in patient]),
            "type": rng.choice(["B", "T"], len(patient)),
        },
        index=[f"cell{i}" for i in range(len(patient))],
    )
    data = anndata.AnnData(rng.poisson(1.0, size=(len(patient), 5)).astype(np.float32), obs=obs)
    data.var_names = [f"g{j}" for j in range(5)]
    data.obsm["X_pca"] = rng.normal(size=(len(patient), 3)) + 2.5 * ill[:, None] * [1, 0, 0]
    data.varm["PCs"] = np.eye(5, 3)
    return data


@pytest.fixture
def quick() -> pf.CloudClassifier:
    return pf.CloudClassifier(parts=("linear",), random_state=0)


@pytest.fixture
def small() -> pf.PointFormClassifier:
    return pf.PointFormClassifier(
        forms=2, hidden=(4,), epochs=2, neighbors=6, dimension=2, members=3, random_state=0
    )
