"""`npf explain`: what a saved model uses."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from pointforms.cli import options
from pointforms.cli.console import echo, print_table, use_one_thread

if TYPE_CHECKING:
    import numpy as np

    from pointforms.estimators import PointFormClassifier
    from pointforms.tasks import Task


def explain(
    model: Annotated[
        Path, typer.Argument(metavar="MODEL", help="Folder that a classifier's `save` has written.")
    ],
    data: Annotated[str, typer.Argument(metavar="DATA", help="Name of a task, or a file.")],
    refits: Annotated[
        int,
        typer.Option(
            min=0,
            help="Number of refits evaluated on held-out clouds; 0 skips refitting and p-values.",
        ),
    ] = 4,
    permutations: Annotated[
        int, typer.Option(min=1, help="Number of permutations of the labels, for p-values.")
    ] = 500,
    most: Annotated[int, typer.Option(min=1, help="Largest number of basis forms to print.")] = 20,
    out: Annotated[
        Path | None, typer.Option(help="Picture to write: .png, .svg or .pdf (default: none).")
    ] = None,
    table: Annotated[
        Path | None, typer.Option("--csv", help="CSV file for all basis forms (default: none).")
    ] = None,
    seed: options.SEED = 0,
    clouds: options.CLOUDS = None,
    points: options.POINTS = None,
    cloud: options.CLOUD = "cloud",
    label: options.LABEL = "label",
    group: options.GROUP = None,
    features: options.FEATURES = None,
    wide: options.WIDE = False,
) -> None:
    """Print which features, or pairs of features, a classifier's forms use.

    share: part of the energy of the forms. difference: part of the variation between clouds that
    lies between the classes, in refits of the model, on clouds they have not seen. p: how often
    chance makes any difference as large. decision: part of the logit that passes through it.
    agreement: share of the refits that rank it in their first tenth.
    """
    from pointforms import plot
    from pointforms.plot.style import picture_path
    from pointforms.support.files import check_output, write_text
    from pointforms.tasks import find

    use_one_thread()
    if table is not None:
        check_output(table, Path(data))
    if out is not None:
        picture_path(out)
    classifier = _load_classifier(model)
    task = find(
        data,
        seed,
        clouds,
        points,
        cloud=cloud,
        label=label,
        group=group,
        features=options.column_names(features),
    )
    _check_match(classifier, task)
    echo(f"features: {', '.join(task.feature_names)}")
    y = _labels(classifier, task)
    salience = classifier.explain(
        task.clouds, y, task.groups, task.feature_names, refits, permutations, seed
    )
    if salience.columns and y is task.labels:  # numbers, which index the names
        salience = replace(salience, columns=tuple(task.class_names))
    shown = salience.table()
    print_table(replace(shown, rows=shown.rows[:most], notes=()), wide)
    if len(salience) > most:
        echo(f"… and {len(salience) - most} more (--most)")
    echo(salience.summary())
    if table is not None:
        write_text(table, shown.csv())
        echo(f"Table: {table.resolve()}")
    if out is not None:
        plot.salience(salience, most, path=out)
        echo(f"Picture: {out.resolve()}")


def _load_classifier(folder: Path) -> PointFormClassifier:
    from pointforms.estimators import PointFormClassifier, load

    classifier = load(folder)
    if not isinstance(classifier, PointFormClassifier):
        raise TypeError(f"{str(folder)!r} holds a {type(classifier).__name__}, not a classifier")
    classifier.set_params(progress=True)
    return classifier


def _check_match(classifier: PointFormClassifier, task: Task) -> None:
    """Raise an error if the classifier cannot have been fitted on clouds like the task's."""
    if task.by_fold:
        raise ValueError(
            f"the coordinates of {task.name} are fitted in every fold, so that no single model "
            "fits all clouds: explain in Python, with task.in_fold(0)"
        )
    if len(task.feature_names) != classifier.n_features_in_:
        raise ValueError(
            f"{task.name} has {len(task.feature_names)} features, the model was fitted with "
            f"{classifier.n_features_in_}; --features chooses columns of a file, in the order "
            "in which the model was given them"
        )


def _labels(classifier: PointFormClassifier, task: Task) -> np.ndarray:
    """Return the task's labels as the classifier knows them: numbers, or names of classes."""
    import numpy as np

    known = {str(value): value for value in classifier.classes_.tolist()}
    if set(known) == set(task.class_names):
        return np.array([known[task.class_names[label]] for label in task.labels])
    return task.labels
