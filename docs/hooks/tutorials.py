"""MkDocs hook that turns the scripts in docs/tutorials/ into pages with their results.

Each script runs by itself, in an empty folder, with one thread. One that fails stops the build.
With RUN_TUTORIALS=false in the environment the pages have the code alone, which takes seconds.
"""

from __future__ import annotations

import json
import logging
import os
import re
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

from cells import Cell, split
from mkdocs.exceptions import PluginError
from mkdocs.structure.files import File, Files

MARK = "<!-- all tutorials -->"
_LOG = logging.getLogger("mkdocs.hooks.tutorials")
_SETTINGS = {
    "MPLBACKEND": "agg",
    "OMP_NUM_THREADS": "1",
    "PYTHONHASHSEED": "0",
    "PYTHONIOENCODING": "utf-8",
}
_cards: dict[str, str] = {}  # by the name of the script


def on_files(files: Files, config: Any, **_: Any) -> Files:
    """Add a page, and its pictures, per script."""
    for script in sorted((Path(config.docs_dir) / "tutorials").glob("*.py")):
        with tempfile.TemporaryDirectory() as folder:
            if config.extra["run_tutorials"]:
                cells = executed(script, Path(folder))
            else:
                cells = split(script.read_text("utf-8"))
            widths = {}
            for name in [name for cell in cells for name in cell.pictures]:
                content = (Path(folder) / name).read_bytes()
                widths[name] = shown_width(content)
                uri = f"tutorials/{script.stem}/{name}"
                files.append(File.generated(config, uri, content=content))
        text = markdown(cells, script.stem, widths)
        files.append(File.generated(config, f"tutorials/{script.stem}.md", content=text))
        _cards[script.stem] = card(cells, script.stem)
    return files


def on_page_markdown(text: str, **_: Any) -> str:
    """Replace the mark of the gallery by one card per tutorial, in the order of the page."""
    if MARK not in text:
        return text
    body, _mark, order = text.partition(MARK)
    names = order.split()
    if sorted(names) != sorted(_cards):
        raise PluginError(f"tutorials/index.md lists {sorted(names)}: expected {sorted(_cards)}")
    cards = "\n\n".join(_cards[name] for name in names)
    return f'{body}<div class="gallery" markdown>\n\n{cards}\n\n</div>\n'


def executed(script: Path, folder: Path) -> list[Cell]:
    """Run a script in a process of its own, and return its cells with their results."""
    start = time.monotonic()
    output = folder / "cells.json"
    command = [sys.executable, str(Path(__file__).parent / "cells.py"), str(script), str(output)]
    result = subprocess.run(
        command, cwd=folder, capture_output=True, text=True, encoding="utf-8",
        env=os.environ | _SETTINGS,
    )  # fmt: skip
    if result.returncode:
        raise PluginError(f"The tutorial {script.name} failed:\n{result.stderr}")
    _LOG.info("Tutorial %s: %.0f s", script.name, time.monotonic() - start)
    return [Cell(**cell) for cell in json.loads(output.read_text("utf-8"))]


def markdown(cells: list[Cell], name: str, widths: dict[str, int]) -> str:
    """Return the page of a tutorial."""
    parts = []
    for cell in cells:
        if cell.prose:
            parts.append(cell.text)
            continue
        parts.append(f"```python\n{cell.text}\n```")
        if cell.printed:
            parts.append(f"```{{.text .printed}}\n{cell.printed}\n```")
        for picture in cell.pictures:
            link = f"![{alt(picture)}]({name}/{picture})"
            parts.append(f'{link}{{ width="{widths[picture]}" }}')
    parts.append(f"[Download this script]({name}.py)")
    return "\n\n".join(parts) + "\n"


def card(cells: list[Cell], name: str) -> str:
    """Return title, first picture and first paragraph of a tutorial, linked to its page."""
    heading, paragraph, *_ = re.split(r"\n\s*\n", cells[0].text)
    pictures = [picture for cell in cells for picture in cell.pictures]
    shown = f"[![{alt(pictures[0])}]({name}/{pictures[0]})]({name}.md)\n\n" if pictures else ""
    title = heading.removeprefix("# ")
    return f"<div markdown>\n\n{shown}**[{title}]({name}.md)**\n\n{paragraph}\n\n</div>"


def shown_width(png: bytes) -> int:
    """Return the width of a picture on the page, where one as wide as the text fills it.

    `pf.plot` draws 250 pixels per inch, and 7.2 inches are the width of a text.
    """
    pixels = int.from_bytes(png[16:20], "big")
    return round(pixels * 800 / (7.2 * 250))


def alt(picture: str) -> str:
    """Return the name of a picture as words."""
    return Path(picture).stem.replace("-", " ")
