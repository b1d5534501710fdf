"""Commands in the documentation exist, and its code runs."""

from __future__ import annotations

import re
import shlex
import sys
from pathlib import Path

import pytest
import typer
from tests.helpers.pages import CONTRIBUTING, DOCS, PAGES, README, ROOT, TUTORIALS, fenced, prose

from pointforms.bench.manifest import shipped
from pointforms.cli.app import app


def commands() -> list[tuple[str, str]]:
    """Every line of a shell block that runs npf, with its page."""
    texts = {page: page.read_text("utf-8") for page in (*PAGES, README, CONTRIBUTING)}
    texts |= {tutorial: prose(tutorial) for tutorial in TUTORIALS}
    lines = [
        (str(page.relative_to(ROOT)), line)
        for page, text in texts.items()
        for block in fenced(text, "sh")
        for line in block.splitlines()
    ]
    return [(page, line) for page, line in lines if line.startswith("npf ")]


def test_every_command_exists_with_its_options():
    lines = commands()
    assert len(lines) > 30
    npf = typer.main.get_command(app)
    for page, line in lines:
        words, command = shlex.split(line, comments=True)[1:], npf
        context = typer.Context(command, info_name="npf")
        while getattr(command, "commands", None) and words and words[0] in command.commands:
            command = command.commands[words.pop(0)]
            context = typer.Context(command, info_name=command.name, parent=context)
        assert not getattr(command, "commands", None) or not words, f"{page}: {line}"
        try:
            command.parse_args(context, list(words))
        except Exception as error:
            raise AssertionError(f"{page}: {line}: {error}") from error


@pytest.mark.parametrize("line", ["npf run", "npf runn x y", "npf run x y --fold 2"])
def test_wrong_commands_would_be_reported(line, monkeypatch):
    monkeypatch.setattr(sys.modules[__name__], "commands", lambda: [("page", line)] * 31)
    with pytest.raises(AssertionError):
        test_every_command_exists_with_its_options()


def test_shipped_manifests_are_named():
    text = (DOCS / "comparisons.md").read_text("utf-8")
    assert all(f"`{name}`" in text for name in shipped())


def test_make_targets_exist():
    makefile = (ROOT / "Makefile").read_text("utf-8")
    for page in (*PAGES, README, CONTRIBUTING):
        for target in re.findall(r"^make ([\w-]+)|`make ([\w-]+)`", page.read_text("utf-8"), re.M):
            assert re.search(rf"^{''.join(target)}:", makefile, re.MULTILINE), (page.name, target)


def blocks(page: Path, kind: str) -> list[str]:
    return fenced(page.read_text("utf-8"), kind)


def run_blocks(page: Path, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Run all python blocks of a page in order, as a reader would paste them."""
    monkeypatch.chdir(folder)
    names: dict = {"__name__": "docs"}
    for number, text in enumerate(blocks(page, "python")):
        exec(compile(text, f"{page.name}, block {number}", "exec"), names)


def test_the_start_page_runs(tmp_path, monkeypatch, capsys):
    run_blocks(DOCS / "index.md", tmp_path, monkeypatch)
    printed = capsys.readouterr().out
    assert "(60, 8, 8)" in printed
    assert "1 torch.Size([1000, 2, 2])" in printed


@pytest.mark.slow
@pytest.mark.parametrize(
    "page",
    [p for p in (*PAGES, README) if p.name != "index.md" and blocks(p, "python")],
    ids=lambda p: p.stem,
)
def test_the_other_pages_run(page, tmp_path, monkeypatch):
    run_blocks(page, tmp_path, monkeypatch)
