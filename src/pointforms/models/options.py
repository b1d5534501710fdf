"""Options of models as a manifest sets them: their names, types and defaults."""

from __future__ import annotations

import inspect
import json
from collections.abc import Mapping, Sequence
from functools import cache, partial
from types import UnionType
from typing import Any, Literal, Union, get_args, get_origin, get_type_hints

from pydantic import ConfigDict, TypeAdapter, ValidationError

from pointforms.models.registry import MODELS, make
from pointforms.support.suggestions import suggest

#: Parameters of estimators that change how a fit is run and not its result, with the reason why a
#: manifest cannot set them.
NOT_OPTIONS = {
    "random_state": "its values are the seeds of the manifest",
    "device": "it is chosen when the fits are run",
    "n_jobs": "the number of workers is chosen when the fits are run",
    "progress": "it is chosen when the fits are run",
    "cache": "the engine that runs the fits has its own",
}
# A text is no number and 1 is not true; a whole number is a number, infinity is not.
_STRICT = ConfigDict(strict=True, allow_inf_nan=False)
_KINDS = {int: "a whole number", float: "a number", bool: "true or false", str: "text"}
# Characters of a value that a message shows.
_LONGEST = 200


@cache
def stackable(model: str) -> bool:
    """Whether fits of a model can be trained together: batches of points stack, graphs do not."""
    from pointforms.estimators import PointFormClassifier
    from pointforms.models.neural import NETWORKS, NeuralClassifier

    estimator = make(model)
    if isinstance(estimator, NeuralClassifier):
        return NETWORKS[estimator.network][0] == "points"
    return isinstance(estimator, PointFormClassifier)


def option_names(model: str) -> list[str]:
    """Return the names of the options of a model that a manifest can set."""
    return list(_options(model))


def default(model: str, name: str) -> Any:
    """Return the default of an option, as in JSON; None where there is no such option."""
    value = _options(model).get(name, (None, None))[1]
    return list(value) if isinstance(value, tuple) else value


def check_name(model: str, name: str) -> None:
    """Raise an error if a manifest cannot set this option of a model."""
    known = _options(model)
    if name in NOT_OPTIONS:
        raise ValueError(f"{name} cannot be set in a manifest: {NOT_OPTIONS[name]}")
    if name in _named(model):
        raise ValueError(f"{name} is part of the name {model}: choose another model instead")
    if name not in known:
        raise ValueError(f"{model} has no option {name!r}: {suggest(name, known)}")


def option_value(model: str, name: str, value: Any) -> Any:
    """Return the value of an option in the form in which equal values are equal text.

    A whole number becomes a float where the option is a float. A value of another type, or one
    that the model itself refuses, raises a ValueError.
    """
    hint = _options(model)[name][0]
    try:
        if isinstance(value, dict) or value == []:
            raise TypeError
        value = TypeAdapter(hint, config=_STRICT).validate_python(value)
    except (TypeError, ValidationError):
        choices = [word for word in _words(hint) if isinstance(word, str)]
        close = isinstance(value, str) and choices
        meant = f", {suggest(value, choices)}" if close and len(choices) > 1 else ""
        raise ValueError(f"{name} = {shown(value)}: expected {_expected(hint)}{meant}") from None
    check_options(model, {name: value})
    return value


def check_options(model: str, options: Mapping[str, Any]) -> None:
    """Raise a ValueError if no fit of a model can work with these options."""
    try:
        make(model, **options).check_options()
    except TypeError as error:
        raise ValueError(str(error)) from None


def shown(value: Any) -> str:
    """Return a value about as it was written, the beginning of a long one."""
    try:
        text = json.dumps(value, default=str, ensure_ascii=False)
    except RecursionError:
        return "a deeply nested value"
    return text if len(text) <= _LONGEST else f"{text[:_LONGEST]}…"


@cache
def _options(model: str) -> dict[str, tuple[Any, Any]]:
    """Type and default of every option."""
    factory = MODELS[model].make
    source = factory.func if isinstance(factory, partial) else factory
    hints = get_type_hints(source)
    return {
        name: (hints.get(name, Any), parameter.default)
        for name, parameter in inspect.signature(factory).parameters.items()
        if name not in NOT_OPTIONS and name not in _named(model)
    }


def _named(model: str) -> tuple[str, ...]:
    """Parameters that the name of a model stands for: with other values it would be wrong."""
    return MODELS[model].named


def _alternatives(hint: Any) -> list[Any]:
    if get_origin(hint) in (Union, UnionType):
        return [kind for part in get_args(hint) for kind in _alternatives(part)]
    return [hint]


def _words(hint: Any) -> list[Any]:
    """The words that an option may have as a value."""
    literals = [kind for kind in _alternatives(hint) if get_origin(kind) is Literal]
    return [word for kind in literals for word in get_args(kind)]


def _expected(hint: Any) -> str:
    kinds = [_KINDS[kind] for kind in _alternatives(hint) if kind in _KINDS]
    lists = [kind for kind in _alternatives(hint) if get_origin(kind) is Sequence]
    kinds += [f"a list, each {_expected(get_args(kind)[0])}" for kind in lists]
    kinds += [shown(word) for word in _words(hint)]
    return " or ".join(kinds)
