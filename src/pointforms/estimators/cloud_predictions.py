"""Predictions as a table with one row per cloud, out of fold for training clouds."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from sklearn.base import is_classifier

from pointforms.clouds import Clouds
from pointforms.support.table import Column, Table


def prediction_table(
    estimator: Any,
    clouds: Clouds,
    covariates: Mapping[str, np.ndarray] | None = None,
    batch: np.ndarray | None = None,
) -> Table:
    """Predict clouds, those of `fit` by models that were not trained on them.

    A cloud of `fit` is recognised by its points. Where a model held it out, its row has the
    out-of-fold prediction, which is as good as one for a new cloud; any other prediction for a
    training cloud would be too good.

    Parameters
    ----------
    estimator : estimator
        A fitted classifier or regressor of clouds.
    clouds : Clouds
        The clouds, with their ids.
    covariates : mapping of str to array, shape (B,), or None, default None
        Covariates of the clouds, as in `fit`.
    batch : ndarray, shape (B,), or None, default None
        Batches of the clouds, as in `fit`.

    Returns
    -------
    Table
        Columns: cloud, prediction, for classifiers probability_<class>, and out_of_fold, which is
        True where the row has an out-of-fold prediction. A note tells of training clouds that have
        none.

    Examples
    --------
    >>> import pointforms as pf
    >>> task = pf.tasks.load("circles-vs-lines", clouds=20, points=16)
    >>> clf = pf.CloudClassifier(parts=("linear",), random_state=0).fit(task.clouds, task.labels)
    >>> table = pf.estimators.prediction_table(clf, pf.Clouds.from_list(task.clouds[:2]))
    >>> list(table.rows[0])
    ['cloud', 'prediction', 'probability_0', 'probability_1', 'out_of_fold']
    >>> table.rows[0]["out_of_fold"]
    True
    """
    classifier = is_classifier(estimator)
    given: dict[str, Any] = {"covariates": covariates, "batch": batch}
    given = {name: value for name, value in given.items() if value is not None}
    predict = estimator.predict_proba if classifier else estimator.predict
    values = np.array(predict(clouds, **given), dtype=np.float64)
    positions = np.full(len(clouds), -1)
    if hasattr(estimator, "training_positions"):
        positions = estimator.training_positions(clouds)
    held_out = _held_out(estimator, positions)
    if held_out.any():
        rows = np.flatnonzero(held_out)
        values[rows] = _out_of_fold(estimator, clouds, positions, rows, given)
    names = _names(estimator, values)
    table_rows = []
    for i, cloud in enumerate(clouds.ids):
        row: dict[str, Any] = {"cloud": cloud}
        if classifier:
            row["prediction"] = str(estimator.classes_[values[i].argmax()])
        row |= dict(zip(names, np.ravel(values[i]).tolist(), strict=True))
        table_rows.append(row | {"out_of_fold": bool(held_out[i])})
    return Table(
        "Predictions", _columns(names, classifier), table_rows, _notes(positions, held_out)
    )


def _held_out(estimator: Any, positions: np.ndarray) -> np.ndarray:
    """Return which clouds were in `fit`, and held out by a model."""
    found = positions >= 0
    if not found.any():
        return np.asarray(found)
    unseen = estimator.unseen_members(positions[found])
    found[found] = unseen.any(1)
    return np.asarray(found)


def _out_of_fold(
    estimator: Any, clouds: Clouds, positions: np.ndarray, rows: np.ndarray, given: dict[str, Any]
) -> np.ndarray:
    """Return the predictions of some training clouds by models that held them out."""
    if hasattr(estimator, "oof_predictions_"):  # those that the score of `fit` is of
        return np.asarray(estimator.oof_predictions_[positions[rows]])
    some = {name: _some(value, rows) for name, value in given.items()}
    return np.asarray(estimator.predict_out_of_fold(clouds[rows], positions[rows], **some))


def _some(value: Any, rows: np.ndarray) -> Any:
    if isinstance(value, Mapping):
        return {name: np.asarray(column)[rows] for name, column in value.items()}
    return np.asarray(value)[rows]


def _names(estimator: Any, values: np.ndarray) -> list[str]:
    if is_classifier(estimator):
        return [f"probability_{name}" for name in estimator.classes_.tolist()]
    if values.ndim == 1:
        return ["prediction"]
    return [f"prediction_{i}" for i in range(values.shape[1])]


def _columns(names: list[str], classifier: bool) -> list[Column]:
    columns = [Column("cloud", "cloud", left=True)]
    columns += [Column("prediction", "prediction", left=True)] * classifier
    columns += [
        Column(
            name,
            name.removeprefix("probability_"),
            (lambda v: f"{v:.3f}" if classifier else f"{v:.4g}"),
        )
        for name in names
    ]
    columns.append(
        Column("out_of_fold", "out of fold", lambda held_out: "yes" if held_out else "no")
    )
    return columns


def _notes(positions: np.ndarray, held_out: np.ndarray) -> list[str]:
    notes = []
    if held_out.any():
        notes.append(
            f"{int(held_out.sum())} of {len(held_out)} clouds were training clouds: theirs are "
            "out-of-fold predictions"
        )
    seen = int((positions >= 0).sum() - held_out.sum())
    if seen:
        notes.append(
            f"{seen} training clouds have no out-of-fold prediction: theirs are by a model that "
            "was trained on them, and too good"
        )
    return notes
