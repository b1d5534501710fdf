"""The `npf` command."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import torch
import typer
from rich.markup import escape
from rich.table import Table

import pointforms
from pointforms.cli.bench import register as register_experiments
from pointforms.cli.console import console, explained, print_pairs
from pointforms.cli.explain import explain
from pointforms.cli.figures import figures
from pointforms.cli.models import models
from pointforms.cli.pdo import app as pdo_app
from pointforms.cli.report import report
from pointforms.cli.tasks import app as tasks_app
from pointforms.cli.theory import theory

app = typer.Typer(
    help="Neural point-forms: geometry of, and learning from, populations of points.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
)
app.add_typer(tasks_app, name="tasks")
app.add_typer(pdo_app, name="pdo")
app.command()(theory)
app.command()(explain)
app.command()(figures)
app.command()(models)
app.command()(report)
register_experiments(app)


def _version(show: bool) -> None:
    if show:
        typer.echo(f"pointforms {pointforms.__version__}")
        raise typer.Exit


@app.callback()
def main(
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Show the version.")
    ] = False,
) -> None:
    """Neural point-forms: geometry of, and learning from, populations of points."""
    # small tensors run best on one thread; work that can be shared is shared by jobs
    torch.set_num_threads(1)


@app.command()
def demo(
    out: Annotated[Path, typer.Option(help="Folder for pictures and page.")] = Path("demo"),
) -> None:
    """Estimate the Gram field of a noisy torus, learn circles against lines, compare models.

    Prints how well each went, draws it, and ends with a page about the comparison.
    """
    from pointforms.cli.bench import run
    from pointforms.paper import demo as demonstrations

    for title, part in (
        ("The geometry of a cloud: a noisy torus", demonstrations.torus),
        ("Learning from clouds: circles against lines, 5 folds", demonstrations.circles),
    ):
        console.rule(title, align="left")
        with explained("demo"):
            found, picture = part(out)
        print_pairs(found)
        typer.echo(f"Picture: {picture.resolve()}\n")
    console.rule("Comparing models: two folds of circles against lines", align="left")
    store = out / "results.db"
    models = ["npf-tri-1", "npf-flat-1", "mlp", "logistic-regression", "random-forest"]
    run("circles-vs-lines", models, folds=2, store=store)
    report(store, out=out / "report.html")


@app.command()
def inspect(
    table: Annotated[Path, typer.Argument(help="A .parquet, .csv or .tsv table, or an .npz.")],
    cloud: Annotated[str | None, typer.Option(help="The column of cloud ids (tables).")] = None,
    neighbors: Annotated[str, typer.Option(help='Neighbours of a point, or "auto".')] = "32",
    features: Annotated[
        str | None,
        typer.Option(help="Columns of coordinates, by commas; all numeric ones if not given."),
    ] = None,
    min_points: Annotated[int, typer.Option(min=2, help="Leave smaller clouds out.")] = 2,
    most: Annotated[int, typer.Option(min=1, help="Show at most so many clouds.")] = 20,
) -> None:
    """Estimate the geometry of every cloud of a table.

    Columns: points; neighbours of each; intrinsic dimension; scale ρ (the typical width of a
    neighbourhood); and off-tangent share, the part of the local variance outside the tangent
    space, which noise and curvature make.
    """
    from pointforms.geometry import gram_fields
    from pointforms.io import read_npz, read_table

    with explained("inspect"):
        if table.suffix.lower() == ".npz":
            clouds = read_npz(table)
        elif cloud is None:
            raise ValueError("say which column holds the cloud ids: --cloud NAME")
        else:
            names = None if features is None else [name.strip() for name in features.split(",")]
            clouds = read_table(table, cloud, names)
        everything = len(clouds)
        clouds = clouds.at_least(min_points)
        count: Any = int(neighbors) if neighbors.isdecimal() else neighbors
        fields = gram_fields(clouds, neighbors=count, progress=True, n_jobs=-1)
    view = Table(title=f"{clouds!r}", title_justify="left")
    for heading in ("cloud", "points", "neighbours", "dimension", "scale ρ", "off-tangent share"):
        view.add_column(heading, justify="left" if heading == "cloud" else "right")
    for name, field in list(zip(clouds.ids, fields, strict=True))[:most]:
        view.add_row(
            escape(name),
            str(len(field)),
            str(field.neighbors),
            str(field.dimension),
            f"{float(field.scale.log().mean().exp()):.4g}",
            f"{field.off_tangent_share():.1%}",
        )
    console.print(f"features: {', '.join(clouds.feature_names)}", markup=False, highlight=False)
    console.print(view)
    if len(clouds) < everything:
        console.print(f"{everything - len(clouds)} clouds have fewer than {min_points} points")
    if len(fields) > most:
        console.print(f"… and {len(fields) - most} more (--most)")


if __name__ == "__main__":
    app()
