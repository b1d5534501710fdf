"""The catalogue of tasks: what can be loaded by name, described without loading any of it.

Rooms above `tasks` add their entries with :func:`register`. Nothing slow is imported, not even
NumPy.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from pointforms.support.files import file_digest
from pointforms.support.suggestions import suggest
from pointforms.tasks.entries import TaskEntry, built_in_entries

if TYPE_CHECKING:
    from pointforms.io.read_options import ReadOptions
    from pointforms.tasks.task import Task

#: Endings of the files that :func:`find` and :func:`pointforms.tasks.read` accept.
SUFFIXES = (".parquet", ".csv", ".tsv", ".npz", ".h5ad")
# The digest of simulated cells starts with this, so that tables can say so.
SIMULATED = "simulated-"


_CATALOGUE: dict[str, TaskEntry] = {one.name: one for one in built_in_entries()}


def register(entry: TaskEntry) -> None:
    """Add an entry to the catalogue, or replace the one of the same name.

    Parameters
    ----------
    entry : TaskEntry
        The entry to add.

    Examples
    --------
    >>> import pointforms as pf
    >>> pf.tasks.register(pf.tasks.entry("colocated"))  # the same again
    """
    _CATALOGUE[entry.name] = entry


def names(prepared: bool = False) -> list[str]:
    """Return the names of the tasks that can be loaded.

    Parameters
    ----------
    prepared : bool, default False
        Include those that have to be prepared on disk first, such as the organoid tasks.

    Examples
    --------
    >>> import pointforms as pf
    >>> pf.tasks.names()[:3]
    ['circles-vs-lines', 'concentric-circles', 'parallel-lines']
    >>> [name for name in pf.tasks.names(prepared=True) if name.startswith("pdo-")][:2]
    ['pdo-tumor-selective', 'pdo-efp']
    """
    return [name for name, one in _CATALOGUE.items() if prepared or not one.prepared]


def entry(name: str) -> TaskEntry:
    """Return the catalogue's entry of a task.

    Parameters
    ----------
    name : str
        One of :func:`names`.

    Examples
    --------
    >>> import pointforms as pf
    >>> pf.tasks.entry("colocated").clouds
    300
    """
    if name not in _CATALOGUE:
        raise ValueError(f"no task {name!r}: {suggest(name, _CATALOGUE)}")
    return _CATALOGUE[name]


def about(name: str) -> str:
    """Return what a task contains and what it is for.

    Parameters
    ----------
    name : str
        One of :func:`names`.

    Examples
    --------
    >>> import pointforms as pf
    >>> print(pf.tasks.about("concentric-circles"))
    One circle against two with the same centre, whose radii have the same mean.
    """
    return entry(name).about()


def load(
    name: str,
    seed: int = 0,
    clouds: int | None = None,
    points: int | None = None,
    *,
    path: str | os.PathLike[str] | None = None,
) -> Task:
    """Load a task by its name. The same seed gives the same values on every machine.

    Parameters
    ----------
    name : str
        One of :func:`names`, or a task such as "pdo-efp" that `npf pdo prepare` has written.
    seed : int, default 0
        Seed of the clouds, where they are simulated, and of the folds.
    clouds : int, optional
        Number of clouds (default: as in the paper).
    points : int, optional
        Number of points per cloud, or the largest number where sizes differ (default: as in the
        paper).
    path : path-like, optional
        The file with the data of a task that is not part of the package, such as "kidney" (default:
        what its environment variable names, such as POINTFORMS_KIDNEY).

    Returns
    -------
    Task

    Examples
    --------
    >>> import pointforms as pf
    >>> pf.tasks.load("circles-vs-lines", clouds=20, points=16)
    Task('circles-vs-lines': 20 clouds of 16 points in R^2, 2 classes)
    """
    return entry(name).load(seed, clouds, points, path)


def find(
    name: str | os.PathLike[str],
    seed: int = 0,
    clouds: int | None = None,
    points: int | None = None,
    *,
    cloud: str = "cloud",
    label: str = "label",
    group: str | None = None,
    features: Sequence[str] | None = None,
    options: ReadOptions | None = None,
) -> Task:
    """Load a task by its name, or read one from a file.

    Parameters
    ----------
    name : str or path-like
        A name of the catalogue, a file that ends in one of :data:`SUFFIXES`, or a folder of FCS
        files.
    seed : int, default 0
        Seed of the clouds, where they are simulated, and of the folds.
    clouds : int, optional
        Number of clouds. Not for files.
    points : int, optional
        Number of points per cloud. Not for files.
    cloud : str, default "cloud"
        The file's column of cloud ids.
    label : str, default "label"
        The file's column of labels.
    group : str, optional
        The file's column of groups, which stay on one side of every split.
    features : sequence of str, optional
        The file's columns of coordinates (default: all numeric columns).
    options : ReadOptions, optional
        Everything about the columns of the file, in place of `cloud`, `label`, `group` and
        `features`.

    Returns
    -------
    Task

    Examples
    --------
    >>> import pointforms as pf
    >>> len(pf.tasks.find("colocated", clouds=20))
    20
    """
    name = os.fspath(name)
    if name in _CATALOGUE:
        if features is not None or (options is not None and options.differing()):
            given = {"features": list(features or ())} if options is None else options.differing()
            first = next(iter(given))
            raise ValueError(
                f"{first}={given[first]}: {name} has its own; columns are chosen in files only"
            )
        return load(name, seed, clouds, points)
    _check_suffix(name)
    if clouds is not None or points is not None:
        raise ValueError(
            f"clouds={clouds}, points={points}: sizes are for tasks of the catalogue, not for files"
        )
    from pointforms.tasks.files import read, read_with

    if options is not None:
        return read_with(name, options, seed=seed)
    return read(name, cloud, label, group, features, seed=seed)


def is_file(name: str) -> bool:
    """Return whether a name, which is none of the catalogue, can be that of a file or folder.

    Examples
    --------
    >>> is_file("cells.csv"), is_file("colocated"), is_file("squares")
    (True, False, False)
    """
    return name not in _CATALOGUE and (Path(name).suffix.lower() in SUFFIXES or Path(name).is_dir())


def _check_suffix(name: str) -> None:
    """Raise an error unless a name that is not in the catalogue can be that of a file."""
    if not is_file(name):
        raise ValueError(
            f"no task {name!r}: {suggest(name, _CATALOGUE)}; files end in {', '.join(SUFFIXES)}, "
            "or are a folder of .fcs files"
        )


def resolve(name: str, folder: Path) -> str:
    """Return the name of a catalogued task as it is, and a file of `folder` as its full path."""
    if name in _CATALOGUE:
        return name
    path = folder / name
    if path.is_dir():
        return path.resolve().as_posix()
    _check_suffix(name)
    if not path.is_file():
        beside = path.parent.glob("*") if path.parent.is_dir() else ()
        files = sorted(p.name for p in beside if p.suffix.lower() in SUFFIXES)
        hint = suggest(path.name, files) if files else "there are no files of points beside it"
        raise ValueError(f"no file {name!r}: {hint}")
    return path.resolve().as_posix()


def depends_on_fold(task: str) -> bool:
    """Whether the coordinates of a task, by name or path, are fitted in every fold."""
    return task in _CATALOGUE and _CATALOGUE[task].depends_on_fold()


def content_digest(task: str, samples: str | None = None) -> str | None:
    """Return a hash of the content of a file, a folder of FCS files or a prepared task.

    None for a task that its name and seed determine, and for one that is not prepared yet.

    Parameters
    ----------
    task : str
        A name of the catalogue, or a path.
    samples : str, optional
        A table of samples that is read with it.
    """
    if task in _CATALOGUE:
        return _CATALOGUE[task].digest()
    return data_digest(Path(task), samples)


def data_digest(path: Path, samples: str | None = None) -> str:
    """Return a hash of a file, or of the FCS files and the table of samples in a folder."""
    files = [path]
    if path.is_dir():
        files = sorted(p for p in path.iterdir() if p.suffix.lower() == ".fcs")
        files += [p for p in [path / "samples.csv"] if p.is_file()]
    digests = [file_digest(file) for file in files]
    if path.is_dir():
        digests += [file.name for file in files]
    digests += [] if samples is None else [file_digest(Path(samples))]
    if len(digests) == 1:
        return digests[0]
    return hashlib.sha256("\n".join(digests).encode()).hexdigest()[:16]


def is_simulated(digest: str | None) -> bool:
    """Whether a content digest is that of simulated cells."""
    return (digest or "").startswith(SIMULATED)


def is_recorded(task: str, digest: str | None) -> bool:
    """Whether the clouds of a task were recorded, not simulated; files count as recorded."""
    if digest is not None:
        return not is_simulated(digest)
    return task in _CATALOGUE and _CATALOGUE[task].recorded


def full_size(task: str) -> tuple[int, int] | None:
    """Return the usual number of clouds and of points in the largest; None for files."""
    if task not in _CATALOGUE:
        return None
    return _CATALOGUE[task].clouds, _CATALOGUE[task].points


def check_size(task: str, option: str, value: int) -> None:
    """Raise an error if `clouds` or `points` has a value that a task or file cannot have."""
    if task not in _CATALOGUE:
        raise ValueError(f"{option}={value}: {Path(task).name} has a fixed size")
    _CATALOGUE[task].check_size(option, value)
