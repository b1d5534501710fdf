"""The prepared organoid tasks, as entries of the catalogue of tasks.

`import pointforms` imports this module, so that `pointforms.tasks` knows the tasks; it has to stay
light.
"""

from __future__ import annotations

import importlib
import json
import os
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pointforms.support.files import file_digest
from pointforms.tasks.catalogue import SIMULATED, register
from pointforms.tasks.entries import TaskEntry

if TYPE_CHECKING:
    from pointforms.tasks.task import Task

#: The environment variable that names the folder of prepared tasks.
VARIABLE = "POINTFORMS_PDO"
_FOLDER = "pdo"
#: Largest number of cells in a cloud of a response task, and of the others.
RESPONSE_CELLS, MARKER_CELLS = 256, 128
#: Coordinates of the response tasks, projected from the markers that are left.
COMPONENTS = 12
#: File of a prepared task with the values of a marker that is imputed; NaN where it is missing.
IMPUTED = "imputed.npz"
#: What the tasks ask. The coordinates of response tasks are fitted in every fold.
RESPONSE_TASKS = {
    "tumor-selective": "drug response of tumour cells beyond that of fibroblasts",
    "efp": "epithelial functional perturbation by a drug",
    "caf": "reprogramming of tumour cells by fibroblasts under a drug",
}
MARKER_TASKS = {
    "celltype": "tumour cells or fibroblasts",
    "culture": "organoids, fibroblasts, or both together",
    "treatment": "which drug",
    "patient": "which patient",
}
_CLASSES = {"celltype": 2, "culture": 3, "treatment": 14, "patient": 10}
_MARKERS = 44


def prepared_folder() -> Path:
    """Return the folder of prepared tasks: $POINTFORMS_PDO, or `pdo` in the current folder."""
    return Path(os.environ.get(VARIABLE, _FOLDER))


def use_folder(folder: Path) -> None:
    """Let this process, and those it starts, find prepared tasks in a folder."""
    os.environ[VARIABLE] = str(folder.resolve())


def read_facts(folder: Path) -> dict[str, Any]:
    """Return what the preparation of a task has noted about it."""
    file = folder / "task.json"
    if not file.is_file():
        raise FileNotFoundError(
            f"no prepared task {folder.name!r} in {os.fspath(folder.parent)!r}: `npf pdo prepare "
            f"TABLE` writes it; {VARIABLE} names another folder"
        )
    try:
        facts: dict[str, Any] = json.loads(file.read_text("utf-8"))
    except ValueError as error:
        raise ValueError(f"{os.fspath(file)!r} is damaged: {error}") from None
    return facts


@dataclass(frozen=True)
class OrganoidTaskEntry(TaskEntry):
    """A task that `npf pdo prepare` writes to disk.

    Its sizes are those that the published table gives: 24 treated conditions of 10 patients, or
    27 conditions of 10 patients and 4 pairs of culture and cell type.
    """

    @property
    def folder(self) -> Path:
        """Where the prepared task lies."""
        return prepared_folder() / self.name

    def _make(self, seed: int, **sizes: int) -> Task:
        loader = importlib.import_module("pointforms.paper.organoids.prepared_tasks")
        task: Task = loader.load_from(self.folder, seed, **sizes)
        return task

    def about(self) -> str:
        """Return what the task contains, as its preparation has noted it."""
        facts = self._facts()
        return self.description if facts is None else str(facts["description"])

    def digest(self) -> str | None:
        """Return a hash of the prepared clouds, marked where the cells are simulated."""
        facts = self._facts()
        if facts is None:
            return None  # a plan may be made before the task is prepared
        files = [self.folder / "clouds.npz"]
        if (self.folder / IMPUTED).is_file():
            files.append(self.folder / IMPUTED)
        return (SIMULATED if facts["simulated"] else "") + "-".join(map(file_digest, files))

    def depends_on_fold(self) -> bool:
        """Whether the coordinates of the clouds depend on the fold: a projection, or imputation."""
        return self.by_fold or (self._facts() or {}).get("ppkca") == "impute"

    def summary(self) -> dict[str, Any] | None:
        """Return a row for a table of tasks; None for a task that has not been prepared."""
        facts = self._facts()
        if facts is None:
            return None
        few, many = facts["cells"]
        return {
            "task": self.name,
            "clouds": facts["clouds"],
            "points": str(many) if few == many else f"{few}-{many}",
            "features": facts["components"] or len(facts["markers"]),
            "classes": len(facts["classes"]),
            "description": facts["description"],
        }

    def _facts(self) -> dict[str, Any] | None:
        return read_facts(self.folder) if (self.folder / "task.json").is_file() else None


def _entry(name: str, description: str) -> OrganoidTaskEntry:
    response = name in RESPONSE_TASKS
    return OrganoidTaskEntry(
        f"pdo-{name}",
        240 if response else 1080,
        RESPONSE_CELLS if response else MARKER_CELLS,
        COMPONENTS if response else _MARKERS,
        2 if response else _CLASSES[name],
        f"organoids: {description}",
        "pointforms.paper.organoids.prepared_tasks:load_from",
        recorded=True,
        by_fold=response,
        prepared=True,
    )


for _name, _description in (RESPONSE_TASKS | MARKER_TASKS).items():
    register(_entry(_name, _description))
