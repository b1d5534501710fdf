"""Views of models that a store has fits of: the fit is made again, and looked at."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from math import isfinite
from pathlib import Path
from typing import Any

import numpy as np

from pointforms import models
from pointforms.bench.page.configuration import options_text
from pointforms.bench.page.content import origin
from pointforms.bench.page.views import (
    ArrowField,
    ExampleCloud,
    ModelView,
    Places,
    SalienceRow,
    SignedArea,
)
from pointforms.bench.records import Record, Size
from pointforms.bench.selection import select
from pointforms.estimators import PointFormClassifier, auroc
from pointforms.estimators.targets import ClassTargets
from pointforms.estimators.trainer import class_probabilities
from pointforms.explain.energy import prediction_split
from pointforms.explain.salience import Salience
from pointforms.geometry.field import GramField
from pointforms.plot.form_data import area_map_data, comparison_pca_data, form_field_data
from pointforms.plot.planes import Plane, look
from pointforms.tasks.catalogue import content_digest, depends_on_fold, find
from pointforms.tasks.task import Task

# Without being asked: so many tasks, whose fits took at most so many seconds.
_MOST_TASKS, _QUICK = 2, 10.0
_PLANAR = (
    "circles-vs-lines", "concentric-circles", "parallel-lines", "colocated", "density-shift",
    "density-check",
)  # fmt: skip
_GRID, _AREA_GRID = 17, 25
_MOST_EXAMPLES, _MOST_ROWS = 6, 200
_REFITS, _PERMUTATIONS = 2, 500


@dataclass(frozen=True, eq=False)
class Refit:
    """A stored fit, made again.

    Attributes
    ----------
    clouds : all of the task, in the coordinates of the fold
    fields : their Gram fields
    test : indices of the clouds that the fit has not seen
    auroc : on those
    """

    record: Record
    estimator: PointFormClassifier
    task: Task
    clouds: list[np.ndarray]
    fields: list[GramField]
    test: np.ndarray
    auroc: float


def choices(records: Sequence[Record], wanted: Sequence[str] = ()) -> list[Record]:
    """The fits to look at: of each task the selected point-form, its first fold and seed.

    Parameters
    ----------
    wanted : tasks, by name or file name; without them at most two that are quick to fit, planar
        ones first
    """
    first: dict[Size, Record] = {}
    for record in select(records):
        first.setdefault(record.row.size, record)
    if not wanted:
        quick = [one for one in first.values() if not one.seconds > _QUICK]
        quick.sort(key=lambda one: (one.row.task not in _PLANAR, one.seconds, one.row.key))
        return quick[:_MOST_TASKS]
    found = []
    for name in dict.fromkeys(wanted):
        own = [one for size, one in first.items() if name in _names(size)]
        if not own:
            there = ", ".join(size.title for size in first) or "none"
            raise ValueError(f"no selected point-form of {name!r} in the store: there are {there}")
        found += own
    return found


def _names(size: Size) -> set[str]:
    """What a task may be called."""
    return {size.task, Path(size.task).name, size.title}


def refit(record: Record) -> Refit:
    """Train the network of a stored fit again, with the same fold, seed and settings."""
    row = record.row
    if row.digest != replace(row, settings=None).digest:
        raise ValueError(f"{row.title} was fitted with other defaults: it cannot be fitted again")
    if row.content is not None and row.content != content_digest(row.task):
        raise ValueError(f"{Path(row.task).name} has changed since it was fitted")
    task = find(row.task, row.task_seed, row.clouds, row.points)
    clouds = task.in_fold(record.fold) if depends_on_fold(row.task) else task.clouds
    options = {k: tuple(v) if isinstance(v, list) else v for k, v in row.options.items()}
    model = models.make(row.model, random_state=record.seed, **options)
    if not isinstance(model, PointFormClassifier):
        raise ValueError(
            f"{row.model} is not a point-form model: expected a model with learned forms"
        )
    fields = model.prepare(clouds)
    store = model.make_store(fields)
    targets = ClassTargets(np.arange(len(task.class_names)), task.labels, model.class_weight)
    in_fold = task.folds == record.fold
    part = (np.flatnonzero(~in_fold), record.seed)
    [fitted] = model.train_networks(store, targets, [part], task.groups)
    model.keep(fitted)
    model.classes_, model.dimension_ = targets.classes, fields[0].dimension
    area = auroc(task.labels[in_fold], class_probabilities(fitted.model, store)[in_fold])
    return Refit(record, model, task, clouds, fields, np.flatnonzero(in_fold), area)


def model_view(record: Record) -> ModelView:
    """Fit a record's model again, and look at it."""
    found = refit(record)
    task, model = found.task, found.estimator
    plane = look(found.clouds, features=task.feature_names)
    matrices = model.comparison_matrices(found.fields)
    shares = _energy_shares(matrices)
    told = model.explain(
        found.fields,
        task.labels,
        task.groups,
        task.feature_names,
        refits=_REFITS,
        permutations=_PERMUTATIONS,
    )
    fields, areas, area_axes = _forms(found, shares, told)
    return ModelView(
        task=record.row.size.title,
        model=record.row.title,
        origin=origin(record.row.size),
        settings=_settings(found),
        notes=_notes(found),
        classes=tuple(task.class_names),
        axes=plane.axes,
        extent=plane.extent,
        data=plane.view,
        fields=fields,
        areas=areas,
        area_axes=area_axes,
        places=_places(found, matrices),
        salience=_salience_rows(told),
        salience_chance=told.chance,
        salience_notes=(f"{told.summary()}.",),
        examples=_examples(found, plane),
    )


def _energy_shares(matrices: np.ndarray) -> np.ndarray:
    """Each form's part of the mean trace of the comparison matrices: (l,)."""
    energy: np.ndarray = np.einsum("naa->a", matrices) / len(matrices)
    total = float(energy.sum())
    return energy / total if total > 0 else energy


def _salience_rows(told: Salience) -> tuple[SalienceRow, ...]:
    return tuple(
        SalienceRow(
            row["form"],
            row["degree"],
            row["share"],
            row["difference"],
            row["p"],
            row["decision"],
            row["agreement"],
        )
        for row in told.rows()[:_MOST_ROWS]
    )


def _forms(
    found: Refit, shares: np.ndarray, told: Salience
) -> tuple[tuple[ArrowField, ...], tuple[SignedArea, ...], tuple[str, str]]:
    """Learned forms in a plane, those of the most energy first; 2-forms on their first pair."""
    order = [int(a) for a in np.argsort(-shares, kind="stable")]
    names = [f"Form {a + 1}, {shares[a]:.0%} of the energy" for a in order]
    model, features = found.estimator, found.task.feature_names
    if model.degree == 1:
        data = form_field_data(model, found.clouds, grid=_GRID, forms=order, features=features)
        arrows = data.arrows()
        return (
            tuple(ArrowField(name, data.points, arrows[:, i]) for i, name in enumerate(names)),
            (),
            data.axes,
        )
    if model.degree == 2:
        area = area_map_data(
            model,
            found.clouds,
            told.indices[told.order()[0]],
            grid=_AREA_GRID,
            forms=order,
            features=features,
        )
        x, y = area.centres()
        return (
            (),
            tuple(
                SignedArea(name, x, y, area.values[i], area.limit(i))
                for i, name in enumerate(names)
            ),
            area.axes,
        )
    return (), (), ("", "")


def _places(found: Refit, matrices: np.ndarray) -> Places:
    pca = comparison_pca_data(matrices)
    unseen = set(found.test.tolist())
    names = tuple(
        f"cloud {i}, {'test' if i in unseen else 'training'}" for i in range(len(found.clouds))
    )
    return Places(pca.coordinates, found.task.labels, names, pca.axis_names())


def _examples(found: Refit, plane: Plane) -> tuple[ExampleCloud, ...]:
    """Of each class the test cloud whose score is the median: neither the best nor the worst."""
    test = [found.fields[i] for i in found.test]
    seen = set(found.test.tolist())
    training = [field for i, field in enumerate(found.fields) if i not in seen]
    split = prediction_split(found.estimator, test, reference=training)
    probabilities = found.estimator.predict_proba(test)
    labels = found.task.labels[found.test]
    examples = []
    for label, name in list(enumerate(found.task.class_names))[:_MOST_EXAMPLES]:
        own = np.flatnonzero(labels == label)
        if not len(own):
            continue
        i = int(own[np.argsort(split.output[own, label], kind="stable")[len(own) // 2]])
        examples.append(
            ExampleCloud(
                f"{name}: cloud {found.test[i]}, probability {probabilities[i, label]:.2f}",
                plane.project(found.clouds[found.test[i]]),
                split.points[i][:, label],
            )
        )
    return tuple(examples)


def _settings(found: Refit) -> tuple[tuple[str, str], ...]:
    """All options of the estimator, so that nothing hides in a default."""
    options: dict[str, Any] = found.estimator.get_params(deep=False)
    told = [("fold", str(found.record.fold)), ("seed", str(found.record.seed))]
    hidden = ("random_state", "device", "n_jobs", "progress", "cache")
    return (*told, *((k, str(v)) for k, v in options.items() if k not in hidden))


def _notes(found: Refit) -> tuple[str, ...]:
    record = found.record
    options = options_text(record.row.options)
    what = f"The selected point-form of fold {record.fold}, seed {record.seed}"
    what += f" ({options})" if options else ""
    told = [f"{what}, fitted again when this page was made."]
    if isfinite(record.auroc) and isfinite(found.auroc):
        same = abs(record.auroc - found.auroc) < 5e-4
        told.append(
            f"Its AUROC on the test clouds is {found.auroc:.3f}, as stored."
            if same
            else f"Its AUROC on the test clouds is {found.auroc:.3f}; the store has "
            f"{record.auroc:.3f}, from another machine or version."
        )
    return tuple(told)
