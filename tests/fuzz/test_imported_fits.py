"""Any CSV of fits: numbers that a fit can have, or one line that names the file and the field."""

from __future__ import annotations

import math
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.fuzz.judge import judge, must
from tests.fuzz.profiles import share
from tests.fuzz.test_tables import damages
from tests.helpers.commands import npf

from pointforms import bench
from pointforms.bench.fits_csv import read_csv

GOOD = {
    "task": "colocated", "model": "mlp", "options": '{"epochs":3}', "clouds": "40", "points": "16",
    "task_seed": "0", "content": "", "settings": "0123abcd", "fold": "0", "seed": "0",
    "train_size": "24", "test_size": "8", "parameters": "17", "memory": "1000", "epochs": "3",
    "auroc": "0.8", "accuracy": "0.75", "log_loss": "0.5", "brier": "0.4",
    "validation_loss": "0.6", "seconds": "1.5", "version": "0.1.0",
}  # fmt: skip
HEAD = list(GOOD)
FIELDS = (
    "", " ", "0", "1", "-1", "-5", "99", "-3", "0.5", "1.5", "1e400", "-1e-9", "nan", "inf",
    "1_000", "١",
    "0x10", "1,5", "abc", "\x1b[31mred\x1b[0m", "\x1b]0;title\x07", "a\nb", '"', "[]", "{}", "null",
    '{"epochs":NaN}', '{"epochs":' * 2000, '{"a":1}', "{" * 10**4, "9" * 5000, "../../x", "\x00",
    "é" * 99,
    '{"random_state":1}', '{"epochs":3,"epochs":4}', "1" * 400,
)  # fmt: skip


def csv_text(rows: list[dict[str, str]], head: list[str]) -> str:
    def cell(text: str) -> str:
        return '"' + text.replace('"', '""') + '"'

    return (
        "\n".join([",".join(head), *(",".join(cell(row[h]) for h in head) for row in rows)]) + "\n"
    )


def must_be_possible(records: list[bench.Record]) -> None:
    """Check that every number is one that a fit can have; NaN stands for unknown."""
    for record in records:
        for name in ("auroc", "accuracy"):
            value = getattr(record, name)
            must(math.isnan(value) or 0 <= value <= 1, f"{name} = {value}")
        must(math.isnan(record.brier) or 0 <= record.brier <= 2, f"brier = {record.brier}")
        for name in ("seconds", "log_loss"):
            value = getattr(record, name)
            must(math.isnan(value) or 0 <= value < math.inf, f"{name} = {value}")
        must(not math.isinf(record.validation_loss), "validation_loss is infinite")
        must(0 <= record.fold < 5, f"fold = {record.fold}")
        must(0 <= record.seed < 2**63, f"seed = {record.seed}")
        for name in ("train_size", "test_size", "parameters", "memory", "epochs"):
            must((getattr(record, name) or 0) >= 0, f"{name} is negative")


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("fits")


def judge_file(path: Path, names: list[str], command: bool) -> None:
    """Read a file of fits, directly or by `npf import`."""

    def call() -> None:
        if not command:
            return must_be_possible(read_csv(path))
        store = path.with_suffix(".db")
        for left in path.parent.glob("fuzzed.db*"):
            left.unlink()
        ended = npf("import", path, "--store", store)
        must(ended.exit_code in (0, 2), f"exit code {ended.exit_code}: {ended.exception!r}")
        must("Traceback" not in ended.output, "a traceback")
        must("\x1b" not in ended.output and "\x07" not in ended.output, "escape sequences")
        if ended.exit_code:
            raise ValueError(ended.output)
        with bench.Store(store) as opened:
            must_be_possible(opened.records())

    judge("imported fits", call, names)


@share(0.05)
@given(
    changes=st.lists(
        st.tuples(st.integers(0, 1), st.sampled_from(HEAD), st.sampled_from(FIELDS)), max_size=2
    ),
    rows=st.integers(0, 2),
    head=st.sampled_from(("all", "all", "all", "all", "short", "twice", "unknown", "missing")),
    command=st.sampled_from((False, False, True)),
)
def test_fields(
    changes: list[tuple[int, str, str]], rows: int, head: str, command: bool, folder: Path
) -> None:
    table = [GOOD | {"fold": str(i)} for i in range(rows)]
    changed = []
    for i, name, field in changes:
        if i < rows:
            table[i][name] = field
            changed.append(name)
    heads = list(HEAD)
    if head == "short":
        heads = ["task", "model", "fold", "seed", "auroc"]
    elif head == "twice":
        heads.append("auroc")
    elif head == "unknown":
        heads[heads.index("version")] = "verison"
        table = [row | {"verison": "1"} for row in table]
    elif head == "missing":
        heads.remove("fold")
    path = folder / "fuzzed.csv"
    path.write_text(csv_text(table, heads), encoding="utf-8", newline="")
    wrong_head = {"twice": ["auroc"], "unknown": ["verison"], "missing": ["fold"]}.get(head, [])
    # both rows may have become the same fit
    same = ["twice"] if len(table) == 2 and changed else []
    judge_file(path, changed + wrong_head + same, command)


@share(0.01)
@given(damage=damages(), command=st.sampled_from((False, False, True)))
def test_damaged_files(damage: Callable[[bytes], bytes], command: bool, folder: Path) -> None:
    path = folder / "fuzzed.csv"
    path.write_bytes(damage(csv_text([GOOD, GOOD | {"fold": "1"}], HEAD).encode()))
    judge_file(path, ["fuzzed.csv", "fold"], command)


@share(0.01)
@given(name=st.sampled_from(("none.csv", "folder", "\x1b[2J.csv", "a\x00b", "x" * 300)))
def test_missing_files(name: str, folder: Path) -> None:
    (folder / "folder").mkdir(exist_ok=True)
    # a box may break a long line of the message
    judge_file(folder / name, [name[:20], "csv", "null byte"], command=True)


def test_a_good_file_is_read(folder: Path) -> None:
    path = folder / "fuzzed.csv"
    path.write_text(csv_text([GOOD], HEAD), encoding="utf-8")
    assert [record.auroc for record in read_csv(path)] == [0.8]
    judge_file(path, [], command=True)
