"""The documentation: it builds without warnings, its links lead somewhere, what it says runs."""

from __future__ import annotations

import os
import re
import shlex
import subprocess
import sys
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit

import pytest
import typer
import yaml

from pointforms.bench.manifest import shipped
from pointforms.cli.app import app

ROOT = Path(__file__).parents[1]
DOCS = ROOT / "docs"
# generated results name no commands of the reader's
PAGES = sorted(p for p in DOCS.rglob("*.md") if p.parent.name not in ("tables", "results"))
FENCE = re.compile(r"^```(?P<kind>.*?)\n(?P<text>.*?)^```", re.MULTILINE | re.DOTALL)


def blocks(page: Path, kind: str) -> list[str]:
    """Fenced blocks of exactly this kind; ```{.python .no-run} is not ```python."""
    return [m["text"] for m in FENCE.finditer(page.read_text("utf-8")) if m["kind"] == kind]


def commands() -> list[tuple[str, str]]:
    """Every line of a shell block that runs npf, with its page."""
    lines = [
        (str(page.relative_to(DOCS)), line)
        for page in PAGES
        for text in blocks(page, "sh")
        for line in text.splitlines()
    ]
    return [(page, line) for page, line in lines if line.startswith("npf ")]


class Links(HTMLParser):
    """Where a page leads, what it shows, and its anchors."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.links: list[str] = []
        self.loads: list[str] = []
        self.anchors: set[str] = set()
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        found = {name: value or "" for name, value in attrs}
        self.anchors |= {found[name] for name in ("id", "name") if name in found}
        if tag == "a" and "href" in found:
            self.links.append(found["href"])
        if tag in ("img", "script") and "src" in found:
            self.loads.append(found["src"])
        if tag == "link" and found.get("rel") in ("stylesheet", "icon", "preconnect"):
            self.loads.append(found["href"])


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("site")
    pytest.importorskip("mkdocstrings_handlers.python")
    result = subprocess.run(
        [sys.executable, "-m", "mkdocs", "build", "--strict", "--site-dir", str(out)],
        cwd=ROOT, capture_output=True, text=True, env=os.environ | {"NO_MKDOCS_2_WARNING": "1"},
    )  # fmt: skip
    assert result.returncode == 0, result.stderr
    assert "WARNING" not in result.stderr
    return out


def nav_pages(entries: list) -> list[str]:
    found = []
    for entry in entries:
        for value in entry.values() if isinstance(entry, dict) else [entry]:
            found += nav_pages(value) if isinstance(value, list) else [value]
    return found


def test_every_page_is_in_the_menu_and_there():
    told = nav_pages(yaml.load((ROOT / "mkdocs.yml").read_text("utf-8"), yaml.BaseLoader)["nav"])
    assert len(told) == len(set(told))
    assert {DOCS / page for page in told} >= {*PAGES, *(DOCS / "results").glob("*.md")}
    assert all((DOCS / page).is_file() for page in told)


def test_links_of_the_site_lead_somewhere(site):
    pages = {path: Links(path.read_text("utf-8")) for path in site.rglob("*.html")}
    assert len(pages) > len(PAGES)
    for path, page in pages.items():
        if path.name == "404.html":  # its links are from the root of a server
            continue
        for link in page.links + page.loads:
            parts = urlsplit(link)
            if parts.scheme in ("http", "https"):
                assert link not in page.loads, f"{path.name} loads {link}"
                continue
            target = (path.parent / unquote(parts.path)).resolve() if parts.path else path
            assert target.exists(), f"{path.name}: {link}"
            if parts.fragment and target in pages:
                anchors = pages[target].anchors | {"", "__skip"}
                assert unquote(parts.fragment) in anchors, f"{path.name}: {link}"


def test_the_site_needs_no_network(site):
    styles = "".join(p.read_text("utf-8") for p in site.rglob("*.css"))
    assert not re.search(r"(@import|url\()\s*[\"']?https?:", styles)


def test_parameters_that_share_an_entry_have_their_own_defaults(site):
    page = (site / "reference" / "index.html").read_text("utf-8")
    shown = re.findall(
        r"<b><code>(\w+)</code></b>\s*\(<code>.*?</code>, default:\s*<code>(.*?)</code>", page, re.S
    )
    defaults = {name: re.sub("<[^>]*>", "", value) for name, value in shown}
    assert defaults["epochs"] == "60"
    assert defaults["weight_decay"] == "0.001"
    assert defaults["beta"] == "-0.5"
    assert ":func:" not in page


def test_pictures_are_small_and_all_shown():
    text = "".join(p.read_text("utf-8") for p in [*PAGES, ROOT / "README.md"])
    for picture in (DOCS / "images").iterdir():
        assert picture.stat().st_size <= 200_000, picture.name
        assert f"images/{picture.name}" in text, picture.name


def test_start_agrees_with_the_readme():
    readme, start = ((p).read_text("utf-8") for p in (ROOT / "README.md", DOCS / "index.md"))
    targets = set(re.findall(r"^make (\w+)", start, re.MULTILINE))
    assert targets >= {"demo", "test"}
    for target in targets:
        assert re.search(rf"^{target}:", (ROOT / "Makefile").read_text(), re.MULTILINE)
    assert "pip install -c constraints.txt ." in readme
    assert "pip install -c constraints.txt ." in start


def test_every_command_exists_with_its_options():
    found = commands()
    assert len(found) > 30
    npf = typer.main.get_command(app)
    for page, line in found:
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
def test_wrong_commands_would_be_found(line, monkeypatch):
    monkeypatch.setattr(sys.modules[__name__], "commands", lambda: [("page", line)] * 31)
    with pytest.raises(AssertionError):
        test_every_command_exists_with_its_options()


def test_shipped_manifests_are_named():
    text = (DOCS / "comparisons.md").read_text("utf-8")
    assert all(f"`{name}`" in text for name in shipped())


def run_blocks(page: Path, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """All python blocks of a page, one after the other, as a reader would paste them."""
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
    [p for p in PAGES if p.name != "index.md" and blocks(p, "python")],
    ids=lambda p: p.stem,
)
def test_the_other_pages_run(page, tmp_path, monkeypatch):
    run_blocks(page, tmp_path, monkeypatch)
