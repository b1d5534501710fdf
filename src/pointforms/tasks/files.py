"""Tasks from users' own files and tables, and built-in tasks written to disk."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from pointforms.clouds import Clouds
from pointforms.io import (
    read_annotated_anndata,
    read_annotated_npz,
    read_annotated_table,
    save_npz,
)
from pointforms.support.extras import need
from pointforms.tasks.task import Task


def read(
    data: str | os.PathLike[str] | Any,
    cloud: str = "cloud",
    label: str = "label",
    group: str | None = None,
    features: Sequence[str] | None = None,
    *,
    use_rep: str | None = None,
    layer: str | None = None,
    name: str | None = None,
    seed: int = 0,
) -> Task:
    """A task from a table, a NumPy archive or AnnData.

    Parameters
    ----------
    data : path, data frame or AnnData
        A .parquet, .csv or .tsv table with one row a point, an .npz archive of `points`, `offsets`
        and arrays with one value a cloud, or an .h5ad file.
    cloud, label, group : str
        Columns (of `obs`, for AnnData) of cloud ids, of labels, and of what stays on one side of
        every split, such as the patient. Without `group`, a column of that name is taken; where
        there is none, every cloud is a group. A column `fold`, if there is one, gives the folds.
    features : list of str or None
        Columns of coordinates; None takes all numeric ones that are not named above.
    use_rep, layer : of AnnData, as in :func:`pointforms.io.read_anndata`
    name : str or None
        The task's name; None is the file's.
    seed : int
        Of the folds.
    """
    needed = [label] if group is None else [label, group]
    optional = ["fold", "split"] if group is not None else ["fold", "split", "group"]
    path = Path(data) if isinstance(data, str | os.PathLike) else None
    if path is not None and path.suffix.lower() == ".npz":
        clouds, found = read_annotated_npz(path, needed, optional)
    elif type(data).__name__ == "AnnData" or (path is not None and path.suffix == ".h5ad"):
        clouds, found = read_annotated_anndata(data, cloud, use_rep, layer, needed, optional)
    else:
        clouds, found = read_annotated_table(data, cloud, features, needed, optional)
    classes, labels = np.unique(found[label].astype(str), return_inverse=True)
    if len(classes) < 2:
        raise ValueError(
            f"column {label!r} has one value only, {str(classes[0])!r}: nothing to tell apart"
        )
    groups = found.get(group or "group", np.array(clouds.ids))
    return Task(
        name or (path.stem if path is not None else "table"),
        [points.numpy() for points in clouds],
        labels,
        _numbered(groups),
        clouds.feature_names,
        tuple(classes.tolist()),
        f"{label} of {len(clouds)} clouds" + (f" from {path.name}" if path is not None else ""),
        seed,
        folds=_folds(found["fold"]) if "fold" in found else None,  # type: ignore[arg-type]
        split=found["split"].astype(str) if "split" in found else None,  # type: ignore[arg-type]
    )


def write(task: Task, path: str | os.PathLike[str]) -> None:
    """Write a task as a table (.parquet, .csv) or archive (.npz) that :func:`read` reads.

    A table has one row a point: the columns cloud, label, group, fold and split, then the features.
    """
    target = Path(path)
    columns: dict[str, np.ndarray] = {
        "label": np.array(task.class_names)[task.labels],
        "group": task.groups,
        "fold": task.folds,
        "split": task.split,
    }
    kind = target.suffix.lower()
    if kind not in (".parquet", ".csv", ".npz"):
        raise ValueError(f"path {str(path)!r}: expected a name that ends in .parquet, .csv or .npz")
    digits = len(str(len(task) - 1))
    ids = [f"{i:0{digits}d}" for i in range(len(task))]
    target.parent.mkdir(parents=True, exist_ok=True)
    # written beside its place and moved there, so that no half of it is ever found
    partial = target.with_name(f".{os.getpid()}-{target.name}")
    try:
        if kind == ".npz":
            save_npz(Clouds.from_list(task.clouds, ids, task.feature_names), partial, columns)
        else:
            _write_table(task, ids, columns, partial, kind)
        partial.replace(target)
    finally:
        partial.unlink(missing_ok=True)


def _write_table(
    task: Task, ids: list[str], columns: dict[str, np.ndarray], path: Path, kind: str
) -> None:
    pa = need("pyarrow", "table")
    of_point = np.repeat(np.arange(len(task)), task.sizes)
    points = np.concatenate(task.clouds)
    clash = {"cloud", *columns} & set(task.feature_names)
    if clash:
        raise ValueError(f"a feature is called {min(clash)!r}, as a column of the table is")
    arrays = {"cloud": np.array(ids)[of_point]}
    arrays |= {name: values[of_point] for name, values in columns.items()}
    arrays |= dict(zip(task.feature_names, points.T, strict=True))
    table = pa.table(arrays)
    if kind == ".csv":
        from pyarrow import csv

        csv.write_csv(table, path)
    else:
        from pyarrow import parquet

        parquet.write_table(table, path)


def _numbered(values: np.ndarray) -> np.ndarray:
    """Numbers for values, in order of first appearance."""
    seen: dict[str, int] = {}
    return np.array([seen.setdefault(str(value), len(seen)) for value in values])


def _folds(values: np.ndarray) -> np.ndarray:
    try:
        return np.array([int(value) for value in values], dtype=np.int64)
    except ValueError as error:
        raise ValueError(f"column 'fold' does not hold whole numbers: {error}") from None
