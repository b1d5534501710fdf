"""`npf inspect`: the geometry of the clouds in a file."""

from __future__ import annotations

import warnings
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from pointforms.cli.console import echo, print_summary, print_table, use_one_thread
from pointforms.cli.file_options import FileArguments, takes_file_options
from pointforms.support.progress import track
from pointforms.support.table import Column, Table

if TYPE_CHECKING:
    from pointforms.clouds import Clouds


class Scaling(StrEnum):
    """Units in which clouds are measured: the scales of the estimators, or those of the file."""

    standard = "standard"
    isotropic = "isotropic"
    robust = "robust"
    none = "none"


_UNITS = {
    Scaling.standard: "every feature is divided by its standard deviation",
    Scaling.isotropic: "all features are divided by one number",
    Scaling.robust: "every feature is divided by its interquartile range",
    Scaling.none: "features have the units of the file",
}
_COLUMNS = (
    Column("cloud", "cloud", left=True),
    Column("points", "points"),
    Column("neighbors", "neighbours"),
    Column("dimension", "dimension"),
    Column("agreement", "points agree", "{:.0%}".format),
    Column("scale", "scale ρ", "{:.4g}".format),
    Column("off_tangent", "off-tangent share", "{:.1%}".format),
)


@takes_file_options
def inspect(
    table: Annotated[
        Path,
        typer.Argument(
            metavar="DATA",
            help="A .parquet, .csv, .tsv, .npz or .h5ad file, or a folder of .fcs files.",
        ),
    ],
    neighbors: Annotated[
        str, typer.Option(help='Number of neighbours per point, itself included, or "auto".')
    ] = "auto",
    scale: Annotated[
        Scaling,
        typer.Option(
            help="How features are scaled, as by the option scale of the estimators; none keeps "
            "the units of the file."
        ),
    ] = Scaling.standard,
    min_points: Annotated[
        int, typer.Option(min=2, help="Leave out clouds with fewer points than this.")
    ] = 2,
    most: Annotated[int, typer.Option(min=1, help="Largest number of clouds to print.")] = 20,
    *,
    file: FileArguments,
) -> None:
    """Estimate the geometry of every cloud of a file.

    Columns: the number of points; the number of neighbours of each; the intrinsic dimension; the
    share of points whose own neighbourhood has that dimension; the scale ρ, a typical width of a
    neighbourhood; and the off-tangent share, the part of the local variance outside the tangent
    space, which comes from noise and curvature. Neighbours and dimension are chosen for each cloud
    by itself, in features that are scaled as the estimators scale them by default.
    """
    from pointforms.geometry import gram_field
    from pointforms.io import read_file
    from pointforms.io.file_summary import FileSummary

    use_one_thread()
    given = {"drop_small": min_points} | file.given
    content = read_file(table, FileArguments({}).options(given), labels=False)
    clouds = _scaled(content.clouds, scale)
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
    units = {"scale": f"{scale}: {_UNITS[scale]}"}
    print_summary(table.name, FileSummary(content.summary.entries | units))
    print_table(Table(repr(clouds), _COLUMNS, rows))
    if len(clouds) > most:
        echo(f"… and {len(clouds) - most} more (--most)")


def _scaled(clouds: Clouds, scale: Scaling) -> Clouds:
    from pointforms.preprocessing import Standardize

    if scale is Scaling.none:
        return clouds
    found: Clouds = Standardize(scale.value).fit_transform(clouds)
    return found
