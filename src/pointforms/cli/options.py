"""Options and arguments that several commands share."""

from __future__ import annotations

import tomllib
from collections.abc import Sequence
from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any

import typer


class Engine(StrEnum):
    """Where fits are trained."""

    local = "local"
    ray = "ray"


class Format(StrEnum):
    """Forms in which a table is printed or written."""

    terminal = "terminal"
    markdown = "markdown"
    latex = "latex"
    csv = "csv"


class LabelKind(StrEnum):
    """What a label is."""

    auto = "auto"
    classification = "classification"
    regression = "regression"


#: The store that commands use unless another is given.
RESULTS = Path("results.db")

# --- tasks and files ------------------------------------------------------------------------

TASK = Annotated[
    str,
    typer.Argument(
        metavar="TASK",
        help="Name of a task (`npf tasks` lists them), a file, or a folder of .fcs files.",
    ),
]
SEED = Annotated[int, typer.Option(min=0, help="Seed of the clouds and folds.")]
CLOUDS = Annotated[
    int | None, typer.Option(help="Number of clouds to use (default: all). Not for files.")
]
POINTS = Annotated[
    int | None, typer.Option(help="Number of points per cloud (default: all). Not for files.")
]

# --- fits -----------------------------------------------------------------------------------

STORE = Annotated[
    Path,
    typer.Option(
        "--store", help="SQLite file of fits; created, with its folders, if it does not exist."
    ),
]
READ_STORE = Annotated[Path, typer.Argument(metavar="STORE", help="SQLite file of fits.")]
MANIFEST = Annotated[
    str,
    typer.Argument(metavar="MANIFEST", help="TOML file, or the name of a manifest of the package."),
]
ENGINE = Annotated[Engine, typer.Option(help="Train in local processes or on a Ray cluster.")]
WORKERS = Annotated[
    int | None,
    typer.Option(min=1, help="Number of processes, of one thread each (default: one per core)."),
]
DEVICES = Annotated[
    str | None,
    typer.Option(help="Torch devices, separated by commas (cuda:0,cuda:1); one process each."),
]
ADDRESS = Annotated[
    str | None,
    typer.Option(help="Address of a Ray cluster. By default a local one is started."),
]
RETRY = Annotated[
    bool,
    typer.Option("--retry-failed", "--retry", help="Train fits again that failed before."),
]

SETTINGS = Annotated[
    list[str] | None,
    typer.Option(
        "--set",
        metavar="NAME=VALUE",
        help="Option of the models, its value written as in TOML; may be repeated.",
    ),
]

# --- tables ---------------------------------------------------------------------------------

WIDE = Annotated[bool, typer.Option("--wide", help="Show all columns.")]
FORMAT = Annotated[Format, typer.Option(help="Output format.")]

REFERENCE = Annotated[
    str | None,
    typer.Option(
        metavar="MODEL",
        help="Model that all others are tested against (default: the point-form that validation "
        "selects, against which only baselines are tested).",
    ),
]

# --- organoids ------------------------------------------------------------------------------

DROP_UNMATCHED = Annotated[
    bool,
    typer.Option(
        "--drop-unmatched", help="Leave out conditions without a control instead of stopping."
    ),
]


def column_names(text: str | None) -> list[str] | None:
    """Return the names in a list that is separated by commas."""
    return None if text is None else [name.strip() for name in text.split(",")]


def parse_settings(texts: Sequence[str]) -> dict[str, Any]:
    """Return the options in texts NAME=VALUE; values are written as in TOML, or are bare words."""
    settings = {}
    for text in texts:
        name, equals, value = text.partition("=")
        if not equals or not name.strip():
            raise ValueError(f"--set {text!r}: expected NAME=VALUE")
        try:
            settings[name.strip()] = tomllib.loads(f"x = {value}")["x"]
        except tomllib.TOMLDecodeError:
            settings[name.strip()] = value.strip()
    return settings
