"""From a unit to its records: what is computed once for many units, and the fits themselves."""

from __future__ import annotations

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
from pointforms.estimators.network_estimator import NetworkClassifier
from pointforms.estimators.targets import ClassTargets
from pointforms.estimators.trainer import class_probabilities
from pointforms.models.options import option_names
from pointforms.support.peak_memory import peak, reset_peak
from pointforms.tasks.catalogue import depends_on_fold, find

# Options that change the training of a network, not what it reads.
_TRAINING = {
    "epochs", "batch_size", "learning_rate", "weight_decay", "validation_fraction", "patience",
    "points_per_epoch", "class_weight", "forms", "hidden", "head", "terms",
}  # fmt: skip


@dataclass(frozen=True, eq=False)
class Prepared:
    """A task, and its clouds as a model reads them.

    Attributes
    ----------
    content : the store of batches of a network, or a list of clouds or Gram fields
    labels, groups, folds : (N,)
    classes, features : how many
    """

    content: Any
    labels: np.ndarray
    groups: np.ndarray
    folds: np.ndarray
    classes: int
    features: int


def preparation(unit: Unit) -> str:
    """Units of equal preparation read the same: a task, and how its clouds become tensors."""
    row = unit.row
    model = _make(row)
    options = {k: v for k, v in row.options.items() if k not in _TRAINING}
    reads: Any
    if isinstance(model, models.NeuralClassifier):
        kind = model.network if model.reads == "pyramid" else model.reads
        reads = kind if kind == "points" else [kind, model.neighbors]
        options.pop("neighbors", None)  # models differ in what is usual
    elif isinstance(model, PointFormClassifier):
        reads = ["fields", model.degree]
    elif "neighbors" not in option_names(row.model):  # summaries of the clouds as they are
        reads = "clouds"
    else:
        reads = row.model
    return json.dumps([row.size, own_fold(unit), reads, options], sort_keys=True)


def own_fold(unit: Unit) -> int | None:
    """The fold in whose coordinates a unit sees its clouds; None where all folds share theirs."""
    if not depends_on_fold(unit.row.task):
        return None
    folds = {fold for fold, _ in unit.fits}
    if len(folds) > 1:
        raise ValueError(f"{unit.row.task} has coordinates of each fold: units have one fold")
    return folds.pop()


def prepare(unit: Unit, cache: Path | None = None, device: str = "cpu") -> Prepared:
    """Load a unit's task, and make of its clouds what its model reads.

    Parameters
    ----------
    cache : a folder for Gram fields, which units of other preparations may share
    """
    row, fold = unit.row, own_fold(unit)
    task = find(row.task, row.task_seed, row.clouds, row.points)
    clouds = task.clouds if fold is None else task.in_fold(fold)
    model = _make(row, device)
    if cache is not None and "cache" in model.get_params(deep=False):
        model.set_params(cache=cache)
    content: Any = model.prepare(clouds)
    if isinstance(model, NetworkClassifier):
        content = model.make_store(content)
    return Prepared(
        content,
        task.labels,
        task.groups,
        task.folds,
        len(task.class_names),
        clouds[0].shape[1],
    )


def fit_unit(unit: Unit, prepared: Prepared, device: str = "cpu") -> list[Record]:
    """Train the fits of a unit. What goes wrong becomes their error."""
    reset_peak()
    try:
        model = _make(unit.row, device)
        if isinstance(model, NetworkClassifier):
            records = _network_fits(unit, model, prepared)
        else:
            records = [_feature_fit(unit.row, *fit, prepared) for fit in unit.fits]
    except Exception:
        return failed(unit, traceback.format_exc())
    memory = peak()
    return [replace(record, memory=memory) for record in records]


def failed(unit: Unit, error: str) -> list[Record]:
    """Records of fits that came to nothing."""
    return [
        Record(unit.row, fold, seed, error=error, version=__version__) for fold, seed in unit.fits
    ]


def _make(row: Row, device: str = "cpu", **more: Any) -> Any:
    options = {k: tuple(v) if isinstance(v, list) else v for k, v in row.options.items()}
    model = models.make(row.model, **options, **more)
    if device != "cpu" and isinstance(model, NetworkClassifier):
        model.set_params(device=device)
    return model


def _network_fits(unit: Unit, model: NetworkClassifier, prepared: Prepared) -> list[Record]:
    start = time.perf_counter()
    store = prepared.content
    targets = ClassTargets(np.arange(prepared.classes), prepared.labels, model.class_weight)
    parts = [(np.flatnonzero(prepared.folds != fold), seed) for fold, seed in unit.fits]
    trained = model.train_networks(store, targets, parts, prepared.groups)
    predicted = [class_probabilities(fitted.model, store) for fitted in trained]
    seconds = (time.perf_counter() - start) / len(parts)
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


def _feature_fit(row: Row, fold: int, seed: int, prepared: Prepared) -> Record:
    start = time.perf_counter()
    train, test = np.flatnonzero(prepared.folds != fold), np.flatnonzero(prepared.folds == fold)
    model = _make(row, random_state=seed)
    model.fit(_those(prepared.content, train), prepared.labels[train], prepared.groups[train])
    found = model.predict_proba(_those(prepared.content, test))
    probabilities = np.zeros((len(test), prepared.classes))
    probabilities[:, model.classes_] = found  # a class may be absent from the training clouds
    return replace(
        _record(row, fold, seed, prepared, probabilities),
        validation_loss=float(getattr(model, "validation_loss_", np.nan)),
        seconds=time.perf_counter() - start,
    )


def _those(clouds: Sequence[Any], index: np.ndarray) -> list[Any]:
    return [clouds[i] for i in index]


def _record(
    row: Row, fold: int, seed: int, prepared: Prepared, probabilities: np.ndarray
) -> Record:
    test = np.flatnonzero(prepared.folds == fold)
    found: dict[str, Any] = dict(scores(prepared.labels[test], probabilities))
    return Record(
        row,
        fold,
        seed,
        **found,
        train_size=len(prepared.folds) - len(test),
        test_size=len(test),
        clouds=test,
        probabilities=probabilities,
        version=__version__,
    )
