"""The pages of the documentation, and the blocks of code in them."""

from __future__ import annotations

import re
from pathlib import Path

from docs.hooks.cells import split

ROOT = Path(__file__).parents[2]
DOCS = ROOT / "docs"
TUTORIALS = sorted((DOCS / "tutorials").glob("*.py"))
README, CONTRIBUTING = ROOT / "README.md", ROOT / "CONTRIBUTING.md"
# Generated results contain no commands for the reader.
PAGES = sorted(p for p in DOCS.rglob("*.md") if p.parent.name not in ("tables", "results"))

FENCE = re.compile(r"^```(?P<kind>.*?)\n(?P<text>.*?)^```", re.MULTILINE | re.DOTALL)


def fenced(text: str, kind: str) -> list[str]:
    """Fenced blocks of exactly this kind; ```{.python .no-run} is not ```python."""
    return [m["text"] for m in FENCE.finditer(text) if m["kind"] == kind]


def prose(tutorial: Path) -> str:
    return "\n\n".join(cell.text for cell in split(tutorial.read_text("utf-8")) if cell.prose)
