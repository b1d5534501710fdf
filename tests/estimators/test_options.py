"""Every option of every estimator, and every other argument of fit, with values nobody can use."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest
import torch
from sklearn.base import clone
from tests.helpers.tiny_estimators import (
    CLASSIFIERS,
    KINDS,
    NAMES,
    REGRESSORS,
    make_quick,
    some_clouds,
    targets,
    tiny,
)

import pointforms as pf
from pointforms.support.options import shown

NAN = float("nan")
NOT_WHOLE = [-1, 1.5, True, NAN, "3", [3], np.array([3, 4]), {}, 10**9 + 0.5]
COUNT = [*NOT_WHOLE, 0, None]
NUMBER = [True, NAN, float("inf"), "0.1", [0.1], None, np.array([1.0, 2.0]), 1j]
WORD = ["nonsense", "", 3, True, None, NAN, ["mean"], np.array(["mean", "point"])]
FLAG = [1, 0, "yes", None, NAN, []]
COUNTS = [16, "16", [0], [1.5], [True], [NAN], {3}, None, np.eye(2, dtype=int)]

#: Values that no fit can work with, by the name of an option.
INVALID: dict[str, list[Any]] = {
    "alpha": NUMBER,
    "bandwidth": [*NUMBER, 0.0, -1.0, "automatic"],
    "bandwidth_policy": WORD,
    "bandwidth_units": [*NUMBER, 0, -1.0, "metres"],
    "batch_size": COUNT,
    "beta": [*NUMBER, 0.5],
    "cache": [3, True, b"folder", ["folder"]],
    "calibrate": [1, 0, "points", None, NAN, np.array([True, False])],
    "center": WORD,
    "centers": [3, "k-means", [1.0, 2.0], [[NAN]], [[]], [["a"]], [[0.0], [1.0, 2.0]]],
    "class_weight": ["even", 3, True, NAN, [1, 2], {0: 0}, {0: -1.0}, {0: NAN}, {0: "1"}],
    "clusters": COUNT,
    "coefficients": WORD,
    "complex_neighbors": COUNT,
    "components": [value for value in COUNT if value is not None],
    "covariance": FLAG,
    "degree": [*NOT_WHOLE[:4], "1", None, (), (-1,), (1, 0.5), (True,), {1}],
    "degrees": [1, "1", (), (-1,), (0.5,), (True,), None],
    "density_neighbors": [*NOT_WHOLE, 1],
    "device": ["cuda:99", "gpu", "", "meta", 0, None, True, NAN],
    "dimension": [*NOT_WHOLE, 0],
    "directions": COUNT,
    "distance": WORD,
    "dtype": [*WORD, "float16", np.float32, torch.float32],
    "epochs": [*NOT_WHOLE, None],
    "features": [3, None, "summaries", [], pf.PointFormTransformer, lambda clouds: clouds],
    "forms": COUNT,
    "frame": WORD,
    "head": [-1, 0.5, True, NAN, "32", None, (32,), "ridge"],
    "hidden": COUNTS,
    "landmarks": [*COUNT, 1],
    "learning_rate": [*NUMBER, 0, -1e-3],
    "levels": COUNT,
    "max_features": COUNT,
    "measure": WORD,
    "members": COUNT,
    "n_jobs": [0, -2, 1.5, True, NAN, "all", [1]],
    "neighbors": [*COUNT, "all"],
    "network": ["resnet", "", 3, None, True, NAN, ["mlp"]],
    "parts": [(), "linear", ["trees"], [3], ("linear", "linear"), {"linear"}, None, True],
    "patience": COUNT,
    "points_per_epoch": [value for value in COUNT if value is not None],
    "progress": FLAG,
    "pseudo_count": [*NUMBER, 0, -1.0],
    "quantiles": [0.5, "0.5", [1.5], [-0.1], [NAN], [True], ["0.5"], None],
    "random_state": [-1, 2**32, 0.5, True, NAN, "0", [0], (0,), 1j],
    "rank": [*NOT_WHOLE, 0],
    "readout": WORD,
    "scale": [value for value in WORD if value is not None],
    "search": WORD,
    "sees": ["owm", "", 1, None, True, NAN, (), [-1], [1.5], [True], [None], {"CD4"}],
    "spectra": FLAG,
    "spectrum": WORD,
    "terms": COUNT,
    "time_limit": [*NUMBER[:5], NUMBER[6], 1j, 0, -1.0],
    "truncation": FLAG,
    "validation_fraction": [*NUMBER, -0.1, 1, 1.5],
    "weight_decay": [*NUMBER, -1e-9, "automatic"],
}


class Untouchable:
    """Clouds or labels that must not be looked at."""

    def _refuse(self, *_: Any) -> None:
        raise AssertionError("an option should have been refused before")

    __iter__ = __len__ = __getitem__ = __array__ = _refuse


@pytest.mark.parametrize("name", NAMES)
def test_every_option_is_checked_before_anything_else(name):
    estimator = tiny(name)
    for key in estimator.get_params():
        option = key.rpartition("__")[2]
        for value in INVALID[option]:
            wrong = clone(estimator).set_params(**{key: value})
            with pytest.raises((ValueError, TypeError)) as caught:
                wrong.fit(Untouchable(), Untouchable())
            message = str(caught.value)
            assert f"{option}={shown(value)}: expected" in message, (key, value, message)


def test_no_invalid_value_is_listed_for_an_option_that_no_estimator_has():
    options = {key.rpartition("__")[2] for name in NAMES for key in tiny(name).get_params()}
    assert set(INVALID) == options


@pytest.mark.parametrize("name", ["gcn", "tdl", "point-transformer"])
def test_points_per_epoch_needs_a_network_that_reads_points(name):
    with pytest.raises(ValueError, match=f"points_per_epoch=4: expected None, since {name} needs"):
        tiny(name, points_per_epoch=4).fit(Untouchable(), Untouchable())


@pytest.mark.parametrize("device", ["cuda", "mps"])
def test_a_device_that_is_not_there(device):
    there = {"cuda": torch.cuda.is_available(), "mps": torch.backends.mps.is_available()}[device]
    clouds, y = some_clouds(), targets("mlp")
    for name in ("PointFormClassifier", "mlp"):
        model = tiny(name, device=device)
        if there:
            assert model.fit(clouds, y).model_ is not None
        else:
            with pytest.raises(ValueError, match=f"device='{device}': expected a device of this"):
                model.fit(clouds, y)


CLOUDS = some_clouds()
BAD_CLOUDS = [
    ([], "clouds is empty"),
    (np.zeros((0, 6, 3)), "clouds is empty"),
    (CLOUDS[0], r"clouds has shape \(6, 3\), like one cloud: pass it as \[cloud\]"),
    (torch.zeros(6, 3), r"clouds has shape \(6, 3\), like one cloud"),
    (pd.DataFrame(CLOUDS[0]), r"clouds has shape \(6, 3\), like one cloud"),
    ("clouds.csv", "clouds is str 'clouds.csv'"),
    (None, "clouds is a NoneType"),
    (7, "clouds is a int"),
    (dict(enumerate(CLOUDS)), "clouds is a dict"),
]
BAD_LABELS = [
    ([0, "a"] * 8, "y has entries of several kinds, int and str"),
    (np.array([0, "a"] * 8, dtype=object), "y has entries of several kinds, int and str"),
    ([True, 2] * 8, "y has entries of several kinds, bool and int"),
    ([0, 1] * 7 + [0, None], "y has 1 missing entries, the first at 15"),
    (["a", "b"] * 7 + ["a", NAN], "y has 1 missing entries, the first at 15"),
    ([0, 1] * 7 + [0, float("inf")], "y has 1 missing entries, the first at 15"),
    (pd.Series(["a", "b"] * 7 + ["a", None]), "y has 1 missing entries"),
    (pd.Series([0, 1] * 7 + [0, None], dtype="Int64"), "y has 1 missing entries"),
    (pd.Categorical(["a", "b"] * 7 + ["a", None]), "y has 1 missing entries"),
    (pd.Series(pd.to_datetime(["2020-01-01", None] * 8)), "y has 8 missing entries"),
    (None, "y=None: expected 16 entries"),
    ("ab" * 8, "y='abab.*: expected 16 entries"),
    (3, "y=3: expected 16 entries"),
    ({0: 1}, "y={0: 1}: expected 16 entries"),
    ([], "y has 0 entries for 16 clouds"),
    ([0, 1], "y has 2 entries for 16 clouds"),
    (np.zeros((16, 2)), r"y has shape \(16, 2\): expected \(16,\)"),
    (np.zeros((16, 1)), r"y has shape \(16, 1\): expected \(16,\)"),
    ([[0], [0, 1]] * 8, "y has entries like"),
    ([0] * 16, "y has 1 class, .*0"),
    (np.linspace(0, 1, 16), "y has fractions"),
    ([{1}, {2}] * 8, "y has entries"),
]
BAD_NUMBERS = [
    (["a"] * 16, "y is a list of length 16"),
    ([0.5] * 15 + [NAN], "y has non-finite values"),
    ([0.5] * 15 + [None], "y has non-finite values"),
    ([0.5] * 3, r"y has shape \(3,\) for 16 clouds"),
    (np.zeros((16, 2, 2)), r"y has shape \(16, 2, 2\) for 16 clouds"),
    (np.zeros((16, 0)), r"y has shape \(16, 0\) for 16 clouds"),
    (None, r"y has shape \(\) for 16 clouds"),
    ([1j] * 16, "y is"),
    ([1e308, -1e308] * 8, "y has values up to 1e\\+308: their spread overflows"),
]
BAD_GROUPS = [
    ([1, 2, 3], "groups has 3 entries for 16 clouds"),
    (3, "groups=3: expected 16 entries"),
    ("patients", "groups='patients': expected 16 entries"),
    ([0, "a"] * 8, "groups has entries of several kinds, int and str"),
    ([NAN] * 16, "groups has 16 missing entries"),
    (["a", None] * 8, "groups has 8 missing entries"),
    (np.zeros((16, 2)), r"groups has shape \(16, 2\)"),
]
BAD_WEIGHTS = [
    ([1.0, 2.0], r"sample_weight has shape \(2,\): expected \(16,\)"),
    (2.0, r"sample_weight has shape \(\): expected \(16,\)"),
    (np.ones((16, 1)), r"sample_weight has shape \(16, 1\)"),
    ([1.0] * 15 + [-2.0], r"sample_weight\[15\]=-2.0: expected finite numbers of at least 0"),
    ([1.0] * 15 + [NAN], r"sample_weight\[15\]=nan"),
    ([1.0] * 15 + [float("inf")], r"sample_weight\[15\]=inf"),
    (np.zeros(16), "sample_weight is 0 for all clouds"),
    (["1"] * 16, "sample_weight is a list of length 16: expected real numbers"),
]


@pytest.fixture
def no_geometry(monkeypatch):
    """Let every computation on clouds fail."""

    def refuse(*_: Any, **__: Any) -> None:
        raise AssertionError("the argument should have been refused before")

    for kind in {type(tiny(name)) for name in NAMES}:
        monkeypatch.setattr(kind, "prepare", refuse)


@pytest.mark.parametrize("name", KINDS)
def test_other_arguments_are_checked_before_geometry(name, no_geometry):
    y = targets(name)
    cases = [(bad, y, None, None, message) for bad, message in BAD_CLOUDS]
    cases += [(CLOUDS, y, bad, None, message) for bad, message in BAD_GROUPS]
    cases += [(CLOUDS, y, None, bad, message) for bad, message in BAD_WEIGHTS]
    cases.append(([], [], None, None, "clouds is empty"))
    if name in CLASSIFIERS:
        cases += [(CLOUDS, bad, None, None, message) for bad, message in BAD_LABELS]
        one_class = (np.arange(16) % 2).tolist()
        cases.append((CLOUDS, y, None, one_class, "sample_weight is 0 for all clouds of the class"))
    if name in REGRESSORS:
        cases += [(CLOUDS, bad, None, None, message) for bad, message in BAD_NUMBERS]
    for clouds, labels, groups, weights, message in cases:
        with pytest.raises((ValueError, TypeError), match=message):
            tiny(name).fit(clouds, labels, groups, weights)


def test_the_transformer_learns_from_labels_and_from_numbers(no_geometry):
    for bad, message in [BAD_LABELS[0], ([0] * 16, "y has 1 class"), BAD_NUMBERS[1]]:
        with pytest.raises((ValueError, TypeError), match=message):
            tiny("PointFormTransformer").fit(CLOUDS, bad)


@pytest.mark.parametrize("name", ["PointFormClassifier", "mlp", "gcn"])
def test_a_batch_larger_than_the_training_clouds_is_one_batch_of_them(name, monkeypatch):
    make_quick(monkeypatch)
    y = targets(name)
    huge = tiny(name, batch_size=10**12).fit(CLOUDS, y)  # copies of it would not fit in memory
    exact = tiny(name, batch_size=16).fit(CLOUDS, y)  # which take turns in being held out
    assert huge.history_ == exact.history_
