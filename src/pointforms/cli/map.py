"""`npf map`: clouds by their distances, as a picture."""

from __future__ import annotations

from dataclasses import replace
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from pointforms.cli import options
from pointforms.cli.console import echo, print_pairs, use_one_thread
from pointforms.cli.file_options import FileArguments, takes_file_options

if TYPE_CHECKING:
    import numpy as np

    from pointforms.clouds import Clouds
    from pointforms.io import ReadOptions


class Distance(StrEnum):
    """What is compared: comparison matrices of forms, or distributions of points."""

    forms = "forms"
    sliced_wasserstein = "sliced-wasserstein"
    sliced_energy = "sliced-energy"
    mmd = "mmd"


class Places(StrEnum):
    """How places are computed from distances."""

    pca = "pca"
    mds = "mds"
    umap = "umap"


@takes_file_options
def map_clouds(
    data: Annotated[
        list[Path],
        typer.Argument(
            metavar="DATA...",
            help="Files, or folders of .fcs files; clouds of the second and further ones get a "
            "ring.",
        ),
    ],
    out: Annotated[Path, typer.Option(help="Picture to write: .png, .svg or .pdf.")],
    model: Annotated[
        Path | None,
        typer.Option(
            help="Folder of a model, whose forms compare the clouds (default: random forms, which "
            "no labels have shaped)."
        ),
    ] = None,
    distance: Annotated[
        Distance, typer.Option(help="What the distance between two clouds compares.")
    ] = Distance.forms,
    method: Annotated[
        Places, typer.Option(help="How places are computed; umap needs the extra umap.")
    ] = Places.pca,
    color: Annotated[
        str | None,
        typer.Option(
            help="Column with one value per cloud to colour by (default: the label, where a file "
            "has it)."
        ),
    ] = None,
    table: Annotated[
        Path | None,
        typer.Option("--csv", help="CSV file for places and distances (default: none)."),
    ] = None,
    seed: options.SEED = 0,
    *,
    file: FileArguments,
) -> None:
    """Draw the clouds of files by their distances: a map, and a clustered heat map.

    By default the distance between two clouds is that of the comparison matrices of random forms,
    which depends on no labels. With --model the forms are those of a model; forms that were learned
    from labels show the clouds of the fit as better separated than new ones.
    """
    import numpy as np

    from pointforms import plot
    from pointforms.explain import embed_distances
    from pointforms.plot.style import picture_path
    from pointforms.support.files import check_output, write_text

    use_one_thread()
    picture_path(out)
    if table is not None:
        for one in data:
            check_output(table, one)
    if model is not None and distance is not Distance.forms:
        raise ValueError(f"--distance {distance}: expected forms, since --model names a model")
    estimator, reading = _model(model, file)
    column = color or reading.label
    read = [_clouds_and_colors(one, reading, column, color is not None) for one in data]
    clouds, names = _joined([content for content, _ in read])
    colors = np.concatenate([values for _, values in read])
    found = _distances(clouds, estimator, distance, seed)
    places = embed_distances(found, method.value, random_state=seed)
    sizes = [len(content) for content, _ in read]
    new = np.repeat(np.arange(len(data)) > 0, sizes)
    known = any(value is not None for value in colors)
    plot.sample_map(
        found,
        colors if known else None,
        names,
        coordinates=places,
        method=method.value,
        color_label=column if known else None,
        marked=new if new.any() else None,
        path=out,
    )
    echo(f"Picture: {out.resolve()}")
    if table is not None:
        write_text(table, _table(names, colors, column, places, found).csv())
        echo(f"Table: {table.resolve()}")


def _model(folder: Path | None, file: FileArguments) -> tuple[Any, ReadOptions]:
    """Return the model, if there is one, and how to read files."""
    from pointforms.cli.saved_models import options_for, provenance_of
    from pointforms.estimators import load

    if folder is None:
        return None, file.options()
    estimator = load(folder)
    return estimator, options_for(estimator, provenance_of(folder), file)


def _clouds_and_colors(
    data: Path, reading: ReadOptions, column: str, needed: bool
) -> tuple[Clouds, np.ndarray]:
    """Return the clouds of a file, and their values in a column; None where it has no such."""
    import numpy as np

    from pointforms.io import read_file
    from pointforms.io.own_file import MissingColumnError

    beside = replace(reading, label="", covariates=(column,))
    try:
        content = read_file(data, beside, labels=False)
    except MissingColumnError:
        if needed:
            raise
        content = read_file(data, replace(reading, covariates=()), labels=False)
    # the column is read as a covariate, but only colours the clouds
    named = content.summary.entries.items()
    pairs = {"colour" if name == "covariates" else name: text for name, text in named}
    print_pairs({"file": data.name, **pairs})
    values = (content.covariates or {}).get(column)
    colors = np.full(len(content.clouds), None, dtype=object)
    if values is not None:
        colors[:] = values.tolist()
    return content.clouds, colors


def _joined(files: list[Clouds]) -> tuple[Clouds, list[str]]:
    """Return the clouds of all files, with the features of the first."""
    from pointforms.clouds import Clouds

    first = files[0]
    ordered = [clouds.in_order(first.feature_names) for clouds in files]
    names = [name for clouds in ordered for name in clouds.ids]
    every = [cloud for clouds in ordered for cloud in clouds]
    return Clouds.from_list(every, names, first.feature_names), names


def _distances(clouds: Clouds, estimator: Any, distance: Distance, seed: int) -> np.ndarray:
    from pointforms.estimators import PointFormTransformer
    from pointforms.explain import comparison_distances
    from pointforms.models import distribution_distances

    if distance is not Distance.forms:
        kind: Any = distance.value
        return distribution_distances(clouds, kind, random_state=seed)
    if estimator is None:
        estimator = PointFormTransformer(epochs=0, random_state=seed).fit(clouds)
    return comparison_distances(estimator, clouds)


def _table(
    names: list[str], colors: np.ndarray, column: str, places: np.ndarray, distances: np.ndarray
) -> Any:
    """Return one row per cloud: its colour, its place, and its distance to every cloud."""
    from pointforms.support.table import Column, Table

    rows = [
        {"cloud": name, column: color, "x": place[0], "y": place[1]}
        | {f"distance to {other}": value for other, value in zip(names, row, strict=True)}
        for name, color, place, row in zip(names, colors, places, distances, strict=True)
    ]
    return Table("Map", [Column("cloud", "cloud", left=True)], rows)
