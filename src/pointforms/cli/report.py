"""`npf report`: a store as one HTML page."""

from __future__ import annotations

import os
import signal
import tempfile
import webbrowser
from collections.abc import Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from pointforms.cli import options
from pointforms.cli.console import computing
from pointforms.support.files import check_output
from pointforms.support.progress import track

if TYPE_CHECKING:
    from pointforms.bench.page import Article, Section
    from pointforms.bench.records import Record, Row
    from pointforms.bench.run_history import Run


def report(
    store: options.READ_STORE = options.RESULTS,
    out: Annotated[
        Path | None, typer.Option(help="HTML file to write (default: report.html).")
    ] = None,
    explain: Annotated[
        list[str] | None,
        typer.Option(
            "--explain",
            metavar="TASK",
            help="Task whose selected point-form is fitted again and shown; may be repeated "
            "(default: at most two tasks that are quick to fit).",
        ),
    ] = None,
    no_explain: Annotated[
        bool, typer.Option("--no-explain", help="Fit nothing again and show no models.")
    ] = False,
    theory: Annotated[
        bool, typer.Option(help="Measure the quick theory study, in seconds, and show it.")
    ] = True,
    manifest: Annotated[
        str | None,
        typer.Option(
            help="Manifest that was run: the page lists its rows without a fit, and its text."
        ),
    ] = None,
    title: Annotated[
        str | None, typer.Option(help="Title of the page (default: the title of the runs).")
    ] = None,
    serve: Annotated[
        bool, typer.Option("--serve", help="Serve the page on this machine only.")
    ] = False,
    port: Annotated[
        int, typer.Option(min=0, max=65535, help="Port to serve on; 0 chooses a free one.")
    ] = 0,
    no_open: Annotated[
        bool, typer.Option("--no-open", help="Serve the page without opening a browser.")
    ] = False,
) -> None:
    """Write one HTML page about a store: results, models, theory, costs, and how to repeat it.

    The page is one file and works offline.
    """
    with computing("report"), ExitStack() as stack:
        if no_explain and explain:
            raise ValueError(f"--no-explain and --explain {explain[0]} exclude each other")
        if serve and out is None:
            folder = stack.enter_context(tempfile.TemporaryDirectory(prefix="pointforms-"))
            page = Path(folder) / "report.html"
        else:
            page = out or Path("report.html")
        check_output(page, store)
        if not page.parent.is_dir():  # before the work, not after it
            raise FileNotFoundError(f"no folder {os.fspath(page.parent)!r} for the page")
        records, runs = _read(store)
        rows, text = _manifest(manifest)
        articles, notes = ([], []) if no_explain else _articles(records, explain or [])
        _write(records, rows, runs, page, articles, theory, _title(title, runs), text, notes)
        size = page.stat().st_size / 1e6
        if out is not None or not serve:
            typer.echo(f"Page: {page.resolve()} ({size:.1f} MB)")
        if serve:
            _serve(page, port, not no_open)


def _read(store: Path) -> tuple[list[Record], list[Run]]:
    from pointforms.bench.store import Store

    with Store(store, create=False) as there:
        records, runs = there.records(predictions=False), there.runs()
    if not records:
        raise ValueError(f"no fits in {os.fspath(store)!r}: `npf run` or `npf sweep` makes some")
    return records, runs


def _manifest(source: str | None) -> tuple[list[Row], str | None]:
    """Return rows and text of the manifest that was run."""
    if source is None:
        return [], None
    from pointforms.bench.manifest import manifest_source, read_manifest

    return read_manifest(source).rows(), manifest_source(source)


def _title(given: str | None, runs: Sequence[Run]) -> str:
    from pointforms.bench.page.document import TITLE

    titles = {run.title for run in runs if run.title}
    if given is not None:
        return given
    return titles.pop() if len(titles) == 1 else TITLE


def _articles(records: Sequence[Record], wanted: Sequence[str]) -> tuple[list[Article], list[str]]:
    """Models of the tasks that were asked for, or of a few quick ones, and notes on failures."""
    from pointforms.bench.page.explaining import choices, model_article

    articles: list[Article] = []
    notes = []
    chosen = choices(records, wanted)
    with track(len(chosen), "models", unit="models") as advance:
        for record in chosen:
            try:
                articles.append(model_article(record))
            except Exception as error:  # nobody asked for this model: the page goes on without
                if wanted:
                    raise
                notes.append(f"The model of {record.row.task} is not shown: {error}")
            advance(1)
    return articles, notes


def _write(
    records: Sequence[Record],
    rows: Sequence[Row],
    runs: Sequence[Run],
    page: Path,
    articles: Sequence[Article],
    theory: bool,
    title: str,
    text: str | None,
    notes: Sequence[str],
) -> None:
    from pointforms.bench.page.document import write_report
    from pointforms.paper.numbers import paper_value

    sections: list[Section] = []
    if articles:
        from pointforms.bench.page.explaining import models_section

        sections.append(models_section(articles))
    if theory:
        from pointforms.paper.theory.section import STEPS, theory_section

        with track(STEPS, "theory") as advance:
            sections.append(theory_section(advance))
    write_report(records, rows, runs, page, sections, title, text, notes, paper_value)


def _serve(page: Path, port: int, opening: bool) -> None:
    from pointforms.bench.page.serving import PageServer

    # a request to end works like Ctrl-C, so that the folder of the page is removed
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    with PageServer(page, port) as server:
        typer.echo(f"Serving {server.url} (Ctrl-C ends it)")
        if opening:
            webbrowser.open(server.url)
        try:
            server.serve_forever()
        except KeyboardInterrupt:
            typer.echo("")
