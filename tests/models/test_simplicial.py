from __future__ import annotations

import numpy as np
import pytest
from sklearn.metrics import roc_auc_score

import pointforms as pf
from pointforms import models


@pytest.mark.slow
def test_tangents_are_learned_from_edges():
    """circles-vs-lines needs directions, which edges have: the simplicial network finds them."""
    task = pf.tasks.load("circles-vs-lines", clouds=120, points=48)
    train, test = np.flatnonzero(task.folds != 0), np.flatnonzero(task.folds == 0)
    model = models.make("tdl", random_state=0, epochs=30)
    model.fit([task.clouds[i] for i in train], task.labels[train], task.groups[train])
    found = model.predict_proba([task.clouds[i] for i in test])[:, 1]
    assert roc_auc_score(task.labels[test], found) >= 0.95
