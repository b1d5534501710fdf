"""What tasks are measured by."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import roc_auc_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler


def auroc(features: np.ndarray, task) -> float:
    """Of logistic regression, mean over the task's folds."""
    scores = []
    for fold in range(5):
        train, test = task.folds != fold, task.folds == fold
        model = make_pipeline(StandardScaler(), LogisticRegression(max_iter=2000))
        model.fit(features[train], task.labels[train])
        scores.append(roc_auc_score(task.labels[test], model.predict_proba(features[test])[:, 1]))
    return float(np.mean(scores))


def means(task) -> np.ndarray:
    return np.array([cloud.mean(0) for cloud in task.clouds])


def need_data_of(name: str) -> None:
    """Skip a test whose data come with a package that is not installed."""
    if name.startswith("osteosarcoma"):
        pytest.importorskip("geomstats")
