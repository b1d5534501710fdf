"""Options of models as a manifest gives them: which there are, of what kind, and their defaults."""

from __future__ import annotations

import inspect
import json
import math
from collections.abc import Mapping, Sequence
from functools import cache, partial
from types import UnionType
from typing import Any, Literal, Union, get_args, get_origin, get_type_hints

from pointforms.estimators import PointFormClassifier
from pointforms.models.classical import FeatureClassifier
from pointforms.models.neural import NETWORKS, NeuralClassifier
from pointforms.models.registry import MODELS, make
from pointforms.support.suggestions import suggest

# Parameters of estimators that change how a fit is run, not what it is.
NOT_OPTIONS = {
    "random_state": "the seeds of the manifest are its values",
    "device": "where fits are trained is said when they are run",
    "n_jobs": "how many workers there are is said when they are run",
    "progress": "whether progress is shown is said when they are run",
    "cache": "what is computed once is kept by whoever runs the fits",
}
_KINDS = {int: "a whole number", float: "a number", bool: "true or false", str: "text"}
# What estimators do not look at before they train.
_POSITIVE, _NOT_NEGATIVE = ("learning_rate", "hidden", "points_per_epoch"), ("weight_decay", "head")


@cache
def stackable(model: str) -> bool:
    """Whether fits of a model can be trained together: batches of points stack, graphs do not."""
    estimator = make(model)
    if isinstance(estimator, NeuralClassifier):
        return NETWORKS[estimator.network][0] == "points"
    return isinstance(estimator, PointFormClassifier)


def option_names(model: str) -> list[str]:
    """What a manifest may set of a model."""
    return list(_options(model))


def default(model: str, name: str) -> Any:
    """An option's default, as JSON has it; None where there is no such option."""
    value = _options(model).get(name, (None, None))[1]
    return list(value) if isinstance(value, tuple) else value


def check_name(model: str, name: str) -> None:
    """Refuse what a manifest cannot set of a model."""
    known = _options(model)
    if name in NOT_OPTIONS:
        raise ValueError(f"{name} is not for a manifest: {NOT_OPTIONS[name]}")
    if name in _named(model):
        raise ValueError(f"{name} is part of the name {model}: name another model")
    if name not in known:
        hint = suggest(name, known) if known else "it has none at all"
        raise ValueError(f"{model} has no option {name!r}: {hint}")


def option_value(model: str, name: str, value: Any) -> Any:
    """The value of an option, in the form in which equal ones are equal text.

    An `int` for a `float` becomes one. What is not of the option's kind, or is refused by the
    model itself, is a ValueError.
    """
    hint = _options(model)[name][0]
    try:
        value = _as_kind(value, hint)
    except TypeError:
        choices = [word for word in _words(hint) if isinstance(word, str)]
        close = isinstance(value, str) and choices
        meant = f", {suggest(value, choices)}" if close and len(choices) > 1 else ""
        raise ValueError(f"{name} = {shown(value)}: expected {_expected(hint)}{meant}") from None
    check_options(model, {name: value})
    return value


def check_options(model: str, options: Mapping[str, Any]) -> None:
    """Refuse what no fit of a model can work with, as a ValueError."""
    for name, value in options.items():
        numbers = value if isinstance(value, list) else [value]
        if name in _POSITIVE and not all(number > 0 for number in numbers):
            raise ValueError(f"{name} = {shown(value)}: expected more than 0")
        if name in _NOT_NEGATIVE and not isinstance(value, str) and not value >= 0:
            raise ValueError(f"{name} = {shown(value)}: expected at least 0")
    estimator = make(model, **options)
    parts = [estimator]
    if isinstance(estimator, FeatureClassifier):
        parts.append(estimator._options()[1])
    try:
        for part in parts:
            for method in ("check_options", "_check_options"):
                getattr(part, method, lambda: None)()
    except TypeError as error:
        raise ValueError(str(error)) from None


def shown(value: Any) -> str:
    """A value about as it was written."""
    return json.dumps(value, default=str, ensure_ascii=False)


@cache
def _options(model: str) -> dict[str, tuple[Any, Any]]:
    """Type and default of every option."""
    factory = MODELS[model].make
    source = factory.func if isinstance(factory, partial) else factory
    hints = get_type_hints(source.__init__ if inspect.isclass(source) else source)
    return {
        name: (hints.get(name, Any), parameter.default)
        for name, parameter in inspect.signature(factory).parameters.items()
        if name not in NOT_OPTIONS and name not in _named(model)
    }


def _named(model: str) -> tuple[str, ...]:
    """Parameters that a model's name stands for: with others, tables would call it wrongly."""
    return MODELS[model].named


def _as_kind(value: Any, hint: Any) -> Any:
    """The value as a type hint has it; a TypeError if it is none. TOML has no None."""
    kinds = _alternatives(hint)
    for kind in kinds:
        if get_origin(kind) is Literal:
            # `1 == True` in Python, so a choice must agree in type too
            if any(value == word and type(value) is type(word) for word in get_args(kind)):
                return value
        elif kind in (int, bool, str) and type(value) is kind:
            return value
    if float in kinds and type(value) in (int, float) and math.isfinite(value):
        return float(value)
    for kind in kinds:
        if get_origin(kind) is Sequence and isinstance(value, list) and value:
            return [_as_kind(item, get_args(kind)[0]) for item in value]
    if Any in kinds and type(value) in (int, bool, str):
        return value
    raise TypeError


def _alternatives(hint: Any) -> list[Any]:
    if get_origin(hint) in (Union, UnionType):
        return [kind for part in get_args(hint) for kind in _alternatives(part)]
    return [hint]


def _words(hint: Any) -> list[Any]:
    """The choices among an option's kinds."""
    literals = [kind for kind in _alternatives(hint) if get_origin(kind) is Literal]
    return [word for kind in literals for word in get_args(kind)]


def _expected(hint: Any) -> str:
    found = [_KINDS[kind] for kind in _alternatives(hint) if kind in _KINDS]
    lists = [kind for kind in _alternatives(hint) if get_origin(kind) is Sequence]
    found += [f"a list, each {_expected(get_args(kind)[0])}" for kind in lists]
    found += [shown(word) for word in _words(hint)]
    return " or ".join(found)
