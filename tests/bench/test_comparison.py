"""Models compared on one task."""

from dataclasses import replace
from math import isnan

import numpy as np
import pytest
from tests.helpers.scored_fits import TASK, fits, small

from pointforms.bench.comparison import compare
from pointforms.bench.records import Row
from pointforms.support.statistics import Estimate


def compared(records, rows=(), **options):
    """The comparison of records of one task."""
    (one,) = compare(records, rows, **options)
    return one


def model(comparison, title):
    return next(one for one in comparison.models if one.title == title)


def test_selected_model_is_the_one_with_the_least_validation_loss():
    first = compared(small()).selected
    assert first.name == "NPF (selected, of 2)"
    # not the flat row, though that does better on the test folds
    assert {r.row.model for r in first.records} == {"npf-tri-1"}


def test_a_baseline_ahead_is_significant():
    comparison = compared(small())
    forest, mlp = model(comparison, "Random forest"), model(comparison, "MLP")
    assert forest.difference.significant
    assert forest.difference.mean == pytest.approx(0.06)
    assert not mlp.difference.significant


def test_holm_counts_the_baselines_and_not_our_rows():
    comparison = compared(small())
    ps = [one.test.p for one in comparison.baselines]
    assert min(one.p for one in comparison.baselines) == pytest.approx(min(3 * min(ps), 1))
    assert all(isnan(one.p) for one in comparison.models if one.ours)
    assert all(one.difference.p_unadjusted == one.test.p for one in comparison.baselines)


def test_published_numbers_stand_beside_ours_at_full_size_only():
    def published(task, title):
        return Estimate(0.729, 0.028) if (task, title) == (TASK, "MLP") else None

    comparison = compared(small(), published=published)
    assert model(comparison, "MLP").paper == (0.729, 0.028)
    assert isnan(model(comparison, "GCN").paper.mean)
    smaller = [replace(r, row=replace(r.row, clouds=60)) for r in small()]
    simulated = [replace(r, row=replace(r.row, content="simulated-1")) for r in small()]
    for records in (smaller, simulated):
        shown = compared(records, published=published)
        assert isnan(model(shown, "MLP").paper.mean)


def test_one_comparison_per_task_and_size():
    rows = [Row(TASK, "svm"), Row(TASK, "gcn"), Row("colocated", "mlp")]
    first, second = compare(small(), rows)
    assert (first.title, second.title) == (TASK, "colocated")
    svm = model(first, "SVM RBF")
    assert (svm.records, svm.test.pairs) == ((), 0)
    assert isnan(svm.p)
    smaller = [replace(r, row=replace(r.row, clouds=60)) for r in small()]
    titles = [one.title for one in compare([*small(), *smaller])]
    assert titles == [f"{TASK} (60 clouds)", TASK]


def test_without_ours_there_is_nothing_to_compare_with():
    comparison = compared([r for r in small() if not r.row.model.startswith("npf")])
    assert comparison.selected is None
    assert all(isnan(one.difference.mean) for one in comparison.models)


def test_fits_without_a_score_are_left_out_of_the_mean():
    comparison = compared(fits(Row(TASK, "mlp"), [0.8, np.nan, 0.9]))
    assert model(comparison, "MLP").summary("auroc").mean == pytest.approx(0.85)


def test_several_rows_of_a_model_are_selected_or_all_kept():
    records = [
        *fits(Row(TASK, "mlp", {"hidden": 64, "epochs": 9}), [0.8, 0.8], 0.2),
        *fits(Row(TASK, "mlp", {"hidden": 128, "epochs": 9}), [0.9, 0.9], 0.3),
        *fits(Row(TASK, "mlp", {"epochs": 9}), [0.9, 0.7], 0.3),
    ]
    (selected,) = compared(records).models
    assert selected.name == "MLP (selected, of 3)"
    assert selected.summary("auroc").mean == pytest.approx(0.8)
    names = {one.name for one in compared(records, every=True).models}
    assert names == {"MLP (hidden=64)", "MLP (hidden=128)", "MLP (defaults)"}
    blind = [replace(r, validation_loss=np.nan) for r in records]
    assert len(compared(blind).models) == 3


def test_only_rows_with_all_seeds_count_as_candidates():
    """A row that cannot be chosen is none that was chosen from."""
    records = [
        *fits(Row(TASK, "npf-tri-1"), [0.9, 0.9], 0.3, seeds=5),
        *fits(Row(TASK, "npf-flat-1"), [0.9, 0.9], 0.2, seeds=5),
        *fits(Row(TASK, "npf-tri-2"), [0.9, 0.9], 0.1),
    ]
    assert compared(records).selected.name == "NPF (selected, of 2)"


def test_intervals_agree_with_adjusted_p_values():
    for one in compared(small()).baselines:
        outside = one.difference.low > 0 or one.difference.high < 0
        assert outside == one.difference.significant
    forest = model(compared(small()), "Random forest")
    assert forest.difference.low < forest.test.low  # adjusted for three tests


def test_tests_use_common_pairs():
    ours = fits(Row(TASK, "npf-tri-1"), [0.9, 0.91, 0.92], seeds=5)
    comparison = compared(ours + fits(Row(TASK, "random-forest"), [0.8, 0.9, 0.7]))
    assert model(comparison, "Random forest").test.pairs == 3


# --- a reference of one's choice -------------------------------------------------------------


def test_every_model_is_tested_against_the_chosen_reference():
    comparison = compared(small(), reference="random-forest")
    assert comparison.reference is comparison.models[0]
    assert comparison.reference.name == comparison.reference_title == "Random forest"
    names = ["NPF (selected, of 2)", "NPF-Tri k=1", "NPF-Flat k=1", "MLP", "GCN"]
    assert [one.name for one in comparison.models[1:]] == names
    assert [one.name for one in comparison.compared] == names
    assert isnan(comparison.reference.difference.mean)
    for one in comparison.compared:
        ours, theirs = one.finished, comparison.reference.finished[: len(one.finished)]
        expected = np.mean([a.auroc - b.auroc for a, b in zip(ours, theirs, strict=True)])
        assert one.difference.mean == pytest.approx(expected)
    # Holm: five tests
    ps = [one.test.p for one in comparison.compared]
    assert min(one.p for one in comparison.compared) == pytest.approx(min(5 * min(ps), 1))


def test_differences_change_their_sign_with_the_reference():
    forest = compared(small(), reference="random-forest")
    mlp = compared(small(), reference="mlp")
    there, back = model(forest, "MLP").test, model(mlp, "Random forest").test
    assert there.difference == pytest.approx(-back.difference)
    assert (there.low, there.high) == pytest.approx((-back.high, -back.low))
    assert there.p == pytest.approx(back.p)


def test_a_point_form_may_be_the_reference():
    comparison = compared(small(), reference="npf-flat-1")
    assert comparison.reference.title == "NPF-Flat k=1"
    assert model(comparison, "NPF (selected)").difference.mean == pytest.approx(-0.04)
    assert not isnan(model(comparison, "NPF-Tri k=1").p)


def test_one_point_form_is_not_listed_twice_beside_another_reference():
    records = [r for r in small() if r.row.model != "npf-flat-1"]
    titles = [one.title for one in compared(records, reference="mlp").models]
    assert titles == ["MLP", "NPF-Tri k=1", "Random forest", "GCN"]


def test_a_reference_of_several_rows_is_selected():
    records = [
        *fits(Row(TASK, "mlp", {"hidden": 64}), [0.8, 0.8], 0.2),
        *fits(Row(TASK, "mlp", {"hidden": 32}), [0.9, 0.9], 0.3),
        *fits(Row(TASK, "svm"), [0.7, 0.7]),
    ]
    comparison = compared(records, reference="mlp")
    assert [one.name for one in comparison.models] == ["MLP (selected, of 2)", "SVM RBF"]
    assert model(comparison, "SVM RBF").difference.mean == pytest.approx(-0.1)
    every = compared(records, every=True, reference="mlp")
    names = ["MLP (selected, of 2)", "SVM RBF", "MLP (hidden=32)", "MLP (hidden=64)"]
    assert [one.name for one in every.models] == names
    assert [one.name for one in every.compared] == ["SVM RBF"]  # not what it was selected from
    assert [one.name for one in every.distinct] == names[1:]
    blind = compared([replace(r, validation_loss=np.nan) for r in records], reference="mlp")
    assert blind.reference is None
    assert blind.compared == []


def test_a_task_without_the_reference_has_no_differences():
    records = [*small(), *fits(Row("colocated", "svm"), [0.7, 0.8, 0.9])]
    first, second = compare(records, reference="mlp")
    assert (first.reference.title, second.reference) == ("MLP", None)
    assert second.reference_title == "MLP"
    assert isnan(second.models[0].difference.mean)


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("random-forrest", "no fits of the reference 'random-forrest': did you mean"),
        ("svm", "no fits of the reference 'svm': expected one of 'npf-tri-1', 'npf-flat-1', "),
    ],
)
def test_an_unknown_reference_is_refused(name, message):
    with pytest.raises(ValueError, match=message):
        compare(small(), reference=name)
    rows = [Row(TASK, "svm")]  # planned, but not fitted yet
    assert compare(small(), rows, reference="svm")[0].reference.records == ()
