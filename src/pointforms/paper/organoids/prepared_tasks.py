"""Prepared tasks from their folders; imputation and projection are fitted in every fold."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from pointforms.io import read_annotated_npz
from pointforms.paper.organoids.catalogue import IMPUTED, read_facts
from pointforms.paper.organoids.schema import schema
from pointforms.support.checks import check_int
from pointforms.tasks.task import Task, grouped_folds


@dataclass(frozen=True, eq=False, repr=False)
class FittedTask(Task):
    """A task whose coordinates are fitted in every fold without its test clouds.

    `clouds` have the markers themselves, NaN where one is missing; `in_fold` and `fold` return the
    coordinates.

    Attributes
    ----------
    components : int or None, default None
        Number of coordinates of a projection; None keeps the markers.
    """

    components: int | None = None
    _fitted: dict[int, list[np.ndarray]] = field(default_factory=dict)

    @property
    def by_fold(self) -> bool:
        """Whether the coordinates of the clouds depend on the fold."""
        return True

    def in_fold(self, number: int) -> list[np.ndarray]:
        """Return all clouds, imputed by the training cells and projected on their axes."""
        self._check_fold(number)
        if number not in self._fitted:
            self._fitted[number] = self._fit(number)
        return self._fitted[number]

    def _fit(self, number: int) -> list[np.ndarray]:
        clouds, training = self.clouds, np.flatnonzero(self.folds != number)
        if any(np.isnan(cloud[:, -1]).any() for cloud in clouds):
            clouds = impute(clouds, training, np.random.default_rng([self.seed, number]))
        if self.components is None:
            return clouds
        cells = np.concatenate([clouds[i] for i in training])
        mean, directions = principal(cells, self.components)
        return [((cloud - mean) @ directions).astype(cloud.dtype) for cloud in clouds]


def impute(
    clouds: list[np.ndarray], training: np.ndarray, rng: np.random.Generator
) -> list[np.ndarray]:
    """Return clouds in which missing values of the last marker are filled in.

    The value is that of a ridge regression on the other markers, fitted on training cells that have
    it, and a residual of one of them at random: without it, imputed cells would lie on a plane and
    be known by that.

    Parameters
    ----------
    clouds : list of (n_i, M) array
        Cells; the last column is NaN where it is missing.
    training : array of int
        Positions of the clouds to fit on.
    rng : numpy.random.Generator
        Chooses the residuals.
    """
    cells = np.concatenate([clouds[i] for i in training]).astype(np.float64)
    cells = cells[np.isfinite(cells[:, -1])]
    if len(cells) < 2 * cells.shape[1]:
        raise ValueError(
            f"{len(cells)} training cells have the marker to impute: expected at least "
            f"{2 * cells.shape[1]}"
        )
    mean, scale = cells.mean(0), cells.std(0)
    scale = np.where(scale > 0, scale, 1.0)
    standard = (cells - mean) / scale
    X, y = standard[:, :-1], standard[:, -1]
    # a small ridge, for markers that are copies of each other
    slope = np.linalg.solve(X.T @ X / len(X) + 1e-3 * np.eye(X.shape[1]), X.T @ y / len(X))
    residuals = y - X @ slope
    filled = []
    for cloud in clouds:
        missing = np.isnan(cloud[:, -1])
        if missing.any():
            cloud = cloud.copy()
            known = (cloud[missing, :-1] - mean[:-1]) / scale[:-1]
            value = known @ slope + rng.choice(residuals, len(known))
            cloud[missing, -1] = np.maximum(mean[-1] + scale[-1] * value, 0)  # asinh of a count
        filled.append(cloud)
    return filled


def principal(cells: np.ndarray, components: int) -> tuple[np.ndarray, np.ndarray]:
    """Return the mean (M,) and the leading principal directions (M, components) of cells.

    The directions include the standardisation of the cells. The largest entry of each is
    positive, so that signs do not depend on the machine.
    """
    cells = cells.astype(np.float64)
    mean, scale = cells.mean(0), cells.std(0)
    scale = np.where(scale > 0, scale, 1.0)
    standard = (cells - mean) / scale
    _, vectors = np.linalg.eigh(standard.T @ standard / len(standard))
    leading = vectors[:, ::-1][:, :components]
    signs = np.sign(leading[np.abs(leading).argmax(0), np.arange(leading.shape[1])])
    return mean, (leading * signs) / scale[:, None]


def load_from(
    folder: Path, seed: int | None = None, clouds: int | None = None, points: int | None = None
) -> Task:
    """Load a prepared task, perhaps with fewer clouds and cells.

    Parameters
    ----------
    folder : Path
        The task's own folder.
    seed : int, optional
        Seed of the folds, and of the clouds and cells where only some are used (default: the seed
        of the preparation, with its folds).
    clouds : int, optional
        Number of clouds to use (default: all).
    points : int, optional
        Number of cells to use per cloud (default: all).
    """
    facts = read_facts(folder)
    seed = facts["seed"] if seed is None else seed
    check_int("seed", seed, at_least=0)
    stored, columns = read_annotated_npz(folder / "clouds.npz", ["label", "group", "fold", "split"])
    cells = [cloud.numpy() for cloud in stored]
    imputed = facts.get("ppkca") == "impute"
    if imputed:
        cells = _with_last_marker(cells, folder / IMPUTED)
    classes, labels = np.unique(columns["label"], return_inverse=True)
    groups = np.unique(columns["group"], return_inverse=True)[1]
    chosen = _some(len(cells), clouds, "clouds", seed, least=20)
    cells = [cells[i][_some(len(cells[i]), points, "points", seed, least=2)] for i in chosen]
    labels, groups = labels[chosen], groups[chosen]
    as_prepared = seed == facts["seed"] and clouds is None
    content: dict[str, Any] = {
        "name": folder.name,
        "clouds": cells,
        "labels": labels,
        "groups": groups,
        "feature_names": (*stored.feature_names, *([schema().optional] if imputed else [])),
        "class_names": tuple(classes.tolist()),
        "description": facts["description"],
        "seed": seed,
        "folds": columns["fold"] if as_prepared else grouped_folds(labels, groups, seed),
        "split": columns["split"] if as_prepared else None,
    }
    if facts["components"] is None and not imputed:
        return Task(**content)
    return FittedTask(**content, components=facts["components"])


def _with_last_marker(cells: list[np.ndarray], path: Path) -> list[np.ndarray]:
    """Append the marker that is imputed, NaN where it is missing, to the complete ones."""
    values = read_arrays(path, "values")["values"]
    sizes = [len(cloud) for cloud in cells]
    if values.shape != (sum(sizes),):
        raise ValueError(f"{path.name} has shape {values.shape}: expected ({sum(sizes)},)")
    parts = np.split(values.astype(np.float32), np.cumsum(sizes)[:-1])
    return [np.column_stack(pair) for pair in zip(cells, parts, strict=True)]


def _some(count: int, wanted: int | None, what: str, seed: int, least: int) -> np.ndarray:
    """Choose `wanted` of `count` positions at random, in order; all of them for None."""
    if wanted is None or wanted >= count:
        return np.arange(count)
    check_int(what, wanted, at_least=least)
    return np.sort(np.random.default_rng([seed, count]).permutation(count)[:wanted])


def read_arrays(path: Path, *names: str) -> dict[str, np.ndarray]:
    """Return arrays of a file that belongs to a prepared task, or raise an error.

    Parameters
    ----------
    path : Path
        An .npz file.
    *names : str
        Names of the arrays.
    """
    try:
        with np.load(path, allow_pickle=False) as archive:
            return {name: archive[name] for name in names}
    except Exception as error:  # whatever a bad byte leads to
        raise ValueError(
            f"{str(path)!r} cannot be read ({error}): prepare the task again"
        ) from None
