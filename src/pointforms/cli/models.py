"""`npf models`: what can be trained and compared."""

from __future__ import annotations

from typing import Annotated

import typer
from rich.markup import escape
from rich.table import Table

from pointforms.cli.console import console


def models(
    features: Annotated[int, typer.Option(min=1, help="D, features of a point.")] = 12,
    classes: Annotated[int, typer.Option(min=2, help="Classes.")] = 2,
) -> None:
    """List the models with their trainable parameters."""
    from pointforms import models

    view = Table(
        title=f"Models, with trainable parameters for D = {features}, {classes} classes",
        title_justify="left",
    )
    for heading in ("model", "title", "family", "parameters"):
        view.add_column(heading, justify="right" if heading == "parameters" else "left")
    for name, model in models.MODELS.items():
        try:
            count = models.count_parameters(name, features, classes)
            shown = "" if count is None else f"{count:,}".replace(",", " ")
        except ImportError:
            shown = escape("extra [graph]")
        view.add_row(name, model.title, model.family, shown)
    console.print(view)
