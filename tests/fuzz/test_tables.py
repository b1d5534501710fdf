"""Any table or archive: clouds and tasks that keep their promises, or an error with the column."""

from __future__ import annotations

import io
import struct
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pyarrow import parquet
from tests.fuzz.judge import judge, must
from tests.fuzz.profiles import share
from tests.fuzz.strategies import AWKWARD, awkward

import pointforms as pf

CLOUDS, ROWS = 12, 3


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("tables")


def plain_columns() -> dict[str, list[Any]]:
    """Return the columns of a good table: 12 clouds of 3 points, of 6 patients in 3 folds."""
    cloud = [i for i in range(CLOUDS) for _ in range(ROWS)]
    rng = np.random.default_rng(0)
    return {
        "cloud": [f"c{i:02d}" for i in cloud],
        "label": ["yes" if i % 2 else "no" for i in cloud],
        "group": [f"p{i // 2}" for i in cloud],
        "x": rng.normal(size=len(cloud)).tolist(),
        "y": rng.normal(size=len(cloud)).tolist(),
        "fold": [i // 2 % 3 for i in cloud],
        "split": [("train", "train", "train", "validation", "test")[i // 2 % 5] for i in cloud],
    }


#: What may be wrong with a column: values that replace one, some or all of them.
CELLS: tuple[Any, ...] = (
    None, "", "a", "1,5", "1.234,5", "NaN", "inf", "-", 0, 1, -1, 7, 99, 2**63 - 1, 0.5, -0.0,
    1e300,
    float("nan"), float("inf"), True, "\x1b[31mred", "é", "a,b", 'a"b', "a\nb", " train", "TEST",
    b"\xff",
)  # fmt: skip


@st.composite
def columns(draw: Callable[..., Any]) -> tuple[list[tuple[str, list[Any]]], list[str]]:
    """Draw the columns of a table, and the names of those that were changed."""
    table = plain_columns()
    for name in draw(st.lists(st.sampled_from(("group", "fold", "split")), unique=True)):
        del table[name]
    changed: list[str] = []
    for _ in range(draw(st.sampled_from((0, 1, 1, 1, 2, 2)))):
        name = draw(st.sampled_from(sorted(table)))
        changed.append(name)
        values, cell = table[name], draw(st.sampled_from(CELLS))
        match draw(st.sampled_from(("one", "all", "cloud", "shift", "sort", "unique", "drop"))):
            case "one":
                values[draw(st.integers(0, len(values) - 1))] = cell
            case "all":
                values[:] = [cell] * len(values)
            case "cloud":
                values[:ROWS] = [cell] * ROWS
            case "shift":
                values.append(values.pop(0))
            case "sort":
                values.sort(key=str)
            case "unique":
                values[:] = [f"{v}{i}" if isinstance(v, str) else i for i, v in enumerate(values)]
            case "drop":
                del table[name]
                if not table:
                    return [], changed
    named = list(table.items())
    if draw(st.sampled_from((False,) * 9 + (True,))):
        named.append(draw(st.sampled_from(named)))  # a name twice
        changed.append(named[-1][0])
    if draw(st.sampled_from((False,) * 9 + (True,))):
        named.append(("well", [f"A{i}" for i in range(len(named[0][1]))]))  # an identifier
        changed.append("well")
    if draw(st.sampled_from((False,) * 9 + (True,))):
        named = [(name, values[:0]) for name, values in named]
        changed.append("table")
    return named, changed


def csv_text(named: list[tuple[str, list[Any]]], separator: str, quote: bool) -> str:
    def cell(value: Any) -> str:
        text = "" if value is None else str(value)
        risky = quote and any(mark in text for mark in f'{separator}"\n')
        return '"' + text.replace('"', '""') + '"' if risky else text

    rows = zip(*(values for _, values in named), strict=True)
    lines = [separator.join(name for name, _ in named)]
    return "\n".join(lines + [separator.join(map(cell, row)) for row in rows]) + "\n"


def make_table(named: list[tuple[str, list[Any]]], kind: str, folder: Path) -> Any:
    """Return a table as a frame, or the file that holds it."""
    if kind.startswith(("csv", "tsv")):
        path = folder / f"cells.{kind[:3]}"
        text = csv_text(named, "\t" if kind == "tsv" else ";" if "semicolon" in kind else ",", True)
        path.write_bytes(text.encode("latin-1" if "latin" in kind else "utf-8", errors="replace"))
        return path
    if kind == "frame":
        made = pd.concat([pd.Series(v, name=k, dtype=object) for k, v in named], axis=1)
        return made.infer_objects()
    made = pa.table([_arrow(values) for _, values in named], names=[name for name, _ in named])
    if kind == "arrow":
        return made
    parquet.write_table(made, folder / "cells.parquet")
    return folder / "cells.parquet"


def _arrow(values: list[Any]) -> pa.Array:
    try:
        return pa.array(values)
    except (pa.ArrowInvalid, pa.ArrowTypeError):  # values of several types
        return pa.array([None if v is None else str(v) for v in values])


def read_task(table: Any, **options: Any) -> Any:
    """Read a task and check that its folds and its split keep groups together."""
    task = pf.tasks.read(table, **options)
    must(
        len(task.labels) == len(task.groups) == len(task.folds) == len(task.split), "lengths differ"
    )
    for group in set(task.groups.tolist()):
        own = task.groups == group
        must(len(set(task.folds[own].tolist())) == 1, "a group is in two folds")
        must(len(set(task.split[own].tolist())) == 1, "a group is in two parts of the split")
    must(set(task.split.tolist()) <= {"train", "validation", "test"}, "unknown part of the split")
    folds = set(task.folds.tolist())
    must(folds == set(range(len(folds))) and len(folds) > 1, f"folds {folds}")
    return task.clouds


KINDS = ("frame", "arrow", "parquet", "csv", "tsv", "csv latin", "csv semicolon")


@share(0.08)
@given(
    drawn=columns(),
    kind=st.sampled_from(KINDS),
    as_task=st.booleans(),
    features=st.sampled_from((None,) * 5 + (("x",), ("x", "y"), ("x", "x"), (), ("z",), "x", (3,))),
)
def test_tables(drawn: Any, kind: str, as_task: bool, features: Any, folder: Path) -> None:
    named, changed = drawn
    if not named:
        return
    table = make_table(named, kind, folder)

    def call() -> Any:
        if as_task:
            return read_task(table, features=features)
        rows = pf.read_table(table, "cloud", features)
        must(len(rows.points) == len(named[0][1]), "points were lost")
        return rows.points

    names = [repr(name) if len(name) == 1 else name for name in changed]
    if changed:  # what a change does may show elsewhere
        names += ["table", "class ", "cloud "]
    if kind in ("csv latin", "csv semicolon"):
        names += ["cells.", "'cloud'"]
    if features not in (None, ("x",), ("x", "y")):
        names += ["feature", "'x'"]
    judge("tables", call, names)


@share(0.01)
@given(
    option=st.sampled_from(("cloud", "label", "group", "features", "seed")),
    value=awkward,
)
def test_options_of_reading(option: str, value: Any) -> None:
    table = pa.table(plain_columns())
    judge("tables", lambda: read_task(table, **{option: value}), [option.rstrip("s"), repr(value)])


@share(0.01)
@given(table=st.sampled_from(AWKWARD))
def test_things_that_are_no_table(table: Any, folder: Path) -> None:
    names = ["table", "no file", "nowhere", "data"]
    judge("tables", lambda: pf.read_table(table, "cloud").points, names)


# --- damaged files --------------------------------------------------------------------------


def good_file(kind: str, folder: Path) -> Path:
    """Return a good file of a kind, made once."""
    path = folder / f"good.{kind}"
    if path.exists():
        return path
    if kind == "npz":
        pf.tasks.write(pf.tasks.load("colocated", clouds=20, points=4), path)
    else:
        make_table(list(plain_columns().items()), kind, folder).rename(path)
    return path


@st.composite
def damages(draw: Callable[..., Any]) -> Callable[[bytes], bytes]:
    """Draw a way to damage the content of a file."""
    kind = draw(st.sampled_from(("flip", "cut", "insert", "replace", "empty", "random", "twice")))
    part, more = draw(st.floats(0, 1)), draw(st.binary(max_size=20))
    bit = draw(st.integers(0, 7))

    def damage(content: bytes) -> bytes:
        at = int(part * (len(content) - 1))
        return {
            "flip": content[:at] + bytes([content[at] ^ 1 << bit]) + content[at + 1 :],
            "cut": content[:at],
            "insert": content[:at] + more + content[at:],
            "replace": content[:at] + more + content[at + len(more) :],
            "empty": b"",
            "random": more,
            "twice": content + content,
        }[kind]

    damage.__name__ = f"{kind} at {part:.3f}, bit {bit}, {more!r}"
    return damage


@share(0.03)
@given(
    kind=st.sampled_from(("parquet", "csv", "tsv", "npz")), damage=damages(), as_task=st.booleans()
)
def test_damaged_files(
    kind: str, damage: Callable[[bytes], bytes], as_task: bool, folder: Path
) -> None:
    path = folder / f"damaged.{kind}"
    path.write_bytes(damage(good_file(kind, folder).read_bytes()))

    def call() -> Any:
        if as_task:
            return read_task(path)
        return (pf.read_npz(path) if kind == "npz" else pf.read_table(path, "cloud")).points

    # what is wrong may be the file, a column, a cloud or a class
    judge("tables", call, ["damaged.", "column", "cloud", "class ", "table", "split"])


# --- archives -------------------------------------------------------------------------------

ARRAYS: dict[str, tuple[Any, ...]] = {
    "points": (np.eye(8), np.eye(8, dtype="f4"), np.arange(8), np.ones((8, 0)), np.ones((2, 4, 2))),
    "offsets": (
        [0, 2, 4, 6, 8], [0, 8], [0, 2], [2, 0, 4, 6, 8], [0, 0, 4, 6, 8], [0, 2.0, 4, 6, 8],
        [[0, 8]], 8, [0, 2, 4, 6, 2**62],
    ),
    "ids": (list("abcd"), ["a"], [1, 2, 3, 4], [list("abcd")], "a", list("aabb")),
    "feature_names": (list("abcdefgh"), ["a"], "abcdefgh"),
    "label": (list("abab"), list("aaab"), ["a"], [0, 1, 0, 1], [0.5, np.nan, 1, 1], "a"),
    "fold": ([0, 0, 1, 1], [-1, 7, 0, 1], [0.5, 1, 1, 0], list("0011"), list("abab")),
    "split": (["train", "test", "train", "test"], ["train", "tset", "train", "test"], [0, 1, 0, 1]),
    "group": ([0, 1, 2, 3], [0, 0, 0, 0], list("aabb"), [None, 1, 1, 1]),
}  # fmt: skip
_EVERY = (
    np.array([None, 1], dtype=object),
    np.array([1j, 2]),
    np.array([]),
    np.nan,
    [b"\xff", b"a"],
)
GOOD_ARRAYS = {"points": np.eye(8), "offsets": [0, 2, 4, 6, 8], "label": list("abab")}


@st.composite
def archives(draw: Callable[..., Any]) -> dict[str, Any]:
    """Draw the arrays of an archive."""
    content: dict[str, Any] = dict(GOOD_ARRAYS)
    for name in draw(st.lists(st.sampled_from(sorted(ARRAYS)), max_size=3)):
        content[name] = draw(st.sampled_from(ARRAYS[name] + _EVERY))
    for name in draw(st.lists(st.sampled_from(sorted(content)), max_size=1)):
        del content[name]
    return content


@share(0.02)
@given(content=archives(), as_task=st.booleans())
def test_archives(content: dict[str, Any], as_task: bool, folder: Path) -> None:
    path = folder / "clouds.npz"
    np.savez(path, **{name: np.asarray(value) for name, value in content.items()})
    call = (lambda: read_task(path)) if as_task else (lambda: pf.read_npz(path).points)
    judge("tables", call, ["clouds.npz", "cloud ", "column", "class ", *ARRAYS])


@share(0.01)
@given(
    member=st.sampled_from(("points", "offsets", "ids", "label", "other")),
    shape=st.sampled_from(((10**12,), (10**6, 10**6), (2**62, 4), (-1, 2), (10**9, 2))),
    kind=st.sampled_from(("<f8", "<i8", "<U99999999", "|O", "<f4")),
)
def test_declared_sizes(member: str, shape: tuple[int, ...], kind: str, folder: Path) -> None:
    """An archive whose header promises more than there is does not fill the memory."""
    path = folder / "bomb.npz"
    np.savez(path, **GOOD_ARRAYS)
    header = f"{{'descr': {kind!r}, 'fortran_order': False, 'shape': {shape}, }}".encode()
    header += b" " * (-(len(header) + 11) % 64) + b"\n"
    declared = io.BytesIO()
    declared.write(b"\x93NUMPY\x01\x00" + struct.pack("<H", len(header)) + header + bytes(64))
    with zipfile.ZipFile(path) as archive:
        content = {name: archive.read(name) for name in archive.namelist()}
    content[f"{member}.npy"] = declared.getvalue()
    with zipfile.ZipFile(path, "w") as archive:
        for name, data in content.items():
            archive.writestr(name, data)
    judge("tables", lambda: read_task(path), [] if member == "other" else [member, "bomb.npz"])
