"""Errors of pydantic in one line: the path of the key, what was expected, and what was written."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

from pydantic import ValidationError

from pointforms.models.options import shown

# What pydantic's types of errors mean to somebody who writes TOML.
_EXPECTED = {
    "string_type": "text",
    "int_type": "a whole number",
    "tuple_type": "a list",
    "dict_type": "a table",
    "model_type": "a table",
    "too_short": "at least one value",
}


class NestedError(ValueError):
    """An error inside a value that pydantic does not look into.

    Parameters
    ----------
    path : tuple of str or int
        Keys and positions below the value.
    message : str
    """

    def __init__(self, path: tuple[str | int, ...], message: str) -> None:
        super().__init__(message)
        self.path = path


def first_error(error: ValidationError, hint: Callable[[str, bool], str]) -> str:
    """Return the most telling error of a validation as "path: message".

    Unknown keys come first, because a misspelt key is often missing elsewhere.

    Parameters
    ----------
    error : ValidationError
    hint : callable
        (unknown key, whether it stands at the top level) -> what to do about it.

    Examples
    --------
    >>> from pydantic import BaseModel, ConfigDict
    >>> class Point(BaseModel):
    ...     model_config = ConfigDict(extra="forbid", strict=True)
    ...     x: tuple[int, ...] = ()
    >>> try:
    ...     Point.model_validate({"x": (1, "2")})
    ... except ValidationError as error:
    ...     print(first_error(error, lambda key, top: "?"))
    x[1]: expected a whole number, got "2"
    """
    errors = error.errors(include_url=False)
    first: Any = min(errors, key=lambda one: one["type"] != "extra_forbidden")
    path, kind, context = first["loc"], first["type"], first.get("ctx", {})
    written = f", got {shown(first['input'])}"
    if kind == "extra_forbidden":
        message = f"not a valid key: {hint(str(path[-1]), len(path) == 1)}"
    elif kind == "missing":
        message = "missing"
    elif kind == "value_error":
        cause = context["error"]
        path = (*path, *getattr(cause, "path", ()))
        message = str(cause)
    elif kind == "greater_than_equal":
        message = f"expected at least {context['ge']}{written}"
    elif kind == "less_than_equal":
        message = f"expected at most {context['le']}{written}"
    else:
        message = f"expected {_EXPECTED.get(kind, first['msg'])}{written}"
    return f"{key_path(path)}: {message}" if path else message


def key_path(path: tuple[str | int, ...]) -> str:
    """Return the path of a key as one writes it.

    >>> key_path(("sweep", 1, "grid", "weight_decay"))
    'sweep[1].grid.weight_decay'
    """
    text = ""
    for part in path:
        if isinstance(part, int):
            text += f"[{part}]"
        else:
            text += f".{part if re.fullmatch(r'[A-Za-z0-9_-]+', part) else shown(part)}"
    return text.removeprefix(".")
