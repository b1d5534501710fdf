"""Plans: counts of rows and fits, what is left, and for how long."""

from __future__ import annotations

from dataclasses import replace
from io import StringIO

import pytest
from rich.console import Console

from pointforms import models
from pointforms.bench.manifest import Manifest, read_manifest
from pointforms.bench.plan import (
    Plan,
    cost_name,
    estimate_seconds,
    paces_of,
    plan,
    plan_table,
    typical_costs,
)
from pointforms.bench.records import Row
from pointforms.bench.sweep import Sweep
from pointforms.models import names

GCN = ("colocated", "gcn")


@pytest.fixture
def manifest() -> Manifest:
    """Two tasks x two models: 4 rows on 2 folds x 3 seeds."""
    tasks, models = ("circles-vs-lines", "colocated"), ("npf-tri-1", "gcn")
    return Manifest("Small", (Sweep(tasks=tasks, models=models, folds=2, seeds=3),))


def one_row(**options: object) -> Manifest:
    """A manifest of one fit of a point-form."""
    sweep = Sweep(tasks=("colocated",), models=("npf-tri-1",), options=options, folds=1, seeds=1)
    return Manifest("One", (sweep,))


def everything(manifest: Manifest) -> set[tuple[str, int, int]]:
    return {(unit.row.key, *fit) for unit in manifest.units() for fit in unit.fits}


def test_counts_and_times(manifest):
    found = plan(manifest)
    total = found.total
    assert (total.rows, total.fits, total.done, total.left) == (4, 24, 0, 24)
    assert [(line.task, line.model) for line in found.lines] == [
        (task, model) for task in manifest.sweeps[0].tasks for model in manifest.sweeps[0].models
    ]
    assert all((line.rows, line.fits) == (1, 6) for line in found.lines)
    assert total.seconds == pytest.approx(sum(estimate_seconds(row, 6) for row in manifest.rows()))
    assert total.measured == 0


def test_totals_are_the_manifests():
    manifest = read_manifest("synthetic-primary")
    found = plan(manifest)
    assert (found.total.rows, found.total.fits) == (336, 8400)
    assert len(found.lines) == 8 * 18  # the rows of a task are of 18 models


def test_lines_go_task_by_task(manifest):
    sweeps = (*manifest.sweeps, manifest.sweeps[0].model_copy(update={"models": ("mlp",)}))
    found = plan(replace(manifest, sweeps=sweeps))
    assert [line.task for line in found.lines] == ["circles-vs-lines"] * 3 + ["colocated"] * 3


def test_what_is_done_takes_no_time(manifest):
    found = plan(manifest, everything(manifest))
    total = found.total
    assert (total.done, total.left, total.seconds, found.wall_seconds()) == (24, 0, 0.0, 0.0)


def test_a_unit_with_a_fit_missing_is_trained_whole(manifest):
    done = everything(manifest)
    stacked, single = manifest.rows()[:2]
    found = plan(manifest, done - {(stacked.key, 1, 2), (single.key, 1, 2)})
    assert [(line.done, line.left) for line in found.lines] == [(5, 3), (5, 1), (6, 0), (6, 0)]


def test_fits_of_other_rows_are_not_done(manifest):
    other = replace(manifest.rows()[0], options={"forms": 16})
    assert plan(manifest, [(other.key, 0, 0)]).total.done == 0


def typical(task: str, model: str, **size: int) -> float:
    return estimate_seconds(Row(task, model, **size), 1)


def test_measured_times_come_first(manifest):
    found = plan(manifest, measured={Row("colocated", "gcn"): (3, 7.0)})
    assert (found.total.measured, found.total.left) == (6, 24)
    assert [line.seconds for line in found.lines if line.measured] == [pytest.approx(42.0)]


def test_fits_of_another_size_are_not_those_of_this_one(manifest):
    small = Row(*GCN, clouds=30, points=64)
    found = plan(manifest, measured={small: (1, 50.0)})
    assert found.total.measured == 0
    assert found.total.seconds == plan(manifest).total.seconds


def on_circles(pace: float, *models: str) -> dict[Row, tuple[int, float]]:
    """Times of fits on a task that are a multiple of their typical costs."""
    rows = [Row("circles-vs-lines", model) for model in models]
    return {row: (4, pace * typical(row.task, row.model)) for row in rows}


def test_earlier_fits_tell_how_fast_the_machine_is(manifest):
    found = plan(manifest, measured=on_circles(10, "gcn", "mlp"))
    assert found.total.seconds == pytest.approx(10 * plan(manifest).total.seconds)
    assert found.pace == pytest.approx(10)


def test_fits_of_one_kind_say_nothing_about_others():
    """They may have been interrupted; so may one of two that differ widely."""
    slept = on_circles(2000, "gcn")
    for measured in (slept, slept | on_circles(1, "mlp"), slept | on_circles(1, "graphsage")):
        assert paces_of(measured).machine == 1
    (row,) = slept
    assert estimate_seconds(row, 1, paces_of(slept)) == pytest.approx(slept[row][1])


@pytest.mark.parametrize(
    "options",
    [
        {"members": 20},
        {"hidden": [1024, 1024]},
        {"points_per_epoch": 8},
        {"rank": 2},
        {"forms": 16},
    ],
)
def test_fits_with_other_options_make_a_guess(options):
    other = Row("colocated", "npf-tri-1", options)
    usual = Row("colocated", "npf-tri-1")
    found = plan(one_row(**options), measured={usual: (5, 9.0)}).total
    assert (found.left, found.measured, found.similar) == (1, 0, 1)
    assert found.seconds == pytest.approx(9.0 * options.get("members", 1))
    found = plan(one_row(**options), measured={usual: (5, 9.0), other: (1, 70.0)}).total
    assert (found.measured, found.similar, found.seconds) == (1, 0, pytest.approx(70.0))


@pytest.mark.parametrize(
    "options", [{"learning_rate": 0.1}, {"weight_decay": 5.0}, {"measure": "volume-normalized"}]
)
def test_some_options_hardly_change_the_time(options):
    found = plan(one_row(**options), measured={Row("colocated", "npf-tri-1"): (5, 9.0)}).total
    assert (found.measured, found.seconds) == (1, pytest.approx(9.0))


def test_a_file_keeps_its_times_wherever_it_is():
    reading = {"label": "response", "samples": "a/samples.csv"}
    before = Row("a/cells.csv", "gcn", content="1234", reading=reading)
    paces = paces_of({before: (2, 50.0)})
    moved = replace(before, task="b/cells.csv", reading=reading | {"samples": "b/samples.csv"})
    assert estimate_seconds(moved, 1, paces) == pytest.approx(50.0)
    changed = replace(moved, content="5678")
    read_otherwise = replace(moved, reading={"label": "batch"})
    for other in (changed, read_otherwise):
        assert estimate_seconds(other, 1, paces) == typical("cells.csv", "gcn")


def test_fits_that_were_interrupted_do_not_say_how_fast_the_machine_is():
    rows = [Row("circles-vs-lines", model) for model in ("mlp", "gin", "tdl", "gcn")]
    measured = {row: (1, 2 * typical(row.task, row.model)) for row in rows}
    slept = measured | {rows[0]: (1, 36000.0)}
    assert paces_of(measured).machine == paces_of(slept).machine == pytest.approx(2)


def test_short_fits_and_guesses_say_nothing_about_others():
    """Most of the time of a trial on few clouds is not proportional to anything."""
    trial = Row(*GCN, clouds=20, points=16)
    quick = Row("circles-vs-lines", "gcn", {"epochs": 1})
    file = Row("cells.csv", "gcn", content="1234")
    real = Row("kidney", "gcn")  # its typical cost is that of another task, by size
    paces = paces_of(dict.fromkeys((trial, quick, file, real), (1, 10000.0)))
    assert paces.machine == 1
    assert estimate_seconds(trial, 3, paces) == pytest.approx(3e4)
    assert estimate_seconds(file, 3, paces) == pytest.approx(3e4)
    assert estimate_seconds(Row(*GCN), 1, paces) == typical(*GCN)
    changed = replace(file, content="5678")
    assert estimate_seconds(changed, 1, paces) == typical("cells.csv", "gcn")


def test_the_same_number_of_epochs_may_be_given_or_not():
    given = Row(*GCN, options={"epochs": models.make("gcn").epochs})
    paces = paces_of({given: (1, 77.0)})
    assert estimate_seconds(Row(*GCN), 1, paces) == pytest.approx(77.0)


@pytest.mark.parametrize(
    ("row", "seconds"),
    [
        (Row("colocated", "a-model-of-another-version"), 2.0),
        *((Row("colocated", "gcn", {"epochs": epochs}), 2.0) for epochs in (0, -5, "10", None)),
        (Row("colocated", "gcn", {"members": 0}), 2.0),
        (Row("colocated", "gcn"), 0.0),
        (Row("colocated", "gcn"), float("nan")),
    ],
)
def test_fits_that_cannot_be_compared_are_passed_over(row, seconds, manifest):
    assert plan(manifest, measured={row: (1, seconds)}) == plan(manifest)


def test_workers_share_the_time_but_not_a_unit(manifest):
    found = plan(manifest, measured=dict.fromkeys(manifest.rows(), (1, 1.0)))
    expected = [pytest.approx(seconds) for seconds in (24.0, 12.0, 3.0, 3.0)]
    assert [found.wall_seconds(n) for n in (1, 2, 8, 1000)] == expected
    with pytest.raises(ValueError, match="workers=0"):
        found.wall_seconds(0)


def test_guesses_follow_size_and_epochs():
    full = estimate_seconds(Row("rna-velocity", "mlp"), 1)
    assert full == typical_costs()["mlp"]["rna-velocity"]
    assert estimate_seconds(Row("rna-velocity", "mlp"), 10) == pytest.approx(10 * full)
    small = Row("rna-velocity", "mlp", {"epochs": 30}, clouds=500, points=20)
    assert estimate_seconds(small, 1) == pytest.approx(full * 30 / models.make("mlp").epochs / 4)
    circles = typical_costs()["svm"]["circles-vs-lines"]
    # 296 × 256 and 240 × 256 clouds × points, against 300 × 128
    assert estimate_seconds(Row("density-shift", "svm"), 1) == pytest.approx(circles * 296 / 150)
    assert estimate_seconds(Row("pdo-efp", "svm"), 1) == pytest.approx(circles * 240 / 150)
    assert estimate_seconds(Row("cells.csv", "svm"), 1) == pytest.approx(circles)


def test_every_model_has_a_cost():
    assert all(estimate_seconds(Row("circles-vs-lines", name), 1) > 0 for name in names())
    assert all(seconds > 0 for table in typical_costs().values() for seconds in table.values())
    by_degree = {cost_name(Row("colocated", f"npf-tri-{k}")) for k in (1, 2)}
    assert set(typical_costs()) - set(names()) == {"other models", *by_degree}
    readouts = [estimate_seconds(Row("rna-velocity", f"npf-{r}-2"), 1) for r in ("diag", "tri")]
    assert readouts[0] == readouts[1] == typical_costs()["point-forms of degree 2"]["rna-velocity"]


def shown(made: Plan, workers: int = 1) -> str:
    console = Console(file=StringIO(), width=120)
    console.print(plan_table(made, workers).terminal())
    return " ".join(console.file.getvalue().split())


def test_table(manifest):
    title = replace(manifest, title="[bold]Small")
    text = shown(plan(title, measured={Row(*GCN): (1, 1800.0)}), workers=2)
    assert "[bold]Small" in text
    assert "3.0 h" in text
    assert "~3.0 h" not in text
    assert "4 rows, 24 fits, of which 24 are left" in text
    assert "with 2 workers" in text
    assert "Estimated from earlier fits of their model, options and task: 6 fits." in text
    assert "Guessed (~) from typical costs: 18 fits." in text


def test_table_of_guesses(manifest):
    text = shown(plan(manifest, measured={Row(*GCN, {"members": 2}): (1, 3600.0)}))
    assert "~3.0 h" in text
    assert "Guessed (~) from earlier fits with other options: 6 fits." in text
    for pace, times in ((0.5, "0.5"), (2345.0, "2 345")):
        text = shown(plan(manifest, measured=on_circles(pace, "gin", "mlp")))
        guess = f"Guessed (~) from typical costs, × {times} by earlier fits on this machine: "
        assert f"{guess}24 fits." in text
        assert "Estimated from" not in text
