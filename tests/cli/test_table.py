"""`npf table`."""

from __future__ import annotations

import re

import pytest
from tests.helpers.commands import ok, refused
from tests.helpers.samples import comparison

from pointforms.bench.store import Store


@pytest.mark.parametrize(
    ("format", "sign"),
    [
        ("terminal", r"circles-vs-lines"),
        ("markdown", r"\|[ :-]+\|"),
        ("latex", r"\\begin\{tabular\}"),
        ("csv", r"(?m)^[^\n]*,[^\n]*MLP|MLP,"),
    ],
)
def test_tables_in_every_format(filled, folder, format, sign):
    printed = ok("table", filled, "--format", format)
    assert re.search(sign, printed)
    assert "MLP" in printed
    ok("table", filled, "--format", format, "--every")
    ok("table", filled, "--format", format, "--costs")
    assert str(folder / "table.txt") in ok(
        "table", filled, "--format", format, "--out", "table.txt"
    )
    assert "MLP" in (folder / "table.txt").read_text()


def test_a_task_that_is_not_there_has_no_table(filled):
    assert "MLP" in ok("table", filled, "--task", "circles-vs-lines")
    title = "circles-vs-lines (40 clouds, 24 points)"
    assert title in ok("table", filled, "--task", title)
    message = f"no task 'colocated' in the store: expected one of {title!r}"
    assert message in refused("table", filled, "--task", "colocated")


def test_an_absent_store_is_explained(folder):
    assert "npf table: no store 'absent.db'" in refused("table", "absent.db")
    assert not list(folder.iterdir())


def test_a_reference_of_choice(filled):
    printed = ok("table", filled, "--format", "markdown", "--reference", "mlp")
    assert "difference to MLP" in printed
    assert "difference to NPF" not in printed
    message = "npf table: no fits of the reference 'mpl': did you mean 'mlp'?"
    assert message in refused("table", filled, "--reference", "mpl")


def test_several_tasks_have_a_last_table_across_them(folder, filled):
    assert "Across" not in ok("table", filled)
    with Store("two.db") as store:
        store.finish(None, comparison())
    printed = ok("table", "two.db", "--format", "markdown", "--reference", "mlp")
    *tasks, last = printed.split("### ")[1:]
    assert [text.splitlines()[0] for text in tasks] == ["circles-vs-lines", "rna-velocity"]
    assert last.startswith("Across 2 tasks")
    assert re.search(r"\| NPF-Tri k=1 \| .* \| \+0\.2\d\d \| 2 \| 0 \| 2 \|", last)
    ok("table", "two.db", "--out", "table.md", "--every")
    assert "### Across 2 tasks" in (folder / "table.md").read_text()
    assert "Across" not in ok("table", "two.db", "--task", "rna-velocity")
    assert "Across" not in ok("table", "two.db", "--costs")
