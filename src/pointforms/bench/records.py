"""What an experiment is made of: rows, the units they are trained in, and records of fits."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np

from pointforms.models import MODELS, make
from pointforms.models.options import NOT_OPTIONS


class Size(NamedTuple):
    """A task as rows have it: rows of one size see the same clouds and folds."""

    task: str
    clouds: int | None = None
    points: int | None = None
    task_seed: int = 0
    content: str | None = None


@dataclass(frozen=True)
class Row:
    """One configuration: a model and its options on a task of some size.

    Attributes
    ----------
    task : a task's name, or a file
    model : a name of the registry
    options : of the model, where they differ from its defaults; values as JSON has them
    clouds, points : the task's size, None for its own
    task_seed : of the task's clouds and folds
    content : of a file, a digest, so that another file of its name is another task
    settings : a digest of all options, so that a default that changes makes another row; None is
        that of the options as they are now
    """

    task: str
    model: str
    options: Mapping[str, Any] = field(default_factory=dict)
    clouds: int | None = None
    points: int | None = None
    task_seed: int = 0
    content: str | None = None
    settings: str | None = None

    @cached_property
    def digest(self) -> str:
        """Of all the model's options, its defaults among them."""
        return self.settings or _settings(self.model, self.options)

    @cached_property
    def key(self) -> str:
        """The row as text that is the same wherever the row is."""
        content = {
            "task": self.task,
            "model": self.model,
            "options": dict(self.options),
            "clouds": self.clouds,
            "points": self.points,
            "task_seed": self.task_seed,
            "settings": self.digest,
        }
        if self.content is not None:
            content["content"] = self.content
        return json.dumps(content, sort_keys=True, separators=(",", ":"), allow_nan=False)

    @classmethod
    def from_key(cls, key: str) -> Row:
        return cls(**json.loads(key))

    @property
    def title(self) -> str:
        """The model as tables call it."""
        return MODELS[self.model].title if self.model in MODELS else self.model

    @property
    def size(self) -> Size:
        return Size(self.task, self.clouds, self.points, self.task_seed, self.content)

    def __hash__(self) -> int:
        return hash(self.key)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Row) and self.key == other.key


def _settings(model: str, options: Mapping[str, Any]) -> str:
    """A digest of everything that makes a model what it is; empty for one that cannot be made."""
    try:
        found = make(model, **options).get_params(deep=False)
    except (ValueError, TypeError, ImportError):
        return ""
    plain = {k: list(v) if isinstance(v, tuple) else v for k, v in found.items()}
    told = sorted(f"{name}={plain[name]!r}" for name in plain.keys() - NOT_OPTIONS.keys())
    return hashlib.sha256("\n".join(told).encode()).hexdigest()[:8]


@dataclass(frozen=True)
class Unit:
    """Fits of a row that are trained together, and again together if any of them is lost.

    Attributes
    ----------
    fits : pairs (fold, seed)
    """

    row: Row
    fits: tuple[tuple[int, int], ...]


@dataclass(frozen=True, eq=False)
class Record:
    """What is known of one fit.

    Attributes
    ----------
    auroc, accuracy, log_loss : on the test clouds; AUROC is the mean of one class against the rest
    validation_loss : log loss on the validation part of the training clouds, on which rows are
        selected
    train_size, test_size : clouds
    parameters : trained ones, None where that says nothing
    seconds : of this fit; fits trained together share their time equally
    memory : peak of the process that trained it, in bytes
    epochs : trained, None where there are none
    clouds, probabilities : test clouds (m,) and their class probabilities (m, C); None if not kept
    error : the traceback of a fit that failed; its numbers are NaN
    version : of the package
    """

    row: Row
    fold: int
    seed: int
    auroc: float = np.nan
    accuracy: float = np.nan
    log_loss: float = np.nan
    validation_loss: float = np.nan
    train_size: int = 0
    test_size: int = 0
    parameters: int | None = None
    seconds: float = np.nan
    memory: int | None = None
    epochs: int | None = None
    clouds: np.ndarray | None = None
    probabilities: np.ndarray | None = None
    error: str | None = None
    version: str = ""
