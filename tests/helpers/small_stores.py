"""Small stores of fits, and a way past them to the database."""

from __future__ import annotations

import sqlite3

import numpy as np

from pointforms.bench.records import Record, Row
from pointforms.bench.store import Store

ROW = Row("circles-vs-lines", "npf-tri-1", {"epochs": 3}, clouds=40)


def records(count=3, size=20):
    """Fits whose predictions differ."""
    made = []
    for seed in range(count):
        probabilities = np.tile([1 / (seed + 2), 1 - 1 / (seed + 2)], (size, 1))
        made.append(Record(ROW, 0, seed, 0.5, clouds=np.arange(size), probabilities=probabilities))
    return made


def raw(path, statement, values=()):
    """Straight to the database, without the store."""
    db = sqlite3.connect(path)
    with db:
        found = db.execute(statement, values).fetchall()
    db.close()
    return found


def finished(path):
    with Store(path) as store:
        store.finish(None, records())
