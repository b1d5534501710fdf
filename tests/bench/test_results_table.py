"""The results table of a task."""

import csv
import io
import random
from dataclasses import replace

import numpy as np
import pytest
from rich.console import Console
from tests.helpers.scored_fits import TASK, fits, small

from pointforms.bench import results_table as module
from pointforms.bench.records import Row
from pointforms.bench.results_table import COLUMNS, every_row, results_tables
from pointforms.support.formatting import estimate
from pointforms.support.statistics import Estimate
from pointforms.support.table import FORMS, Column


def published(task, title):
    """A published number for one model on one task."""
    return Estimate(0.729, 0.028) if (task, title) == (TASK, "MLP") else None


def table(records, rows=(), **options):
    """The only table of records."""
    (one,) = results_tables(records, rows, **options)
    return one


def line(shown, name):
    return next(text for text in shown.splitlines() if text.startswith(f"| {name}"))


def test_snapshot_of_a_small_table():
    assert table(small(), published=published).markdown() == SNAPSHOT


def test_order_of_records_does_not_matter():
    records = small()
    expected = [table(records).render(form) for form in FORMS]
    random.Random(0).shuffle(records)
    assert [table(records).render(form) for form in FORMS] == expected


def test_a_column_is_one_entry_of_one_list(monkeypatch):
    least = Column("worst", "worst", "{:.2f}".format, lambda m: min(m.known("auroc")))
    monkeypatch.setattr(module, "COLUMNS", (*COLUMNS, least))
    shown = table(small())
    assert line(shown.markdown(), "MLP").endswith("| 0.90 |")
    assert shown.csv().splitlines()[0].endswith(",worst")


def test_every_row_stands_by_itself_where_models_have_several():
    assert every_row(small()) is None
    wide = fits(Row(TASK, "npf-tri-1", {"forms": 16}), [0.80, 0.82, 0.84], 0.9)
    shown = every_row([*small(), *wide])
    names = ["NPF-Tri k=1 (forms=16)", "NPF-Tri k=1 (defaults)"]
    assert [row["model"] for row in shown.rows] == names
    assert [estimate(row["auroc"]) for row in shown.rows] == ["0.820 ± 0.050", "0.910 ± 0.012"]
    assert [column.heading for column in shown.shown()] == [
        "task", "model", "AUROC", "difference to NPF (selected)", "log loss", "folds × seeds",
    ]  # fmt: skip


def test_one_row_is_nothing_to_choose_from():
    shown = table(fits(Row(TASK, "npf-tri-1"), [0.90, 0.91, 0.92])).markdown()
    assert line(shown, "NPF (selected) |")
    assert "NPF (selected) is NPF-Tri k=1, the only row to choose from." in shown


def test_the_rows_of_one_kind_of_point_forms_are_one_line():
    options = ({"forms": 16}, {})
    ours = [fit for one in options for fit in fits(Row(TASK, "npf-tri-1", one), [0.90, 0.91, 0.92])]
    records = [*ours, *fits(Row(TASK, "mlp"), [0.8, 0.7, 0.8])]
    names = [row["model"] for row in table(records).rows]
    assert names == ["NPF (selected, of 2)", "MLP"]
    assert "(number of folds: NPF-Tri k=1 3)" in table(records).markdown()
    names = [row["model"] for row in table(records, reference="mlp").rows]
    assert names == ["MLP", "NPF-Tri k=1 (selected, of 2)"]
    assert len(table(records, every=True).rows) == 4
    assert len(table(records, published=lambda *_: Estimate(0.9)).rows) == 3


def test_notes_are_about_what_the_table_shows():
    records = [*fits(Row(TASK, "npf-tri-1"), [0.9]), *fits(Row(TASK, "mlp"), [0.8])]
    shown = table(records)
    assert "±" not in shown.markdown()
    assert not any("±" in line for line in shown.brief)
    assert "Holm" not in shown.markdown()
    assert "from five differences on." in shown.markdown()
    assert "↑" not in shown.markdown()
    three = table([*fits(Row(TASK, "npf-tri-1"), [0.9, 0.8, 0.7]), *records[1:]])
    assert "± is half the 95 % interval" in three.markdown()
    assert "± is half of the 95 % interval over folds and seeds." in three.brief


def test_a_baseline_ahead_is_marked_and_said():
    shown = table(small()).markdown()
    assert "Random forest leads NPF (selected) by 0.060" in shown
    assert "↑" in line(shown, "Random forest")
    assert "**0.970" in line(shown, "Random forest")  # the best mean of all models
    assert shown.count("**") == 2
    assert "↓" in line(shown, "GCN")
    assert "Significantly behind NPF (selected): GCN by 0.400" in shown


def test_published_numbers_are_shown_where_there_are_any():
    assert "| 0.729 ± 0.028 |" in table(small(), published=published).markdown()
    smaller = [replace(r, row=replace(r.row, clouds=60)) for r in small()]
    shown = table(smaller, published=published).markdown()
    assert "paper" not in shown
    assert "### circles-vs-lines (60 clouds)" in shown


def test_partial_manifests_have_counts():
    rows = [Row(TASK, "svm"), Row(TASK, "gcn"), Row("colocated", "mlp")]
    first, second = results_tables(small(), rows)
    assert (first.title, second.title) == (TASK, "colocated")
    shown = first.markdown()
    assert "| 5 of 5 × 2 | 1 |" in shown  # GCN: one fit failed
    assert line(shown, "SVM RBF").endswith("| none | 0 |")
    assert "Too few common fits for a test: SVM RBF." in shown
    assert "Fits: 25; failed and left out: 1." in shown
    assert "MLP" in second.markdown()


def test_without_ours_nothing_is_said_of_it():
    baselines = [r for r in small() if not r.row.model.startswith("npf")]
    assert "NPF" not in table(baselines).markdown()


def test_another_reference_is_named_in_heading_and_sentences():
    shown = table(small(), reference="mlp")
    assert "difference to MLP" in [column.heading for column in shown.shown()]
    text = shown.markdown()
    assert text.splitlines()[4].startswith("| MLP |")
    assert "No significant difference to MLP (p ≥ 0.05): " in text
    assert "for the number of models, 5, and so is the interval" in text
    assert "↑ is above MLP and ↓ below it" in text
    assert "Fits: 25; failed and left out: 1." in text  # NPF (selected) repeats its fits
    assert "NPF (selected) is chosen in every fold by validation loss from 2 rows" in text
    assert "to NPF (selected)" not in text
    assert "One configuration each" not in text
    behind = [r for r in small() if r.row.model in ("npf-flat-1", "gcn", "random-forest")]
    assert (
        "Significantly behind Random forest: NPF-Flat k=1 by 0.020"
        in table(behind, reference="random-forest").markdown()
    )
    sentence = "No model is significantly ahead of Random forest."
    assert sentence in table(behind, reference="random-forest").notes
    assert sentence in table(behind, reference="random-forest").brief


def test_a_task_without_the_reference_says_so():
    records = [*small(), *fits(Row("colocated", "svm"), [0.7, 0.8, 0.9])]
    _, shown = results_tables(records, reference="mlp")
    assert "No line for MLP: nothing is tested." in shown.notes


def test_single_class_folds_are_counted():
    records = fits(Row(TASK, "mlp"), [0.8, np.nan, 0.9])
    assert "because the test fold has one class: 1." in table(records).markdown()


def test_fewer_common_pairs_are_mentioned():
    ours = fits(Row(TASK, "npf-tri-1"), [0.9, 0.91, 0.92], seeds=5)
    shown = table(ours + fits(Row(TASK, "random-forest"), [0.8, 0.9, 0.7])).markdown()
    assert "Compared on fewer than 15 pairs: Random forest on 3." in shown
    assert "| 3 × 5 |" in shown


def test_the_brier_score_is_a_wide_column_where_it_is_known():
    assert "Brier" not in table(small()).markdown()
    shown = table(fits(Row(TASK, "mlp"), [0.8, 0.9, 0.7], brier=0.25))
    assert "0.250 ± 0.000" in line(shown.markdown(), "MLP")
    assert "Brier score" in [column.heading for column in shown.shown(wide=True)]
    assert "Brier score" not in [column.heading for column in shown.shown(wide=False)]


def test_csv_keeps_the_names_of_version_0_1_0():
    rows = list(csv.DictReader(io.StringIO(table(small(), published=published).csv())))
    assert [name for name in rows[0] if name != "reading"] == [  # which is of version 0.3.0
        "task", "clouds", "points", "task_seed", "content", "model", "auroc", "auroc_half",
        "auroc_half_over_folds", "paper", "paper_half", "difference", "difference_low",
        "difference_high", "p", "p_holm", "pairs", "accuracy", "accuracy_half", "log_loss",
        "log_loss_half", "brier", "brier_half", "parameters_least", "parameters_most", "seconds",
        "epoch_seconds", "memory", "fits", "fits_tried", "failed", "rows",
    ]  # fmt: skip
    forest = next(row for row in rows if row["model"] == "Random forest")
    assert float(forest["auroc"]) == pytest.approx(0.97)
    assert float(forest["difference"]) == pytest.approx(0.06)
    assert float(forest["p_holm"]) >= float(forest["p"])
    assert forest["parameters_most"] == forest["paper"] == ""
    assert float(next(r for r in rows if r["model"] == "MLP")["paper"]) == 0.729


def test_a_terminal_of_80_columns_shows_the_main_numbers_whole():
    console = Console(width=80, file=io.StringIO(), color_system=None)
    records = [
        *small(),
        *fits(Row(TASK, "logistic-regression", {"x": 1}), [0.70, 0.71, 0.72, 0.70, 0.72]),
        *fits(Row(TASK, "logistic-regression"), [0.70, 0.71, 0.72, 0.70, 0.72]),
        *fits(Row(TASK, "graph-transformer"), [0.70, 0.71, 0.72, 0.70, 0.72], seconds=1234.5),
    ]
    console.print(table(records).terminal())
    shown = console.file.getvalue()
    assert max(map(len, shown.splitlines())) <= 80
    heading = " ".join(shown.partition("──")[0].split())
    for words in ("difference to NPF adjusted s /", "model AUROC (selected) p fit"):
        assert words in heading
    forest = next(text for text in shown.splitlines() if text.startswith("Random forest"))
    numbers = "0.970 ± 0.012 +0.060 [+0.058, +0.062] < 0.001 ↑ 1.5"
    assert forest.split() == f"Random forest {numbers}".split()
    assert "GiB" not in shown
    wide = Console(width=250, file=io.StringIO(), color_system=None)
    wide.print(table(records).terminal(wide=True))
    assert "0.29 GiB" in wide.file.getvalue()


SNAPSHOT = """\
### circles-vs-lines

| model | AUROC | paper | difference to NPF (selected) | adjusted p | accuracy | log loss | parameters | s / fit | peak memory | folds × seeds | failed |
| :-- | --: | --: | --: | --: | --: | --: | --: | --: | --: | --: | --: |
| NPF (selected, of 2) | 0.910 ± 0.012 |  |  |  | 0.910 ± 0.012 | 0.090 ± 0.012 | 1 000 | 1.5 | 0.29 GiB | 5 × 1 | 0 |
| NPF-Tri k=1 | 0.910 ± 0.012 |  | +0.000 \\[+0.000, +0.000\\] |  | 0.910 ± 0.012 | 0.090 ± 0.012 | 1 000 | 1.5 | 0.29 GiB | 5 × 1 | 0 |
| NPF-Flat k=1 | 0.950 ± 0.012 |  | +0.040 \\[+0.040, +0.040\\] |  | 0.950 ± 0.012 | 0.050 ± 0.012 | 2 000 | 1.5 | 0.29 GiB | 5 × 1 | 0 |
| Random forest | **0.970 ± 0.012** |  | +0.060 \\[+0.058, +0.062\\] | &lt; 0.001 ↑ | 0.970 ± 0.012 | 0.030 ± 0.012 |  | 1.5 | 0.29 GiB | 5 × 1 | 0 |
| MLP | 0.914 ± 0.019 | 0.729 ± 0.028 | +0.004 \\[−0.041, +0.049\\] | 0.817 | 0.914 ± 0.019 | 0.086 ± 0.019 | 26 562 | 1.5 | 0.29 GiB | 5 × 1 | 0 |
| GCN | 0.510 ± 0.012 |  | −0.400 \\[−0.400, −0.400\\] | &lt; 0.001 ↓ | 0.510 ± 0.012 | 0.490 ± 0.012 | 18 434 | 1.5 | 0.29 GiB | 5 of 5 × 2 | 1 |

- Random forest leads NPF (selected) by 0.060 \\[+0.058, +0.062\\], p &lt; 0.001.
- No significant difference to NPF (selected) (p ≥ 0.05): MLP +0.004 \\[−0.041, +0.049\\], p = 0.817.
- Significantly behind NPF (selected): GCN by 0.400 \\[−0.400, −0.400\\], p &lt; 0.001.
- Fits: 25; failed and left out: 1.
- ± is half the 95 % interval over folds × seeds. Fits of one fold share test clouds and two folds share training clouds: the interval shows spread and does not test differences.
- Differences in AUROC are computed on fold means and tested by the corrected resampled t-test (Nadeau and Bengio), from five differences on. p is adjusted by Holm's method for the number of baselines, 3, and so is the interval: it contains 0 exactly if p ≥ 0.05. ↑ is above NPF (selected) and ↓ below it with p &lt; 0.05.
- NPF (selected) is chosen in every fold by validation loss from 2 rows (number of folds: NPF-Tri k=1 5). The time of a selected line is that of the chosen fits, not of all that were tried.
- One configuration each, nothing to select from: Random forest, MLP, GCN.
"""  # noqa: E501
