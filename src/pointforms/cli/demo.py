"""`npf demo`: the library in two minutes."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from pointforms.cli.console import console, echo, print_pairs, use_one_thread
from pointforms.cli.report import report
from pointforms.cli.run import run

_MODELS = ["npf-tri-1", "npf-flat-1", "mlp", "logistic-regression", "random-forest"]


def demo(
    out: Annotated[Path, typer.Option(help="Folder for the pictures and the page.")] = Path("demo"),
) -> None:
    """Estimate the Gram field of a noisy torus, learn circles against lines, compare models.

    Prints how well each went, draws it, and writes a page about the comparison.
    """
    from pointforms.paper import demo as demonstrations

    use_one_thread()
    for title, part in (
        ("The geometry of a cloud: a noisy torus", demonstrations.torus),
        ("Learning from clouds: circles against lines, 5 folds", demonstrations.circles),
    ):
        console().rule(title, align="left")
        values, picture = part(out)
        print_pairs(values)
        echo(f"Picture: {picture.resolve()}\n")
    console().rule("Comparing models: two folds of circles against lines", align="left")
    store = out / "results.db"
    run("circles-vs-lines", _MODELS, folds=2, store=store)
    report(store, out=out / "report.html")
