"""Random forms: neural point-forms before any training."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import Literal

import numpy as np

from pointforms.estimators import PointFormTransformer
from pointforms.geometry.field import Measure
from pointforms.models.classical import FeatureClassifier


def random_forms(
    random_state: int | np.random.RandomState | None = None,
    degree: int | Sequence[int] = 1,
    forms: int = 64,
    hidden: Sequence[int] = (64, 64),
    measure: Measure = "uniform",
    neighbors: int | Literal["auto"] = 32,
    cache: str | os.PathLike[str] | None = None,
) -> FeatureClassifier:
    """Comparison matrices of untrained random forms, and logistic regression: the reference
    against which training the forms has to pay.

    Parameters
    ----------
    random_state : int, RandomState or None
        Of the forms and of the inner folds.
    degree, forms, hidden, measure, neighbors, cache
        As in :class:`pointforms.PointFormTransformer`.
    """
    features = PointFormTransformer(
        degree=degree,
        forms=forms,
        hidden=hidden,
        measure=measure,
        neighbors=neighbors,
        epochs=0,
        random_state=random_state,
        cache=cache,
    )
    return FeatureClassifier(features, "logistic", random_state)
