"""What an experiment consists of: rows, the units they are trained in, and records of fits."""

from __future__ import annotations

import hashlib
import inspect
import json
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from pointforms.bench.record_checks import check_fit, check_row
from pointforms.models import MODELS, make
from pointforms.models.options import NOT_OPTIONS
from pointforms.models.registry import COMPARED_GEOMETRY
from pointforms.tasks.catalogue import find, is_recorded, is_simulated

if TYPE_CHECKING:
    from pointforms.tasks.task import Task

#: The attributes of a record that are NaN where they are not known.
NUMBERS = ("auroc", "accuracy", "log_loss", "brier", "validation_loss", "seconds")

#: A fit in a store: the key of its row, its fold and its seed.
Key = tuple[str, int, int]


class Size(NamedTuple):
    """A task in one size. Rows of the same size see the same clouds and folds."""

    task: str
    clouds: int | None = None
    points: int | None = None
    task_seed: int = 0
    content: str | None = None
    reading: str = ""

    @property
    def is_simulated(self) -> bool:
        """Whether the cells of an organoid task are simulated."""
        return is_simulated(self.content)

    @property
    def is_real(self) -> bool:
        """Whether the clouds are real data, not simulated; files count as real.

        >>> Size("japanese-vowels").is_real, Size("colocated").is_real
        (True, False)
        """
        return is_recorded(self.task, self.content)

    @property
    def title(self) -> str:
        """The name of the task, with what differs from its own size and seed.

        >>> Size("colocated", clouds=60).title
        'colocated (60 clouds)'
        """
        remarks = ["simulated cells"] * self.is_simulated
        remarks += [f"{self.clouds} clouds"] * (self.clouds is not None)
        remarks += [f"{self.points} points"] * (self.points is not None)
        remarks += [f"seed {self.task_seed}"] * (self.task_seed != 0)
        remarks += [_shown_option(*one) for one in self.read_options().items()]
        name = self.task if self.content is None else Path(self.task).name
        return f"{name} ({', '.join(remarks)})" if remarks else name

    def read_options(self) -> dict[str, Any]:
        """Return how a file is read, as far as it differs from the defaults.

        >>> Size("cells.csv", reading='{"label":"response"}').read_options()
        {'label': 'response'}
        """
        options: dict[str, Any] = json.loads(self.reading or "{}")
        return options

    def load(self) -> Task:
        """Load the task, or read its file."""
        from pointforms.io import ReadOptions

        options = self.read_options()
        how = ReadOptions.of(options) if options else None
        return find(self.task, self.task_seed, self.clouds, self.points, options=how)


def titles(sizes: Iterable[Size]) -> dict[Size, str]:
    """Return titles that differ: files of one name have their folder, content or a number in them.

    >>> a, b = Size("a/cells.csv", content="1f"), Size("b/cells.csv", content="2e")
    >>> list(titles([a, b]).values()), list(titles([a]).values())
    (['cells.csv (in a)', 'cells.csv (in b)'], ['cells.csv'])
    """
    by_title: dict[str, list[Size]] = {}
    for size in dict.fromkeys(sizes):
        by_title.setdefault(size.title, []).append(size)
    found = {}
    for title, same in by_title.items():
        paths = Counter(size.task for size in same)
        for size in same:
            remarks = [f"in {Path(size.task).parent}"] * (len(paths) > 1)
            remarks += [f"content {str(size.content)[-8:]}"] * (paths[size.task] > 1)
            found[size] = f"{title} ({', '.join(remarks)})" if len(same) > 1 else title
    counts, seen = Counter(found.values()), Counter[str]()
    for size, title in found.items():  # the same content, read in ways that a title does not show
        seen[title] += 1
        if counts[title] > 1:
            found[size] = f"{title}, {seen[title]}"
    return found


def _shown_option(name: str, value: Any) -> str:
    """How a file is read, for a title."""
    if name == "samples":
        return f"samples {Path(value).name}"
    if not isinstance(value, list):
        return name.replace("_", " ") if value is True else f"{name.replace('_', ' ')} {value}"
    return f"{name} {', '.join(value)}" if len(value) < 4 else f"{len(value)} {name}"


@dataclass(frozen=True)
class Row:
    """One configuration: a model and its options on a task of some size.

    Parameters
    ----------
    task : str
        The name of a task, or a file.
    model : str
        A name in the registry of models.
    options : mapping, default {}
        Options of the model that differ from its defaults; values as in JSON.
    clouds : int, optional
        Number of clouds; by default that of the task.
    points : int, optional
        Number of points per cloud; by default that of the task.
    task_seed : int, default 0
        The seed of the clouds and folds of the task.
    content : str, optional
        Digest of a file, so that another file of the same name is another task.
    settings : str, optional
        Digest of all options, so that changing a default makes another row. By default it is
        computed from the present defaults.
    reading : mapping, default {}
        How a file is read, as far as it differs from the defaults; see
        :meth:`pointforms.io.ReadOptions.differing`.

    Examples
    --------
    >>> Row("colocated", "mlp", {"epochs": 3}).key  # doctest: +ELLIPSIS
    '{"clouds":null,"model":"mlp",...,"task":"colocated","task_seed":0}'
    """

    task: str
    model: str
    options: Mapping[str, Any] = field(default_factory=dict)
    clouds: int | None = None
    points: int | None = None
    task_seed: int = 0
    content: str | None = None
    settings: str | None = None
    reading: Mapping[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        check_row(vars(self))

    @cached_property
    def digest(self) -> str:
        """Short hash of the complete configuration of the model, defaults included."""
        return self.settings or _settings_digest(self.model, self.options)

    @cached_property
    def key(self) -> str:
        """The row as text. Equal rows have equal keys on every machine."""
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
        if self.reading:
            content["reading"] = dict(self.reading)
        return json.dumps(content, sort_keys=True, separators=(",", ":"), allow_nan=False)

    @classmethod
    def from_key(cls, key: str) -> Row:
        """Return the row that has a key."""
        return cls(**json.loads(key))

    @property
    def title(self) -> str:
        """The name of the model in tables."""
        return model_title(self.model)

    @property
    def size(self) -> Size:
        """The task and its size."""
        sizes = (self.clouds, self.points, self.task_seed)
        how = json.dumps(dict(self.reading), sort_keys=True, separators=(",", ":"))
        return Size(self.task, *sizes, self.content, how if self.reading else "")

    def __hash__(self) -> int:
        return hash(self.key)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Row) and self.key == other.key


def model_title(name: str) -> str:
    """Return the name of a model in tables; that in the store if the registry does not have it."""
    return MODELS[name].title if name in MODELS else name


# The text of a dimension in a digest: None was the name of local PCA when the first rows were
# stored, and they stay the same rows.
_DIMENSIONS: dict[Any, Any] = {"local-pca": None, None: "projector"}


# Options that came later, with the values that all rows had before.
_ADDED: dict[str, Any] = {
    "scale": None, "components": None, "frame": "absolute", "members": 1, "sees": "all",
}  # fmt: skip


def _settings_digest(model: str, options: Mapping[str, Any]) -> str:
    """Digest of all parameters of a model; empty for a model that cannot be made."""
    try:
        parameters = make(model, **options).get_params(deep=False)
    except (ValueError, TypeError, ImportError):
        return ""
    plain = {k: list(v) if isinstance(v, tuple) else v for k, v in parameters.items()}
    if "dimension" in plain:
        plain["dimension"] = _DIMENSIONS.get(plain["dimension"], plain["dimension"])
    plain = {k: v for k, v in plain.items() if k not in _ADDED or v != _ADDED[k]}
    texts = sorted(f"{name}={_shown(plain[name])}" for name in plain.keys() - NOT_OPTIONS.keys())
    return hashlib.sha256("\n".join(texts).encode()).hexdigest()[:8]


def _shown(value: Any) -> str:
    """The text of a parameter in a digest.

    An estimator inside a model shows its options that differ from their defaults. The geometry of
    comparisons counts as the default, whatever the estimator's own has become: stored rows would
    otherwise be other rows.
    """
    from sklearn.base import BaseEstimator

    if not isinstance(value, BaseEstimator):
        return repr(value)
    kind = type(value)
    signature = inspect.signature(kind.__init__)
    before = COMPARED_GEOMETRY | _ADDED
    parameters = [
        parameter.replace(default=before.get(name, parameter.default))
        for name, parameter in signature.parameters.items()
    ]

    def init(self: Any) -> None: ...

    def get_params(self: Any, deep: bool = False) -> dict[str, Any]:
        return dict(value.get_params(deep=False))

    init.__signature__ = signature.replace(parameters=parameters)  # type: ignore[attr-defined]
    members = {"__init__": init, "get_params": get_params}
    return repr(type(kind.__name__, (BaseEstimator,), members)())


@dataclass(frozen=True)
class Unit:
    """Fits of one row that are trained, and retried, as a batch.

    Attributes
    ----------
    row : Row
    fits : tuple of pairs (fold, seed)
    """

    row: Row
    fits: tuple[tuple[int, int], ...]

    @property
    def keys(self) -> list[Key]:
        """The fits as (row.key, fold, seed)."""
        return [(self.row.key, *fit) for fit in self.fits]


@dataclass(frozen=True, eq=False)
class Record:
    """What is known of one fit.

    Numbers that no fit can have, such as a negative time, are refused with a ValueError.

    Parameters
    ----------
    row : Row
        The configuration that was fitted.
    fold : int
        The fold that was tested on.
    seed : int
        The seed of the training.
    auroc : float, default nan
        AUROC on the test clouds: the mean of one class against the rest.
    accuracy : float, default nan
        Accuracy on the test clouds.
    log_loss : float, default nan
        Log loss on the test clouds.
    validation_loss : float, default nan
        Log loss on the validation part of the training clouds, by which rows are selected.
    train_size : int, default 0
        Number of training clouds.
    test_size : int, default 0
        Number of test clouds.
    parameters : int, optional
        Number of trained parameters; None where that has no meaning.
    seconds : float, default nan
        Time of this fit. Fits that are trained together share their time equally.
    memory : int, optional
        Peak memory of the process that trained it, in bytes.
    epochs : int, optional
        Number of epochs trained; None where there are none.
    clouds : ndarray of int, shape (m,), optional
        Test clouds, by their index in the task; None if predictions are not kept.
    probabilities : ndarray, shape (m, C), optional
        Class probabilities of the test clouds.
    error : str, optional
        The traceback of a fit that failed; its numbers are NaN.
    version : str, default ""
        Version of the package.
    brier : float, default nan
        Brier score on the test clouds: the mean of Σ_c (p_c - 1[c = y])² over all classes, from 0
        to 2. Versions before 0.3 did not compute it.

    Examples
    --------
    >>> Record(Row("colocated", "mlp"), fold=0, seed=0, auroc=0.8).row.title
    'MLP'
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
    brier: float = np.nan

    def __post_init__(self) -> None:
        try:
            check_fit(vars(self))
        except ValueError as error:
            fit = f"fold {self.fold}, seed {self.seed} of {self.row.model} on {self.row.task}"
            raise ValueError(f"{error} ({fit})") from None

    @property
    def reason(self) -> str | None:
        """The last line of the error, which says what was wrong; None if there is no error."""
        return None if self.error is None else (self.error.strip().splitlines() or [""])[-1]


def duplicate_fit(record: Record) -> str:
    """Return the message about a fit that occurs twice where it may occur once."""
    return f"fold {record.fold}, seed {record.seed} occurs twice: {record.row.key}"
