"""`npf inspect`: the geometry of the clouds in a file."""

from __future__ import annotations

import warnings
from pathlib import Path
from typing import Annotated, Any

import typer

from pointforms.cli import options
from pointforms.cli.console import echo, print_table, use_one_thread
from pointforms.support.progress import track
from pointforms.support.table import Column, Table

_COLUMNS = (
    Column("cloud", "cloud", left=True),
    Column("points", "points"),
    Column("neighbors", "neighbours"),
    Column("dimension", "dimension"),
    Column("agreement", "points agree", "{:.0%}".format),
    Column("scale", "scale ρ", "{:.4g}".format),
    Column("off_tangent", "off-tangent share", "{:.1%}".format),
)


def inspect(
    table: Annotated[Path, typer.Argument(help="A .parquet, .csv or .tsv table, or an .npz file.")],
    cloud: Annotated[
        str | None, typer.Option(help="Column of cloud ids; needed for tables.")
    ] = None,
    neighbors: Annotated[
        str, typer.Option(help='Number of neighbours per point, itself included, or "auto".')
    ] = "auto",
    features: options.FEATURES = None,
    min_points: Annotated[
        int, typer.Option(min=2, help="Leave out clouds with fewer points than this.")
    ] = 2,
    most: Annotated[int, typer.Option(min=1, help="Largest number of clouds to print.")] = 20,
) -> None:
    """Estimate the geometry of every cloud of a table.

    Columns: the number of points; the number of neighbours of each; the intrinsic dimension; the
    share of points whose own neighbourhood has that dimension; the scale ρ, a typical width of a
    neighbourhood; and the off-tangent share, the part of the local variance outside the tangent
    space, which comes from noise and curvature. Neighbours and dimension are chosen for each cloud
    by itself.
    """
    from pointforms.geometry import gram_field
    from pointforms.io import read_npz, read_table

    use_one_thread()
    if table.suffix.lower() == ".npz":
        clouds = read_npz(table)
    elif cloud is None:
        raise ValueError("tables need the name of the column of cloud ids: --cloud NAME")
    else:
        clouds = read_table(table, cloud, options.column_names(features))
    total = len(clouds)
    clouds = clouds.at_least(min_points)
    count: Any = int(neighbors) if neighbors.isdecimal() else neighbors
    shown = clouds[:most]
    rows = []
    with track(len(shown), "Gram fields", True) as advance, warnings.catch_warnings():
        warnings.filterwarnings("ignore", "the estimated dimension")  # it has a column
        for name, points in zip(shown.ids, shown, strict=True):
            field = gram_field(points, neighbors=count)
            rows.append(
                {
                    "cloud": name,
                    "points": len(field),
                    "neighbors": field.neighbors,
                    "dimension": field.dimension,
                    "agreement": field.agreement,
                    "scale": float(field.scale.log().mean().exp()),
                    "off_tangent": field.off_tangent_share(),
                }
            )
            advance(1)
    echo(f"features: {', '.join(clouds.feature_names)}")
    print_table(Table(repr(clouds), _COLUMNS, rows))
    if len(clouds) < total:
        echo(f"{total - len(clouds)} clouds have fewer than {min_points} points")
    if len(clouds) > most:
        echo(f"… and {len(clouds) - most} more (--most)")
