"""`npf report`: a store as one HTML page."""

from __future__ import annotations

import os
import webbrowser
from collections.abc import Sequence
from contextlib import ExitStack, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from pointforms import bench
from pointforms.cli import options
from pointforms.cli.console import echo, use_one_thread
from pointforms.support.files import check_output
from pointforms.support.progress import track
from pointforms.support.scratch import scratch_folder

if TYPE_CHECKING:
    from pointforms.bench.page import Article, Section


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
            help="Title, name or file of a task whose selected point-form is fitted again and "
            "shown; may be repeated "
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
    reference: options.REFERENCE = None,
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
    from pointforms.bench.comparison import check_reference
    from pointforms.bench.manifest import manifest_source
    from pointforms.bench.page import explaining, write_report
    from pointforms.bench.page.document import TITLE
    from pointforms.bench.page.serving import PageServer
    from pointforms.paper.numbers import paper_value
    from pointforms.paper.theory.section import STEPS, theory_section

    use_one_thread()
    with ExitStack() as stack:
        if no_explain and explain:
            raise ValueError(f"--no-explain and --explain {explain[0]} exclude each other")
        if serve and out is None:
            page = stack.enter_context(scratch_folder()) / "report.html"
        else:
            page = out or Path("report.html")
        # a wrong folder or a port that is taken: before the work, not after it
        check_output(page, store, endings=(".html", ".htm"))
        server = stack.enter_context(PageServer(page, port)) if serve else None
        with bench.Store(store, read_only=True) as opened:
            records, runs = opened.records(predictions=False), opened.runs()
        if not records:
            raise ValueError(
                f"no fits in {os.fspath(store)!r}: `npf run` or `npf sweep` makes some"
            )
        rows = bench.read_manifest(manifest).rows() if manifest else []
        check_reference(reference, [*(record.row for record in records), *rows])
        if title is None:
            titles = {run.title for run in runs if run.title}
            title = titles.pop() if len(titles) == 1 else TITLE
        sections: list[Section] = []
        notes: list[str] = []
        if not no_explain:
            articles, notes = _articles(records, explain or [])
            sections += [explaining.models_section(articles)] if articles else []
        if theory:
            with track(STEPS, "theory") as advance:
                sections.append(theory_section(advance))
        write_report(
            records,
            rows,
            runs,
            page,
            sections,
            title=title,
            manifest=manifest_source(manifest) if manifest else None,
            notes=notes,
            published=paper_value,
            reference=reference,
        )
        if out is not None or not serve:
            echo(f"Page: {page.resolve()} ({page.stat().st_size / 1e6:.1f} MB)")
        if server is not None:
            echo(f"Serving {server.url} (Ctrl-C ends it)")
            if not no_open:
                webbrowser.open(server.url)
            with suppress(KeyboardInterrupt):  # the way in which serving ends
                server.serve_forever()


def _articles(
    records: Sequence[bench.Record], wanted: Sequence[str]
) -> tuple[list[Article], list[str]]:
    """Models of the tasks that were asked for, or of a few quick ones, and notes on failures."""
    from pointforms.bench.page.explaining import choices, model_article

    articles, notes = [], []
    chosen = choices(records, wanted)
    with track(len(chosen), "models", unit="models") as advance:
        for record in chosen:
            try:
                articles.append(model_article(record))
            except Exception as error:  # nobody asked for this model: the page goes on without
                if wanted:
                    raise
                notes.append(f"The model of {record.row.size.title} is not shown: {error}")
            advance(1)
    return articles, notes
