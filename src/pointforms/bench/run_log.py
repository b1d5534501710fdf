"""The log beside a store: one line per unit that was trained."""

from __future__ import annotations

import logging
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path

from pointforms.bench.records import Record, Unit
from pointforms.support.formatting import visible


def log_path(store: Path) -> Path:
    """Return the path of the log that belongs to a store."""
    return store.with_name(store.name + ".log")


@contextmanager
def logged(store: Path) -> Iterator[logging.Logger]:
    """Yield a log beside the store, with one line per unit."""
    log = logging.Logger("pointforms.bench")
    handler = _LogFile(log_path(store), encoding="utf-8")
    handler.setFormatter(_OneLine("%(asctime)s %(message)s"))
    log.addHandler(handler)
    try:
        yield log
    finally:
        with suppress(OSError):
            handler.close()


def log_unit(log: logging.Logger, unit: Unit, records: Sequence[Record]) -> None:
    """Write the line of a unit: what was trained, and how it went."""
    row = unit.row
    what = f"{row.task} {row.model} {dict(row.options)}"
    fits = ", ".join(f"{fold}/{seed}" for fold, seed in unit.fits)
    first = records[0]
    if first.error is not None:
        log.info("%s fold/seed %s: FAILED: %s", what, fits, first.reason)
        return
    scores = ", ".join(f"{record.auroc:.3f}" for record in records)
    log.info("%s fold/seed %s: AUROC %s, %.1f s each", what, fits, scores, first.seconds)


class _LogFile(logging.FileHandler):
    """A log that ends on a full disk, about which the store raises an error."""

    def handleError(self, record: logging.LogRecord) -> None:
        """Print nothing: by default this prints a traceback."""


class _OneLine(logging.Formatter):
    """One line per entry, which nothing in a name or an error can break or colour."""

    def format(self, record: logging.LogRecord) -> str:
        return visible(super().format(record))
