"""What the page says, before it is a page."""

from __future__ import annotations

import json

import numpy as np
import pytest
from tests.helpers.samples import comparison, fits, hostile, many, view

from pointforms.bench import tables
from pointforms.bench.manifest import read_manifest
from pointforms.bench.page.configuration import manifest_text, options_text, other_defaults
from pointforms.bench.page.content import gather
from pointforms.bench.page.model_plots import (
    area_plot,
    example_plot,
    field_plot,
    places_plot,
    salience_plot,
)
from pointforms.bench.page.plots import differences, forest, plain, segments
from pointforms.bench.records import Row


@pytest.fixture(scope="module")
def content():
    return gather(comparison(), [Row("colocated", "mlp")], [], "A comparison")


def test_facts_count_what_is_there(content):
    facts = dict(content.facts)
    assert facts["tasks"] == "3"  # one of them without a fit
    assert facts["models"] == "4"
    assert facts["configurations"] == "7"
    assert facts["configurations without a fit"] == "1"
    assert (facts["fits finished"], facts["fits failed"]) == ("70", "1")
    assert content.origin == "All data on this page are simulated."


def test_headlines_say_who_leads(content):
    by_task = {task.title: task.headline for task in content.tasks}
    lead = by_task["circles-vs-lines"]
    assert (lead.kind, lead.baseline_name) == ("ahead", "Set Transformer")
    assert "significantly ahead of all 2 tested baselines" in lead.sentence
    trail = by_task["rna-velocity"]
    assert (trail.kind, trail.label) == ("behind", "baseline better")
    assert trail.sentence.startswith("PointNet++ beats NPF (selected): +0.059 [")
    assert trail.ours.startswith("0.90")
    assert by_task["colocated"].kind == "alone"


def test_a_baseline_with_too_few_fits_is_still_named():
    records = [
        *fits("colocated", "npf-tri-1", [0.80, 0.81, 0.79]),
        *fits("colocated", "mlp", [0.60, 0.63, 0.61]),
        *fits("colocated", "svm", [0.95])[:1],
    ]
    (task,) = gather(records, [], [], "x").tasks
    assert task.headline.kind == "ahead"
    assert "on too few common fits for a test: SVM RBF +0.150" in task.headline.sentence
    (alone,) = gather(records[:6] + records[-1:], [], [], "x").tasks
    assert alone.headline.kind == "untested"
    assert "SVM RBF is higher on 1 common fit." in alone.headline.sentence


def test_not_told_apart_is_said_so():
    records = [
        *fits("colocated", "npf-tri-1", [0.80, 0.85, 0.75]),
        *fits("colocated", "mlp", [0.84, 0.80, 0.79]),
    ]
    (task,) = gather(records, [], [], "x").tasks
    assert task.headline.kind == "level"
    assert "Not told apart from MLP: +0.0" in task.headline.sentence


def test_tables_carry_the_numbers_of_the_experiments(content):
    result = next(one for one in tables.tables(comparison()) if one.title == "rna-velocity")
    grid = next(task.grid for task in content.tasks if task.title == "rna-velocity")
    assert [row.model for row in grid.rows] == [line.name for line in result.lines]
    columns = {heading: i for i, heading in enumerate(grid.headings)}
    for row, line in zip(grid.rows, result.lines, strict=True):
        mean, half = line.summary("auroc")
        assert row.cells[columns["AUROC"]].key == pytest.approx(mean)
        assert row.cells[columns["AUROC"]].text == f"{mean:.3f} ± {half:.3f}"
        if not line.ours:
            assert row.cells[columns["adjusted p"]].key == pytest.approx(line.p)
            assert row.cells[columns["95 % interval"]].key == pytest.approx(line.comparison.low)
    paper = next(row for row in grid.rows if row.model == "PointNet++")
    assert paper.cells[columns["paper"]].text == "0.958 ± 0.010"
    assert [row.mark for row in grid.rows] == ["ours", "family", "", ""]
    assert grid.rows[0].model.startswith("NPF (selected")


def test_the_overview_has_every_model_once(content):
    names = [row.model for row in content.overview.rows]
    assert names == ["NPF (selected)", "NPF-Tri k=1", "MLP", "Set Transformer", "PointNet++"]
    assert content.overview.headings == ("model", "circles-vs-lines", "colocated", "rna-velocity")
    assert gather(fits("colocated", "mlp", [0.5, 0.6]), [], [], "x").overview is None


def test_failures_have_their_last_line(content):
    (failure,) = content.failures
    assert failure.message == "OSError: no <disk>"
    assert (failure.model, failure.fits) == ("MLP", ((0, 2),))


def test_fits_are_columns_of_finite_numbers(content):
    columns = content.fits
    lengths = {len(columns[name]) for name in ("row", "fold", "seed", "auroc", "seconds")}
    assert lengths == {70}
    first = columns["row"][0]
    assert columns["tasks"][columns["rows"]["task"][first]] == "circles-vs-lines"
    json.dumps(columns, allow_nan=False)


def test_the_manifest_makes_the_same_rows(tmp_path):
    records = [
        *comparison(),
        *fits("colocated", "npf-tri-1", [0.5, 0.6], {"hidden": [8, 8]}, clouds=40, task_seed=3),
    ]
    path = tmp_path / "again.toml"
    path.write_text(manifest_text('A "title"\x7f', records), "utf-8")
    read = read_manifest(path)
    assert read.title == 'A "title"\x7f'
    assert set(read.rows()) == {record.row for record in records}
    done = {(r.row, r.fold, r.seed) for r in records if not r.error}
    planned = {(unit.row, *fit) for unit in read.units() for fit in unit.fits}
    assert done <= planned


def test_rows_of_other_defaults_are_known():
    row = Row("colocated", "mlp", {"epochs": 3})
    changed = Row("colocated", "mlp", {"epochs": 3}, settings="00000000")
    assert other_defaults([row, changed]) == [changed]
    assert options_text({"epochs": 3, "measure": "volume"}) == "epochs = 3, measure = volume"


def test_forest_and_differences_share_their_rows():
    for result in tables.tables(comparison()):
        above, beside = forest(result), differences(result)
        assert above.layout["yaxis"] == beside.layout["yaxis"]
        names = above.layout["yaxis"]["ticktext"]
        best = max(result.lines, key=lambda line: line.summary("auroc")[0])
        assert names[-1] == best.title
        assert sum(len(trace["x"]) for trace in above.data if trace["name"] != "paper") == len(
            names
        )
        json.dumps([above.data, beside.data], allow_nan=False)


def test_text_for_plotly_is_escaped():
    assert plain("a<b>&\nc") == "a&lt;b&gt;&amp; c"
    for result in tables.tables(hostile()):
        text = json.dumps([forest(result).data, forest(result).layout, differences(result).data])
        assert "<img" not in text
        assert "<script" not in text


def test_arrows_have_their_length_and_two_barbs():
    points, arrows = np.array([[0.0, 0.0], [5.0, 5.0]]), np.array([[2.0, 0.0], [0.0, 1.0]])
    x, y = segments(points, arrows, np.ones(2))
    assert (len(x), len(y)) == (14, 14)
    assert (x[0], x[1], y[0], y[1]) == (-1, 1, 0, 0)
    assert x[2] is None
    # barbs start at equal distances behind the tip, on both sides of the shaft
    assert x[3] == pytest.approx(x[5])
    assert x[3] < x[1]
    assert y[3] == pytest.approx(-y[5])
    assert (x[7], y[7], y[8]) == (5, 4.5, 5.5)


def test_every_part_of_a_model_is_drawn():
    shown = view()
    plots = [
        field_plot(shown, shown.fields[0]),
        area_plot(shown, shown.areas[0]),
        places_plot(shown),
        salience_plot(shown),
        example_plot(shown, shown.examples[0]),
    ]
    json.dumps([(plot.data, plot.layout) for plot in plots], allow_nan=False)
    salience = plots[3]
    assert salience.layout["yaxis"]["ticktext"] == ["&lt;y&gt;", "x"]
    assert [trace["name"] for trace in salience.data] == [
        "classes differ (p &lt; 0.05)",
        "not told from chance",
    ]


def test_ten_thousand_fits_are_gathered():
    found = gather(many(), [], [], "x")
    assert len(found.fits["row"]) == 10_000
    assert len(json.dumps(found.fits)) < 1_000_000
