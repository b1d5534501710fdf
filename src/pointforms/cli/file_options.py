"""Options by which every command that takes data reads a file of one's own."""

from __future__ import annotations

import inspect
import typing
from collections.abc import Callable, Mapping
from functools import wraps
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from pointforms.cli.options import LabelKind, column_names

if TYPE_CHECKING:
    from pointforms.io import ReadOptions

_PANEL = "Your own file"


def _option(names: str | None, text: str, **more: Any) -> Any:
    given = [] if names is None else [names]
    return typer.Option(*given, help=text, rich_help_panel=_PANEL, show_default=False, **more)


# Names as in ReadOptions. Whatever is None was not given.
_PARAMETERS: dict[str, Any] = {
    "cloud": Annotated[str | None, _option(None, "Column of cloud ids (default: cloud).")],
    "label": Annotated[str | None, _option(None, "Column of labels (default: label).")],
    "group": Annotated[
        str | None,
        _option(
            None,
            "Column of groups, such as patients, which stay on one side of every split (default: a "
            "column called group, patient, donor or subject, if there is one).",
        ),
    ],
    "batch": Annotated[
        str | None, _option(None, "Column of the batches in which clouds were measured.")
    ],
    "covariates": Annotated[
        list[str] | None,
        _option(
            "--covariate",
            "Columns with one value per cloud that the model reads beside the points, separated by "
            "commas; may be repeated.",
        ),
    ],
    "features": Annotated[
        str | None,
        _option(
            None,
            "Columns of coordinates, separated by commas (default: all numeric columns without "
            "another role).",
        ),
    ],
    "drop": Annotated[
        list[str] | None,
        _option(None, "Columns not to use, separated by commas; may be repeated."),
    ],
    "allow": Annotated[
        list[str] | None,
        _option(
            None,
            "Columns to use as coordinates although they look like a leak, separated by commas; "
            "may be repeated.",
        ),
    ],
    "use_rep": Annotated[
        str | None, _option(None, "Key of obsm in which an .h5ad file has the coordinates.")
    ],
    "layer": Annotated[
        str | None, _option(None, "Layer in which an .h5ad file has the coordinates.")
    ],
    "samples": Annotated[
        Path | None,
        _option(
            None,
            "Table with one row per cloud, for columns that the file does not have (default: "
            "samples.csv in a folder of .fcs files).",
        ),
    ],
    "kind": Annotated[
        LabelKind | None,
        _option(
            "--task",
            "What the label is (default: auto, which predicts numbers if the label has fractions "
            "or more than 20 different whole numbers).",
        ),
    ],
    "drop_missing": Annotated[
        bool | None,
        _option(
            "--drop-missing/--keep-missing",
            "Leave out points with missing values, and clouds without a label.",
        ),
    ],
    "drop_small": Annotated[
        int | None,
        _option(None, "Leave out clouds with fewer points than this.", min=0),
    ],
    "decimal_comma": Annotated[
        bool | None,
        _option("--decimal-comma/--decimal-point", "Numbers are written with decimal commas."),
    ],
}


class FileArguments:
    """What was given on the command line about the columns of a file.

    Parameters
    ----------
    given : mapping
        Options of :class:`pointforms.io.ReadOptions` by name; None stands for not given.
    """

    def __init__(self, given: Mapping[str, Any]) -> None:
        self.given: dict[str, Any] = {}
        for name, value in given.items():
            if value is None or value == []:
                continue
            if name in ("covariates", "drop", "allow"):
                value = [part for text in value for part in column_names(text) or ()]
            elif name == "features":
                value = column_names(value)
            elif name == "samples":
                value = value.resolve().as_posix()
            elif name == "kind":
                value = value.value
            self.given[name] = value

    def options(self, recorded: Mapping[str, Any] | None = None) -> ReadOptions:
        """Return the options to read with: what was given, or recorded, or the default."""
        from pointforms.io import ReadOptions

        return ReadOptions.of({**(recorded or {}), **self.given})

    def for_task(self) -> ReadOptions | None:
        """Return the options if any was given: tasks of the catalogue take none."""
        return self.options() if self.given else None


def takes_file_options(command: Callable[..., None]) -> Callable[..., None]:
    """Give a command the options of a file in place of its parameter `file`."""
    signature = inspect.signature(command)
    hints = typing.get_type_hints(command, include_extras=True)
    parameters = [
        parameter.replace(annotation=hints[name])
        for name, parameter in signature.parameters.items()
        if name != "file"
    ]
    parameters += [
        inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=None, annotation=kind)
        for name, kind in _PARAMETERS.items()
    ]

    wider = inspect.Signature(parameters)

    @wraps(command)
    def with_options(*positional: Any, **given: Any) -> None:
        bound = wider.bind(*positional, **given)
        bound.apply_defaults()
        about_file = {name: bound.arguments.pop(name) for name in _PARAMETERS}
        command(**bound.arguments, file=FileArguments(about_file))

    with_options.__signature__ = wider  # type: ignore[attr-defined]
    with_options.__annotations__ = {one.name: one.annotation for one in parameters}
    del with_options.__wrapped__  # or typer looks at the command itself
    return with_options
