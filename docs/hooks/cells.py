"""Run a script cell by cell, and keep what each cell prints and draws.

A script is divided by lines that start with `# %%`, as editors and Jupytext do. A cell that starts
with `# %% [markdown]` holds prose in comments. A picture is any PNG file that a cell writes into
the current folder, so a script does the same when it is run by itself:

    python docs/hooks/cells.py SCRIPT OUTPUT.json
"""

from __future__ import annotations

import contextlib
import io
import json
import re
import sys
from dataclasses import asdict, dataclass, field
from pathlib import Path

_START = re.compile(r"^# %%(?P<kind>.*)$", re.MULTILINE)


@dataclass
class Cell:
    """Prose, or code with what it printed and the names of the pictures that it wrote."""

    prose: bool
    text: str
    printed: str = ""
    pictures: list[str] = field(default_factory=list)


def split(script: str) -> list[Cell]:
    """Return the cells of a script; what stands above the first is left out."""
    _, *parts = _START.split(script)
    kinds, texts = parts[::2], parts[1::2]
    cells = []
    for kind, text in zip(kinds, texts, strict=True):
        prose = kind.strip() == "[markdown]"
        if prose:
            text = re.sub(r"^# ?", "", text, flags=re.MULTILINE)
        cells.append(Cell(prose, text.strip()))
    return cells


def run(path: Path) -> list[Cell]:
    """Run the code of a script in the current folder."""
    script = path.read_text("utf-8")
    cells = split(script)
    names: dict[str, object] = {"__name__": "__main__"}
    seen: set[Path] = set()
    line = 0
    for cell in cells:
        if cell.prose:
            continue
        start = script.index(cell.text, line)  # errors then name the line of the script
        line = start
        code = "\n" * script.count("\n", 0, start) + cell.text
        with contextlib.redirect_stdout(io.StringIO()) as printed:
            exec(compile(code, str(path), "exec"), names)
        cell.printed = printed.getvalue().rstrip()
        new = sorted(set(Path().glob("*.png")) - seen, key=lambda file: file.stat().st_mtime_ns)
        seen.update(new)
        cell.pictures = [file.name for file in new]
    return cells


if __name__ == "__main__":
    source, output = map(Path, sys.argv[1:])
    output.write_text(json.dumps([asdict(cell) for cell in run(source)]), "utf-8")
