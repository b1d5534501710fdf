"""The page: one HTML file with everything in it, which asks nothing of any network."""

from __future__ import annotations

import base64
import hashlib
import json
import os
from collections.abc import Iterable, Sequence
from importlib.resources import files
from pathlib import Path
from typing import Any

from pointforms.bench.comparison import Reference
from pointforms.bench.page import model_plots, plots
from pointforms.bench.page.content import gather
from pointforms.bench.page.plots import Plot
from pointforms.bench.page.theory import TheoryView
from pointforms.bench.page.views import ModelView
from pointforms.bench.records import Record, Row
from pointforms.bench.run_history import Run
from pointforms.support.extras import need
from pointforms.support.files import write_text
from pointforms.support.formatting import signed
from pointforms.support.table import Column, Table

TITLE = "Point-forms and baselines"


def write_report(
    records: Sequence[Record],
    rows: Iterable[Row],
    runs: Sequence[Run],
    path: str | os.PathLike[str],
    views: Sequence[ModelView] = (),
    theory: TheoryView | None = None,
    title: str = TITLE,
    manifest: str | None = None,
    notes: Sequence[str] = (),
    reference: Reference | None = None,
) -> Path:
    """Write the page of some fits. The file appears whole or not at all.

    Parameters
    ----------
    records : of fits, without predictions if these are large
    rows : of a manifest, so that models without a fit yet are listed too
    runs : of the store
    path : an HTML file
    views : fitted models to show
    theory : what :func:`pointforms.bench.page.theory.theory_view` measured
    title : of the page
    manifest : the text of the manifest that was run; one is made of the records if not given
    notes : sentences of the summary
    reference : (task, title of a model) -> published AUROC, or None
    """
    text = page_text(records, rows, runs, views, theory, title, manifest, notes, reference)
    target = Path(path)
    if not target.parent.is_dir():
        raise FileNotFoundError(f"no folder {os.fspath(target.parent)!r} for the page")
    write_text(target, text)
    return target


def page_text(
    records: Sequence[Record],
    rows: Iterable[Row],
    runs: Sequence[Run],
    views: Sequence[ModelView] = (),
    theory: TheoryView | None = None,
    title: str = TITLE,
    manifest: str | None = None,
    notes: Sequence[str] = (),
    reference: Reference | None = None,
) -> str:
    """The page as text; parameters as in :func:`write_report`."""
    if not records:
        raise ValueError("no fits to report")
    jinja2: Any = need("jinja2", "report")
    need("plotly", "report")
    from markupsafe import Markup
    from plotly.offline import get_plotlyjs

    content = gather(records, rows, runs, title, reference)
    drawn = _Figures()
    scripts = {
        "theme": _asset("theme.js"),
        "plotly": get_plotlyjs(),
        "page": "\n".join(_asset(name) for name in ("tables.js", "figures.js", "page.js")),
    }
    environment = jinja2.Environment(
        loader=jinja2.FunctionLoader(_asset),
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters["salience_table"] = salience_table
    body = environment.get_template("body.html").render(
        content=content,
        views=views,
        theory=theory,
        manifest=manifest,
        notes=notes,
        figure=drawn.add,
        plots=plots,
        model_plots=model_plots,
    )
    page: str = environment.get_template("page.html").render(
        title=title,
        policy=_policy(scripts.values()),
        style=Markup(_asset("page.css")),
        body=Markup(body),
        data=Markup(embedded({"plots": drawn.plots, "fits": content.fits})),
        scripts={name: Markup(text) for name, text in scripts.items()},
    )
    return page


def salience_table(view: ModelView) -> Table:
    """Return everything that is known of each basis form, the largest difference first."""
    rows = sorted(view.salience, key=lambda row: -row.difference)
    return Table.of(f"Salience of {view.model} on {view.task}", _SALIENCE_COLUMNS, rows)


_SALIENCE_COLUMNS = (
    Column("name", "basis form", left=True),
    Column("degree", "degree"),
    Column("difference", "difference", "{:.3f}".format),
    Column("p", "p", "{:.3g}".format),
    Column("decision", "decision", signed),
    Column("agreement", "agreement", "{:.2f}".format),
    Column("share", "share of energy", "{:.1%}".format),
)


class _Figures:
    """Figures by the order in which the page has them."""

    def __init__(self) -> None:
        self.plots: list[dict[str, Any]] = []

    def add(self, plot: Plot) -> int:
        """Keep a figure for the script, and give its number."""
        self.plots.append({"data": plot.data, "layout": plot.layout})
        return len(self.plots) - 1


def embedded(content: Any) -> str:
    """JSON that can stand in a script element: it neither ends it nor opens another.

    >>> embedded("</script>")
    '"\\\\u003c/script\\\\u003e"'
    """
    text = json.dumps(content, separators=(",", ":"), ensure_ascii=False, allow_nan=False)
    for character in "<>&\u2028\u2029":
        text = text.replace(character, f"\\u{ord(character):04x}")
    return text


def _policy(scripts: Iterable[str]) -> str:
    """Only the page's own scripts run, and nothing is fetched from anywhere."""
    hashes = " ".join(
        f"'sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}'"
        for text in scripts
    )
    return (
        f"default-src 'none'; script-src {hashes}; style-src 'unsafe-inline'; "
        "img-src data: blob:; base-uri 'none'; form-action 'none'"
    )


def _asset(name: str) -> str:
    return (files("pointforms.bench.page") / name).read_text(encoding="utf-8")
