import numpy as np
import pytest
from sklearn.metrics import accuracy_score, brier_score_loss, log_loss, roc_auc_score

from pointforms.estimators.metrics import auroc, scores


def _predictions(classes, m=60, seed=0):
    rng = np.random.default_rng(seed)
    codes = np.r_[np.arange(classes), rng.integers(0, classes, m - classes)]
    p = rng.dirichlet(np.ones(classes), m).round(2) + 0.01  # rounded: there are ties
    return codes, p / p.sum(1, keepdims=True)


def _area(positive, values):
    """P(value of a positive > value of a negative) + P(equal) / 2, pair by pair."""
    pairs = values[positive][:, None] - values[~positive]
    return ((pairs > 0) + 0.5 * (pairs == 0)).mean()


@pytest.mark.parametrize("classes", [2, 3, 6])
@pytest.mark.parametrize("seed", range(20))
def test_against_a_slow_reference(classes, seed):
    """Also where classes are absent, and where a probability is 0 or 1."""
    codes, p = _predictions(classes, m=30, seed=seed)
    p[seed] = np.eye(classes)[seed % classes]
    kept = codes != seed % (2 * classes)  # one class is absent for some seeds
    codes, p = codes[kept], p[kept]
    occurring = np.unique(codes)
    areas = {c: _area(codes == c, p[:, c]) for c in occurring if len(occurring) > 1}
    expected = areas.get(1, np.nan) if classes == 2 else np.mean(list(areas.values()))
    metrics = scores(codes, p)
    assert metrics["auroc"] == pytest.approx(expected, abs=1e-12, nan_ok=True)
    losses = [-np.log(max(row[c], 1e-15)) for c, row in zip(codes, p, strict=True)]
    assert metrics["log_loss"] == pytest.approx(np.mean(losses), abs=1e-12)
    squares = [
        sum((row[k] - (k == c)) ** 2 for k in range(classes))
        for c, row in zip(codes, p, strict=True)
    ]
    assert metrics["brier"] == pytest.approx(np.mean(squares), abs=1e-12)
    assert metrics["accuracy"] == np.mean(
        [row.argmax() == c for c, row in zip(codes, p, strict=True)]
    )


@pytest.mark.parametrize("seed", range(3))
def test_two_classes_are_scikit_learns(seed):
    codes, p = _predictions(2, seed=seed)
    metrics = scores(codes, p)
    assert metrics["auroc"] == pytest.approx(roc_auc_score(codes, p[:, 1]), abs=1e-12)
    assert metrics["accuracy"] == accuracy_score(codes, p.argmax(1))
    assert metrics["log_loss"] == pytest.approx(log_loss(codes, p), abs=1e-12)
    # scikit-learn's score is that of one class alone
    assert metrics["brier"] == pytest.approx(2 * brier_score_loss(codes, p[:, 1]), abs=1e-12)


@pytest.mark.parametrize("classes", [3, 9])
def test_several_classes_are_scikit_learns_macro_mean(classes):
    codes, p = _predictions(classes)
    expected = roc_auc_score(codes, p, multi_class="ovr", average="macro")
    assert auroc(codes, p) == pytest.approx(expected, abs=1e-12)
    assert scores(codes, p)["log_loss"] == pytest.approx(log_loss(codes, p), abs=1e-12)


def test_a_class_absent_from_the_fold_is_left_out():
    codes, p = _predictions(4)
    kept = codes != 2
    expected = np.mean([roc_auc_score(codes[kept] == c, p[kept, c]) for c in (0, 1, 3)])
    assert auroc(codes[kept], p[kept]) == pytest.approx(expected, abs=1e-12)


def test_one_class_alone_has_no_auroc_but_the_rest():
    p = np.array([[0.2, 0.8], [0.6, 0.4]])
    metrics = scores([1, 1], p)
    assert np.isnan(metrics["auroc"])
    assert metrics["accuracy"] == 0.5
    assert metrics["log_loss"] == pytest.approx(-np.log([0.8, 0.4]).mean())


def test_auroc_depends_on_order_alone():
    codes, p = _predictions(2)
    bent = p[:, 1] ** 5
    assert auroc(codes, np.c_[1 - bent, bent]) == auroc(codes, p)
    assert auroc(1 - codes, p) == pytest.approx(1 - auroc(codes, p))
    assert auroc(codes, np.full_like(p, 0.5)) == 0.5


@pytest.mark.parametrize(("classes", "of_equal"), [(2, 1 / 2), (4, 3 / 4)])
def test_the_brier_score_is_from_0_to_2(classes, of_equal):
    """Certain and right, certain and wrong, and equal probabilities."""
    codes = np.arange(classes)
    sure = np.eye(classes)
    assert scores(codes, sure)["brier"] == 0
    assert scores(codes, np.roll(sure, 1, axis=1))["brier"] == 2
    assert scores(codes, np.full_like(sure, 1 / classes))["brier"] == pytest.approx(of_equal)


def test_rounded_probabilities_do_not_exceed_the_largest_brier_score():
    assert scores([0, 0], [[0.0, 1.0 + 5e-7], [0.0, 1.0 + 5e-7]])["brier"] == 2


def test_sure_and_wrong_costs_a_finite_loss():
    assert scores([0, 1], [[0.0, 1.0], [0.0, 1.0]])["log_loss"] == pytest.approx(
        15 * np.log(10) / 2
    )


@pytest.mark.parametrize(
    ("codes", "p", "message"),
    [
        ([0, 1], [[0.5, 0.5]], r"shapes \(2,\) and \(1, 2\)"),
        ([0, 2], [[0.5, 0.5], [0.5, 0.5]], "from 0 to 1"),
        ([0.5, 1], [[0.5, 0.5], [0.5, 0.5]], "whole numbers"),
        ([0, 1], [[0.5, 0.5], [np.nan, 0.5]], "cloud 1 are"),
        ([0, 1], [[3.0, 0.5], [0.5, 0.5]], "cloud 0 are"),
        ([], np.empty((0, 2)), "at least one cloud"),
    ],
)
def test_bad_predictions_are_refused(codes, p, message):
    with pytest.raises(ValueError, match=message):
        scores(codes, p)
