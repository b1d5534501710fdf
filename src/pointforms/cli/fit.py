"""`npf fit`: fit one model on all clouds of a file, and save it."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from pointforms.cli import options
from pointforms.cli.console import echo, print_summary, use_one_thread
from pointforms.cli.file_options import FileArguments, takes_file_options

if TYPE_CHECKING:
    from pointforms.tasks import Task

_SCORES = {"auroc": "AUROC", "r2": "R²", "rmse": "RMSE (standard deviations)"}


@takes_file_options
def fit(
    data: options.TASK,
    out: Annotated[
        Path,
        typer.Option(help="Folder for the model: an empty one, a new one, or that of a model."),
    ],
    model: Annotated[
        str | None,
        typer.Option(
            help="Model to fit: one that `npf models` lists, cloud-regressor or npf-regressor "
            "(default: cloud-classifier, or cloud-regressor if the label holds numbers)."
        ),
    ] = None,
    settings: options.SETTINGS = None,
    seed: Annotated[int, typer.Option(min=0, help="Seed of the fit.")] = 0,
    clouds: options.CLOUDS = None,
    points: options.POINTS = None,
    *,
    file: FileArguments,
) -> None:
    """Fit a model on all clouds of a file or task, and save it.

    What was understood of the file is printed first; columns that look like a leak are refused.
    The model is saved with the names of its features, their scaling, and where it comes from: the
    name of the file, a hash of its content, and the options by which it was read, which `npf
    predict` and `npf explain` use again. The score that is printed is out of fold: of predictions
    for clouds by models that were not trained on them.
    """
    from pointforms.clouds import Clouds
    from pointforms.estimators.saving import check_target, save
    from pointforms.tasks import find

    use_one_thread()
    check_target(out)
    task = find(data, seed, clouds, points, options=file.for_task())
    if task.summary is not None:
        print_summary(Path(data).name, task.summary)
    if task.by_fold:
        raise ValueError(
            f"the coordinates of {task.name} are fitted in every fold, so that no single model "
            "fits all clouds"
        )
    name = model or ("cloud-regressor" if task.regression else "cloud-classifier")
    estimator = _made(name, task, seed, options.parse_settings(settings or []))
    alone = len(set(task.groups.tolist())) == len(task)
    named = Clouds.from_list(task.clouds, task.ids, task.feature_names)
    groups = None if alone else task.groups
    estimator.fit(named, _targets(task), groups, **_beside(task))
    for line in _scores(estimator):
        echo(line)
    save(estimator, out, _provenance(data, name, task, seed, file))
    echo(f"Model: {out.resolve()}")


def _made(name: str, task: Task, seed: int, settings: dict[str, Any]) -> Any:
    """Return the model, not fitted; raise an error if it does not suit the task."""
    from pointforms.models import REGRESSORS, make, make_regressor

    if task.regression and name not in REGRESSORS:
        raise ValueError(
            f"--model {name}: the label holds numbers, and this is no regressor; expected "
            f"{' or '.join(REGRESSORS)}, or --task classification"
        )
    if name in REGRESSORS and not task.regression:
        raise ValueError(
            f"--model {name}: the label holds classes; --task regression reads it as numbers"
        )
    maker = make_regressor if task.regression else make
    estimator = maker(name, random_state=seed, **settings)
    known = estimator.get_params(deep=False)
    if "progress" in known and "progress" not in settings:
        estimator.set_params(progress=True)
    return estimator


def _targets(task: Task) -> Any:
    import numpy as np

    return task.labels if task.regression else np.array(task.class_names)[task.labels]


def _beside(task: Task) -> dict[str, Any]:
    given = {"covariates": task.covariates, "batch": task.batch}
    return {name: value for name, value in given.items() if value is not None}


def _scores(estimator: Any) -> list[str]:
    """Say how well clouds are predicted that models were not trained on."""
    found = getattr(estimator, "oof_scores_", None)
    if found is None:
        return [
            f"A {type(estimator).__name__} has no out-of-fold score: `npf run` tests it on folds."
        ]
    shown = [f"{_SCORES.get(k, k.replace('_', ' '))} {value:.3f}" for k, value in found.items()]
    return [f"Out of fold: {', '.join(shown)}"]


def _provenance(data: str, name: str, task: Task, seed: int, file: FileArguments) -> Any:
    from pointforms.estimators import Provenance
    from pointforms.tasks.catalogue import content_digest

    reading = file.options().differing()
    return Provenance(
        task.name if task.summary is None else Path(data).name,
        content_digest(data, reading.pop("samples", None)),
        reading,
        seed,
        len(task),
        name,
    )
