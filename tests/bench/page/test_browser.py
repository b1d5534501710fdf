"""The page in a browser: headless chromium, no network."""

from __future__ import annotations

import re
import shutil
import signal
import subprocess
import sys

import pytest
from tests.helpers.samples import HOSTILE, HOSTILE_MODEL, comparison, hostile, many, models_section

from pointforms.bench.page import write_report
from pointforms.bench.store import Store
from pointforms.paper.theory import section

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser")
pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(CHROMIUM is None, reason="no chromium on this machine"),
]


@pytest.fixture(scope="module")
def browser():
    playwright = pytest.importorskip("playwright.sync_api", reason="no playwright")
    with playwright.sync_playwright() as started:
        found = started.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
        yield found
        found.close()


@pytest.fixture
def opened(browser):
    """Opens pages, and at the end asserts that none complained or asked for anything."""
    contexts, complaints = [], []

    def open_page(url, width=1280, scheme="light"):
        context = browser.new_context(
            viewport={"width": width, "height": 900}, color_scheme=scheme, reduced_motion="reduce"
        )
        contexts.append(context)
        page = context.new_page()
        page.on("console", lambda message: complaints.append(f"{message.type}: {message.text}"))
        page.on("pageerror", lambda error: complaints.append(str(error)))
        page.on("dialog", lambda dialog: complaints.append(f"dialog: {dialog.message}"))
        page.on(
            "request", lambda asked: asked.is_navigation_request() or complaints.append(asked.url)
        )
        page.goto(url)
        return page

    yield open_page
    for context in contexts:
        context.close()
    assert complaints == []


@pytest.fixture(scope="module")
def address(tmp_path_factory):
    """A page with all its parts."""
    path = tmp_path_factory.mktemp("page") / "report.html"
    write_report(comparison(), [], [], path, [models_section(), section.theory_section()])
    return path.as_uri()


def shown(page, task, column):
    """The texts of a column in the table of a task."""
    rows = page.locator(f"article[data-task='{task}'] tbody tr:visible")
    return [text.strip() for text in rows.locator(f"> :nth-child({column})").all_inner_texts()]


def opened_rows(page):
    """The lines of the table of configurations. It is filled some time after it was opened."""
    page.locator("#rows summary").click()
    lines = page.locator("#row-table tbody tr")
    lines.first.wait_for()
    return lines


def test_every_figure_is_drawn_within_its_frame(opened, address):
    page = opened(address)
    figures = page.locator(".picture svg:visible")
    assert figures.count() == 4 + 1 + 5 + 2
    for box in (figures.nth(i).bounding_box() for i in range(figures.count())):
        assert box["width"] > 300
        assert box["x"] + box["width"] <= 1280
    # bars, and the titles that pointing at them shows
    split = page.locator("#models svg[aria-label='Split.']")
    titles = split.locator("title").all_text_contents()
    assert [text.splitlines()[0] for text in titles] == ["x, k = 1", "<y>, k = 1"]
    # references inside a figure lead to that figure
    lost = page.evaluate(
        "[...document.querySelectorAll('.picture use')]"
        ".filter((use) => !use.closest('svg').querySelector(use.getAttribute('href'))).length"
    )
    assert lost == 0


def test_tables_are_sorted_by_clicks_and_keys(opened, address):
    page = opened(address)
    task = "rna-velocity"
    before = shown(page, task, 1)
    heading = page.locator(f"article[data-task='{task}'] thead th").nth(1)
    heading.get_by_role("button").click()
    assert heading.get_attribute("aria-sort") == "descending"
    values = [float(text.split()[0]) for text in shown(page, task, 2)]
    assert values == sorted(values, reverse=True)
    assert shown(page, task, 1)[0] == "PointNet++"
    heading.get_by_role("button").press("Enter")
    assert heading.get_attribute("aria-sort") == "ascending"
    assert [float(text.split()[0]) for text in shown(page, task, 2)] == sorted(values)
    heading.get_by_role("button").press("Space")
    assert heading.get_attribute("aria-sort") is None
    assert shown(page, task, 1) == before
    names = page.locator(f"article[data-task='{task}'] thead th").first
    names.get_by_role("button").click()
    assert names.get_attribute("aria-sort") == "ascending"
    assert shown(page, task, 1) == sorted(before, key=str.lower)
    # what is not known stays last, and a sum too
    paper = page.locator(f"article[data-task='{task}'] thead th").nth(2)
    for _ in range(2):
        paper.get_by_role("button").click()
        assert shown(page, task, 3)[-1] == ""
    costs = page.locator("#costs table").first
    costs.locator("thead button").nth(5).click()
    assert costs.locator("tbody tr").last.inner_text().startswith("all")


def test_filters_by_task_and_model(opened, address):
    page = opened(address)
    articles = page.locator("article.task:visible")
    assert articles.count() == 2
    page.locator("#filter-task").select_option("rna-velocity")
    assert articles.count() == 1
    assert page.locator("#filter-count").inner_text() == "3 of 7 lines"
    page.locator("#filter-model").press_sequentially("MLP")
    assert shown(page, "rna-velocity", 1) == ["MLP"]
    page.locator("#filter-task").select_option("")
    assert page.locator("#filter-count").inner_text() == "2 of 7 lines"
    page.locator("#filter-model").fill("nothing like it")
    assert page.locator("#filter-nothing").is_visible()
    page.get_by_role("button", name="Clear").press("Enter")
    page.locator("#filter-count", has_text="7 of 7 lines").wait_for()
    assert articles.count() == 2


def test_single_fits_follow_what_is_chosen(opened, address):
    page = opened(address)
    marks = page.locator(".fits:visible use:has(title)")
    assert marks.count() == 2 * 30  # against seconds, and against parameters
    page.locator("#fits-task").select_option(label="rna-velocity")
    assert marks.count() == 2 * 40
    assert "fold 0, seed 0" in marks.first.locator("title").text_content()
    assert opened_rows(page).count() == 7
    assert "weight_decay = 0.3" in page.locator("#row-table").inner_text()


def test_figures_follow_the_style(opened, address):
    page = opened(address)
    figure = page.locator("article.task svg").first

    def colours():
        return (
            page.evaluate("getComputedStyle(document.body).backgroundColor"),
            figure.locator("text").first.evaluate("text => getComputedStyle(text).fill"),
            figure.locator("use:has(title)").first.evaluate("mark => getComputedStyle(mark).fill"),
        )

    before = colours()
    page.locator(".theme").click()
    page.locator("html[data-theme=dark]").wait_for()
    after = colours()
    assert all(a != b for a, b in zip(before, after, strict=True))
    page.reload()
    assert page.evaluate("document.documentElement.dataset.theme") == "dark"  # it was kept
    assert (
        opened(address, scheme="dark").evaluate("document.documentElement.dataset.theme") == "dark"
    )


def test_a_phone_scrolls_only_downwards(opened, address):
    page = opened(address, width=390)
    for summary in page.locator("summary").all():
        summary.click()
    page.locator("#row-table tbody tr").first.wait_for()  # filled some time after it was opened
    assert page.evaluate("document.documentElement.scrollWidth") == 390
    wide = page.locator("#models .frame").first
    assert wide.evaluate("frame => frame.scrollWidth > frame.clientWidth")  # in its own frame
    table = page.locator("article.task .scroller").first
    assert table.evaluate("frame => frame.scrollWidth > frame.clientWidth")
    page.evaluate("scrollTo(0, 0)")
    links = page.locator("#sections a:visible")
    assert links.count() == 0
    page.get_by_role("button", name="Sections").press("Enter")
    assert links.count() == 7
    page.keyboard.press("Escape")
    assert links.count() == 0


def test_the_keyboard_reaches_everything_and_leaves_again(opened, address):
    page = opened(address)
    page.keyboard.press("Tab")
    assert page.evaluate("document.activeElement.textContent") == "Skip to content"
    page.keyboard.press("Enter")
    assert page.evaluate("document.activeElement.id") == "content"
    reached = []
    for _ in range(400):
        page.keyboard.press("Tab")
        where = page.evaluate(
            "(() => { const e = document.activeElement; return e === document.body ? '' :"
            " `${e.tagName} ${e.closest('section')?.id} ${e.id || e.textContent.trim()}` })()"
        )
        if not where:
            break
        reached.append(where)
    else:
        pytest.fail(f"no end of the page: {reached[-5:]}")
    sections = list(dict.fromkeys(where.split()[1] for where in reached))
    assert sections == ["summary", "results", "fits", "models", "theory", "costs", "reproduce"]
    assert "INPUT results filter-model" in reached
    assert "SELECT fits fits-task" in reached


def test_hostile_names_are_shown_as_text(opened, tmp_path):
    path = write_report(
        hostile(),
        [],
        [],
        tmp_path / "x.html",
        [models_section(HOSTILE, HOSTILE_MODEL)],
        title=HOSTILE,
    )
    page = opened(path.as_uri())
    opened_rows(page)
    page.locator(".failures summary").click()
    assert page.locator("h1").inner_text() == HOSTILE
    assert page.locator("article.task th[scope=row]", has_text=HOSTILE_MODEL).count() == 1
    assert page.locator("img").count() == 0
    assert page.locator("body script").count() == 2
    assert "</code><img src=x onerror=alert(4)>" in page.locator(".failures").inner_text()
    assert HOSTILE_MODEL in page.locator("article.task svg text").all_text_contents()
    told = page.locator(".fits title").all_text_contents()
    assert any("</script><script>alert(3)</script>" in text for text in told), told


def test_ten_thousand_fits_open_in_three_seconds(opened, tmp_path):
    """Of the page's own thread, so that a busy machine changes nothing."""
    path = write_report(many(), [], [], tmp_path / "many.html")
    assert path.stat().st_size < 15_000_000
    page = opened("about:blank")
    session = page.context.new_cdp_session(page)
    session.send("Performance.enable", {"timeDomain": "threadTicks"})
    page.goto(path.as_uri())
    page.locator("article.task tbody tr").first.wait_for()
    metrics = session.send("Performance.getMetrics")["metrics"]
    assert next(one["value"] for one in metrics if one["name"] == "TaskDuration") < 3
    assert page.locator(".fits:visible use:has(title)").count() > 1000


@pytest.mark.parametrize("end", [signal.SIGINT, signal.SIGTERM])
def test_the_page_is_served_until_interrupted(opened, tmp_path, end):
    with Store(tmp_path / "results.db") as store:
        store.finish(None, comparison())
    arguments = ["results.db", "--serve", "--no-open", "--no-explain", "--no-theory"]
    process = subprocess.Popen(
        [sys.executable, "-u", "-m", "pointforms", "report", *arguments],
        cwd=tmp_path, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
        # in the background of a shell Ctrl-C is ignored, and children inherit that
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),
    )  # fmt: skip
    try:
        told = process.stdout.readline()
        found = re.search(r"http://127\.0\.0\.1:\d+/", told)
        assert found, told + process.stdout.read()
        page = opened(found[0])
        assert page.locator("h1").inner_text() == "Point-forms and baselines"
        process.send_signal(end)
        assert process.wait(timeout=30) == 0
        assert "Traceback" not in process.stdout.read()
    finally:
        process.kill()
        process.wait()
    assert sorted(path.name for path in tmp_path.iterdir()) == ["results.db"]
