"""Tasks from users' own files and tables, and tasks written to files."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from pointforms.clouds import Clouds
from pointforms.io import ReadOptions, read_file, save_npz
from pointforms.io.file_summary import FileSummary
from pointforms.io.labels import as_texts
from pointforms.io.read_options import LabelKind
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
    batch: str | None = None,
    covariates: Sequence[str] = (),
    drop: Sequence[str] = (),
    allow: Sequence[str] = (),
    use_rep: str | None = None,
    layer: str | None = None,
    samples: str | os.PathLike[str] | None = None,
    kind: LabelKind = "auto",
    drop_missing: bool = False,
    drop_small: int = 0,
    decimal_comma: bool = False,
    name: str | None = None,
    seed: int = 0,
    max_bytes: int | None = None,
) -> Task:
    """Read a task from a table, a NumPy archive, AnnData or a folder of FCS files.

    Columns `fold` (0, 1, …) and `split` ("train", "validation", "test"), where they exist, give the
    folds and the split. A group that they divide is an error. A coordinate that looks like a leak
    is refused unless `features` or `allow` names it: one with a single value per cloud, an
    identifier, or one named as a group, fold or batch. `task.summary` says what was understood.

    Parameters
    ----------
    data : path-like, data frame or AnnData
        A .parquet, .csv or .tsv table with one row per point, an .npz archive of `points`,
        `offsets`, optionally `weights` of the points, and arrays with one value per cloud, an .h5ad
        file, or a folder of .fcs files with a table samples.csv.
    cloud : str, default "cloud"
        Column of cloud ids (of `obs`, for AnnData).
    label : str, default "label"
        Column of labels.
    group : str, optional
        Column of groups, such as patients, which stay on one side of every split (default: a
        column called group, patient, donor or subject, in upper or lower case, also with "_id";
        otherwise every cloud is a group).
    features : sequence of str, optional
        Columns of coordinates (default: all numeric ones that are not named above).
    batch : str, optional
        Column of the batches in which clouds were measured.
    covariates : sequence of str, default ()
        Columns with one value per cloud that models read beside the points.
    drop : sequence of str, default ()
        Columns that are not used.
    allow : sequence of str, default ()
        Columns that look like a leak and are coordinates nevertheless.
    use_rep : str, optional
        Key of `obsm` in which AnnData has the coordinates (default: `X`).
    layer : str, optional
        Layer in which AnnData has the coordinates (default: `X`).
    samples : path-like, optional
        Table with one row per cloud, for columns that the data themselves do not have (default:
        samples.csv in a folder of FCS files).
    kind : {"auto", "classification", "regression"}, default "auto"
        What the label is. "auto" predicts numbers if the label has fractions, or more than 20
        different whole numbers.
    drop_missing : bool, default False
        Leave out points with missing values, and clouds without a label.
    drop_small : int, default 0
        Leave out clouds with fewer points than this.
    decimal_comma : bool, default False
        Whether numbers are written with decimal commas.
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
    ...     task = pf.tasks.read(file)
    >>> task
    Task('mine': 20 clouds of 8 points in R^2, 2 classes)
    >>> print(task.summary)
    clouds    20 of 8 points
    features  2: x, y
    label     label: arcs 10, segments 10 (classification)
    groups    group: 10 groups
    folds     5 of 4 clouds (column fold)
    """
    options = ReadOptions(
        cloud=cloud,
        label=label,
        group=group,
        batch=batch,
        covariates=covariates,
        features=features,
        drop=drop,
        allow=allow,
        use_rep=use_rep,
        layer=layer,
        samples=None if samples is None else os.fspath(samples),
        kind=kind,
        drop_missing=drop_missing,
        drop_small=drop_small,
        decimal_comma=decimal_comma,
    )
    return read_with(data, options, name=name, seed=seed, max_bytes=max_bytes)


def read_with(
    data: str | os.PathLike[str] | Any,
    options: ReadOptions,
    *,
    name: str | None = None,
    seed: int = 0,
    max_bytes: int | None = None,
) -> Task:
    """Read a task as :func:`read` does, with options that are together in one object."""
    path = Path(data) if isinstance(data, str | os.PathLike) else None
    content = read_file(data, options, max_bytes=max_bytes)
    clouds, raw = content.clouds, content.labels
    assert raw is not None  # labels were asked for
    classes: tuple[str, ...] = ()
    labels = raw
    if not content.regression:
        names, labels = np.unique(raw, return_inverse=True)
        classes = tuple(names.tolist())
    groups = np.array(clouds.ids) if content.groups is None else content.groups
    divided = content.divisions
    folds = _folds(divided["fold"]) if "fold" in divided else None
    split = as_texts(divided["split"], "split") if "split" in divided else None
    # the task checks this too, but knows the groups by number only
    if folds is not None:
        check_kept_together(groups, folds, "folds")
    if split is not None:
        check_kept_together(groups, split, "parts of the split")
    # tensors carry the weights of their points, which arrays cannot
    listed: list[Any] = [c if weights_of(c) is not None else c.numpy() for c in clouds]
    task = Task(
        name or (path.stem if path is not None else "table"),
        listed,
        labels,
        _numbered(groups),
        clouds.feature_names,
        classes,
        f"{options.label} of {len(clouds)} clouds"
        + (f" from {path.name}" if path is not None else ""),
        seed,
        folds=folds,  # type: ignore[arg-type]
        split=split,  # type: ignore[arg-type]
        ids=clouds.ids,
        covariates=content.covariates,
        batch=content.batch,
    )
    return replace(task, summary=_with_folds(content.summary, task, folds is not None))


def _with_folds(summary: FileSummary, task: Task, given: bool) -> FileSummary:
    sizes = np.unique(task.folds, return_counts=True)[1]
    low, high = sizes.min(), sizes.max()
    text = f"{len(sizes)} of {low if low == high else f'{low}-{high}'} clouds"
    text += " (column fold)" if given else ""
    return FileSummary(summary.entries | {"folds": text})


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
        "label": task.labels if task.regression else np.array(task.class_names)[task.labels],
        "group": task.groups,
        **(task.covariates or {}),
        **({} if task.batch is None else {"batch": task.batch}),
        **({"fold": task.folds, "split": task.split} if folds else {}),
    }
    kind = target.suffix.lower()
    if kind not in (".parquet", ".csv", ".npz"):
        raise ValueError(f"path {str(path)!r}: expected a name that ends in .parquet, .csv or .npz")
    ids = list(task.ids)
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
