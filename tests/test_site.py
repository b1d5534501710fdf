"""The site with the results of its tutorials, opened from its files in headless chromium."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
TUTORIALS = sorted((ROOT / "docs" / "tutorials").glob("*.py"))
CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser")
pytestmark = pytest.mark.slow
#: Blocks of code that are wider than the page: their longest lines.
TOO_WIDE = """
() => [...document.querySelectorAll(".md-content pre > code")]
    .filter((code) => code.scrollWidth > code.clientWidth + 1)
    .map((code) => code.innerText.split("\\n").reduce((a, b) => (a.length < b.length ? b : a)))
"""
#: Heights of equations, in pixels.
EQUATIONS = """
() => [...document.querySelectorAll("math")].map((e) => e.getBoundingClientRect().height)
"""


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("site")
    pytest.importorskip("mkdocstrings_handlers.python")
    result = subprocess.run(
        [sys.executable, "-m", "mkdocs", "build", "--strict", "--site-dir", str(out)],
        cwd=ROOT, capture_output=True, text=True, env=os.environ | {"NO_MKDOCS_2_WARNING": "1"},
    )  # fmt: skip
    assert result.returncode == 0, result.stderr
    return out


@pytest.fixture(scope="module")
def browser():
    if CHROMIUM is None:
        pytest.skip("no chromium on this machine")
    playwright = pytest.importorskip("playwright.sync_api", reason="no playwright")
    with playwright.sync_playwright() as started:
        found = started.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
        yield found
        found.close()


@pytest.fixture
def page(browser):
    """A page of 1280 pixels that asserts in the end that nothing complained or left the files."""
    complaints: list[str] = []
    opened = browser.new_page(viewport={"width": 1280, "height": 900})
    opened.set_default_timeout(120_000)
    opened.on("console", lambda m: complaints.append(m.text) if m.type == "error" else None)
    opened.on("pageerror", lambda error: complaints.append(str(error)))
    local = ("file:", "data:", "about:")
    opened.on("request", lambda r: r.url.startswith(local) or complaints.append(r.url))
    yield opened
    opened.close()
    assert complaints == []


@pytest.mark.parametrize("tutorial", TUTORIALS, ids=lambda p: p.stem)
def test_tutorials_show_what_they_print_and_draw(site, tutorial):
    text = (site / "tutorials" / f"{tutorial.stem}.html").read_text("utf-8")
    assert text.count("printed") >= 2
    pictures = re.findall(rf'<img [^>]*src="({tutorial.stem}/[^"]+\.png)"', text)
    assert pictures
    for picture in pictures:
        size = (site / "tutorials" / picture).stat().st_size
        assert 5_000 < size < 600_000, picture
    gallery = (site / "tutorials" / "index.html").read_text("utf-8")
    assert f'src="{pictures[0]}"' in gallery


def test_search_works_in_pages_opened_from_files(site, page):
    page.goto((site / "index.html").as_uri())
    page.locator("input.md-search__input").click()
    page.keyboard.type("wedge coefficients", delay=50)
    results = page.locator("a.md-search-result__link[href*='concepts.html']")
    results.first.click()  # waits for it
    page.wait_for_url(re.compile(r"^file://.*/concepts\.html"))
    assert "wedge" in page.locator(".md-content").inner_text().lower()


def test_code_fits_the_page_and_equations_are_laid_out(site, page):
    wide, equations = {}, 0
    for path in sorted(site.rglob("*.html")):
        if path.name == "404.html":  # what it loads is from the root of a server
            continue
        page.goto(path.as_uri())
        if lines := page.evaluate(TOO_WIDE):
            wide[str(path.relative_to(site))] = lines
        heights = page.evaluate(EQUATIONS)
        assert all(5 < height < 200 for height in heights), path.name
        equations += len(heights)
    assert not wide
    assert equations > 20
