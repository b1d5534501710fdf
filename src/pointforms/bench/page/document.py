"""The page: one HTML file that contains everything it needs and loads nothing."""

from __future__ import annotations

import base64
import hashlib
import json
import os
from collections.abc import Iterable, Sequence
from importlib.resources import files
from itertools import count
from pathlib import Path
from typing import Any

from pointforms.bench.comparison import Published
from pointforms.bench.page.content import gather
from pointforms.bench.page.result_pictures import comparison_pictures, fit_pictures
from pointforms.bench.page.sections import Picture, Section
from pointforms.bench.records import Record, Row
from pointforms.bench.run_history import Run
from pointforms.plot import to_svg
from pointforms.support.extras import need
from pointforms.support.files import write_text

TITLE = "Point-forms and baselines"


def write_report(
    records: Sequence[Record],
    rows: Iterable[Row],
    runs: Sequence[Run],
    path: str | os.PathLike[str],
    sections: Sequence[Section] = (),
    title: str = TITLE,
    manifest: str | None = None,
    notes: Sequence[str] = (),
    published: Published | None = None,
    reference: str | None = None,
) -> Path:
    """Write the page about some fits. The file appears whole or not at all.

    Parameters
    ----------
    records : sequence of Record
        Fits; predictions are not needed.
    rows : iterable of Row
        Rows of a manifest, so that models without a fit yet are listed too.
    runs : sequence of Run
        Runs of the store.
    path : path-like
        An HTML file. Parent folders are created.
    sections : sequence of Section, default ()
        Sections to add after the results, such as fitted models or measurements of the theory.
    title : str, default "Point-forms and baselines"
    manifest : str, optional
        Text of the manifest that was run. The page always has one made from the records.
    notes : sequence of str, default ()
        Sentences for the summary.
    published : callable, optional
        Published AUROC: (task, title of a model) -> Estimate or None.
    reference : str, optional
        Name of the model that every other model is tested against (default: NPF (selected), and
        only baselines are tested).

    Returns
    -------
    Path
        The file.

    Examples
    --------
    >>> import tempfile
    >>> fits = [Record(Row("colocated", "mlp"), fold, 0, auroc=0.7) for fold in range(3)]
    >>> page = write_report(fits, [], [], Path(tempfile.mkdtemp()) / "report.html")
    >>> page.read_text("utf-8")[:15]
    '<!doctype html>'
    """
    target = Path(path)
    if not records:
        raise ValueError("no fits to report")
    jinja2: Any = need("jinja2", "report")
    need("matplotlib", "report")
    environment = jinja2.Environment(
        loader=jinja2.FunctionLoader(_asset),
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    content = gather(records, rows, runs, title, published, reference)
    scripts = {"theme": _asset("theme.js"), "page": _asset("tables.js") + "\n" + _asset("page.js")}
    numbers = count(1)

    def svg(picture: Picture) -> str:
        """A figure as SVG, with ids that no two figures of the page share."""
        return to_svg(picture.figure, picture.alt, f"f{next(numbers)}")

    environment.globals["svg"] = svg
    text = environment.get_template("page.html").render(
        content=content,
        comparison_pictures=comparison_pictures,
        fit_pictures=fit_pictures(content["fits"]),
        sections=sections,
        manifest=manifest,
        notes=notes,
        policy=_policy(scripts.values()),
        style=_asset("page.css"),
        data=embedded({"fits": content["fits"]}),
        scripts=scripts,
    )
    write_text(target, text)
    return target


def embedded(content: Any) -> str:
    """Return JSON that can stand in a script element: it cannot end it or open another.

    >>> embedded("</script>")
    '"\\\\u003c/script\\\\u003e"'
    """
    text = json.dumps(content, separators=(",", ":"), ensure_ascii=False, allow_nan=False)
    for character in "<>&\u2028\u2029":
        text = text.replace(character, f"\\u{ord(character):04x}")
    return text


def _policy(scripts: Iterable[str]) -> str:
    """Return a policy by which only the page's own scripts run and nothing is fetched."""
    hashes = " ".join(
        f"'sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}'"
        for text in scripts
    )
    return (
        f"default-src 'none'; script-src {hashes}; style-src 'unsafe-inline'; "
        "img-src data:; base-uri 'none'; form-action 'none'"
    )


def _asset(name: str) -> str:
    return (files("pointforms.bench.page") / name).read_text(encoding="utf-8")
