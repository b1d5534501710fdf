import csv
import io
import random
from dataclasses import replace
from math import isnan

import numpy as np
import pytest
from rich.console import Console

from pointforms.bench.records import Record, Row
from pointforms.bench.tables import (
    costs,
    csv_text,
    every_row,
    latex,
    markdown,
    rich_table,
    table,
    tables,
)
from pointforms.paper.numbers import paper_value

TASK = "circles-vs-lines"


def fits(row, aurocs, validation=0.5, seeds=1, **values):
    """Records of folds × seeds around one AUROC a fold."""
    return [
        Record(
            row,
            fold,
            seed,
            auroc=auroc,
            accuracy=auroc,
            log_loss=1 - auroc,
            validation_loss=validation,
            train_size=240,
            test_size=60,
            **{"seconds": 1.5, "memory": 300 << 20, **values},
        )
        for fold, auroc in enumerate(aurocs)
        for seed in range(seeds)
    ]


def small():
    """Two rows of ours, a baseline ahead, one level and one far behind, with a failed fit."""
    return [
        *fits(Row(TASK, "npf-tri-1"), [0.90, 0.91, 0.92], 0.3, parameters=1000),
        *fits(Row(TASK, "npf-flat-1"), [0.94, 0.95, 0.96], 0.4, parameters=2000),
        *fits(Row(TASK, "random-forest"), [0.961, 0.969, 0.98]),
        *fits(Row(TASK, "mlp"), [0.93, 0.90, 0.91], parameters=26562),
        *fits(Row(TASK, "gcn"), [0.50, 0.5101], parameters=18434),
        Record(Row(TASK, "gcn"), 2, 0, error="Traceback: out of memory"),
    ]


def line(found, title):
    return next(one for one in found.lines if one.title == title)


def test_snapshot_of_a_small_table():
    assert markdown(table(small())) == SNAPSHOT


def test_order_of_records_does_not_matter():
    records = small()
    expected = [form(table(records)) for form in (markdown, latex, csv_text)]
    random.Random(0).shuffle(records)
    assert [form(table(records)) for form in (markdown, latex, csv_text)] == expected


def test_selected_line_is_the_one_with_the_least_validation_loss():
    found = table(small())
    assert found.lines[0].name == "NPF (selected, of 2)"
    # not the flat row, though that does better on the test folds
    assert {r.row.model for r in found.lines[0].records} == {"npf-tri-1"}


def test_every_row_stands_by_itself_where_models_have_several():
    assert every_row(small()) is None
    wide = fits(Row(TASK, "npf-tri-1", {"forms": 16}), [0.80, 0.82, 0.84], 0.9)
    found = every_row([*small(), *wide])
    assert [row[1] for row in found.rows] == ["NPF-Tri k=1 (forms=16)", "NPF-Tri k=1 (defaults)"]
    assert [row[2] for row in found.rows] == ["0.820 ± 0.050", "0.910 ± 0.025"]


def test_one_row_is_nothing_to_choose_from():
    found = table(fits(Row(TASK, "npf-tri-1"), [0.90, 0.91, 0.92]))
    assert found.lines[0].name == "NPF (selected)"
    assert "NPF (selected) is NPF-Tri k=1, the only row there is" in markdown(found)


def test_a_baseline_ahead_is_marked_and_said():
    found = table(small())
    forest = line(found, "Random forest")
    assert forest.significant
    shown = markdown(found)
    assert "Random forest leads NPF (selected) by 0.060" in shown
    row = next(text for text in shown.splitlines() if text.startswith("| Random forest"))
    assert "↑" in row
    assert "**0.970" in row  # the best mean, of all lines
    assert shown.count("**") == 2
    gcn = next(text for text in shown.splitlines() if text.startswith("| GCN"))
    assert "↓" in gcn
    assert "Significantly behind NPF (selected): GCN by 0.400" in shown


def test_holm_counts_the_baselines_and_not_our_rows():
    found = table(small())
    ps = [one.comparison.p for one in found.baselines]
    assert min(one.p for one in found.baselines) == pytest.approx(min(3 * min(ps), 1))
    assert all(isnan(one.p) for one in found.lines if one.ours)


def test_papers_numbers_stand_beside_ours_at_the_papers_size_only():
    assert paper_value(TASK, "MLP") == (0.729, 0.028)
    assert paper_value("pdo-efp", "GIN") == (0.685, 0.116)
    assert paper_value("pdo-caf", "NPF-Flat k=2") == (0.581, 0.073)
    assert paper_value(TASK, "Random forest") is None
    assert paper_value("columns", "MLP") is None
    assert "| 0.729 ± 0.028 |" in markdown(table(small()))
    smaller = [replace(r, row=replace(r.row, clouds=60)) for r in small()]
    shown = markdown(table(smaller))
    assert "paper" not in shown
    assert "### circles-vs-lines (60 clouds)" in shown


def test_partial_manifests_have_counts():
    rows = [Row(TASK, "svm"), Row(TASK, "gcn"), Row("colocated", "mlp")]
    found = tables(small(), rows)
    assert [one.title for one in found] == [TASK, "colocated"]
    shown = markdown(found[0])
    assert "| 2 of 3 × 1 | 1 |" in shown  # GCN: one fit failed
    svm = next(text for text in shown.splitlines() if text.startswith("| SVM RBF"))
    assert svm.endswith("| none | 0 |")
    assert "Too few common fits for a test: SVM RBF." in shown
    assert "Fits: 14; failed and left out: 1." in shown
    assert "MLP" in markdown(found[1])
    with pytest.raises(ValueError, match="circles-vs-lines, colocated"):
        table(small(), rows)


def test_without_ours_there_is_nothing_to_compare_with():
    baselines = [r for r in small() if not r.row.model.startswith("npf")]
    found = table(baselines)
    assert found.reference is None
    assert "NPF" not in markdown(found)


def test_single_class_folds_are_counted():
    records = fits(Row(TASK, "mlp"), [0.8, np.nan, 0.9])
    assert "one class alone in the test fold: 1." in markdown(table(records))
    assert line(table(records), "MLP").summary("auroc")[0] == pytest.approx(0.85)


def test_several_rows_of_a_model_are_selected_or_all_shown():
    records = [
        *fits(Row(TASK, "mlp", {"hidden": 64, "epochs": 9}), [0.8, 0.8], 0.2),
        *fits(Row(TASK, "mlp", {"hidden": 128, "epochs": 9}), [0.9, 0.9], 0.3),
        *fits(Row(TASK, "mlp", {"epochs": 9}), [0.9, 0.7], 0.3),
    ]
    assert [one.name for one in table(records).lines] == ["MLP (selected, of 3)"]
    assert table(records).lines[0].summary("auroc")[0] == pytest.approx(0.8)
    names = {one.name for one in table(records, every=True).lines}
    assert names == {"MLP (hidden=64)", "MLP (hidden=128)", "MLP (defaults)"}
    blind = [replace(r, validation_loss=np.nan) for r in records]
    assert len(table(blind).lines) == 3


def test_fewer_common_pairs_are_told():
    ours = fits(Row(TASK, "npf-tri-1"), [0.9, 0.91, 0.92], seeds=5)
    found = table(ours + fits(Row(TASK, "random-forest"), [0.8, 0.9, 0.7]))
    assert line(found, "Random forest").comparison.pairs == 3
    assert "Compared on fewer than 15 pairs: Random forest on 3." in markdown(found)
    assert "| 3 × 5 |" in markdown(found)


def test_csv_has_the_numbers():
    rows = list(csv.DictReader(io.StringIO(csv_text(table(small())))))
    forest = next(row for row in rows if row["model"] == "Random forest")
    assert float(forest["auroc"]) == pytest.approx(0.97)
    assert float(forest["difference"]) == pytest.approx(0.06)
    assert forest["parameters_most"] == forest["paper"] == ""
    assert float(next(r for r in rows if r["model"] == "MLP")["paper"]) == 0.729


HOSTILE = "a|b\n| c <script>alert(1)</script> 100% $x$ \\input{y} _z_ #&~^ [red]r[/red] \x1b[31m"


@pytest.fixture
def hostile():
    row = Row(HOSTILE, HOSTILE, {"o": "*|&"})
    return table(
        [*fits(row, [0.8, 0.9], np.nan), *fits(replace(row, options={}), [0.7, 0.8], np.nan)]
    )


def test_markdown_escapes_hostile_names(hostile):
    shown = markdown(hostile)
    assert "<script" not in shown
    assert "\x1b" not in shown
    bars = {text.replace("\\|", "").count("|") for text in shown.splitlines() if text[:1] == "|"}
    assert len(bars) == 1  # no cell became two
    assert sum(text.startswith("| a\\|b ") for text in shown.splitlines()) == 2
    assert "o=\\*\\|&amp;" in shown


def test_latex_escapes_hostile_names(hostile):
    shown = latex(hostile)
    assert r"\input{" not in shown
    assert r"\textbackslash{}input\{y\}" in shown
    assert r"100\% \$x\$" in shown
    assert r"\_z\_ \#\&\textasciitilde{}\textasciicircum{} {[}red{]}" in shown
    body = [text for text in shown.splitlines() if text.startswith("a\\textbar")]
    assert len(body) == 2
    assert len({text.replace(r"\&", "").count("&") for text in body}) == 1
    for text in body:
        assert text.endswith(r" \\")
    assert r"\toprule" in shown
    assert "$\\pm$" in shown


def test_terminal_shows_names_as_they_are(hostile):
    console = Console(width=1000, file=io.StringIO(), color_system=None)
    console.print(rich_table(hostile))
    shown = console.file.getvalue()
    assert "[red]r[/red]" in shown
    assert "\x1b" not in shown


def test_csv_quotes_and_disarms():
    row = Row("t", '=HYPERLINK("x")\n,|')
    (found,) = csv.DictReader(io.StringIO(csv_text(table(fits(row, [0.8, 0.9], np.nan)))))
    assert found["model"] == '\'=HYPERLINK("x") ,|'
    assert len(csv_text(table(fits(row, [0.8, 0.9], np.nan))).splitlines()) == 2


def test_costs_keep_allocated_and_summed_hours_apart():
    found = costs(small(), [(3600.0, 2), (1800.0, 4)])
    assert found.allocated_hours == 4.0
    assert found.fit_hours == pytest.approx(14 * 1.5 / 3600)
    assert (TASK, "GCN", 1, 3, 1, pytest.approx(3 / 3600)) in found.lines
    shown = markdown(found)
    assert "| all |  | 5 | 15 | 1 | 0.006 |" in shown
    assert "Allocated: 4.000 worker hours" in shown
    assert costs(reversed(small())).lines == found.lines
    assert "Allocated" not in markdown(costs(small()))
    assert "| all |" in markdown(costs([]))


SNAPSHOT = """\
### circles-vs-lines

| model | AUROC | paper | difference to NPF (selected) | accuracy | log loss | parameters | s / fit | peak memory | folds × seeds | failed |
| :-- | --: | --: | --: | --: | --: | --: | --: | --: | --: | --: |
| NPF (selected, of 2) | 0.910 ± 0.025 |  |  | 0.910 ± 0.025 | 0.090 ± 0.025 | 1 000 | 1.5 | 0.29 GiB | 3 × 1 | 0 |
| NPF-Tri k=1 | 0.910 ± 0.025 | 1.000 ± 0.000 | +0.000 \\[+0.000, +0.000\\] | 0.910 ± 0.025 | 0.090 ± 0.025 | 1 000 | 1.5 | 0.29 GiB | 3 × 1 | 0 |
| NPF-Flat k=1 | 0.950 ± 0.025 | 0.985 ± 0.028 | +0.040 \\[+0.040, +0.040\\] | 0.950 ± 0.025 | 0.050 ± 0.025 | 2 000 | 1.5 | 0.29 GiB | 3 × 1 | 0 |
| Random forest | **0.970 ± 0.024** |  | +0.060 \\[+0.057, +0.063\\], p &lt; 0.001 ↑ | 0.970 ± 0.024 | 0.030 ± 0.024 |  | 1.5 | 0.29 GiB | 3 × 1 | 0 |
| MLP | 0.913 ± 0.038 | 0.729 ± 0.028 | +0.003 \\[−0.073, +0.079\\], p = 0.868 | 0.913 ± 0.038 | 0.087 ± 0.038 | 26 562 | 1.5 | 0.29 GiB | 3 × 1 | 0 |
| GCN | 0.505 ± 0.064 | 0.735 ± 0.020 | −0.400 \\[−0.401, −0.399\\], p &lt; 0.001 ↓ | 0.505 ± 0.064 | 0.495 ± 0.064 | 18 434 | 1.5 | 0.29 GiB | 2 of 3 × 1 | 1 |

- Random forest leads NPF (selected) by 0.060 \\[+0.057, +0.063\\], p &lt; 0.001.
- Not told apart from NPF (selected) (p ≥ 0.05): MLP +0.003 \\[−0.073, +0.079\\], p = 0.868.
- Significantly behind NPF (selected): GCN by 0.400 \\[−0.401, −0.399\\], p &lt; 0.001.
- Fits: 14; failed and left out: 1.
- ± is half the 95 % interval over folds × seeds. Fits of one fold share test clouds and two folds share training clouds: it shows spread, and does not test differences.
- Differences in AUROC on fold means: 95 % interval, each by itself, by the corrected resampled t-test (Nadeau and Bengio); p adjusted by Holm for 3 baselines; ↑ above NPF (selected), ↓ below, where p &lt; 0.05.
- Compared on fewer than 3 pairs: GCN on 2.
- NPF (selected) is chosen in every fold by validation loss from 2 rows (folds: NPF-Tri k=1 3). A selected line's time is that of the chosen fits, not of all that were tried.
- One configuration each, nothing to select from: Random forest, MLP, GCN.
"""  # noqa: E501
