from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
import torch
from sklearn.model_selection import cross_val_score

import pointforms as pf
from pointforms.estimators.per_cloud import (
    check_groups,
    check_order,
    checked_weights,
    one_per_cloud,
)


@pytest.mark.parametrize(("values", "kind"), [
    (["a", "b"], "U"), (("a", "b"), "U"), (np.array(["a", "b"], dtype=object), "O"),
    ([0, 1], "i"), ([0, 1.0], "f"), (np.array([0, 1], dtype=object), "i"), ([True, False], "b"),
    (torch.tensor([0, 1]), "i"), ([torch.tensor(0), torch.tensor(1)], "i"),
    (pd.Series([0, 1], dtype="Int64"), "i"),
    (pd.Categorical(["a", "b"]), "O"), (pd.Series([True, False]), "b"), ([b"a", b"b"], "S"),
    (pd.Series(pd.to_datetime(["2020-01-01", "2020-01-02"])), "M"), (range(2), "i"),
])  # fmt: skip
def test_values_keep_their_kind(values, kind):
    array = one_per_cloud("y", values, 2)
    assert (array.shape, array.dtype.kind) == ((2,), kind)
    assert len(np.unique(array)) == 2


def test_arrays_are_returned_as_they_are():
    for array in (np.array([0, 1], dtype=np.int8), np.array([0, 1], dtype=np.float32)):
        assert one_per_cloud("y", array, 2) is array


def test_objects_that_have_no_order():
    with pytest.raises(
        ValueError, match=r"y has entries like .*object.*: expected values that can"
    ):
        one_per_cloud("y", [object(), object()], 2)


def test_groups_may_be_absent():
    assert check_groups(None, 3) is None
    np.testing.assert_array_equal(check_groups(["a", "b", "a"], 3), ["a", "b", "a"])


@pytest.mark.parametrize("scale", [1.0, 0.25, 1e-300, 1e300])
def test_only_ratios_of_weights_matter(scale):
    weights = checked_weights(scale * np.array([1.0, 0.0, 3.0]), 3)
    np.testing.assert_allclose(weights, [0.5, 0, 1.5])
    assert checked_weights(np.full(3, scale), 3) is None


class TestOrder:
    """Series and frames whose index has the ids of the clouds in another order are refused."""

    ids = ("s3", "s1", "s2", "s0")

    def clouds(self):
        rng = np.random.default_rng(0)
        arrays = [rng.normal(size=(8, 2)) * (1 + i % 2) for i in range(4)]
        return pf.Clouds.from_list(arrays, ids=self.ids)

    def in_other_order(self, values):
        return pd.Series(values, index=sorted(self.ids))

    @pytest.mark.parametrize("name", ["y", "groups", "sample_weight", "batch", "covariates"])
    def test_in_fit(self, name):
        given = {"y": [0, 1, 0, 1], name: self.in_other_order([1, 0, 1, 0])}
        if name == "covariates":
            given[name] = given[name].to_frame("age")
        y = given.pop("y")
        with pytest.raises(ValueError, match=rf"^{name} has the ids of the clouds in another ord"):
            pf.CloudClassifier(parts=("linear",)).fit(self.clouds(), y, **given)

    def test_in_predictions_and_scores(self):
        clouds, y = self.clouds(), np.array([0, 1, 0, 1])
        ages = pd.DataFrame({"age": [3.0, 1.0, 2.0, 0.0]}, index=list(self.ids))
        model = pf.CloudClassifier(parts=("linear",), random_state=0)
        model.fit(clouds, pd.Series(y, index=list(self.ids)), covariates=ages)
        for predict in (model.predict, model.predict_proba):
            with pytest.raises(ValueError, match="covariates has the ids"):
                predict(clouds, covariates=ages.sort_index())
        with pytest.raises(ValueError, match="y has the ids"):
            model.score(clouds, self.in_other_order(y), covariates=ages)

    def test_the_remedy_works(self):
        clouds, y = self.clouds(), self.in_other_order([0, 1, 0, 1])
        with pytest.raises(ValueError, match=r"use y\.reindex\(clouds\.ids\)$"):
            check_order(clouds, y=y)
        check_order(clouds, y=y.reindex(clouds.ids))
        numbered = pf.Clouds.from_list([*clouds], ids=["7", "5", "6", "4"])
        y = pd.Series([0, 1, 0, 1], index=[4, 5, 6, 7])
        with pytest.raises(ValueError, match=r"y\.set_axis\(y\.index\.astype\(str\)\)\.reindex"):
            check_order(numbered, y=y)
        check_order(numbered, y=y.set_axis(y.index.astype(str)).reindex(numbered.ids))

    def test_an_index_that_is_no_id_says_nothing(self):
        arrays = [*self.clouds()]
        y = pd.Series([0, 1, 0, 1], index=[3, 1, 2, 0])
        check_order(arrays, y=y)
        check_order(pf.Clouds.from_list(arrays), y=y)  # ids are mere positions
        check_order(self.clouds(), y=y, groups=[1, 2, 3, 4], batch=np.arange(4))

    def test_in_cross_validation(self):
        clouds = pf.Clouds.from_list([*self.clouds()] * 3, ids=[f"s{i:02d}" for i in range(12)])
        y = pd.Series(np.arange(12) % 2, index=clouds.ids[::-1])
        model = pf.CloudClassifier(parts=("linear",), random_state=0)
        with pytest.raises(ValueError, match="y and the clouds are in different orders"):
            cross_val_score(model, clouds, y, cv=3, error_score="raise")

    def test_in_explanations_and_models_of_summaries(self):
        clouds, y = self.clouds(), self.in_other_order([0, 1, 0, 1])
        model = pf.CloudClassifier(parts=("linear",), random_state=0).fit(clouds, [0, 1, 0, 1])
        with pytest.raises(ValueError, match="y has the ids"):
            pf.explain.importance(model, clouds, y)
        with pytest.raises(ValueError, match="y has the ids"):
            pf.models.make("random-forest").fit(clouds, y)

    def test_positions_are_no_ids(self):
        """Clouds without ids of their own are called by their positions, also after a shuffle."""
        shuffled = pf.Clouds.from_list([*self.clouds()])[[2, 0, 3, 1]]
        check_order(shuffled, y=pd.Series([0, 1, 0, 1]))
