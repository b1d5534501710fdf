"""Fitted models on the page: a stored fit is made again, and what it learned is drawn."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from math import isfinite
from pathlib import Path
from typing import Any

import numpy as np

from pointforms import plot
from pointforms.bench.fitting import load_clouds, make_model
from pointforms.bench.page.configuration import options_text
from pointforms.bench.page.content import origin
from pointforms.bench.page.sections import Article, Part, Picture, Section
from pointforms.bench.records import Record, Size, Unit
from pointforms.bench.selection import select
from pointforms.bench.task_names import tasks_called
from pointforms.estimators import PointFormClassifier, auroc
from pointforms.estimators.prediction import class_probabilities
from pointforms.estimators.targets import ClassTargets
from pointforms.explain.basis_split import BasisSplit, basis_split
from pointforms.explain.matrix_distances import distances_of_matrices
from pointforms.explain.prediction import prediction_split
from pointforms.geometry.field import GramField
from pointforms.models.options import NOT_OPTIONS
from pointforms.plot.planes import look
from pointforms.plot.style import form_name
from pointforms.tasks.catalogue import content_digest
from pointforms.tasks.task import Task

# Unless tasks are asked for: the number of tasks, and the longest fit in seconds.
_MOST_TASKS, _QUICK = 2, 10.0
_PLANAR = (
    "circles-vs-lines", "concentric-circles", "parallel-lines", "colocated", "density-shift",
    "density-check",
)  # fmt: skip
_MOST_EXAMPLES, _MOST_ROWS = 6, 200
_REFITS, _PERMUTATIONS = 2, 500


@dataclass(frozen=True, eq=False)
class Refit:
    """A stored fit, made again.

    Attributes
    ----------
    record : Record
    estimator : PointFormClassifier
    task : Task
    clouds : list of (n_i, D) arrays
        All clouds of the task, in the coordinates of the fold.
    fields : list of GramField
    unseen : (N,) array of bool
        Which clouds the fit has not seen: those of its test fold.
    auroc : float
        AUROC on those.
    """

    record: Record
    estimator: PointFormClassifier
    task: Task
    clouds: list[np.ndarray]
    fields: list[GramField]
    unseen: np.ndarray
    auroc: float


def choices(records: Sequence[Record], wanted: Sequence[str] = ()) -> list[Record]:
    """Return the fits to show: for each task the first fold and seed of the selected point-form.

    Parameters
    ----------
    records : sequence of Record
    wanted : sequence of str, default ()
        Tasks, by their titles or names; see :func:`~pointforms.bench.task_names.tasks_called`. By
        default at most two that are quick to fit, planar ones first.
    """
    first: dict[Size, Record] = {}
    for record in select(records):
        first.setdefault(record.row.size, record)
    if not wanted:
        quick = [one for one in first.values() if not one.seconds > _QUICK]
        quick.sort(key=lambda one: (one.row.task not in _PLANAR, one.seconds, one.row.key))
        return quick[:_MOST_TASKS]
    chosen = []
    sizes = [record.row.size for record in records]
    for name in dict.fromkeys(wanted):
        own = [first[size] for size in tasks_called(name, sizes) if size in first]
        if not own:
            raise ValueError(
                f"no point-form of {name!r} can be selected from the fits in the store"
            )
        chosen += own
    return chosen


def refit(record: Record) -> Refit:
    """Train the network of a stored fit again, with the same fold, seed and settings."""
    row = record.row
    if row.digest != replace(row, settings=None).digest:
        raise ValueError(f"{row.title} was fitted with other defaults: it cannot be fitted again")
    samples = row.reading.get("samples")
    if row.content is not None and row.content != content_digest(row.task, samples):
        raise ValueError(f"{Path(row.task).name} has changed since it was fitted")
    task, clouds = load_clouds(Unit(row, ((record.fold, record.seed),)))
    model = make_model(row, random_state=record.seed)
    if not isinstance(model, PointFormClassifier):
        raise ValueError(
            f"{row.model} is not a point-form model: expected a model with learned forms"
        )
    targets = ClassTargets(np.arange(len(task.class_names)), task.labels, model.class_weight)
    unseen = task.folds == record.fold
    part = (np.flatnonzero(~unseen), record.seed)
    prepared = model.prepare(clouds)
    model.adapt([prepared[i] for i in part[0]])
    fields = model.prepare(prepared)
    store = model.make_store(fields)
    [fitted] = model.train_networks(store, targets, [part], task.groups)
    model.keep(fitted)
    model.classes_ = targets.classes
    area = auroc(task.labels[unseen], class_probabilities(fitted.model, store)[unseen])
    return Refit(record, model, task, clouds, fields, unseen, area)


def model_article(record: Record) -> Article:
    """Fit a record's model again, and return what it learned as an article of the page."""
    refitted = refit(record)
    task, model = refitted.task, refitted.estimator
    matrices = model.comparison_matrices(refitted.fields)
    table = basis_split(
        model,
        refitted.fields,
        task.labels,
        task.groups,
        task.feature_names,
        refits=_REFITS,
        permutations=_PERMUTATIONS,
    )
    name = f"{record.row.title} on {record.row.size.title}"
    return Article(
        name,
        origin(record.row.size),
        _notes(refitted),
        (
            *_forms(refitted, matrices, table, name),
            _places(refitted, matrices, name),
            _importance(refitted, name),
            _basis_split(table, name),
            _examples(refitted),
        ),
        _settings(refitted),
    )


def models_section(articles: Sequence[Article]) -> Section:
    """Return the section of the page that shows fitted models."""
    return Section("models", "Models", "What the models learned", articles=tuple(articles))


def _forms(refitted: Refit, matrices: np.ndarray, table: BasisSplit, name: str) -> list[Part]:
    """Learned forms in a plane, those with the most energy first."""
    energy = np.einsum("naa->a", matrices) / len(matrices)
    shares = energy / (float(energy.sum()) or 1.0)
    order = [int(a) for a in np.argsort(-shares, kind="stable")]
    titles = [f"{form_name(a)}, {shares[a]:.0%} of energy" for a in order]
    model, task, clouds = refitted.estimator, refitted.task, refitted.clouds
    shown: dict[str, Any] = {
        "forms": order,
        "form_titles": titles,
        "feature_names": task.feature_names,
    }
    if model.degree == 1:
        figure = plot.form_field(model, clouds, task.labels, class_names=task.class_names, **shown)
        text = (
            "Each form as a field of arrows over the points of all clouds (grey). A form measures "
            "motion along its arrows and ignores motion across them."
        )
    elif model.degree == 2:
        figure = plot.area_map(model, clouds, table.top(1)[0].indices, **shown)
        text = (
            "The signed area that each form assigns to a small square in the plane of the two most "
            "different features."
        )
    else:
        return []
    picture = Picture(figure, f"Learned forms of {name}.")
    return [Part(f"Learned {model.degree}-forms", text, (picture,))]


def _places(refitted: Refit, matrices: np.ndarray, name: str) -> Part:
    """Principal components of the comparison matrices, one mark per cloud."""
    task = refitted.task
    tooltips = [
        f"cloud {cloud} ({'test' if new else 'training'})\n{task.class_names[label]}"
        for cloud, label, new in zip(task.ids, task.labels, refitted.unseen, strict=True)
    ]
    picture = Picture(
        plot.comparison_pca(matrices, task.labels, task.class_names, tooltips=tooltips),
        f"Principal components of the comparison matrices of {name}.",
        caption="Principal components of the matrices, one mark per cloud. Point at a mark for the "
        "name of its cloud.",
    )
    blocks = matrices[:, None] if matrices.ndim == 3 else matrices
    distances = distances_of_matrices(list(np.moveaxis(blocks, 1, 0)))
    heat_map = Picture(
        plot.sample_map(
            distances,
            [task.class_names[label] for label in task.labels],
            task.ids,
            color_label="class",
            marked=refitted.unseen,
        ),
        f"Distances between the comparison matrices of {name}.",
        caption="Log-Euclidean distances between the matrices: principal coordinates, and the "
        "distances themselves in the order of average-linkage clustering. Rings mark test clouds, "
        "which the model has not seen.",
    )
    return Part("Clouds by their comparison matrices", pictures=(picture, heat_map))


def _importance(refitted: Refit, name: str) -> Part:
    """What the model relies on, measured on the test clouds, as bars and as a table."""
    numbers, task = np.flatnonzero(refitted.unseen), refitted.task
    table = refitted.estimator.explain(
        [refitted.clouds[i] for i in numbers],
        task.labels[numbers],
        task.groups[numbers],
        feature_names=task.feature_names,
        new=True,
    )
    shown = table.table()
    return Part(
        "What the model relies on",
        pictures=(
            Picture(
                plot.importance(table),
                f"Importance of features for {name}; the table has the numbers.",
                caption="How much the log loss on test clouds grows where a feature has the values "
                "of other clouds (left), or is shuffled inside its cloud (right). Filled bars have "
                "p < 0.05. Point at a bar for its numbers.",
            ),
        ),
        table=replace(shown, rows=shown.rows[:_MOST_ROWS]),
    )


def _basis_split(table: BasisSplit, name: str) -> Part:
    """The split over basis forms as bars, and as a table."""
    shown = table.table()
    return Part(
        "Split over basis forms",
        "A description of the learned forms, not of what the decision relies on: the coefficient "
        "of each basis form is a function of all features.",
        pictures=(
            Picture(
                plot.basis_split(table),
                f"Split over basis forms of {name}; the table has the numbers.",
                caption="How much the classes differ in what each basis form contributes, on "
                "clouds that the refits have not seen, and its part in the decision; at most "
                "twenty. Chance alone reaches the dashed line. Point at a bar for its numbers.",
            ),
        ),
        table=replace(shown, rows=shown.rows[:_MOST_ROWS]),
    )


def _examples(refitted: Refit) -> Part:
    """For each class the test cloud with the median score: neither the best nor the worst."""
    numbers = np.flatnonzero(refitted.unseen)
    test = [refitted.fields[i] for i in numbers]
    training = [refitted.fields[i] for i in np.flatnonzero(~refitted.unseen)]
    split = prediction_split(refitted.estimator, test, reference=training)
    probabilities = refitted.estimator.predict_proba(test)
    task, labels = refitted.task, refitted.task.labels[numbers]
    plane = look(refitted.clouds, feature_names=task.feature_names)
    directions = plane.directions if plane.pair is None else plane.pair
    pictures = []
    for label, name in list(enumerate(task.class_names))[:_MOST_EXAMPLES]:
        own = np.flatnonzero(labels == label)
        if not len(own):
            continue
        i = int(own[np.argsort(split.output[own, label], kind="stable")[len(own) // 2]])
        cloud = int(numbers[i])
        title = f"{name}: cloud {task.ids[cloud]}, probability {probabilities[i, label]:.2f}"
        pictures.append(
            Picture(
                plot.cloud_prediction(
                    refitted.clouds[cloud],
                    split.points[i][:, label],
                    directions,
                    baseline=float(split.baseline[label]),
                    feature_names=task.feature_names,
                    output=f"logit of {name}",
                ),
                f"A cloud of {task.name}: {title}.",
                title,
            )
        )
    return Part(
        "What drove single predictions",
        "The test cloud of each class with the median score. Red points speak for the class, blue "
        "ones against it. The right panel adds their contributions up, in logits.",
        tuple(pictures),
    )


def _settings(refitted: Refit) -> tuple[tuple[str, str], ...]:
    """All options of the estimator, so that nothing hides in a default."""
    options: dict[str, Any] = refitted.estimator.get_params(deep=False)
    return (
        ("fold", str(refitted.record.fold)),
        ("seed", str(refitted.record.seed)),
        *((name, str(value)) for name, value in options.items() if name not in NOT_OPTIONS),
    )


def _notes(refitted: Refit) -> tuple[str, ...]:
    record = refitted.record
    options = options_text(record.row.options)
    what = f"The selected point-form of fold {record.fold}, seed {record.seed}"
    what += f" ({options})" if options else ""
    notes = [f"{what}, fitted again when this page was made."]
    if isfinite(record.auroc) and isfinite(refitted.auroc):
        same = abs(record.auroc - refitted.auroc) < 5e-4
        notes.append(
            f"Its AUROC on the test clouds is {refitted.auroc:.3f}, as stored."
            if same
            else f"Its AUROC on the test clouds is {refitted.auroc:.3f}; the store has "
            f"{record.auroc:.3f}, from another machine or version."
        )
    return tuple(notes)
