"""Figures of results on the page."""

from __future__ import annotations

from math import isfinite

from tests.helpers.samples import HOSTILE_MODEL, comparison, fits, hostile

from pointforms.bench.comparison import compare
from pointforms.bench.page.content import gather
from pointforms.bench.page.result_pictures import comparison_pictures, fit_pictures
from pointforms.paper.numbers import paper_value
from pointforms.plot import to_svg


def row_names(picture):
    (axes,) = picture.figure.axes
    return [label.get_text() for label in axes.get_yticklabels()]


def tooltips(picture):
    return [
        text
        for artist in picture.figure.findobj(lambda one: hasattr(one, "_pointforms_tooltips"))
        for text in artist._pointforms_tooltips
    ]


def test_scores_and_differences_share_their_rows():
    for result in compare(comparison(), published=paper_value):
        scores, differences = comparison_pictures(result)
        assert row_names(scores) == row_names(differences)
        best = max(result.models, key=lambda model: model.summary("auroc").mean)
        assert row_names(scores)[0] == best.title
        drawn = [text for text in tooltips(scores) if ", paper" not in text]
        assert len(drawn) == len(row_names(scores))
        published = [model for model in result.models if isfinite(model.paper.mean)]
        assert len(tooltips(scores)) - len(drawn) == len(published)
        assert len(tooltips(differences)) == len(result.models) - 1  # not itself


def test_pointing_at_a_difference_tells_its_test():
    records = [*comparison(), *fits("rna-velocity", "npf-flat-1", [0.7] * 5)]
    result = next(one for one in compare(records) if one.title == "rna-velocity")
    texts = {
        text.splitlines()[0]: text.splitlines()[-1]
        for text in tooltips(comparison_pictures(result)[1])
    }
    assert texts["PointNet++"] == "adjusted p < 0.001"
    assert texts["NPF-Tri k=1 (selected, of 2)"] == "a candidate of the selection, not tested"


def test_differences_are_those_to_the_reference():
    for result in compare(comparison(), reference="mlp"):
        _, differences = comparison_pictures(result)
        (axes,) = differences.figure.axes
        assert axes.get_xlabel() == "AUROC minus that of MLP"
        texts = tooltips(differences)
        assert len(texts) == len(result.models) - 1
        assert all(text.splitlines()[-1].startswith("adjusted p") for text in texts)


def test_a_task_without_fits_has_no_picture():
    content = gather(comparison(), [], [], "x")
    assert all(comparison_pictures(task.comparison) for task in content["tasks"])
    failed = [record for record in comparison() if record.error is not None]
    (result,) = compare(failed)
    assert comparison_pictures(result) == []


def test_every_fit_tells_its_model_options_fold_and_seed():
    fits = gather(comparison(), [], [], "x")["fits"]
    (_, circles), (title, rna) = fit_pictures(fits)
    assert title == "rna-velocity"
    texts = tooltips(rna)
    assert len(texts) == 2 * 40  # against seconds, and against parameters
    assert len(tooltips(circles)) == 2 * 30
    assert any(
        text.startswith("NPF-Tri k=1 (weight_decay = 0.3)\nfold 0, seed 1\nAUROC 0.88")
        for text in texts
    )


def test_names_stay_text():
    for result in compare(hostile()):
        for picture in comparison_pictures(result):
            text = to_svg(picture.figure, picture.alt, "f1")
            assert "<img" not in text
            assert "<script" not in text
            assert HOSTILE_MODEL in row_names(picture)
