"""Prepared tasks by name, and the projection that response tasks fit in every fold."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from pointforms.geometry.settings import check_int
from pointforms.io import read_annotated_npz
from pointforms.paper.organoids.catalogue import read_facts
from pointforms.tasks.task import Task, grouped_folds


@dataclass(frozen=True, eq=False, repr=False)
class ProjectedTask(Task):
    """Clouds whose coordinates are a projection, fitted in every fold on what it does not test.

    `clouds` have the markers themselves; `in_fold` and `fold` give the coordinates.

    Attributes
    ----------
    components : how many coordinates
    """

    components: int = 12
    _projected: dict[int, list[np.ndarray]] = field(default_factory=dict)

    @property
    def by_fold(self) -> bool:
        return True

    def in_fold(self, number: int) -> list[np.ndarray]:
        """Standardised by the training cells and projected on their principal directions."""
        self._check_fold(number)
        if number not in self._projected:
            training = [c for c, f in zip(self.clouds, self.folds, strict=True) if f != number]
            mean, directions = principal(np.concatenate(training), self.components)
            self._projected[number] = [
                ((cloud - mean) @ directions).astype(cloud.dtype) for cloud in self.clouds
            ]
        return self._projected[number]


def principal(cells: np.ndarray, components: int) -> tuple[np.ndarray, np.ndarray]:
    """Mean (M,), and (M, components): standardise, then the leading principal directions.

    The largest entry of each direction is positive, so that signs do not depend on the machine.
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
    """A prepared task from its folder; without a seed, as it was prepared."""
    told = read_facts(folder)
    seed = told["seed"] if seed is None else seed
    check_int("seed", seed, at_least=0)
    found, notes = read_annotated_npz(folder / "clouds.npz", ["label", "group", "fold", "split"])
    cells = [cloud.numpy() for cloud in found]
    classes, labels = np.unique(notes["label"], return_inverse=True)
    groups = np.unique(notes["group"], return_inverse=True)[1]
    chosen = _some(len(cells), clouds, "clouds", seed, least=20)
    cells = [cells[i][_some(len(cells[i]), points, "points", seed, least=2)] for i in chosen]
    labels, groups = labels[chosen], groups[chosen]
    stored = seed == told["seed"] and clouds is None
    content: dict[str, Any] = {
        "name": folder.name,
        "clouds": cells,
        "labels": labels,
        "groups": groups,
        "feature_names": tuple(found.feature_names),
        "class_names": tuple(classes.tolist()),
        "description": told["description"],
        "seed": seed,
        "folds": notes["fold"] if stored else grouped_folds(labels, groups, seed),
        "split": notes["split"] if stored else None,
    }
    if told["components"] is None:
        return Task(**content)
    return ProjectedTask(**content, components=int(told["components"]))


def _some(count: int, wanted: int | None, what: str, seed: int, least: int) -> np.ndarray:
    """Which of so many are kept, in order."""
    if wanted is None or wanted >= count:
        return np.arange(count)
    check_int(what, wanted, at_least=least)
    return np.sort(np.random.default_rng([seed, count]).permutation(count)[:wanted])
