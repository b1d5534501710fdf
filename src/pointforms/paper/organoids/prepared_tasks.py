"""Prepared tasks from their folders, and the projection that response tasks fit in every fold."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from pointforms.io import read_annotated_npz
from pointforms.paper.organoids.catalogue import read_facts
from pointforms.support.checks import check_int
from pointforms.tasks.task import Task, grouped_folds


@dataclass(frozen=True, eq=False, repr=False)
class ProjectedTask(Task):
    """A task whose coordinates are a projection, fitted in every fold without its test clouds.

    `clouds` have the markers themselves; `in_fold` and `fold` return the coordinates.

    Attributes
    ----------
    components : int, default 12
        Number of coordinates.
    """

    components: int = 12
    _projected: dict[int, list[np.ndarray]] = field(default_factory=dict)

    @property
    def by_fold(self) -> bool:
        """Whether the coordinates of the clouds depend on the fold."""
        return True

    def in_fold(self, number: int) -> list[np.ndarray]:
        """Return all clouds, standardised by the training cells and projected on their axes."""
        self._check_fold(number)
        if number not in self._projected:
            training = [c for c, f in zip(self.clouds, self.folds, strict=True) if f != number]
            mean, directions = principal(np.concatenate(training), self.components)
            self._projected[number] = [
                ((cloud - mean) @ directions).astype(cloud.dtype) for cloud in self.clouds
            ]
        return self._projected[number]


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
        "feature_names": tuple(stored.feature_names),
        "class_names": tuple(classes.tolist()),
        "description": facts["description"],
        "seed": seed,
        "folds": columns["fold"] if as_prepared else grouped_folds(labels, groups, seed),
        "split": columns["split"] if as_prepared else None,
    }
    if facts["components"] is None:
        return Task(**content)
    return ProjectedTask(**content, components=int(facts["components"]))


def _some(count: int, wanted: int | None, what: str, seed: int, least: int) -> np.ndarray:
    """Choose `wanted` of `count` positions at random, in order; all of them for None."""
    if wanted is None or wanted >= count:
        return np.arange(count)
    check_int(what, wanted, at_least=least)
    return np.sort(np.random.default_rng([seed, count]).permutation(count)[:wanted])
