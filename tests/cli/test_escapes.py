"""What reaches a terminal: text of users is shown as it is, and controls nothing."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest
from typer.testing import CliRunner

import pointforms.cli
from pointforms.bench.fitting import failed
from pointforms.bench.records import Record, Row, Unit
from pointforms.bench.running import run
from pointforms.bench.store import Store
from pointforms.cli.app import app

#: Clears a screen, starts a line again, rings, opens a sequence (C1), reverses letters, and markup.
EVIL = "\x1b[2J\r\x07\x9b31m\u202egpj[red]x[/red][link=http://a.b]y[/link]"
SHOWN = r"\x1b[2J\r\x07\x9b31m\u202egpj[red]x[/red][link=http://a.b]y[/link]"
CONTROLS = ("\x1b", "\r", "\x07", "\x9b", "\u202e")


def npf(*arguments):
    """Run a command as in a terminal, from whose output no sequence is taken out."""
    result = CliRunner().invoke(app, [str(a) for a in arguments], color=True)
    assert not [c for c in CONTROLS if c in result.output], result.output
    return result


@pytest.fixture
def here(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    return tmp_path


def as_filename(text):
    return text.replace("/", "|")


def test_errors_show_names_of_files_and_columns(here):
    name = as_filename(EVIL) + "\n.csv"
    (here / name).write_text(f"{EVIL.replace(chr(13), '')},b\n1,2\n")
    for command in (("run", name, "mlp"), ("tasks", "show", name), ("import", name)):
        result = npf(*command)
        assert result.exit_code == 2
        assert result.stderr.count("\n") == 1
        assert r"\x1b[2J" in result.stderr
        assert "[red]x[" in result.stderr
    assert as_filename(SHOWN) + r"\n.csv" in npf("run", name, "mlp").stderr


def test_a_file_name_that_is_no_text_is_shown(here):
    result = npf("status", "caf\udce9.db")
    assert result.exit_code == 2
    assert r"caf\udce9.db" in result.stderr


def test_a_task_is_described_with_its_names(here):
    (here / "mine.csv").write_text(
        f'cloud,label,"{EVIL}"\n'
        + "".join(f'{i},"{EVIL}{i % 2}",{x}\n' for i in range(8) for x in (i, 0.5))
    )
    result = npf("tasks", "show", "mine.csv")
    assert result.exit_code == 0, result.output
    assert "[red]x[/red]" in result.stdout


def test_stored_names_and_errors_are_shown(here):
    row = Row(EVIL, EVIL)
    good = [Record(row, fold, 0, auroc=0.5) for fold in range(2)]

    class Engine:
        name, workers = "here", 1

        def run(self, take):
            while (unit := take()) is not None:
                yield unit, failed(unit, f"Traceback:\n{EVIL}")

    with Store("results.db") as store:
        store.finish(None, good)
        broken = Row("colocated", "mlp", {"note": EVIL})
        run([Unit(broken, ((0, 0),))], store, Engine(), EVIL)
    for command in (
        ("status", "--errors"),
        ("status",),
        ("table", "--every", "--wide"),
        ("table",),
    ):
        result = npf(command[0], "results.db", *command[1:])
        assert result.exit_code == 0, result.output
        assert "[red]x[/red][link=http://a.b]y[/link]" in result.stdout.replace("\n", "")
    log = (here / "results.db.log").read_bytes().decode("utf-8")
    assert not [c for c in CONTROLS if c in log]
    assert SHOWN in log


def test_wrong_arguments_are_shown(here):
    for command in ((EVIL,), ("status", "--log", EVIL), ("run", "colocated", "mlp", "--set", EVIL)):
        assert npf(*command).exit_code == 2


def test_commands_print_in_one_way():
    """`typer.echo` and `print` would send everything to the terminal as it is."""
    for file in Path(pointforms.cli.__file__).parent.glob("*.py"):
        calls = [node.func for node in ast.walk(ast.parse(file.read_text("utf-8")))
                 if isinstance(node, ast.Call)]  # fmt: skip
        names = {ast.unparse(call) for call in calls}
        raw = names & {"typer.echo", "typer.secho", "print"}
        assert raw == ({"typer.echo"} if file.name == "console.py" else set()), file.name
