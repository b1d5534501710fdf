"""`npf explain`: what a saved model relies on."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from pointforms.cli import options
from pointforms.cli.console import echo, print_summary, print_table, use_one_thread
from pointforms.cli.file_options import FileArguments, takes_file_options

if TYPE_CHECKING:
    import numpy as np

    from pointforms.clouds import Clouds
    from pointforms.explain.importance_table import Importance
    from pointforms.tasks import Task


@takes_file_options
def explain(
    model: Annotated[
        Path,
        typer.Argument(
            metavar="MODEL", help="Folder that `npf fit` or a model's `save` has written."
        ),
    ],
    data: Annotated[str, typer.Argument(metavar="DATA", help="Name of a task, or a file.")],
    pairs: Annotated[
        bool,
        typer.Option(
            "--pairs/--no-pairs", help="Measure pairs of the ten most important features."
        ),
    ] = True,
    new: Annotated[
        bool, typer.Option("--new", help="The model was trained on none of these clouds.")
    ] = False,
    repeats: Annotated[
        int | None,
        typer.Option(
            min=1,
            help="Number of perturbed versions of each cloud (default: by the number of clouds).",
        ),
    ] = None,
    split: Annotated[
        bool,
        typer.Option(
            "--split",
            help="Describe the forms of a point-form classifier instead: their split over basis "
            "forms.",
        ),
    ] = False,
    refits: Annotated[
        int,
        typer.Option(
            min=0,
            help="With --split: number of refits evaluated on held-out clouds; 0 skips refitting "
            "and p-values.",
        ),
    ] = 4,
    permutations: Annotated[
        int, typer.Option(min=1, help="With --split: number of permutations of the labels.")
    ] = 500,
    most: Annotated[int, typer.Option(min=1, help="Largest number of rows to print.")] = 20,
    out: Annotated[
        Path | None, typer.Option(help="Picture to write: .png, .svg or .pdf (default: none).")
    ] = None,
    table: Annotated[
        Path | None, typer.Option("--csv", help="CSV file for all rows (default: none).")
    ] = None,
    seed: options.SEED = 0,
    clouds: options.CLOUDS = None,
    points: options.POINTS = None,
    wide: options.WIDE = False,
    *,
    file: FileArguments,
) -> None:
    """Print which features the predictions of a model rely on.

    Each feature of a cloud is perturbed in two ways: its values are replaced by those of another
    cloud, rank by rank (distribution), or shuffled inside the cloud (covariation). importance: mean
    increase of the log loss, or of the square error of a regressor, on clouds that the model has
    not seen. p: family-wise p-value. A file is read as that of `npf fit` was, unless options say
    otherwise.
    """
    from pointforms import plot
    from pointforms.cli.saved_models import options_for, provenance_of
    from pointforms.explain import basis_split
    from pointforms.plot.style import picture_path
    from pointforms.support.files import check_output, write_text
    from pointforms.tasks import find, names

    use_one_thread()
    if table is not None:
        check_output(table, Path(data))
    if out is not None:
        picture_path(out)
    classifier = _load_model(model, split)
    provenance = provenance_of(model)
    is_file = data not in names(prepared=True)
    how = options_for(classifier, provenance, file, data) if is_file else file.for_task()
    task = find(data, seed, clouds, points, options=how)
    if task.summary is not None:
        print_summary(Path(data).name, task.summary)
    _check_match(classifier, task)
    ordered = _in_order(classifier, task)
    echo(f"features: {', '.join(ordered.feature_names)}")
    beside = {"covariates": task.covariates, "batch": task.batch}
    y = _labels(classifier, task)
    found: Any
    draw: Any
    if split:
        found, draw = (
            basis_split(
                classifier,
                ordered,
                y,
                task.groups,
                ordered.feature_names,
                refits,
                permutations,
                seed,
            ),
            plot.basis_split,
        )
        if found.columns and y is task.labels:  # numbers, which index the names
            found = replace(found, columns=tuple(task.class_names))
    else:
        found, draw = (
            _importance(classifier, ordered, y, task.groups, seed, pairs, new, repeats, beside),
            plot.importance,
        )
    shown = found.table()
    print_table(replace(shown, rows=shown.rows[:most], notes=()), wide)
    if len(found) > most:
        echo(f"… and {len(found) - most} more (--most)")
    for note in shown.notes:
        echo(note)
    if table is not None:
        write_text(table, shown.csv())
        echo(f"Table: {table.resolve()}")
    if out is not None:
        draw(found, most, path=out)
        echo(f"Picture: {out.resolve()}")


def _load_model(folder: Path, split: bool) -> Any:
    from sklearn.base import is_classifier, is_regressor

    from pointforms.estimators import PointFormClassifier, load

    classifier = load(folder)
    if not is_classifier(classifier) and not is_regressor(classifier):
        raise TypeError(
            f"{str(folder)!r} holds a {type(classifier).__name__}, not a classifier or regressor"
        )
    if split and not isinstance(classifier, PointFormClassifier):
        raise TypeError(
            f"{str(folder)!r} holds a {type(classifier).__name__}: --split describes a "
            "PointFormClassifier"
        )
    return classifier


def _check_match(classifier: Any, task: Task) -> None:
    """Raise an error if the model cannot have been fitted on clouds like the task's."""
    from sklearn.base import is_classifier

    if task.by_fold:
        raise ValueError(
            f"the coordinates of {task.name} are fitted in every fold, so that no single model "
            "fits all clouds: explain in Python, with task.in_fold(0)"
        )
    if task.regression == is_classifier(classifier):
        holds = "numbers" if task.regression else "classes"
        raise ValueError(
            f"the label of {task.name} holds {holds}, and the model is a "
            f"{type(classifier).__name__}: --task says what it is, --label chooses another"
        )
    if len(task.feature_names) != classifier.n_features_in_:
        raise ValueError(
            f"{task.name} has {len(task.feature_names)} features, the model was fitted with "
            f"{classifier.n_features_in_}; --features chooses columns of a file, by the "
            "names that the model was given, or in the order in which it was given them"
        )


def _in_order(classifier: Any, task: Task) -> Clouds:
    """Return the clouds with their features in the order of `fit`, if both have names."""
    from pointforms.clouds import Clouds, cloud_list

    named = Clouds.from_list(task.clouds, task.ids, task.feature_names)
    ordered: Clouds = classifier._by_name(cloud_list(named))
    return ordered


def _importance(
    classifier: Any,
    clouds: Clouds,
    y: np.ndarray,
    groups: np.ndarray,
    seed: int,
    pairs: bool,
    new: bool,
    repeats: int | None,
    beside: dict[str, Any],
) -> Importance:
    alone = len(set(groups.tolist())) == len(groups)
    if "progress" in classifier.get_params(deep=False):
        classifier.set_params(progress=False)  # one bar for all features, none for each prediction
    try:
        found: Importance = classifier.explain(
            clouds,
            y,
            None if alone else groups,  # the groups of fit, if the file has none
            seed,
            feature_names=clouds.feature_names,
            pairs="top" if pairs else None,
            new=new,
            repeats=repeats,
            progress=True,
            **beside,
        )
    except ValueError as error:  # the option as it is called here
        raise ValueError(str(error).replace("new=True", "--new")) from error
    return found


def _labels(classifier: Any, task: Task) -> np.ndarray:
    """Return the task's labels as the classifier knows them: numbers, or names of classes."""
    import numpy as np

    if task.regression:
        return task.labels
    known = {str(value): value for value in classifier.classes_.tolist()}
    if set(known) == set(task.class_names):
        return np.array([known[task.class_names[label]] for label in task.labels])
    return task.labels
