"""Predictions of samples, out of fold where the model was trained on them."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.base import is_classifier

from pointforms.estimators.training_clouds import KnowsTrainingClouds


def predict_samples(model: Any, clouds: Any) -> dict[str, np.ndarray]:
    """Return columns with the predictions of clouds, and how they were made.

    Parameters
    ----------
    model : estimator
        A fitted classifier or regressor.
    clouds : Clouds
        The clouds.

    Returns
    -------
    dict of ndarray
        "prediction" and "probability_<class>"; for several numbers "prediction_0" and so on.
        "out_of_fold" is True where models predicted that were not trained on the cloud although
        `fit` had it, and "trained_on" where `fit` had it.
    """
    count = len(clouds)
    known = np.zeros(count, dtype=bool)
    unseen = np.zeros(count, dtype=bool)
    classes = is_classifier(model)
    values = model.predict_proba(clouds) if classes else model.predict(clouds)
    if isinstance(model, KnowsTrainingClouds) and hasattr(model, "training_clouds_"):
        positions = model.training_positions(clouds)
        known = positions >= 0
        if known.any():
            held_out = model.unseen_members(positions[known]).any(1)
            unseen[np.flatnonzero(known)[held_out]] = True
        if unseen.any():
            rows = np.flatnonzero(unseen)
            values = np.array(values)
            predict: Any = model.predict_out_of_fold  # type: ignore[attr-defined]
            values[rows] = predict(clouds[rows], positions[rows])
    columns: dict[str, np.ndarray] = {}
    if classes:
        columns["prediction"] = model.classes_[values.argmax(1)]
        for label, column in zip(model.classes_, values.T, strict=True):
            columns[f"probability_{label}"] = column
    elif values.ndim == 1:
        columns["prediction"] = values
    else:
        columns |= {f"prediction_{j}": column for j, column in enumerate(values.T)}
    return columns | {"out_of_fold": unseen, "trained_on": known}
