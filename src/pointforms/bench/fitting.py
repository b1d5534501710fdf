"""From a unit to its records: prepare what many units share, then train and score the fits."""

from __future__ import annotations

import inspect
import json
import time
import traceback
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from pointforms import models
from pointforms._version import __version__
from pointforms.bench.records import Record, Row, Unit
from pointforms.estimators import PointFormClassifier, scores
from pointforms.estimators.convergence import never_improved, warn_if_never_improved
from pointforms.estimators.fits import Fitted
from pointforms.estimators.network_classifier import NetworkClassifier
from pointforms.estimators.prediction import class_probabilities
from pointforms.estimators.targets import ClassTargets
from pointforms.models.options import option_names
from pointforms.support.peak_memory import peak, reset_peak
from pointforms.tasks.catalogue import depends_on_fold
from pointforms.tasks.task import Task

# Options that change how a network is trained, but not what it reads.
_TRAINING = {
    "epochs", "batch_size", "learning_rate", "weight_decay", "validation_fraction", "patience",
    "points_per_epoch", "class_weight", "forms", "hidden", "head", "terms", "members",
    "sees",
}  # fmt: skip

# Models and tasks that this process has warned of.
_warned: set[str] = set()


@dataclass(frozen=True, eq=False)
class PreparedTask:
    """A task whose clouds are in the form that a model reads.

    Attributes
    ----------
    content : dict or list
        The store of a network by fold, of which most folds share one, or a list of clouds or Gram
        fields.
    labels : ndarray of int, shape (N,)
        The class of each cloud.
    groups : ndarray, shape (N,)
        Clouds of one group stay on one side of a validation split.
    folds : ndarray of int, shape (N,)
        The fold of each cloud.
    classes : int
        Number of classes of the task, of which a fold may lack some.
    covariates : dict of ndarray, shape (N,), or None
        Covariates of the clouds.
    batch : ndarray, shape (N,), or None
        Batches of the clouds.
    """

    content: Any
    labels: np.ndarray
    groups: np.ndarray
    folds: np.ndarray
    classes: int
    covariates: dict[str, np.ndarray] | None = None
    batch: np.ndarray | None = None

    def beside(self, index: np.ndarray) -> dict[str, Any]:
        """Return the covariates and batches of some clouds, as arguments of `fit`."""
        given: dict[str, Any] = {}
        if self.covariates is not None:
            given["covariates"] = {name: v[index] for name, v in self.covariates.items()}
        if self.batch is not None:
            given["batch"] = self.batch[index]
        return given


def preparation(unit: Unit) -> str:
    """Return a key that is equal for units that can share what :func:`prepare` returns."""
    row = unit.row
    model = make_model(row)
    options = {k: v for k, v in row.options.items() if k not in _TRAINING}
    reads: Any
    if isinstance(model, models.NeuralClassifier):
        kind = model.network if model.reads == "pyramid" else model.reads
        reads = kind if kind == "points" else [kind, model.neighbors]
        options.pop("neighbors", None)  # it is in `reads`, also where it is the default
    elif isinstance(model, PointFormClassifier):
        reads = ["fields", model.degree]
    elif "neighbors" not in option_names(row.model):  # summaries of the clouds as they are
        reads = "clouds"
    else:
        reads = row.model
    return json.dumps([row.size, own_fold(unit), reads, options], sort_keys=True)


def own_fold(unit: Unit) -> int | None:
    """Return the fold in whose coordinates a unit sees its clouds; None if all folds share them."""
    if not depends_on_fold(unit.row.task):
        return None
    folds = {fold for fold, _ in unit.fits}
    if len(folds) > 1:
        raise ValueError(
            f"{unit.row.task} has its own coordinates in each fold: expected a unit of one fold, "
            f"got folds {sorted(folds)}"
        )
    return folds.pop()


def load_clouds(unit: Unit) -> tuple[Task, list[np.ndarray]]:
    """Return the task of a unit, and its clouds in the coordinates that the unit sees."""
    row, fold = unit.row, own_fold(unit)
    task = row.size.load()
    return task, task.clouds if fold is None else task.in_fold(fold)


def prepare(unit: Unit, cache: Path | None = None, device: str = "cpu") -> PreparedTask:
    """Load the task of a unit and compute what its model reads.

    Parameters
    ----------
    unit : Unit
        Fits of one row.
    cache : Path or None, default None
        A folder that keeps Gram fields, for units with other options too.
    device : str, default "cpu"
        Where the tensors are kept.
    """
    task, clouds = load_clouds(unit)
    model = make_model(unit.row, device)
    if cache is not None and "cache" in model.get_params(deep=False):
        model.set_params(cache=cache)
    content: Any = model.prepare(clouds)
    if isinstance(model, NetworkClassifier):
        own = own_fold(unit)
        folds = np.unique(task.folds).tolist() if own is None else [own]
        stores = model.make_stores(content, [np.flatnonzero(task.folds != fold) for fold in folds])
        content = dict(zip(folds, stores, strict=True))
    return PreparedTask(
        content,
        task.labels,
        task.groups,
        task.folds,
        len(task.class_names),
        task.covariates,
        task.batch,
    )


def fit_unit(unit: Unit, prepared: PreparedTask, device: str = "cpu") -> list[Record]:
    """Train and score the fits of a unit; an exception becomes the error of their records."""
    reset_peak()
    try:
        model = make_model(unit.row, device)
        if isinstance(model, NetworkClassifier):
            records = _network_fits(unit, model, prepared)
        else:
            records = [_feature_fit(unit.row, *fit, prepared) for fit in unit.fits]
    except Exception:
        return failed(unit, traceback.format_exc())
    memory = peak()
    return [replace(record, memory=memory) for record in records]


def failed(unit: Unit, error: str) -> list[Record]:
    """Return the records of fits that failed."""
    return [
        Record(unit.row, fold, seed, error=error, version=__version__) for fold, seed in unit.fits
    ]


def make_model(row: Row, device: str = "cpu", **more: Any) -> Any:
    """Return the model of a row, not fitted."""
    options = {k: tuple(v) if isinstance(v, list) else v for k, v in row.options.items()}
    model = models.make(row.model, **options, **more)
    if device != "cpu" and isinstance(model, NetworkClassifier):
        model.set_params(device=device)
    return model


def takes_beside(model: str) -> bool:
    """Whether a model is compared with covariates and batches, and not on clouds alone."""
    made = models.make(model)
    reads = "covariates" in inspect.signature(made.fit).parameters
    return reads and not isinstance(made, NetworkClassifier)


def _network_fits(unit: Unit, model: NetworkClassifier, prepared: PreparedTask) -> list[Record]:
    start = time.perf_counter()
    stores = [prepared.content[fold] for fold, _ in unit.fits]
    targets = ClassTargets(np.arange(prepared.classes), prepared.labels, model.class_weight)
    parts = [(np.flatnonzero(prepared.folds != fold), seed) for fold, seed in unit.fits]
    trained = model.train_parts(stores, targets, parts, prepared.groups)
    predicted = [
        class_probabilities(fitted.model, store)
        for fitted, store in zip(trained, stores, strict=True)
    ]
    seconds = (time.perf_counter() - start) / len(parts)
    _warn_once(unit.row, prepared, trained)
    return [
        replace(
            _record(unit.row, fold, seed, prepared, probabilities[prepared.folds == fold]),
            validation_loss=fitted.history[fitted.best_epoch]["validation"],
            parameters=sum(p.numel() for p in fitted.model.parameters()),
            seconds=seconds,
            epochs=len(fitted.history),
        )
        for (fold, seed), fitted, probabilities in zip(unit.fits, trained, predicted, strict=True)
    ]


def _warn_once(row: Row, prepared: PreparedTask, trained: list[Fitted]) -> None:
    """Warn of fits that never improved, once per model and task: a sweep may have thousands."""
    subject = f"{row.model} on {row.task}"
    if subject not in _warned and any(map(never_improved, trained)):
        _warned.add(subject)
        grouped = len(np.unique(prepared.groups)) < len(prepared.groups)
        warn_if_never_improved(trained, grouped, subject)


def _feature_fit(row: Row, fold: int, seed: int, prepared: PreparedTask) -> Record:
    start = time.perf_counter()
    train, test = np.flatnonzero(prepared.folds != fold), np.flatnonzero(prepared.folds == fold)
    model = make_model(row, random_state=seed)
    labels, groups = prepared.labels[train], prepared.groups[train]
    model.fit(_chosen(prepared.content, train), labels, groups, **prepared.beside(train))
    probabilities = np.zeros((len(test), prepared.classes))
    # a class may be absent from the training clouds
    probabilities[:, model.classes_] = model.predict_proba(
        _chosen(prepared.content, test), **prepared.beside(test)
    )
    return replace(
        _record(row, fold, seed, prepared, probabilities),
        validation_loss=float(getattr(model, "validation_loss_", np.nan)),
        seconds=time.perf_counter() - start,
    )


def _chosen(clouds: Sequence[Any], index: np.ndarray) -> list[Any]:
    return [clouds[i] for i in index]


def _record(
    row: Row, fold: int, seed: int, prepared: PreparedTask, probabilities: np.ndarray
) -> Record:
    test = np.flatnonzero(prepared.folds == fold)
    metrics: dict[str, Any] = dict(scores(prepared.labels[test], probabilities))
    return Record(
        row,
        fold,
        seed,
        **metrics,
        train_size=len(prepared.folds) - len(test),
        test_size=len(test),
        clouds=test,
        probabilities=probabilities,
        version=__version__,
    )
