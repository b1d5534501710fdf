"""The numbers of the paper, which tables show beside ours."""

from __future__ import annotations

import json
from functools import cache
from importlib.resources import files

from pointforms.support.statistics import Estimate


def paper_value(task: str, title: str) -> Estimate | None:
    """Return the AUROC of a model on a task in the paper with its interval, or None.

    The paper has the same row for PointNet and PointNet++ on the organoid tasks.

    Parameters
    ----------
    task : str
        Name of the task.
    title : str
        Title of the model in tables.

    Examples
    --------
    >>> paper_value("colocated", "no such model") is None
    True
    """
    return _values().get((task, title))


@cache
def _values() -> dict[tuple[str, str], Estimate]:
    text = (files(__package__) / "paper_tables.json").read_text(encoding="utf-8")
    tables = json.loads(text)
    values = {
        (task, title): Estimate(float(mean), float(half))
        for task, models in tables["synthetic"].items()
        for title, (mean, half) in models.items()
    }
    columns = tables["pdo"]["columns"]
    for title, row in tables["pdo"].items():
        if title != "columns":
            for task, (mean, half) in zip(columns, row, strict=True):
                values[task, title] = Estimate(float(mean), float(half))
    return values
