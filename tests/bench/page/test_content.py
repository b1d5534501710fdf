"""What the page says, before it is a page."""

from __future__ import annotations

import json

import pytest
from tests.helpers.samples import comparison, fits, many

from pointforms.bench.comparison import compare
from pointforms.bench.manifest import read_manifest
from pointforms.bench.page.configuration import manifest_text, options_text, other_defaults
from pointforms.bench.page.content import gather
from pointforms.bench.records import Record, Row
from pointforms.bench.sweep import read_sweep
from pointforms.support.statistics import Estimate
from pointforms.tasks import load, write


def published(task, title):
    """A published number for one model on one task."""
    return Estimate(0.958, 0.010) if (task, title) == ("rna-velocity", "PointNet++") else None


@pytest.fixture(scope="module")
def content():
    rows = [Row("colocated", "mlp")]
    return gather(comparison(), rows, [], "A comparison", published)


def test_facts_count_what_is_there(content):
    facts = content["facts"]
    assert facts["tasks"] == "3"  # one of them without a fit
    assert facts["models"] == "4"
    assert facts["configurations"] == "7"
    assert facts["configurations without a fit"] == "1"
    assert (facts["fits finished"], facts["fits failed"]) == ("70", "1")
    assert content["origin"] == "All data on this page are simulated."


def test_headlines_say_who_leads(content):
    by_task = {task.title: task.headline for task in content["tasks"]}
    lead = by_task["circles-vs-lines"]
    assert (lead.kind, lead.scores[1][0]) == ("ahead", "Set Transformer")
    assert "significantly ahead of all 2 tested baselines" in lead.sentence
    trail = by_task["rna-velocity"]
    assert (trail.kind, trail.label) == ("behind", "baseline better")
    assert trail.sentence.startswith("PointNet++ beats NPF (selected): +0.059 [")
    (ours, score), (best, _) = trail.scores
    assert (ours, best) == ("NPF (selected)", "PointNet++")
    assert float(score.partition(" ± ")[0]) == pytest.approx(0.9, abs=0.01)
    assert by_task["colocated"].kind == "alone"


def test_headlines_are_about_the_reference():
    content = gather(comparison(), [], [], "A comparison", reference="mlp")
    circles, rna = content["tasks"]
    assert circles.headline.kind == rna.headline.kind == "behind"
    assert circles.headline.label == "another model better"
    assert circles.headline.sentence.startswith("NPF-Tri k=1 beats MLP: +0.26")
    assert [name for name, _ in circles.headline.scores] == ["MLP", "NPF-Tri k=1"]
    assert circles.marks[0] == "ours"
    assert circles.table.rows[0]["model"] == "MLP"
    assert content["overview"].rows[0]["model"] == "MLP"
    leading = gather(comparison()[:30], [], [], "x", reference="npf-tri-1")["tasks"][0].headline
    assert (leading.kind, leading.label) == ("ahead", "NPF-Tri k=1 better")
    assert "NPF-Tri k=1 is significantly ahead of all 2 tested models" in leading.sentence


def test_a_baseline_with_too_few_fits_is_still_named():
    records = [
        *fits("colocated", "npf-tri-1", [0.80, 0.81, 0.79, 0.80, 0.81]),
        *fits("colocated", "mlp", [0.60, 0.63, 0.61, 0.60, 0.62]),
        *fits("colocated", "svm", [0.95])[:1],
    ]
    (task,) = gather(records, [], [], "x")["tasks"]
    assert task.headline.kind == "ahead"
    assert "on too few common fits for a test: SVM RBF +0.150" in task.headline.sentence
    (alone,) = gather(records[:10] + records[-1:], [], [], "x")["tasks"]
    assert alone.headline.kind == "untested"
    assert "SVM RBF is higher on 1 common fit." in alone.headline.sentence


def test_no_significant_difference_is_said_so():
    records = [
        *fits("colocated", "npf-tri-1", [0.80, 0.85, 0.75, 0.80, 0.85]),
        *fits("colocated", "mlp", [0.84, 0.80, 0.79, 0.84, 0.80]),
    ]
    (task,) = gather(records, [], [], "x")["tasks"]
    assert task.headline.kind == "level"
    assert "No significant difference to MLP: +0.0" in task.headline.sentence


def test_tables_carry_the_numbers_of_the_experiments(content):
    result = next(one for one in compare(comparison()) if one.title == "rna-velocity")
    task = next(task for task in content["tasks"] if task.title == "rna-velocity")
    table, columns = task.table, {column.heading: column for column in task.table.shown()}
    assert [row["model"] for row in table.rows] == [model.name for model in result.listed]
    for row, model in zip(table.rows, result.listed, strict=True):
        mean, half = model.summary("auroc")
        assert table.sort_key(row, columns["AUROC"]) == pytest.approx(mean)
        assert table.cell(row, columns["AUROC"]) == f"{mean:.3f} ± {half:.3f}"
        if not model.ours:
            assert table.sort_key(row, columns["adjusted p"]) == pytest.approx(model.p)
            shown = table.cell(row, columns["difference to NPF (selected)"])
            low, high = model.difference.low, model.difference.high
            assert shown.endswith(f"[{low:+.3f}, {high:+.3f}]".replace("-", "−"))
    pointnet = next(row for row in table.rows if row["model"] == "PointNet++")
    assert table.cell(pointnet, columns["paper"]) == "0.958 ± 0.010"
    assert task.marks == ("ours", "", "")
    assert table.rows[0]["model"].startswith("NPF (selected")


def test_the_overview_has_every_model_once(content):
    names = [row["model"] for row in content["overview"].rows]
    assert names == ["NPF (selected)", "NPF-Tri k=1", "MLP", "Set Transformer", "PointNet++"]
    headings = [column.heading for column in content["overview"].columns]
    assert headings == ["model", "circles-vs-lines", "colocated", "rna-velocity"]
    assert content["overview_marks"] == ("ours", "family", "", "", "")
    assert gather(fits("colocated", "mlp", [0.5, 0.6]), [], [], "x")["overview"] is None


def test_ranks_across_tasks_are_on_the_page(content):
    across = content["across"]
    assert across.title == "Across 3 tasks"
    ranks = {row["model"]: row["rank"] for row in across.rows}
    assert ranks["NPF (selected)"] == 1.5  # first on one task, second on the other
    assert gather(fits("colocated", "mlp", [0.5, 0.6]), [], [], "x")["across"] is None


def test_failures_have_their_last_line(content):
    (failure,) = content["failures"]
    assert failure["message"] == "OSError: no <disk>"
    assert (failure["model"], failure["fits"]) == ("MLP", [(0, 2)])


def test_fits_are_columns_of_finite_numbers(content):
    columns = content["fits"]
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


def test_the_manifest_of_files_makes_the_same_rows_beside_them(tmp_path):
    data = tmp_path / "private" / "data"
    data.mkdir(parents=True)
    write(load("colocated", clouds=20, points=8), data / "cells.csv")
    names = sorted({line.split(",")[0] for line in (data / "cells.csv").open()} - {"cloud"})
    (data / "more").mkdir()
    sites = "".join(f"{name},{i % 2}\n" for i, name in enumerate(names))
    (data / "more" / "samples.csv").write_text(f"cloud,site\n{sites}")
    reading = {"samples": "more/samples.csv", "label": "site"}
    sweep = {"tasks": ["cells.csv"], "models": ["mlp"], "reading": reading}
    records = [Record(row, 0, 0, auroc=0.5) for row in read_sweep(sweep, data).rows()]
    content = gather(records, [], [], "x")
    assert "private" not in content["manifest"]
    assert content["files"] == "cells.csv"
    (data / "again.toml").write_text(content["manifest"], "utf-8")
    assert read_manifest(data / "again.toml").rows() == [record.row for record in records]


def test_rows_of_other_defaults_are_known():
    row = Row("colocated", "mlp", {"epochs": 3})
    changed = Row("colocated", "mlp", {"epochs": 3}, settings="00000000")
    assert other_defaults([row, changed]) == [changed]
    assert options_text({"epochs": 3, "measure": "volume"}) == "epochs = 3, measure = volume"


def test_ten_thousand_fits_are_gathered():
    found = gather(many(), [], [], "x")
    assert len(found["fits"]["row"]) == 10_000
    assert len(json.dumps(found["fits"])) < 1_000_000
