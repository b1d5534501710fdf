"""Results of a study as files: its tables in Markdown with an account of the run, and its fits."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from pointforms.bench.comparison import Published
from pointforms.bench.costs import costs_table
from pointforms.bench.fits_csv import write_csv
from pointforms.bench.manifest import Manifest
from pointforms.bench.records import Record, Row
from pointforms.bench.results_table import every_row, results_tables
from pointforms.bench.store import Store
from pointforms.support.files import write_text
from pointforms.support.formatting import duration

_QUICK = (
    "\nA quick look at every model: small tasks, few epochs, two folds. It does not rank models."
)


def write_study(
    records: Sequence[Record],
    manifest: Manifest,
    store: Path,
    folder: Path,
    name: str,
    published: Published | None = None,
) -> list[Path]:
    """Write the tables of a study as Markdown, and its fits as CSV.

    Parameters
    ----------
    records : sequence of Record
        The fits of the study.
    manifest : Manifest
        What was run.
    store : Path
        Where the runs are recorded.
    folder : Path
        Where to write.
    name : str
        The name of the study, and of its files.
    published : callable, optional
        Published values to show beside ours: (task, title of a model) -> Estimate or None.

    Returns
    -------
    list of Path
        The files written.
    """
    rows = manifest.rows()
    with Store(store, read_only=True) as opened:
        runs = opened.runs()
    failed = sum(record.error is not None for record in records)
    machines = "; ".join(sorted({run.machine for run in runs}))
    tables = results_tables(records, rows, published=published)
    by_row = every_row(records, rows)
    tables += [] if by_row is None else [by_row]
    tables.append(costs_table(records, [(run.wall, run.workers) for run in runs]))
    lines = [
        f"# {name}",
        "",
        f"{len(records)} of {manifest.fits} fits, {failed} of them failed. {_origin(rows)} "
        f"Written by `npf reproduce`; {machines}; wall time "
        f"{duration(sum(run.wall for run in runs))} in {len(runs)} run{'s' * (len(runs) != 1)}.",
        *([_QUICK] if name.endswith("-quick") else []),
        "",
        *(table.markdown() for table in tables),
    ]
    page, fits = folder / f"{name}.md", folder / f"{name}-fits.csv"
    write_text(page, "\n".join(lines))
    write_csv(records, fits)
    return [page, fits]


def _origin(rows: Sequence[Row]) -> str:
    """Where the clouds come from, in a sentence."""
    real = sorted({row.size._replace(task_seed=0).title for row in rows if row.size.is_real})
    if not real:
        return "Everything here is simulated."
    if all(row.content is not None for row in rows):
        return "Clouds come from the table that was given."
    rest = "" if all(row.size.is_real for row in rows) else " The rest is simulated."
    return f"Real data: {', '.join(real)}.{rest}"
