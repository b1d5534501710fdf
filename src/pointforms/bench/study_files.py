"""Results of a comparison as files: a page of tables with an account of the run, and the fits."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from pointforms.bench import tables
from pointforms.bench.fits_csv import write_csv
from pointforms.bench.lines import is_simulated
from pointforms.bench.manifest import Manifest
from pointforms.bench.plan import span
from pointforms.bench.records import Record, Row
from pointforms.bench.store import Store

_QUICK = "\nA look at every model in minutes: small tasks, few epochs, two folds. It ranks nothing."


def write_results(
    records: Sequence[Record], manifest: Manifest, store: Path, folder: Path, name: str
) -> list[Path]:
    """Tables as Markdown with an account of the run, and the fits as CSV."""
    rows = manifest.rows()
    with Store(store, create=False) as there:
        runs = there.runs()
    costs = tables.costs(records, [(one.wall, one.workers) for one in runs])
    failed = sum(record.error is not None for record in records)
    machines = sorted({one.machine for one in runs})
    lines = [
        f"# {name}",
        "",
        f"{len(records)} of {manifest.fits} fits, {failed} of them failed. {_origin(rows)} "
        f"Written by `npf reproduce`; {'; '.join(machines)}; wall time "
        f"{span(sum(one.wall for one in runs))} in {len(runs)} run{'s' * (len(runs) > 1)}.",
        *([_QUICK] if name.endswith("-quick") else []),
        "",
        *(tables.markdown(one) for one in tables.tables(records, rows)),
        *([tables.markdown(each)] if (each := tables.every_row(records, rows)) else []),
        tables.markdown(costs),
    ]
    page = folder / f"{name}.md"
    page.write_text("\n".join(lines), "utf-8")
    fits = folder / f"{name}-fits.csv"
    write_csv(records, fits)
    return [page, fits]


def _origin(rows: Sequence[Row]) -> str:
    """Where the clouds are from, in a sentence."""
    if all(row.content is None or is_simulated(row.size) for row in rows):
        return "Everything here is simulated."
    return "Clouds are from the table that was given."
