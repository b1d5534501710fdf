"""Tasks from users' own files and tables, and tasks written to files."""

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
from pointforms.io.columns import column_name
from pointforms.support.extras import need
from pointforms.support.files import atomic
from pointforms.tasks.task import Task, check_kept_together
from pointforms.weights import weights_of


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
    max_bytes: int | None = None,
) -> Task:
    """Read a task from a table, a NumPy archive or AnnData.

    Columns `fold` (0, 1, …) and `split` ("train", "validation", "test"), where they exist, give the
    folds and the split. A group that they divide is an error.

    Parameters
    ----------
    data : path-like, data frame or AnnData
        A .parquet, .csv or .tsv table with one row per point, an .npz archive of `points`,
        `offsets`, optionally `weights` of the points, and arrays with one value per cloud, or an
        .h5ad file.
    cloud : str, default "cloud"
        Column of cloud ids (of `obs`, for AnnData).
    label : str, default "label"
        Column of labels.
    group : str, optional
        Column of groups, such as patients, which stay on one side of every split (default: the
        column `group` if there is one; otherwise every cloud is a group).
    features : sequence of str, optional
        Columns of coordinates (default: all numeric ones that are not named above).
    use_rep : str, optional
        Key of `obsm` in which AnnData has the coordinates (default: `X`).
    layer : str, optional
        Layer in which AnnData has the coordinates (default: `X`).
    name : str, optional
        Name of the task (default: that of the file).
    seed : int, default 0
        Seed of the folds.
    max_bytes : int or None, default None
        The largest size of the arrays in the file that is accepted, in bytes. None stands for the
        environment variable POINTFORMS_MAX_BYTES, or for 8 GiB.

    Returns
    -------
    Task

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> import pointforms as pf
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     file = Path(folder) / "mine.npz"
    ...     pf.tasks.write(pf.tasks.load("colocated", clouds=20, points=8), file)
    ...     pf.tasks.read(file)
    Task('mine': 20 clouds of 8 points in R^2, 2 classes)
    """
    label = column_name("label", label)
    needed = [label] if group is None else [label, column_name("group", group)]
    optional = ["fold", "split"] if group is not None else ["fold", "split", "group"]
    path = Path(data) if isinstance(data, str | os.PathLike) else None
    if path is not None and path.suffix.lower() == ".npz":
        clouds, columns = read_annotated_npz(path, needed, optional, max_bytes)
    elif type(data).__name__ == "AnnData" or (path is not None and path.suffix == ".h5ad"):
        clouds, columns = read_annotated_anndata(
            data, cloud, use_rep, layer, needed, optional, max_bytes
        )
    else:
        clouds, columns = read_annotated_table(data, cloud, features, needed, optional, max_bytes)
    classes, labels = np.unique(_texts(columns[label], label), return_inverse=True)
    if len(classes) < 2:
        raise ValueError(
            f"column {label!r} has only the value {str(classes[0])!r}: expected two or more"
        )
    groups = _texts(columns.get(group or "group", np.array(clouds.ids)), group or "group")
    folds = _folds(columns["fold"]) if "fold" in columns else None
    split = _texts(columns["split"], "split") if "split" in columns else None
    # the task checks this too, but knows the groups by number only
    if folds is not None:
        check_kept_together(groups, folds, "folds")
    if split is not None:
        check_kept_together(groups, split, "parts of the split")
    # tensors carry the weights of their points, which arrays cannot
    listed: list[Any] = [c if weights_of(c) is not None else c.numpy() for c in clouds]
    return Task(
        name or (path.stem if path is not None else "table"),
        listed,
        labels,
        _numbered(groups),
        clouds.feature_names,
        tuple(classes.tolist()),
        f"{label} of {len(clouds)} clouds" + (f" from {path.name}" if path is not None else ""),
        seed,
        folds=folds,  # type: ignore[arg-type]
        split=split,  # type: ignore[arg-type]
    )


def write(task: Task, path: str | os.PathLike[str], folds: bool = True) -> None:
    """Write a task as a table or archive that :func:`read` reads.

    A table has one row per point, with the columns cloud, label, group, fold and split, then the
    features.

    Parameters
    ----------
    task : Task
        The task to write.
    path : path-like
        A .parquet, .csv or .npz file.
    folds : bool, default True
        Whether to write folds and split. Without them, whoever reads the file makes folds by a
        seed, so that several seeds give several divisions of the same clouds.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> import pointforms as pf
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     pf.tasks.write(pf.tasks.load("colocated", clouds=20), Path(folder) / "task.npz")
    ...     sorted(file.name for file in Path(folder).iterdir())
    ['task.npz']
    """
    target = Path(path)
    columns: dict[str, np.ndarray] = {
        "label": np.array(task.class_names)[task.labels],
        "group": task.groups,
        **({"fold": task.folds, "split": task.split} if folds else {}),
    }
    kind = target.suffix.lower()
    if kind not in (".parquet", ".csv", ".npz"):
        raise ValueError(f"path {str(path)!r}: expected a name that ends in .parquet, .csv or .npz")
    digits = len(str(len(task) - 1))
    ids = [f"{i:0{digits}d}" for i in range(len(task))]
    with atomic(target) as partial:
        if kind == ".npz":
            save_npz(Clouds.from_list(task.clouds, ids, task.feature_names), partial, columns)
        else:
            _write_table(task, ids, columns, partial, kind)


def _write_table(
    task: Task, ids: list[str], columns: dict[str, np.ndarray], path: Path, kind: str
) -> None:
    if any(weights_of(cloud) is not None for cloud in task.clouds):
        raise ValueError(f"{kind} has no place for the weights of the points: write an .npz file")
    pa = need("pyarrow", "table")
    of_point = np.repeat(np.arange(len(task)), task.sizes)
    points = np.concatenate(task.clouds)
    clash = {"cloud", *columns} & set(task.feature_names)
    if clash:
        raise ValueError(
            f"a feature is called {min(clash)!r}, which is another column of the table"
        )
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
    """Return numbers for values, in order of first appearance."""
    seen: dict[str, int] = {}
    return np.array([seen.setdefault(str(value), len(seen)) for value in values])


def _texts(values: np.ndarray, name: str) -> np.ndarray:
    try:
        return values.astype(str)
    except UnicodeDecodeError as error:  # of a column of bytes
        raise ValueError(f"column {name!r} holds {error.object!r}, which is no text") from None


def _folds(values: np.ndarray) -> np.ndarray:
    numbers = np.empty(len(values), dtype=np.int64)
    for i, value in enumerate(values.tolist()):
        try:
            numbers[i] = int(value)
            whole = numbers[i] == float(value)
        except (ValueError, TypeError, OverflowError):
            whole = False
        if not whole:
            raise ValueError(f"column 'fold' does not hold whole numbers: {value!r}")
    return numbers
