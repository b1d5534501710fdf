"""Finished fits as a compact CSV without predictions, to keep with a project and continue from."""

from __future__ import annotations

import csv
import json
import os
from collections.abc import Iterable
from math import isnan, nan
from pathlib import Path
from typing import Any

from pointforms.bench.records import NUMBERS, Record, Row, duplicate_fit
from pointforms.support.files import atomic
from pointforms.support.options import shown

_SIZES = ("clouds", "points", "task_seed")
_ROW = ("task", "model", "options", *_SIZES, "content", "settings", "reading")
_MAPPINGS = ("options", "reading")
_WHOLE = ("fold", "seed", "train_size", "test_size", "parameters", "memory", "epochs")
_COLUMNS = (*_ROW, *_WHOLE, *NUMBERS, "version")
_IDENTITY = ("task", "model", "fold", "seed")
_REQUIRED = (*_IDENTITY, "auroc")


def write_csv(records: Iterable[Record], path: str | os.PathLike[str]) -> int:
    """Write the fits that succeeded as CSV. The file appears complete or not at all.

    Parameters
    ----------
    records : iterable of Record
        Fits; those that failed are left out.
    path : path-like
        The file to write.

    Returns
    -------
    int
        Number of fits written.

    Examples
    --------
    >>> import tempfile
    >>> from pointforms.bench import Record, Row
    >>> file = f"{tempfile.mkdtemp()}/fits.csv"
    >>> write_csv([Record(Row("colocated", "mlp"), fold=0, seed=0, auroc=0.8)], file)
    1
    >>> read_csv(file)[0].auroc
    0.8
    """
    count = 0
    with atomic(Path(path)) as partial, open(partial, "w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(_COLUMNS)
        for record in records:
            if record.error is None:
                writer.writerow(_fields(record))
                count += 1
    return count


def _fields(record: Record) -> list[Any]:
    row = record.row
    content = vars(record) | vars(row)  # `clouds` is the size of the task
    content["settings"] = row.digest
    for name in _MAPPINGS:
        text = json.dumps(dict(content[name]), sort_keys=True, separators=(",", ":"))
        content[name] = "" if text == "{}" else text
    for name in NUMBERS:
        content[name] = None if isnan(content[name]) else f"{content[name]:.10g}"
    return ["" if content[name] is None else content[name] for name in _COLUMNS]


def read_csv(path: str | os.PathLike[str]) -> list[Record]:
    """Read fits that :func:`write_csv` has written.

    Parameters
    ----------
    path : path-like
        A CSV file.

    Returns
    -------
    list of Record

    Raises
    ------
    ValueError
        If something in the file is wrong; the message names the line.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> file = Path(tempfile.mkdtemp()) / "fits.csv"
    >>> _ = file.write_text("task,model,fold,seed,auroc\\ncolocated,mlp,0,0,0.8\\n")
    >>> [(record.row.model, record.auroc) for record in read_csv(file)]
    [('mlp', 0.8)]
    """
    label = os.fspath(path)
    if not Path(path).is_file():
        raise FileNotFoundError(f"no file {label!r}")
    fits: dict[tuple[Row, int, int], Record] = {}
    try:
        # spreadsheets start a file with a mark
        with open(path, newline="", encoding="utf-8-sig") as file:
            reader = csv.DictReader(file, strict=True)
            missing = [name for name in _REQUIRED if name not in (reader.fieldnames or ())]
            if missing:
                raise ValueError(
                    f"{label}: no column {missing[0]!r}; expected {', '.join(_COLUMNS)}"
                )
            for content in reader:
                try:
                    record = _record(content)
                    fit = (record.row, record.fold, record.seed)
                    if fit in fits:
                        raise ValueError(duplicate_fit(record))
                except ValueError as error:
                    raise ValueError(f"{label}, line {reader.line_num}: {error}") from None
                fits[fit] = record
    except csv.Error as error:
        raise ValueError(f"{label}, line {reader.reader.line_num}: not CSV: {error}") from None
    except UnicodeDecodeError as error:
        raise ValueError(f"{label} is not a CSV of fits: {error}") from None
    return list(fits.values())


def _record(content: dict[str, Any]) -> Record:
    if None in content or None in content.values():
        raise ValueError(f"expected {len(content) - (None in content)} fields")
    given = {name: value for name, value in content.items() if name in _COLUMNS and value}
    for name in _IDENTITY:
        if name not in given:
            raise ValueError(f"no {name}")
    values = {name: _value(name, text) for name, text in given.items()}
    row = Row(**{name: values.pop(name) for name in _ROW if name in values})
    return Record(row, **values)


def _value(name: str, text: str) -> Any:
    """The value that a field stands for."""
    if name in _MAPPINGS:
        return _options(text)
    if name not in (*_SIZES, *_WHOLE, *NUMBERS):
        return text
    number = "a number, or nothing where it is not known"
    kind, expected = (float, number) if name in NUMBERS else (int, "a whole number")
    try:
        value = kind(text)
        float(value)
    except (ValueError, OverflowError):  # a whole number beyond all floats
        value = nan
    if isnan(value):
        raise ValueError(f"{name} is {text!r}: expected {expected}")
    return value


def _options(text: str) -> dict[str, Any]:
    try:
        options = json.loads(text)
        json.dumps(options, allow_nan=False)  # Python reads NaN, which no row can have
    except (ValueError, RecursionError) as error:
        raise ValueError(f"options are {shown(text)}: not JSON: {error}") from None
    if not isinstance(options, dict):
        raise ValueError(f"options are {text!r}: expected a JSON object")
    return options
