"""`npf models`: what can be trained and compared."""

from __future__ import annotations

from typing import Annotated

import typer

from pointforms.cli.console import print_table
from pointforms.support.formatting import thousands
from pointforms.support.table import Column, Table


def models(
    parameters: Annotated[
        bool,
        typer.Option("--parameters", help="Count trainable parameters, which takes some seconds."),
    ] = False,
    features: Annotated[
        int | None,
        typer.Option(
            min=1, help="Number of features for which parameters are counted (default: 12)."
        ),
    ] = None,
    classes: Annotated[
        int | None,
        typer.Option(
            min=2, help="Number of classes for which parameters are counted (default: 2)."
        ),
    ] = None,
) -> None:
    """List the models that can be trained and compared.

    --features and --classes imply --parameters.
    """
    from pointforms.models import MODELS

    width, outputs = features or 12, classes or 2
    counted = parameters or features is not None or classes is not None
    rows = [
        {
            "model": name,
            "title": model.title,
            "family": model.family,
            "parameters": _count(name, width, outputs) if counted else None,
        }
        for name, model in MODELS.items()
    ]
    columns = [Column(key, key, left=True) for key in ("model", "title", "family")]
    columns.append(Column("parameters", "parameters", _show_count))
    title = f"Models, with trainable parameters for {width} features and {outputs} classes"
    print_table(Table(title if counted else "Models", columns, rows))


def _count(name: str, features: int, classes: int) -> int | str | None:
    from pointforms.models import count_parameters

    try:
        return count_parameters(name, features, classes)
    except ImportError:
        return "extra [graph]"


def _show_count(count: int | str) -> str:
    return count if isinstance(count, str) else thousands(count)
