"""Predictions of stored fits for their test clouds, by the names of the clouds."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from pointforms.bench.records import Record, Size
from pointforms.support.table import Column, Table
from pointforms.tasks.task import Task


def fold_predictions(records: Iterable[Record], tasks: dict[Size, Task] | None = None) -> Table:
    """Return what fits predict for the clouds of their test fold.

    Parameters
    ----------
    records : iterable of Record
        Fits with their predictions; those that failed are left out.
    tasks : dict of Size to Task, optional
        Tasks that are loaded already.

    Returns
    -------
    Table
        One row per fit and test cloud. Columns: task, model, fold, seed, cloud, label, prediction,
        and probability_<class>.

    Examples
    --------
    >>> import numpy as np
    >>> from pointforms.bench import Record, Row
    >>> row = Row("colocated", "mlp", clouds=20, points=8)
    >>> found = {"clouds": np.array([3]), "probabilities": np.array([[0.2, 0.8]])}
    >>> table = fold_predictions([Record(row, 0, 0, **found)])
    >>> {key: table.rows[0][key] for key in ("cloud", "label", "prediction", "fold")}
    {'cloud': '3', 'label': 'segments', 'prediction': 'segments', 'fold': 0}
    """
    loaded = dict(tasks or {})
    rows: list[dict[str, Any]] = []
    for record in records:
        if record.clouds is None or record.probabilities is None:
            continue
        size = record.row.size
        if size not in loaded:
            loaded[size] = size.load()
        task = loaded[size]
        names = [f"probability_{name}" for name in task.class_names]
        for i, probabilities in zip(record.clouds.tolist(), record.probabilities, strict=True):
            rows.append(
                {
                    "task": task.name,
                    "model": record.row.model,
                    "fold": record.fold,
                    "seed": record.seed,
                    "cloud": task.ids[i],
                    "label": task.class_names[task.labels[i]],
                    "prediction": task.class_names[int(probabilities.argmax())],
                    **dict(zip(names, probabilities.tolist(), strict=True)),
                }
            )
    keys = list(dict.fromkeys(key for row in rows for key in row))
    return Table("Predictions of test clouds", [Column(key, key) for key in keys], rows)
