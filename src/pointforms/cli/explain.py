"""`npf explain`: what a saved model rests on."""

from __future__ import annotations

import csv
import io
from dataclasses import replace
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import typer
from rich.markup import escape
from rich.table import Table

from pointforms.cli.console import console, explained
from pointforms.cli.tasks import CLOUD, CLOUDS, FEATURES, GROUP, LABEL, POINTS, SEED
from pointforms.explain.salience import Salience
from pointforms.support.files import check_output, write_text
from pointforms.tasks import find
from pointforms.tasks.task import Task


def explain(
    model: Annotated[Path, typer.Argument(metavar="MODEL", help="A folder that `save` wrote.")],
    data: Annotated[str, typer.Argument(metavar="DATA", help="A task's name, or a file of yours.")],
    refits: Annotated[
        int, typer.Option(min=0, help="Clones that are read on unseen clouds; 0 is none, no p.")
    ] = 4,
    permutations: Annotated[int, typer.Option(min=1, help="Of the labels.")] = 500,
    most: Annotated[int, typer.Option(min=1, help="Show at most so many basis forms.")] = 20,
    out: Annotated[Path | None, typer.Option(help="A picture: .png, .svg or .pdf.")] = None,
    table: Annotated[Path | None, typer.Option("--csv", help="All rows, as CSV.")] = None,
    seed: SEED = 0,
    clouds: CLOUDS = None,
    points: POINTS = None,
    cloud: CLOUD = "cloud",
    label: LABEL = "label",
    group: GROUP = None,
    features: FEATURES = None,
) -> None:
    """Print which features, or pairs of features, a classifier's forms rest on.

    share: part of the forms' energy; difference: part of the variation between clouds that lies
    between the classes, in refits of the model on clouds they have not seen; p: how often chance
    makes any difference as large; decision: part of the logit that goes through it; agreement:
    part of the refits that have it among their first tenth.
    """
    from pointforms.estimators import PointFormClassifier, load

    with explained("explain"):
        if table is not None:
            check_output(table, Path(data))
        if out is not None:
            from pointforms.plot.style import picture_path

            picture_path(out)
        classifier = load(model)
        if not isinstance(classifier, PointFormClassifier):
            raise TypeError(f"{str(model)!r} holds a {type(classifier).__name__}, no classifier")
        classifier.set_params(progress=True)
        task = find(
            data,
            seed,
            clouds,
            points,
            cloud=cloud,
            label=label,
            group=group,
            features=None if features is None else [name.strip() for name in features.split(",")],
        )
        if task.by_fold:
            raise ValueError(
                f"the coordinates of {task.name} are fitted in every fold, so no one model is for "
                "all clouds: explain in Python, with task.in_fold(0)"
            )
        if len(task.feature_names) != classifier.n_features_in_:
            raise ValueError(
                f"{task.name} has {len(task.feature_names)} features, the model was fitted with "
                f"{classifier.n_features_in_}; --features chooses columns of a file, in the order "
                "in which the model was given them"
            )
        console.print(f"features: {', '.join(task.feature_names)}", markup=False, highlight=False)
        labels = _labels(classifier, task)
        found = classifier.explain(
            task.clouds,
            labels,
            task.groups,
            task.feature_names,
            refits,
            permutations,
            seed,
        )
        if found.columns and labels is task.labels:  # numbers, which index the names
            found = replace(found, columns=tuple(task.class_names))
        console.print(_view(found, most))
        if len(found) > most:
            console.print(f"… and {len(found) - most} more (--most)")
        console.print(found.summary(), highlight=False, markup=False)
        if table is not None:
            _write(found, table)
            typer.echo(f"Table: {table.resolve()}")
        if out is not None:
            from pointforms.plot.salience import draw_salience

            typer.echo(f"Picture: {draw_salience(found, out, most).resolve()}")


def _labels(classifier: Any, task: Task) -> np.ndarray:
    """The task's labels as the classifier knows them: numbers, or names of classes."""
    known = {str(value): value for value in classifier.classes_.tolist()}
    if set(known) == set(task.class_names):
        return np.array([known[task.class_names[label]] for label in task.labels])
    return task.labels


def _view(found: Salience, most: int) -> Table:
    view = Table(title="Salience of basis forms", title_justify="left")
    view.add_column("form")
    headings = ["degree", "share", "difference", "p", "decision", "rank", "agreement"]
    for heading in [*headings, *(f"difference: {column}" for column in found.columns)]:
        view.add_column(escape(heading), justify="right")
    for row in found.rows()[:most]:
        cells = [str(row["degree"]), f"{row['share']:.3f}", f"{row['difference']:.3f}"]
        cells += [f"{row['p']:.3f}" + (" *" if row["p"] <= 0.05 else "  ")]
        cells += [f"{row['decision']:+.3f}", f"{row['rank']:.1f}", f"{row['agreement']:.2f}"]
        cells += [f"{row[f'difference: {column}']:.3f}" for column in found.columns]
        view.add_row(escape(row["form"]), *cells)
    return view


def _write(found: Salience, path: Path) -> None:
    rows = found.rows()
    text = io.StringIO(newline="")
    writer = csv.DictWriter(text, list(rows[0]), lineterminator="\n")
    writer.writeheader()
    writer.writerows(rows)
    write_text(path, text.getvalue())
