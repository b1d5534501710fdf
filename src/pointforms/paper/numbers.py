"""The paper's numbers, to stand beside ours."""

from __future__ import annotations

import json
from functools import cache
from importlib.resources import files

from pointforms.support.statistics import Estimate


def paper_value(task: str, title: str) -> Estimate | None:
    """AUROC of a model on a task in the paper, with its interval; None where it has none.

    The paper lists one and the same row for PointNet and PointNet++ on the organoid tasks.
    """
    return _values().get((task, title))


@cache
def _values() -> dict[tuple[str, str], Estimate]:
    text = (files(__package__) / "paper_tables.json").read_text(encoding="utf-8")
    tables = json.loads(text)
    found = {
        (task, title): Estimate(float(mean), float(half))
        for task, models in tables["synthetic"].items()
        for title, (mean, half) in models.items()
    }
    columns = tables["pdo"]["columns"]
    for title, values in tables["pdo"].items():
        if title != "columns":
            for task, (mean, half) in zip(columns, values, strict=True):
                found[task, title] = Estimate(float(mean), float(half))
    return found
