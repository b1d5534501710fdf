"""Every estimator with options so small that a fit takes a fraction of a second."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import pointforms as pf
from pointforms.models.heads import forest, logistic, svm
from pointforms.models.portfolio.forest import ForestHead
from pointforms.models.portfolio.heads import HEADS
from pointforms.models.registry import MODELS, make

POINT_FORMS: dict[str, Any] = {
    "PointFormClassifier": pf.PointFormClassifier,
    "PointFormRegressor": pf.PointFormRegressor,
    "PointFormTransformer": pf.PointFormTransformer,
}
_PORTFOLIOS: dict[str, Any] = {"CloudRegressor": pf.CloudRegressor}  # the classifier is a model
NAMES = [*POINT_FORMS, *_PORTFOLIOS, *MODELS]
REGRESSORS = ["PointFormRegressor", "CloudRegressor"]
CLASSIFIERS = [n for n in NAMES if n not in (*REGRESSORS, "PointFormTransformer")]
# One of each kind of code, for checks that fit many times.
KINDS = [
    *POINT_FORMS, "CloudRegressor", "cloud-classifier", "logistic-regression", "random-forest",
    "svm", "composition", "distances", "mlp", "gcn", "hodge", "random-forms",
]  # fmt: skip
_TINY = {
    "forms": 2, "hidden": (4,), "head": 4, "neighbors": 4, "dimension": 1, "epochs": 2,
    "batch_size": 8, "directions": 2, "max_features": 9, "degrees": (1,), "spectra": False,
    "parts": ("linear", "forest"), "clusters": 3, "levels": 4,
}  # fmt: skip


class SmallForest(ForestHead):
    """A forest of 8 trees, unless a file has another number."""

    def __init__(self, classes: int | None, trees: int = 8) -> None:
        super().__init__(classes, trees)


def tiny(name: str, **options: Any) -> Any:
    """Return an estimator that is not fitted."""
    maker = (POINT_FORMS | _PORTFOLIOS).get(name)
    estimator = maker(random_state=0) if maker else make(name, random_state=0)
    for key, owned in estimator.get_params().items():
        own = key.rpartition("__")[2]
        if own in _TINY and not isinstance(owned, str):
            estimator.set_params(**{key: _TINY[own]})
    return estimator.set_params(**options)


def make_quick(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let heads choose between few options, and grow few trees."""
    monkeypatch.setattr(logistic, "_C", np.array([0.1, 1.0]))
    monkeypatch.setattr(svm, "_C", (1.0,))
    monkeypatch.setattr(svm, "_GAMMA", (0.3,))
    monkeypatch.setattr(forest, "_TREES", 8)
    monkeypatch.setattr(forest, "_TREES_TO_CHOOSE", 4)
    monkeypatch.setitem(HEADS, "forest", SmallForest)


def some_clouds(D: int = 3, count: int = 16) -> list[np.ndarray]:
    """Clouds of 6 to 9 points, of two sizes in space."""
    rng = np.random.default_rng(D)
    return [rng.normal(size=(6 + i % 4, D)) * (1 + i % 2) for i in range(count)]


def targets(name: str, count: int = 16) -> np.ndarray:
    """Classes 0 and 1, or numbers for a regressor."""
    return np.linspace(-1, 1, count) ** 3 if name in REGRESSORS else np.arange(count) % 2


def answers(estimator: Any, clouds: Any) -> np.ndarray:
    """Return what a fitted estimator says about clouds: features, probabilities or numbers."""
    for method in ("transform", "predict_proba", "predict"):
        if hasattr(estimator, method):
            return np.asarray(getattr(estimator, method)(clouds))
    raise AssertionError(f"{estimator!r} says nothing")


def slow_besides(quick: list[str], names: list[str]) -> list[Any]:
    """Return names as parameters of a test that is slow for all but some of them."""
    return [name if name in quick else pytest.param(name, marks=pytest.mark.slow) for name in names]
