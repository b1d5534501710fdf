from __future__ import annotations

import numpy as np
import pytest
import torch
from tests.helpers.small_fits import SMALL

import pointforms as pf
from pointforms.estimators.targets import ClassTargets, NumberTargets


@pytest.mark.parametrize(
    ("y", "message"),
    [
        ([0, 1] * 29, "y has 58 entries for 60 clouds"),
        ([0] * 60, "y has 1 class, .*0"),
        ([0, 1] * 29 + [0, float("nan")], "y has 1 missing entries, the first at 59"),
        ([0, 1] * 29 + [0, None], "y has 1 missing entries"),
        (np.zeros((60, 2)), r"y has shape \(60, 2\)"),
        (np.linspace(0, 1, 60), "y has fractions"),
    ],
)
def test_labels(y, message, data):
    with pytest.raises(ValueError, match=message):
        pf.PointFormClassifier(**SMALL).fit(data[0], y)


def test_groups_and_regression_targets(data):
    clouds, y, *_ = data
    with pytest.raises(ValueError, match="groups has 3 entries for 60 clouds"):
        pf.PointFormClassifier(**SMALL).fit(clouds, y, groups=[1, 2, 3])
    with pytest.raises(ValueError, match="y has non-finite"):
        pf.PointFormRegressor(**SMALL).fit(clouds, np.full(60, np.nan))
    with pytest.raises(ValueError, match="a regressor has no classes"):
        pf.PointFormRegressor(**SMALL, class_weight="balanced").fit(clouds, y)


def test_weights_are_those_of_the_training_clouds():
    targets = ClassTargets.of(["a", "b", "b", "b", "a", "b"], 6, "balanced")
    np.testing.assert_allclose(targets.weights(np.arange(4)), [4 / 2, 4 / 6, 4 / 6, 4 / 6])
    named = ClassTargets.of(["a", "b", "b"], 3, {"b": 5.0})
    np.testing.assert_allclose(named.weights(np.array([1, 0])), [5, 1])
    assert ClassTargets.of([0, 1], 2).weights(np.arange(2)) is None
    assert NumberTargets.of([0.0, 1.0], 2).weights(np.arange(2)) is None


def test_the_loss_has_no_weights():
    targets = ClassTargets.of(["a", "b", "b"], 3, {"b": 5.0})
    even = targets.loss(torch.zeros(2, 2, dtype=torch.float64), torch.tensor([0, 1]))
    np.testing.assert_allclose(even, np.log(2))


def test_numbers_are_standardised():
    y = np.array([[1.0, 5.0], [3.0, 5.0]])
    targets = NumberTargets.of(y, 2)
    np.testing.assert_allclose(targets.values, [[-1, 0], [1, 0]])
    np.testing.assert_allclose(targets.values * targets.scale + targets.mean, y)
    assert (targets.outputs, targets.single, NumberTargets.of(y[:, 0], 2).single) == (
        2,
        False,
        True,
    )
