"""Models across tasks: ranks and mean differences that can be computed by hand."""

from __future__ import annotations

import csv
import io
from dataclasses import replace
from math import isnan, sqrt

import pytest
from tests.helpers.scored_fits import fits

from pointforms.bench.across_tasks import across_tasks_table, compare_across_tasks
from pointforms.bench.comparison import compare
from pointforms.bench.records import Record, Row

# Simulated, simulated, real. Mean AUROC of SVM, MLP and forest; the first task has a tie.
SCORES = {
    "colocated": (0.8, 0.9, 0.8),
    "singlecell": (0.7, 0.6, 0.9),
    "japanese-vowels": (0.6, 0.9, 0.5),
}
MODELS = ("svm", "mlp", "random-forest")


def small(scores=SCORES, folds=5, **row):
    """Fits whose AUROC does not depend on the fold."""
    return [
        record
        for task, aurocs in scores.items()
        for model, auroc in zip(MODELS, aurocs, strict=True)
        for record in fits(Row(task, model, **row), [auroc] * folds)
    ]


def summary(records, reference="svm", **options):
    """The models by name."""
    models = compare_across_tasks(compare(records, reference=reference, **options))
    return {one.name: one for one in models}


def test_ranks_are_averaged_over_tasks_and_ties_share_them():
    found = summary(small())
    # ranks by task: MLP 1, 3, 1; SVM 2.5, 2, 2; forest 2.5, 1, 3
    ranks = {name: one.rank for name, one in found.items()}
    assert ranks == pytest.approx({"MLP": 5 / 3, "SVM RBF": 6.5 / 3, "Random forest": 6.5 / 3})
    assert next(iter(found)) == "MLP"  # the best first
    assert (found["MLP"].rank_real, found["Random forest"].rank_real) == (1, 3)


def test_differences_are_averaged_with_an_interval_over_tasks():
    found = summary(small())
    mean, half = found["MLP"].difference  # +0.1, -0.1, +0.3: s = 0.2
    assert (mean, half) == pytest.approx((0.1, 4.30265 * 0.2 / sqrt(3)), abs=1e-5)
    assert found["Random forest"].difference.mean == pytest.approx((0 + 0.2 - 0.1) / 3)
    assert found["MLP"].difference_real == (pytest.approx(0.3), None)  # a single task
    assert isnan(found["SVM RBF"].difference.mean)


def test_two_tasks_have_no_interval():
    two = {task: SCORES[task] for task in list(SCORES)[:2]}
    found = summary(small(two))
    assert found["MLP"].difference == (pytest.approx(0.0), None)
    assert isnan(found["MLP"].difference_real.mean)


def test_significant_differences_are_counted():
    """Equal differences in all folds are significant, and no difference is not."""
    found = summary(small())
    counts = {name: (one.ahead, one.behind) for name, one in found.items()}
    assert counts == {"MLP": (2, 1), "Random forest": (1, 1), "SVM RBF": (None, None)}


def test_p_is_adjusted_within_each_task():
    """A difference that is significant alone and not as one of two is not counted."""
    scores = {
        "svm": [0.5] * 5,
        "mlp": [0.5225, 0.5725, 0.5475, 0.5325, 0.5625],
        "random-forest": [0.51, 0.48, 0.5, 0.51, 0.49],
    }
    records = [one for name, own in scores.items() for one in fits(Row("colocated", name), own)]
    (comparison,) = compare(records, reference="svm")
    mlp = next(model for model in comparison.models if model.name == "MLP")
    assert mlp.test.p < 0.05 < mlp.p
    # the interval that is shown belongs to the adjusted p, and contains 0
    assert mlp.difference.low < 0 < mlp.test.low
    assert summary(records)["MLP"].ahead == 0
    alone = [record for record in records if record.row.model != "random-forest"]
    assert summary(alone)["MLP"].ahead == 1


def test_seeds_of_a_task_are_averaged_first():
    again = small({"colocated": (0.6, 0.9, 0.5)}, task_seed=10)
    found = summary(small() + again)
    # +0.1 and +0.3 on colocated, -0.1 and +0.3 on the others
    mean, half = found["MLP"].difference
    deviation = sqrt(((0.2 - 4 / 30) ** 2 + (-0.1 - 4 / 30) ** 2 + (0.3 - 4 / 30) ** 2) / 2)
    assert (mean, half) == pytest.approx((4 / 30, 4.30265 * deviation / sqrt(3)), abs=1e-5)
    # forest: 2.5 and 3 on colocated, 1 and 3 on the others
    assert found["Random forest"].rank == pytest.approx((2.75 + 1 + 3) / 3)
    assert found["MLP"].tasks == 3
    assert (found["MLP"].ahead, found["MLP"].behind) == (3, 1)  # of four tables


def test_only_models_with_all_fits_are_ranked():
    row = Row("singlecell", "random-forest")
    records = [r for r in small() if not (r.row == row and r.fold == 2)]
    for lacking in (records, [*records, Record(row, 2, 0, error="Traceback: broken")]):
        found = summary(lacking)
        # without the forest on singlecell: SVM 2.5, 1, 2; MLP 1, 2, 1; forest 2.5, 3
        ranks = {name: one.rank for name, one in found.items()}
        assert ranks == pytest.approx({"MLP": 4 / 3, "SVM RBF": 5.5 / 3, "Random forest": 5.5 / 2})
        assert found["Random forest"].tasks == 2
        assert found["Random forest"].difference == (pytest.approx(-0.05), None)
        assert found["MLP"].difference.mean == pytest.approx(0.1)


def test_a_reference_without_all_fits_is_compared_on_the_other_tasks():
    row = Row("singlecell", "svm")
    found = summary([r for r in small() if not (r.row == row and r.fold == 2)])
    assert found["MLP"].difference == (pytest.approx(0.2), None)
    assert found["MLP"].tasks == 3  # it has all fits itself


def test_models_may_differ_in_their_number_of_seeds():
    slow = [r for r in small() if r.row.model != "svm"]
    cheap = [
        record
        for task, (auroc, *_) in SCORES.items()
        for record in fits(Row(task, "svm"), [auroc] * 5, seeds=5)
    ]
    assert summary(slow + cheap)["SVM RBF"].rank == pytest.approx(6.5 / 3)
    assert isnan(summary(slow + cheap[:-1])["SVM RBF"].rank_real)  # one fit is missing


def test_a_fold_without_auroc_is_left_out_for_all():
    """It has one class only, whatever the model."""
    records = [replace(r, auroc=float("nan")) if r.fold == 1 else r for r in small()]
    assert summary(records)["MLP"].rank == pytest.approx(5 / 3)


def test_the_selected_point_form_has_a_rank_where_it_is_the_reference():
    forms = [
        record
        for task in SCORES
        for model, auroc, loss in (("npf-tri-1", 0.95, 0.1), ("npf-flat-1", 0.99, 0.2))
        for record in fits(Row(task, model), [auroc] * 5, loss)
    ]
    found = summary(small() + forms, reference=None)
    assert found["NPF (selected)"].rank == 1
    assert isnan(found["NPF-Flat k=1"].rank)
    assert (found["NPF-Flat k=1"].ahead, found["NPF-Flat k=1"].behind) == (None, None)
    assert found["MLP"].rank == pytest.approx(8 / 3)
    found = summary(small() + forms, reference="svm")
    assert isnan(found["NPF (selected)"].rank)
    assert found["NPF (selected)"].difference.mean == pytest.approx(0.25)
    assert (found["NPF-Flat k=1"].rank, found["NPF-Tri k=1"].rank) == (1, 2)


def test_without_a_reference_there_are_ranks_alone():
    found = summary(small(), reference=None)
    assert found["MLP"].rank == pytest.approx(5 / 3)
    assert isnan(found["MLP"].difference.mean)
    assert found["MLP"].ahead is None
    shown = across_tasks_table(compare(small()))
    assert [c.heading for c in shown.shown(wide=False)] == ["model", "mean rank", "tasks"]


def test_the_table_names_the_reference_and_what_counts():
    shown = across_tasks_table(compare(small(), reference="svm"))
    assert shown.title == "Across 3 tasks"
    assert [column.heading for column in shown.shown()] == [
        "model", "mean rank", "mean rank, real data", "difference to SVM RBF",
        "difference, real data", "ahead", "behind", "tasks",
    ]  # fmt: skip
    assert shown.markdown().splitlines()[4] == (
        "| MLP | **1.67** | **1.00** | +0.100 ± 0.497 | +0.300 | 2 | 1 | 3 |"
    )
    text = " ".join(shown.notes)
    assert "of the 3 task tables in which a model is significantly ahead of or behind SVM" in text
    assert "Real data (files count as real): japanese-vowels. The rest is simulated." in text
    assert "several seeds" not in text
    again = compare(small() + small(task_seed=3), reference="svm")
    assert "A task with several seeds counts once" in " ".join(across_tasks_table(again).notes)


def test_files_are_real_and_without_simulated_tasks_there_is_one_column():
    real = {f"/data/{name}.npz": scores for name, scores in SCORES.items()}
    comparisons = compare(small(real, content="0123456789012345"), reference="svm")
    shown = across_tasks_table(comparisons)
    assert "difference, real data" not in [column.heading for column in shown.shown()]
    (mlp, *_) = csv.DictReader(io.StringIO(shown.csv()))
    assert mlp["difference"] == mlp["difference_real"] != ""
    assert "colocated.npz" in " ".join(shown.notes)
    assert "is simulated" not in " ".join(shown.notes)
    simulated = compare(small(real, content="simulated-1"), reference="svm")
    assert "Real data" not in " ".join(across_tasks_table(simulated).notes)


def test_rows_of_one_model_keep_their_own_names():
    records = [
        record
        for task, (svm, mlp, _) in SCORES.items()
        for options, auroc in (({"hidden": 64}, svm), ({"hidden": 32}, mlp))
        for record in fits(Row(task, "mlp", options), [auroc] * 3, 1 - auroc)
    ]
    (selected,) = summary(records, reference="mlp").values()
    assert selected.name == "MLP"
    every = summary(records, reference=None, every=True)
    assert set(every) == {"MLP (hidden=64)", "MLP (hidden=32)"}
