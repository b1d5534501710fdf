"""Clouds from and to NumPy archives (.npz)."""

from __future__ import annotations

import math
import os
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from itertools import pairwise
from pathlib import Path
from typing import Any
from zipfile import ZIP_DEFLATED, ZIP_STORED, ZipFile

import numpy as np

from pointforms.clouds import Clouds
from pointforms.io.columns import Annotations, PathLike, existing_file
from pointforms.io.limits import check_size
from pointforms.support.files import atomic
from pointforms.support.suggestions import suggest

_format: Any = np.lib.format  # has no type hints
# Deflate makes no more than this many bytes of one.
_LARGEST_RATIO = 1032


def save_npz(
    clouds: Clouds, path: PathLike, annotations: Mapping[str, np.ndarray] | None = None
) -> None:
    """Write clouds to a NumPy archive that :func:`read_npz` reads.

    The file appears complete or not at all.

    Parameters
    ----------
    clouds : Clouds
        The clouds to write.
    path : path-like
        The file, whose name ends in .npz. Its folder is created if needed.
    annotations : mapping of str to array, or None, default None
        Further arrays with one value per cloud, such as labels.

    Examples
    --------
    >>> import tempfile, numpy as np, pointforms as pf
    >>> clouds = pf.Clouds.from_list([np.eye(2), np.ones((3, 2))])
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     pf.io.save_npz(clouds, f"{folder}/clouds.npz", {"label": np.array(["a", "b"])})
    ...     pf.read_npz(f"{folder}/clouds.npz")
    Clouds(2 clouds of 2-3 points in R^2)
    """
    if Path(path).suffix != ".npz":
        raise ValueError(f"path={str(path)!r}: expected a name that ends in .npz")
    if clouds.weights is not None and "weights" in (annotations or {}):
        raise ValueError("annotations has the name 'weights', which is that of the points' weights")
    arrays: dict[str, Any] = {
        "points": clouds.points.cpu().numpy(),
        "offsets": clouds.offsets.cpu().numpy(),
        "ids": np.array(clouds.ids, dtype=np.str_),
        "feature_names": np.array(clouds.feature_names, dtype=np.str_),
        **({} if clouds.weights is None else {"weights": clouds.weights.cpu().numpy()}),
        **(annotations or {}),
    }
    with atomic(path) as partial:
        np.savez_compressed(partial, **arrays)


def read_npz(path: PathLike, max_bytes: int | None = None) -> Clouds:
    """Read clouds from a NumPy archive.

    Arrays of Python objects, which would need pickle, are refused. Other arrays of the archive are
    not read.

    Parameters
    ----------
    path : path-like
        An .npz file with the arrays `points` (N, D) and `offsets` (B + 1,), such that cloud b is
        points[offsets[b] : offsets[b + 1]], and optionally `ids` (B,), `feature_names` (D,) and
        `weights` (N,) of the points.
    max_bytes : int or None, default None
        The largest size of the arrays in the file that is accepted, in bytes. None stands for the
        environment variable POINTFORMS_MAX_BYTES, or for 8 GiB.

    Returns
    -------
    Clouds

    Examples
    --------
    >>> import tempfile, numpy as np, pointforms as pf
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     np.savez(f"{folder}/clouds.npz", points=np.eye(5, 2), offsets=[0, 2, 5])
    ...     pf.read_npz(f"{folder}/clouds.npz")
    Clouds(2 clouds of 2-3 points in R^2)
    """
    return read_annotated_npz(path, max_bytes=max_bytes)[0]


def read_annotated_npz(
    path: PathLike,
    annotations: Sequence[str] = (),
    optional: Sequence[str] = (),
    max_bytes: int | None = None,
) -> tuple[Clouds, Annotations]:
    """Read clouds and arrays with one value per cloud, such as labels, from a NumPy archive.

    Parameters
    ----------
    path : path-like
        An .npz file as :func:`read_npz` describes.
    annotations : sequence of str, default ()
        Names of the arrays to read.
    optional : sequence of str, default ()
        Further arrays to read where they exist.
    max_bytes : int or None, default None
        The largest size that is accepted, as for :func:`read_npz`.

    Returns
    -------
    clouds : Clouds
    annotations : dict of array, shape (B,)
        Values of the annotations, one per cloud.

    Examples
    --------
    >>> import tempfile, numpy as np, pointforms as pf
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = f"{folder}/clouds.npz"
    ...     np.savez(path, points=np.eye(5, 2), offsets=[0, 2, 5], label=["a", "b"])
    ...     clouds, values = pf.io.read_annotated_npz(path, annotations=["label"])
    >>> values["label"].tolist()
    ['a', 'b']
    """
    with _opened(path) as archive:
        members = {name.removesuffix(".npy"): name for name in archive.namelist()}
    annotations = [*annotations, *(name for name in optional if name in members)]
    check_clouds(path, list(members))
    for name in annotations:
        if name not in members:
            hint = suggest(name, members, "it has the arrays")
            raise ValueError(f"{str(path)!r} has no array {name!r}: {hint}")
    beside = [name for name in ("ids", "feature_names", "weights") if name in members]
    # an annotation of that name has one value per cloud
    beside = [name for name in beside if name not in annotations]
    wanted = {name: members[name] for name in ("points", "offsets", *beside, *annotations)}
    with _opened(path) as archive:
        declared = sum(_declared_bytes(archive, member) for member in wanted.values())
    check_size(path, declared, max_bytes)
    with _opened(path) as archive:
        content: dict[str, Any] = {
            name: _read_array(archive, member) for name, member in wanted.items()
        }
    points, offsets = np.atleast_1d(content["points"]), content["offsets"]
    ends = offsets.tolist() if offsets.ndim == 1 and offsets.dtype.kind in "iu" else []
    if len(ends) < 2 or ends[0] != 0 or ends[-1] != len(points) or sorted(ends) != ends:
        raise ValueError(
            f"offsets of {str(path)!r} do not rise from 0 to {len(points)}, the number of points"
        )
    for i, (a, b) in enumerate(pairwise(ends)):
        if a == b:
            raise ValueError(
                f"cloud {i} of {str(path)!r} is empty: offsets {i} and {i + 1} are {a}"
            )
    for name in annotations:
        if content[name].shape != (len(ends) - 1,):
            raise ValueError(
                f"{name!r} of {str(path)!r} has shape {content[name].shape}: "
                f"expected one value for each of {len(ends) - 1} clouds"
            )
    weights = None if "weights" in annotations else content.get("weights")
    if weights is not None and weights.shape == (len(ends) - 1,) != (len(points),):
        weights = None  # those of clouds, which are none of ours
    if weights is not None and weights.shape != (len(points),):
        raise ValueError(
            f"'weights' of {str(path)!r} has shape {weights.shape}: expected one number for each "
            f"of {len(points)} points"
        )
    clouds = Clouds.from_list(
        [points[a:b] for a, b in pairwise(ends)],
        content.get("ids"),
        content.get("feature_names"),
        None if weights is None else [weights[a:b] for a, b in pairwise(ends)],
    )
    return clouds, {name: content[name] for name in annotations}


def array_names(path: PathLike) -> list[str]:
    """Return the names of the arrays of an archive."""
    with _opened(path) as archive:
        return [name.removesuffix(".npy") for name in archive.namelist()]


def check_clouds(path: PathLike, names: Sequence[str]) -> None:
    """Raise an error if an archive with arrays of these names does not hold clouds."""
    for name in ("points", "offsets"):
        if name not in names:
            found = ", ".join(map(repr, names)) or "nothing"
            raise ValueError(
                f"{str(path)!r} has no array {name!r}, but {found}: expected an archive as "
                "pf.io.save_npz writes it, with the arrays points and offsets"
            )


@contextmanager
def _opened(path: PathLike) -> Iterator[ZipFile]:
    """Open an archive for a block whose errors are those of its content."""
    file = existing_file(path)
    try:
        with ZipFile(file) as archive:
            yield archive
    except Exception as error:  # whatever a bad byte leads to
        raise ValueError(f"{str(path)!r} is not an archive of plain arrays: {error}") from None


def _declared_bytes(archive: ZipFile, member: str) -> int:
    """Return the size of an array by its header, which must fit what the archive can hold."""
    info = archive.getinfo(member)
    with archive.open(info) as file:
        version = _format.read_magic(file)
        if version not in ((1, 0), (2, 0)):
            raise ValueError(f"{member} has version {version} of NumPy's format")
        first = version == (1, 0)
        read = _format.read_array_header_1_0 if first else _format.read_array_header_2_0
        shape, _, dtype = read(file)
        start = file.tell()
    if dtype.hasobject:
        raise ValueError(f"{member} holds Python objects")
    size: int = math.prod(shape) * int(dtype.itemsize)
    stored = min(info.compress_size, os.path.getsize(archive.filename or ""))
    ratio = {ZIP_STORED: 1, ZIP_DEFLATED: _LARGEST_RATIO}.get(info.compress_type)
    if start + size > info.file_size or (ratio and info.file_size > ratio * stored):
        raise ValueError(f"{member} declares {size} bytes, which it cannot hold")
    return size


def _read_array(archive: ZipFile, member: str) -> np.ndarray:
    with archive.open(member) as file:
        array: np.ndarray = _format.read_array(file, allow_pickle=False)
    return array
