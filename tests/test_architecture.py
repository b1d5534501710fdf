"""The map of the code on the page "Architecture" names what there is."""

from __future__ import annotations

import ast
import re
import tomllib
from pathlib import Path

import pytest
from tests.helpers.pages import CONTRIBUTING, DOCS, ROOT

# `geometry/density.py` or `geometry/density.py:log_density`: a file, and a name in it
CODE = re.compile(r"`(?P<path>[\w/.]+/|[\w/.]*\w\.(?:py|toml|md))(?::(?P<name>\w+))?`")


def names_in(path: Path) -> set[str]:
    """Functions, classes, methods and constants of a file."""
    tree = ast.parse(path.read_text("utf-8"))
    names = {
        node.name for node in ast.walk(tree) if isinstance(node, ast.FunctionDef | ast.ClassDef)
    }
    for node in tree.body:
        targets = [node.target] if isinstance(node, ast.AnnAssign) else getattr(node, "targets", [])
        names |= {target.id for target in targets if isinstance(target, ast.Name)}
    return names


@pytest.mark.parametrize("page", [DOCS / "architecture.md", CONTRIBUTING], ids=lambda p: p.stem)
def test_named_files_and_functions_exist(page):
    mentioned = list(CODE.finditer(page.read_text("utf-8")))
    assert len(mentioned) > 20
    for match in mentioned:
        places = [base / match["path"] for base in (ROOT / "src" / "pointforms", ROOT)]
        there = [place for place in places if place.exists()]
        assert there, f"{page.name}: {match['path']} does not exist"
        if match["name"]:
            assert match["name"] in names_in(there[0]), f"{page.name}: {match[0]}"


def test_exceptions_to_the_direction_of_imports_are_listed():
    text = (DOCS / "architecture.md").read_text("utf-8")
    settings = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["tool"]["importlinter"]
    for contract in settings["contracts"]:
        for exception in contract.get("ignore_imports", []):
            names = exception.replace("pointforms.", "").replace(".", "/").split(" -> ")
            assert "`{}.py` → `{}.py`".format(*names) in text, exception


def test_the_map_has_every_room():
    text = (DOCS / "architecture.md").read_text("utf-8")
    for place in (ROOT / "src" / "pointforms").iterdir():
        if not place.name.startswith("_") and (place.is_dir() or place.suffix == ".py"):
            assert f"| `{place.name}{'/' if place.is_dir() else ''}` |" in text, place.name
