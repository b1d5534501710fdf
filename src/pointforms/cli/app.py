"""The `npf` command: its subcommands, one file each.

Importing this module has to stay quick: the files import nothing heavy before a command runs.
"""

from __future__ import annotations

from typing import Annotated

import typer

from pointforms._version import __version__
from pointforms.cli import pdo, tasks
from pointforms.cli.console import Commands, echo
from pointforms.cli.demo import demo
from pointforms.cli.explain import explain
from pointforms.cli.export import export
from pointforms.cli.figures import figures
from pointforms.cli.fit import fit
from pointforms.cli.import_fits import import_fits
from pointforms.cli.inspect import inspect
from pointforms.cli.map import map_clouds
from pointforms.cli.memory import memory
from pointforms.cli.models import models
from pointforms.cli.plan import plan
from pointforms.cli.predict import predict
from pointforms.cli.report import report
from pointforms.cli.reproduce import reproduce
from pointforms.cli.run import run
from pointforms.cli.status import status
from pointforms.cli.sweep import sweep
from pointforms.cli.table import table
from pointforms.cli.theory import theory

app = typer.Typer(cls=Commands, no_args_is_help=True, pretty_exceptions_enable=False)
app.add_typer(tasks.app, name="tasks")
app.add_typer(pdo.app, name="pdo")
for command in (
    demo, inspect, fit, predict, models, run, table, explain, report, sweep, plan, status,
    reproduce, export, memory, figures, theory,
):  # fmt: skip
    app.command()(command)
app.command("map")(map_clouds)
app.command("import")(import_fits)


def _version(show: bool) -> None:
    if show:
        echo(f"pointforms {__version__}")
        raise typer.Exit


@app.callback()
def main(
    version: Annotated[
        bool,
        typer.Option("--version", callback=_version, is_eager=True, help="Print the version."),
    ] = False,
) -> None:
    """Neural point-forms: geometry of, and learning from, populations of points."""
