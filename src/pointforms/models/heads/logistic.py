"""Penalised logistic regression as a head."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.decomposition import PCA
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import log_loss
from sklearn.pipeline import make_pipeline

from pointforms.models.heads.fitted_head import FittedHead
from pointforms.models.heads.inner_folds import Folds
from pointforms.models.heads.weighted_scaler import fitted_scaler

# Inverse penalties, the one that is used without folds, and the number of worse ones in a row that
# ends the search.
_C, _DEFAULT_C, _PATIENCE = np.logspace(-5, 3, 17), 1e-2, 3


def fit_logistic(
    X: np.ndarray, y: np.ndarray, folds: Folds, seed: int, weights: np.ndarray | None = None
) -> FittedHead:
    """Fit a logistic regression; the penalty is chosen."""
    # An L2-penalised linear model depends on features only through their products, which do not
    # change under rotation: N clouds need no more than N coordinates.
    steps: list[Any] = [fitted_scaler(X, weights)]
    Z = steps[0].transform(X)
    if X.shape[1] > len(X):
        steps.append(PCA(svd_solver="full"))
        Z = steps[1].fit_transform(Z)
    models = [_model(_C[0], warm_start=True) for _ in folds]
    losses: list[float] = []
    inner: list[np.ndarray] = []
    for C in _C if folds else ():
        loss = 0.0
        inner.append(np.empty((len(y), len(np.unique(y)))))
        for model, (train, validation) in zip(models, folds, strict=True):
            model.set_params(C=C).fit(Z[train], y[train], _some(weights, train))
            inner[-1][validation] = model.predict_proba(Z[validation])
            loss += log_loss(
                y[validation],
                inner[-1][validation],
                sample_weight=_some(weights, validation),
            ) / len(folds)
        losses.append(loss)
        if len(losses) - np.argmin(losses) > _PATIENCE:
            break  # weaker penalties overfit, and are slow to fit
    chosen = {"C": float(_C[int(np.argmin(losses))])} if folds else {}
    model = _model(chosen.get("C", _DEFAULT_C)).fit(Z, y, weights)
    probabilities = inner[int(np.argmin(losses))] if folds else None
    pipeline = make_pipeline(*steps, model)
    return FittedHead(pipeline, chosen, min(losses, default=np.inf), probabilities)


def _model(C: float, warm_start: bool = False) -> Any:
    return LogisticRegression(C=C, warm_start=warm_start, max_iter=2000)


def _some(weights: np.ndarray | None, index: np.ndarray) -> np.ndarray | None:
    return None if weights is None else weights[index]
