"""Clouds from and to NumPy archives."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import pairwise
from pathlib import Path
from typing import Any
from zipfile import BadZipFile

import numpy as np

from pointforms.clouds import Clouds
from pointforms.io.columns import Annotations, PathLike, existing, present


def save_npz(
    clouds: Clouds, path: PathLike, annotations: Mapping[str, np.ndarray] | None = None
) -> None:
    """Write clouds to a NumPy archive, .npz, that :func:`read_npz` reads.

    Annotations are arrays with one value a cloud.
    """
    if Path(path).suffix != ".npz":
        raise ValueError(f"path {str(path)!r}: expected a name that ends in .npz")
    arrays: dict[str, Any] = {
        "points": clouds.points.cpu().numpy(),
        "offsets": clouds.offsets.cpu().numpy(),
        "ids": np.array(clouds.ids, dtype=np.str_),
        "feature_names": np.array(clouds.feature_names, dtype=np.str_),
        **(annotations or {}),
    }
    np.savez_compressed(path, **arrays)


def read_npz(path: PathLike) -> Clouds:
    """Clouds from a NumPy archive with `points` (N, D) and `offsets` (B + 1,); never pickles."""
    return read_annotated_npz(path)[0]


def read_annotated_npz(
    path: PathLike, annotations: Sequence[str] = (), optional: Sequence[str] = ()
) -> tuple[Clouds, Annotations]:
    """The clouds of an archive, and arrays with one value a cloud: (B,) each."""
    try:
        with np.load(existing(path), allow_pickle=False) as archive:
            content = {name: archive[name] for name in archive.files}
    except (BadZipFile, EOFError, TypeError, ValueError) as error:
        raise ValueError(f"{str(path)!r} is not an archive of plain arrays: {error}") from None
    annotations = [*annotations, *(name for name in optional if name in content)]
    for name in ("points", "offsets", *annotations):
        if name not in content:
            raise ValueError(f"{str(path)!r} has no array {name!r}: {present(list(content), name)}")
    points, offsets = np.atleast_1d(content["points"]), content["offsets"]
    ends = offsets.tolist() if offsets.ndim == 1 and offsets.dtype.kind in "iu" else []
    if len(ends) < 2 or ends[0] != 0 or ends[-1] != len(points) or sorted(ends) != ends:
        raise ValueError(f"offsets of {str(path)!r} do not rise from 0 to {len(points)} points")
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
    clouds = Clouds.from_list(
        [points[a:b] for a, b in pairwise(ends)],
        content.get("ids"),
        content.get("feature_names"),
    )
    return clouds, {name: content[name] for name in annotations}
