"""MkDocs hook that lists every command of `npf`, with its arguments and options.

Typer writes the list from the commands themselves each time the site is built, so that it cannot
differ from them.
"""

from __future__ import annotations

import html
import os
import re
import subprocess
import sys
from typing import Any

from mkdocs.exceptions import PluginError

MARK = "<!-- all commands -->"
_DOCS = (sys.executable, "-m", "typer", "pointforms.cli.app", "utils", "docs", "--name", "npf")


def on_page_markdown(text: str, **_: Any) -> str:
    """Replace the mark of a page, if it has one, by the list."""
    return text.replace(MARK, listed()) if MARK in text else text


def listed() -> str:
    """Return the commands as Markdown, one heading per command."""
    environment = os.environ | {"PYTHONIOENCODING": "utf-8", "TERM": "dumb"}
    result = subprocess.run(
        _DOCS, capture_output=True, text=True, encoding="utf-8", env=environment
    )
    if result.returncode:
        raise PluginError(f"{' '.join(_DOCS[1:])}: {result.stderr}")
    text = html.unescape(result.stdout).replace("```console\n$ ", "```sh\n")
    text = re.sub(r"^# `npf`$", "## `npf`", text, count=1, flags=re.MULTILINE)
    text = re.sub(r"^\*\*(\w+)\*\*:$", r"*\1*", text, flags=re.MULTILINE)
    return _linked(text)


def _linked(text: str) -> str:
    """Give lists of subcommands links and whole sentences, which Typer cuts short."""
    first_lines = dict(re.findall(r"^#+ `(npf[^`]*)`\n\n(.+)$", text, re.MULTILINE))
    lines, command = [], ""
    for line in text.splitlines():
        if heading := re.match(r"#+ `(npf[^`]*)`", line):
            command = heading[1]
        if (entry := re.match(r"\* `(\w+)`", line)) and f"{command} {entry[1]}" in first_lines:
            name = f"{command} {entry[1]}"
            line = f"* [`{entry[1]}`](#{name.replace(' ', '-')}): {first_lines[name]}"
        lines.append(line)
    return "\n".join(lines)
