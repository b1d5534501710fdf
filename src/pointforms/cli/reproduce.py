"""`npf reproduce`: the comparisons behind the paper's tables, and that on real data."""

from __future__ import annotations

import os
from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from pointforms import bench
from pointforms.cli import options
from pointforms.cli.console import echo
from pointforms.cli.engines import exit_if_failed, make_engine, print_results, train
from pointforms.support.progress import track
from pointforms.tasks.entries import KIDNEY


class Study(StrEnum):
    """The paper's comparisons, and one on real data."""

    synthetic = "synthetic"
    pdo = "pdo"
    real = "real"


def reproduce(
    study: Annotated[
        Study, typer.Argument(help="Which comparison: of synthetic, organoid or real tasks.")
    ],
    quick: Annotated[
        bool,
        typer.Option("--quick", help="Use 120 clouds per task, 2 folds and at most 30 epochs."),
    ] = False,
    table: Annotated[
        Path | None,
        typer.Option(help="Table of cells from which the organoid tasks are prepared."),
    ] = None,
    drop_unmatched: options.DROP_UNMATCHED = False,
    kidney: Annotated[
        Path | None,
        typer.Option(
            help=f"PILOT's Kidney_IgAN_G.h5ad, for the real study (default: ${KIDNEY}; without it, "
            "the kidney task is left out)."
        ),
    ] = None,
    out: Annotated[
        Path | None, typer.Option(help="Folder for the results (default: named after the study).")
    ] = None,
    store: Annotated[
        Path | None,
        typer.Option("--store", help="SQLite file of fits (default: results.db in the folder)."),
    ] = None,
    engine: options.ENGINE = options.Engine.local,
    workers: options.WORKERS = None,
    devices: options.DEVICES = None,
    address: options.ADDRESS = None,
    retry: options.RETRY = False,
    wide: options.WIDE = False,
) -> None:
    """Run the comparison behind a table of the paper, and write our table beside the paper's.

    Synthetic tasks are simulated. Organoid tasks are prepared from a table of cells. The real study
    compares models on recorded data, which the paper does not have.
    """
    from pointforms.bench.study_files import write_study
    from pointforms.paper.numbers import paper_value

    name = study.value + ("-quick" if quick else "")
    folder = out or Path(name)
    if (study is Study.pdo) != (table is not None):
        raise ValueError("--table CELLS is needed for the organoid study, and only for it")
    if study is not Study.synthetic and quick:
        raise ValueError("--quick is for synthetic tasks")
    if study is not Study.real and kidney is not None:
        raise ValueError("--kidney FILE is for the real study")
    if kidney is not None:
        if not kidney.is_file():
            raise ValueError(f"no file {str(kidney)!r}")
        os.environ[KIDNEY] = str(kidney.resolve())  # workers inherit it
    folder.mkdir(parents=True, exist_ok=True)
    if table is not None:
        _prepare_organoids(table, folder / "tasks", drop_unmatched)
    manifest = bench.read_manifest(name)
    if study is Study.real and not os.environ.get(KIDNEY):
        echo(f"Without the task kidney: set {KIDNEY}, or pass --kidney FILE.")
        manifest = manifest.without("kidney")
    path = store or folder / "results.db"
    records = train(manifest, path, make_engine(engine, workers, devices, address), retry)
    written = write_study(records, manifest, path, folder, name, paper_value)
    print_results(records, manifest.rows(), wide)
    for file in written:
        echo(f"Written: {file.resolve()}")
    exit_if_failed(records, manifest, path)


def _prepare_organoids(table: Path, folder: Path, drop_unmatched: bool) -> None:
    """Prepare all organoid tasks, and let this process and its workers find them by name."""
    from pointforms.paper.organoids.catalogue import use_folder
    from pointforms.paper.organoids.prepare import Options, prepare
    from pointforms.paper.organoids.table import CellTable

    with track(CellTable(table).rows(), "cells", unit="cells") as advance:
        prepare(table, folder, options=Options(drop_unmatched=drop_unmatched), advance=advance)
    use_folder(folder)
