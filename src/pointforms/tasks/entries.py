"""Entries of the catalogue of tasks: what each task contains, and which function makes it.

An entry names the function that makes a task as "module:function", so that this module imports
neither NumPy nor anything else that is slow.
"""

from __future__ import annotations

import inspect
import os
from dataclasses import dataclass, replace
from pathlib import Path
from pkgutil import resolve_name
from typing import TYPE_CHECKING, Any

from pointforms.support.checks import check_int
from pointforms.support.files import file_digest

if TYPE_CHECKING:
    from pointforms.tasks.task import Task

#: The environment variable with the path of PILOT's file of kidney patients.
KIDNEY = "POINTFORMS_KIDNEY"
# The smallest sizes a task can have: two clouds of each class in every fold, two points.
_LEAST = {"clouds": 20, "points": 2}


@dataclass(frozen=True)
class TaskEntry:
    """A task in the catalogue.

    Parameters
    ----------
    name : str
        Its name in :func:`load`, manifests and tables.
    clouds : int
        Usual number of clouds.
    points : int
        Usual number of points in the largest cloud.
    features : int
        Number of features of a point.
    classes : int
        Number of classes.
    description : str
        One line.
    maker : str
        The function that makes the task, as "module:function". It takes the seed and, where the
        size can be chosen, `clouds` and `points`.
    fewest_points : int, optional
        Usual number of points in the smallest cloud, where sizes differ.
    fixed_size : bool, default False
        Whether `clouds` and `points` cannot be chosen.
    recorded : bool, default False
        Whether the clouds were recorded; otherwise they are simulated.
    by_fold : bool, default False
        Whether the coordinates of the clouds depend on the fold.
    prepared : bool, default False
        Whether the task has to be prepared on disk before it can be loaded.

    Examples
    --------
    >>> import pointforms as pf
    >>> entry = pf.tasks.entry("rna-velocity")
    >>> entry.fewest_points, entry.points, entry.features
    (5, 40, 50)
    """

    name: str
    clouds: int
    points: int
    features: int
    classes: int
    description: str
    maker: str
    fewest_points: int | None = None
    fixed_size: bool = False
    recorded: bool = False
    by_fold: bool = False
    prepared: bool = False

    def load(
        self,
        seed: int = 0,
        clouds: int | None = None,
        points: int | None = None,
        path: str | os.PathLike[str] | None = None,
    ) -> Task:
        """Return the task with this seed, in its usual size unless another is given."""
        check_int("seed", seed, at_least=0)
        if path is not None:
            raise ValueError(f"path={os.fspath(path)!r}: {self.name} is not read from a file")
        sizes = {"clouds": clouds, "points": points}
        chosen = {option: value for option, value in sizes.items() if value is not None}
        for option, value in chosen.items():
            self.check_size(option, value)
        return self._make(seed, **chosen)

    def _make(self, seed: int, **sizes: int) -> Task:
        task: Task = resolve_name(self.maker)(seed, **sizes)
        return replace(task, description=self.description)

    def check_size(self, option: str, value: int) -> None:
        """Raise an error if `clouds` or `points` has a value that this task cannot have."""
        if self.fixed_size:
            raise ValueError(f"{option}={value}: {self.name} has a fixed size")
        check_int(option, value, at_least=_LEAST[option])

    def about(self) -> str:
        """Return what the task contains and what it is for, as text of several lines."""
        return inspect.getdoc(resolve_name(self.maker)) or self.description

    def digest(self) -> str | None:
        """Return a hash of prepared content; None for a task that its name and seed determine."""
        return None

    def depends_on_fold(self) -> bool:
        """Whether the coordinates of the clouds depend on the fold."""
        return self.by_fold

    def summary(self) -> dict[str, Any] | None:
        """Return a row for a table of tasks; None for a task that has not been prepared."""
        few, many = self.fewest_points, self.points
        return {
            "task": self.name,
            "clouds": self.clouds,
            "points": str(many) if few is None or few == many else f"{few}-{many}",
            "features": self.features,
            "classes": self.classes,
            "description": self.description,
        }


@dataclass(frozen=True)
class FileTaskEntry(TaskEntry):
    """A task whose data the user downloads as a file.

    Parameters
    ----------
    variable : str
        The environment variable with the path of the file. The maker takes the seed and the path.
    source : str
        Where the file is found.
    """

    variable: str = ""
    source: str = ""

    def load(
        self,
        seed: int = 0,
        clouds: int | None = None,
        points: int | None = None,
        path: str | os.PathLike[str] | None = None,
    ) -> Task:
        """Return the task from a file (default: that which the environment variable names)."""
        check_int("seed", seed, at_least=0)
        for option, value in (("clouds", clouds), ("points", points)):
            if value is not None:
                self.check_size(option, value)
        file = self._file() if path is None else Path(path)
        if file is None:
            raise FileNotFoundError(
                f"the data of {self.name} are not part of the package: download {self.source}, and "
                f"set {self.variable} to the path of the file"
            )
        task: Task = resolve_name(self.maker)(seed, file)
        return replace(task, description=self.description)

    def digest(self) -> str | None:
        """Return a hash of the file; None where none is named."""
        file = self._file()
        return None if file is None or not file.is_file() else file_digest(file)

    def summary(self) -> dict[str, Any] | None:
        """Return a row for a table of tasks; None where no file is named."""
        return None if self._file() is None else super().summary()

    def _file(self) -> Path | None:
        named = os.environ.get(self.variable)
        return Path(named) if named else None


# Clouds of 128 points in the plane, of two classes; the maker has the name of the task.
_PLANAR = {
    "circles-vs-lines": "trajectories that turn against trajectories that leave, through the same "
    "places",
    "concentric-circles": "one circle against two concentric ones of the same mean radius",
    "parallel-lines": "one segment against two parallel ones about the same middle",
    "colocated": "circle arcs against segments through the same places",
}


def built_in_entries() -> list[TaskEntry]:
    """Return the entries of the tasks that come with the package."""
    planar, density = "pointforms.tasks.planar", "pointforms.tasks.density"
    rna = "pointforms.tasks.rna"
    return [
        *(
            TaskEntry(name, 300, 128, 2, 2, description, f"{planar}:{name.replace('-', '_')}")
            for name, description in _PLANAR.items()
        ),
        TaskEntry(
            "density-check", 300, 128, 2, 2,
            "circles sampled by von Mises densities of low against high concentration",
            f"{density}:density_check",
        ),
        TaskEntry(
            "density-shift", 296, 256, 2, 2,
            "circles against ellipses, sampled by densities that differ between the folds",
            f"{density}:density_shift",
        ),
        TaskEntry(
            "singlecell", 320, 128, 50, 2,
            "simulated cells on a forking manifold, one branch of which differs between "
            "populations",
            "pointforms.tasks.singlecell:singlecell",
        ),
        TaskEntry(
            "rna-velocity", 1000, 40, 50, 2,
            "early fragments of simulated RNA kinetics under two sets of rates",
            f"{rna}:rna_velocity", fewest_points=5,
        ),
        TaskEntry(
            "rna-velocity-quick", 160, 15, 24, 2,
            "early fragments of simulated RNA kinetics under two sets of rates",
            f"{rna}:rna_velocity_quick", fewest_points=4,
        ),
        TaskEntry(
            "rna-velocity-steady", 1000, 40, 50, 2,
            "rna-velocity with starts near the steady state of the first set of rates",
            f"{rna}:rna_velocity_steady", fewest_points=5,
        ),
        TaskEntry(
            "japanese-vowels", 640, 29, 12, 9,
            "frames of spoken vowels (real recordings); which of nine speakers?",
            "pointforms.tasks.vowels:japanese_vowels",
            fewest_points=7, fixed_size=True, recorded=True,
        ),
        TaskEntry(
            "osteosarcoma-treatment", 650, 128, 2, 3,
            "outlines of bone-cancer cells (real images); which of three treatments?",
            "pointforms.tasks.osteosarcoma:osteosarcoma_treatment", recorded=True,
        ),
        TaskEntry(
            "osteosarcoma-line", 650, 128, 2, 2,
            "outlines of bone-cancer cells (real images); which of two cell lines?",
            "pointforms.tasks.osteosarcoma:osteosarcoma_line", recorded=True,
        ),
        FileTaskEntry(
            "kidney", 414, 415, 14, 2,
            "glomeruli of real patients with IgA nephropathy; eGFR below 30 or above 60?",
            "pointforms.tasks.kidney:kidney",
            fewest_points=8, fixed_size=True, recorded=True, prepared=True,
            variable=KIDNEY, source="Kidney_IgAN_G.h5ad of https://github.com/CostaLab/PILOT",
        ),
    ]  # fmt: skip
