"""Random forms: neural point-forms before any training."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import Literal

from pointforms.estimators import PointFormTransformer
from pointforms.estimators.units import Scale
from pointforms.geometry.field import Measure
from pointforms.geometry.settings import Dimension
from pointforms.models.classical import FeatureClassifier
from pointforms.support.options import RandomState


def random_forms(
    random_state: RandomState = None,
    degree: int | Sequence[int] = 1,
    forms: int = 64,
    hidden: Sequence[int] = (64, 64),
    measure: Measure = "uniform",
    neighbors: int | Literal["auto"] = 32,
    dimension: Dimension = "local-pca",
    scale: Scale | None = None,
    cache: str | os.PathLike[str] | None = None,
) -> FeatureClassifier:
    """Return logistic regression on the comparison matrices of untrained random forms.

    It is the reference that trained forms have to beat.

    Parameters
    ----------
    random_state : int, RandomState or None, default None
        Seed of the forms and of the inner folds.
    degree : int or sequence of int, default 1
        Degree of the forms.
    forms : int, default 64
        Number of forms per degree.
    hidden : sequence of int, default (64, 64)
        Widths of the coefficient network.
    measure : {"uniform", "volume", "volume-normalized"}, default "uniform"
    neighbors : int or "auto", default 32
        Number of neighbours of a point in the Gram fields, itself included.
    dimension : int, "local-pca" or None, default "local-pca"
        Intrinsic dimension, or how the training clouds choose it.
    scale : {"standard", "isotropic", "robust"} or None, default None
        Units in which neighbours are searched; None takes those of the data.
    cache : path-like, optional
        Folder in which Gram fields are kept.
    """
    features = PointFormTransformer(
        degree=degree,
        forms=forms,
        hidden=hidden,
        measure=measure,
        neighbors=neighbors,
        dimension=dimension,
        scale=scale,
        epochs=0,
        random_state=random_state,
        cache=cache,
    )
    return FeatureClassifier(features=features, head="logistic", random_state=random_state)
