"""A random forest as a head."""

from __future__ import annotations

from typing import Any

import numpy as np
import torch
from sklearn.ensemble import RandomForestClassifier
from sklearn.metrics import log_loss
from sklearn.model_selection import cross_val_predict
from sklearn.pipeline import Pipeline
from sklearn.preprocessing import FunctionTransformer

from pointforms.models.heads.fitted_head import FittedHead
from pointforms.models.heads.inner_folds import Folds
from pointforms.nn.origins import common_origin

# Share of the features that a split of a tree considers.
_SHARES: tuple[float | str, ...] = ("sqrt", 0.1)
_TREES, _TREES_TO_CHOOSE = 500, 60


def fit_forest(
    X: np.ndarray, y: np.ndarray, folds: Folds, seed: int, weights: np.ndarray | None = None
) -> FittedHead:
    """Fit a random forest; the share of features that a split considers is chosen."""
    # trees work in single precision, so what large features share is subtracted first
    origin = common_origin([torch.from_numpy(X)]).numpy()
    shift = FunctionTransformer(_minus, kw_args={"origin": origin})

    def forest(trees: int, share: float | str) -> Any:
        model = RandomForestClassifier(trees, max_features=share, random_state=seed)
        return Pipeline([("shift", shift), ("forest", model)])

    given = {"forest__sample_weight": weights}
    losses, inner = [], []
    for share in _SHARES if folds else ():
        model = forest(_TREES_TO_CHOOSE, share)
        probabilities = cross_val_predict(
            model, X, y, cv=folds, method="predict_proba", params=given
        )
        # a class that no tree votes for is improbable, not impossible
        votes = probabilities * _TREES_TO_CHOOSE + 1
        inner.append(votes / votes.sum(1, keepdims=True))
        losses.append(log_loss(y, inner[-1], sample_weight=weights))
    chosen = {"max_features": _SHARES[int(np.argmin(losses))]} if folds else {}
    model = forest(_TREES, chosen.get("max_features", "sqrt")).fit(X, y, **given)
    best = inner[int(np.argmin(losses))] if folds else None
    return FittedHead(model, chosen, min(losses, default=np.inf), best)


def _minus(X: np.ndarray, origin: np.ndarray) -> np.ndarray:
    shifted: np.ndarray = X - origin
    return shifted
