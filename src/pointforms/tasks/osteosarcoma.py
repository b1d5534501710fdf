"""Osteosarcoma: real outlines of bone-cancer cells, labelled by cell line and by treatment."""

from __future__ import annotations

from pathlib import Path
from typing import Literal

import numpy as np

from pointforms.support.extras import folder_of
from pointforms.tasks.task import Task


def osteosarcoma_treatment(seed: int, clouds: int | None = None, points: int = 128) -> Task:
    """650 outlines of cells in R^2: no treatment, jasplakinolide or cytochalasin D?

    Mouse osteosarcoma cells of two lines, from the `geomstats` package (`datasets/data/cells`).
    Both drugs act on the cytoskeleton. An outline is resampled at equal distances along its length,
    relative to its mean, in pixels; its size stays. Its points are shuffled. The data do not say
    which cells share an image, so cells of one image may be on both sides of a fold; equal outlines
    are one group.
    """
    return _task("osteosarcoma-treatment", "treatments", seed, clouds, points)


def osteosarcoma_line(seed: int, clouds: int | None = None, points: int = 128) -> Task:
    """650 outlines of cells in R^2: of the line DUNN, or of the more aggressive DLM8?

    Mouse osteosarcoma cells under three treatments, from the `geomstats` package
    (`datasets/data/cells`). An outline is resampled at equal distances along its length, relative
    to its mean, in pixels; its size stays. Its points are shuffled. The data do not say which cells
    share an image, so cells of one image may be on both sides of a fold; equal outlines are one
    group.
    """
    return _task("osteosarcoma-line", "cell_lines", seed, clouds, points)


def _task(
    name: str,
    label: Literal["treatments", "cell_lines"],
    seed: int,
    clouds: int | None,
    points: int,
) -> Task:
    # the files are read as they are: importing geomstats would set up a numerical backend
    folder = folder_of("geomstats", "data") / "datasets" / "data" / "cells"
    outlines = _outlines(folder / "cells.txt")
    words = np.array((folder / f"{label}.txt").read_text("utf-8").split())
    if len(words) != len(outlines):
        raise ValueError(f"{folder} has {len(outlines)} outlines and {len(words)} {label}")
    if clouds is not None and clouds > len(outlines):
        raise ValueError(f"clouds={clouds}: expected at most {len(outlines)}, the outlines")
    rng = np.random.default_rng([seed, 11])
    chosen = np.sort(rng.permutation(len(outlines))[:clouds])
    seen: dict[bytes, int] = {}
    groups = [seen.setdefault(outlines[i].tobytes(), len(seen)) for i in chosen]
    classes, labels = np.unique(words, return_inverse=True)
    return Task(
        name,
        [rng.permutation(resampled(outlines[i], points)) for i in chosen],
        labels[chosen],
        np.array(groups),
        ("x", "y"),
        tuple(classes.tolist()),
        seed=seed,
    )


def _outlines(path: Path) -> list[np.ndarray]:
    """Return closed curves (n, 2): blocks of lines with two whole numbers each."""
    blocks = path.read_text("utf-8").strip().split("\n\n")
    return [np.array(block.split(), dtype=np.float64).reshape(-1, 2) for block in blocks]


def resampled(outline: np.ndarray, points: int) -> np.ndarray:
    """Return points at equal distances along a closed curve, relative to their mean.

    Parameters
    ----------
    outline : (n, 2) array
        The corners of a closed polygon, in order.
    points : int
        Number of points.

    Examples
    --------
    >>> square = np.array([[0.0, 0.0], [2.0, 0.0], [2.0, 2.0], [0.0, 2.0]])
    >>> resampled(square, 8)[:3]
    array([[-1., -1.],
           [ 0., -1.],
           [ 1., -1.]])
    """
    closed = np.concatenate([outline, outline[:1]])
    along = np.concatenate([[0.0], np.linalg.norm(np.diff(closed, axis=0), axis=1).cumsum()])
    wanted = np.arange(points) / points * along[-1]
    found = np.stack([np.interp(wanted, along, column) for column in closed.T], 1)
    centred: np.ndarray = found - found.mean(0)
    return centred
