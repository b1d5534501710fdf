"""Start-up: every `--help` works, and nothing heavy is imported before a command runs."""

from __future__ import annotations

import json
import subprocess
import sys
from itertools import pairwise
from pathlib import Path

import pytest
import typer
from tests.helpers.commands import npf, ok

import pointforms
from pointforms.cli.app import app

HEAVY = ("torch", "sklearn", "pandas", "numpy", "scipy", "matplotlib", "pyarrow", "ray")


def commands() -> list[tuple[str, ...]]:
    """Every command with its subcommands."""
    group = typer.main.get_command(app)
    names = []
    for name, command in group.commands.items():
        names.append((name,))
        names += [(name, inner) for inner in getattr(command, "commands", ())]
    return names


def test_version_and_help():
    assert pointforms.__version__ in ok("--version")
    assert "inspect" in ok("--help")
    assert "Usage" in npf().output


@pytest.mark.parametrize("command", commands(), ids=" ".join)
def test_every_command_has_help(command):
    text = ok(*command, "--help")
    assert "Usage" in text
    assert "--help" in text


def test_nothing_heavy_is_imported_for_help_and_lists():
    """One process runs them all and says, after each, what has been imported."""
    code = f"""
import json, sys
from typer.testing import CliRunner
from pointforms.cli.app import app
for arguments in json.loads(sys.argv[1]):
    result = CliRunner().invoke(app, arguments)
    assert result.exit_code == 0, (arguments, result.output)
    heavy = sorted(set({HEAVY!r}) & set(sys.modules))
    assert not heavy, (arguments, heavy)
"""
    cases = [["--version"], ["--help"], ["tasks"], ["tasks", "list"], ["models"]]
    cases += [[*command, "--help"] for command in commands()]
    subprocess.run([sys.executable, "-c", code, json.dumps(cases)], check=True)


def test_commands_that_compute_use_one_thread():
    code = """
import torch
from pointforms.cli.console import use_one_thread
torch.set_num_threads(2)
use_one_thread()
assert torch.get_num_threads() == 1
"""
    subprocess.run([sys.executable, "-c", code], check=True)


def test_installed_command():
    npf = Path(sys.executable).with_name("npf")
    result = subprocess.run([npf, "--version"], capture_output=True, text=True, check=True)
    assert result.stdout.strip() == f"pointforms {pointforms.__version__}"


def test_help_texts_break_lines_where_the_terminal_does(monkeypatch):
    """Lines of a paragraph are full, though docstrings have breaks of their own."""
    monkeypatch.setenv("COLUMNS", "80")
    text = ok("predict", "--help").split("Arguments")[0]
    lines = [line.rstrip() for line in text.splitlines() if line.startswith(" ")][2:]
    for line, following in pairwise(lines):
        if line.strip() and following.strip():  # the first word of a line had no room before it
            assert len(line) + 1 + len(following.split()[0]) > 78
