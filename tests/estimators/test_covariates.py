"""Covariates of clouds: how they become numbers, and that networks use them."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest
import torch
from tests.helpers.tiny_estimators import some_clouds

import pointforms as pf
from pointforms.estimators.covariates import (
    covariate_names,
    encode_covariates,
    learn_covariates,
)
from pointforms.models.neural import NeuralClassifier

TABLE = {"age": [20, 40, 60, 80], "sex": ["m", "f", "f", "m"], "smokes": [True, False, True, True]}
ENCODED = np.c_[(np.array(TABLE["age"]) - 50) / np.sqrt(500), [1, 0, 0, 1], [1, 0, 1, 1]]


def encoded(covariates: Any, other: Any = None, count: int = 4) -> np.ndarray:
    columns = learn_covariates(covariates, count)
    return encode_covariates(covariates if other is None else other, columns, count)


class TestEncoding:
    @pytest.mark.parametrize(
        "covariates",
        [
            TABLE,
            pd.DataFrame(TABLE),
            pd.DataFrame(TABLE).astype({"age": "Int64", "smokes": "boolean", "sex": "category"}),
            pd.DataFrame(TABLE).astype({"age": "float32", "sex": "string"}),
            {name: np.array(values) for name, values in TABLE.items()},
            TABLE | {"age": torch.tensor(TABLE["age"])},
        ],
    )
    def test_numbers_are_standardised_and_levels_become_zeros_and_ones(self, covariates):
        columns = learn_covariates(covariates, 4)
        assert covariate_names(columns) == ["age", "sex=m", "smokes=True"]
        np.testing.assert_allclose(encode_covariates(covariates, columns, 4), ENCODED, rtol=1e-6)

    def test_rows_of_numbers_and_text_keep_their_kinds(self):
        rows = [list(row) for row in zip(*TABLE.values(), strict=True)]
        np.testing.assert_allclose(encoded(rows), ENCODED)
        assert covariate_names(learn_covariates(rows, 4)) == ["c0", "c1=m", "c2=True"]

    @pytest.mark.parametrize("values", [[3, 1, 2, 2], np.array([[3.0], [1], [2], [2]])])
    def test_an_array_is_a_table_without_names(self, values):
        np.testing.assert_allclose(encoded(values)[:, 0], np.array([1, -1, 0, 0]) * np.sqrt(2))
        both = np.column_stack([np.ravel(values), np.arange(4)])
        assert encoded(both).shape == (4, 2)
        assert encoded(torch.from_numpy(both)).shape == (4, 2)

    def test_categories_of_numbers_are_levels(self):
        """A number of a plate is a name."""
        plates = pd.DataFrame({"plate": pd.Categorical([7, 3, 3, 11])})
        columns = learn_covariates(plates, 4)
        assert covariate_names(columns) == ["plate=3", "plate=7"]
        assert encode_covariates({"plate": [3, 7, 7, 11]}, columns, 4).tolist() == [
            [1, 0], [0, 1], [0, 1], [0, 0],
        ]  # fmt: skip

    @pytest.mark.parametrize("value", [0.1, 0, -3e7])
    def test_a_constant_number_is_zero(self, value):
        """And another value later is not divided by a rounding error."""
        columns = learn_covariates({"dose": [value] * 4}, 4)
        assert columns[0]["scale"] == 1
        assert abs(encode_covariates({"dose": [value] * 4}, columns, 4)).max() <= 1e-8
        later = encode_covariates({"dose": [value + 1] * 4}, columns, 4)
        np.testing.assert_allclose(later, 1, rtol=1e-6)

    def test_a_constant_level_is_nothing(self):
        assert encoded({"site": ["here"] * 4}).shape == (4, 0)

    def test_the_order_of_columns_and_others_do_not_matter(self):
        other = {"weight": [1, 2, 3, 4], **dict(reversed(TABLE.items()))}
        np.testing.assert_allclose(encoded(TABLE, other), ENCODED)

    def test_some_clouds_are_learned_from(self):
        rows = np.array([1, 2])
        columns = learn_covariates(TABLE, 4, rows)
        assert columns[0]["mean"] == 50
        assert columns[0]["scale"] == 10
        assert columns[1]["levels"] == ["f"]
        np.testing.assert_allclose(
            encode_covariates(TABLE, columns, 4, rows)[:, 0], [-1, 1]
        )  # the level of the others is not asked for

    @pytest.mark.parametrize(
        ("covariates", "message"),
        [
            ({}, "covariates have no columns"),
            ({"age": [1, 2, 3]}, "covariate 'age' has 3 entries for 4 clouds"),
            ({"age": [1, 2, None, 4]}, "covariate 'age' has 1 missing entries, the first at 2"),
            ({"age": [1, 2, np.nan, 4]}, "covariate 'age' has 1 missing entries"),
            ({"age": [1, "a", 2, 3]}, "covariate 'age' has entries of several kinds"),
            ({"age": [[1], [2], [3], [4]]}, "covariate 'age' has entries like"),
            ({"age": [1e308, -1e308, 0, 0]}, r"'age' has values up to 1e\+308: their spread"),
            ({"age": 3}, "covariate 'age'=3: expected 4 entries"),
            (np.zeros((3, 2)), r"covariates have shape \(3, 2\): expected 4 rows"),
            (np.zeros((4, 2, 2)), r"covariates have shape \(4, 2, 2\): expected 4 rows"),
            (5, r"covariates have shape \(\): expected 4 rows"),
        ],
    )
    def test_what_cannot_be_read(self, covariates, message):
        with pytest.raises(ValueError, match=message):
            learn_covariates(covariates, 4)

    @pytest.mark.parametrize(
        ("covariates", "message"),
        [
            ({"age": [1, 2, 3, 4], "sex": ["f"] * 4}, "covariates lack 'smokes': there are age"),
            (TABLE | {"sex": ["f", "x", "f", "f"]}, "'sex' has the level 'x', which no training"),
            (TABLE | {"age": ["old"] * 4}, "'age' has values like .*old.*: expected numbers"),
            (TABLE | {"smokes": [0, 1, 1, 1]}, "'smokes' has the level '0'"),
        ],
    )
    def test_what_does_not_fit_the_training_clouds(self, covariates, message):
        with pytest.raises(ValueError, match=message):
            encoded(TABLE, covariates)


FORMS: dict[str, Any] = {
    "forms": 2, "hidden": (8,), "head": 4, "neighbors": 5, "dimension": 2, "epochs": 3,
    "random_state": 0,
}  # fmt: skip
CLOUDS = some_clouds(count=24)
Y = np.arange(24) // 2 % 2  # which the sizes of the clouds do not tell


class TestEstimators:
    def test_a_classifier_learns_from_them(self, rng):
        options = FORMS | {"epochs": 60, "learning_rate": 2e-2, "validation_fraction": 0}
        table = {"age": 50 + 10 * Y, "site": rng.permutation(np.repeat(["a", "b", "c"], 8))}
        model = pf.PointFormClassifier(**options).fit(CLOUDS, Y, covariates=table)
        assert (model.predict(CLOUDS, covariates=table) == Y).all()
        swapped = table | {"age": 110 - table["age"]}
        assert (model.predict(CLOUDS, covariates=swapped) == Y).mean() < 0.5

    def test_a_regressor_learns_from_them(self, rng):
        options = FORMS | {"epochs": 60, "learning_rate": 2e-2, "validation_fraction": 0}
        dose = rng.normal(size=24)
        model = pf.PointFormRegressor(**options).fit(CLOUDS, 100 * dose, covariates={"dose": dose})
        found = model.predict(CLOUDS, covariates={"dose": dose})
        assert np.corrcoef(found, dose)[0, 1] > 0.95

    def test_units_of_a_covariate_do_not_matter(self):
        found = []
        for factor in (1.0, 1024.0):
            table = {"age": factor * (np.arange(24) % 7)}
            model = pf.PointFormClassifier(**FORMS).fit(CLOUDS, Y, covariates=table)
            found.append(model.predict_proba(CLOUDS, covariates=table))
        np.testing.assert_array_equal(found[0], found[1])

    @pytest.mark.parametrize("options", [{"members": 2}, {"points_per_epoch": 4}, {"head": 0}])
    def test_they_are_read_in_every_kind_of_training(self, options):
        table = {"age": np.arange(24) % 7, "sex": np.array(["f", "m"])[np.arange(24) % 2]}
        model = pf.PointFormClassifier(**(FORMS | options)).fit(CLOUDS, Y, covariates=table)
        together = model.predict_proba(CLOUDS, covariates=table)
        last = {name: values[-1:] for name, values in table.items()}
        np.testing.assert_allclose(
            model.predict_proba(CLOUDS[-1:], covariates=last)[0], together[-1], atol=1e-6
        )
        older = model.predict_proba(CLOUDS, covariates=table | {"age": table["age"] + 30})
        assert abs(older - together).max() > 1e-3

    def test_predictions_need_the_same_columns(self):
        table = {"age": np.arange(24), "sex": ["f", "m"] * 12}
        model = pf.PointFormClassifier(**FORMS).fit(CLOUDS, Y, covariates=table)
        with pytest.raises(ValueError, match="covariates is None: expected those of fit, age, sex"):
            model.predict(CLOUDS)
        with pytest.raises(ValueError, match="covariates lack 'sex'"):
            model.predict(CLOUDS, covariates={"age": np.arange(24)})
        with pytest.raises(ValueError, match="covariate 'age' has 24 entries for 2 clouds"):
            model.predict(CLOUDS[:2], covariates=table)

    def test_a_fit_without_them_forgets_them(self):
        model = pf.PointFormClassifier(**FORMS)
        model.fit(CLOUDS, Y, covariates=np.arange(24)).fit(CLOUDS, Y)
        assert not hasattr(model, "covariates_")
        assert model.predict(CLOUDS).shape == (24,)
        with pytest.raises(ValueError, match="covariates: expected None, since fit had none"):
            model.predict(CLOUDS, covariates=np.arange(24))

    def test_clouds_of_weight_0_have_none(self):
        """Neither their values nor their levels count."""
        table = {"age": np.r_[1e6, np.arange(23)], "sex": ["x"] + ["f", "m"] * 11 + ["f"]}
        weights = np.r_[0.0, np.ones(23)]
        model = pf.PointFormClassifier(**FORMS)
        model.fit(CLOUDS, Y, sample_weight=weights, covariates=table)
        assert model.covariates_[0]["mean"] == 11
        assert model.covariates_[1]["levels"] == ["f", "m"]
        rest = {name: values[1:] for name, values in table.items()}
        alone = pf.PointFormClassifier(**FORMS).fit(CLOUDS[1:], Y[1:], covariates=rest)
        np.testing.assert_array_equal(
            model.predict_proba(CLOUDS[1:], covariates=rest),
            alone.predict_proba(CLOUDS[1:], covariates=rest),
        )

    def test_networks_on_points_take_none(self):
        model = NeuralClassifier(network="mlp", epochs=1, random_state=0)
        with pytest.raises(ValueError, match="covariates: expected None, NeuralClassifier reads"):
            model.fit(CLOUDS, Y, covariates=np.arange(24))
        with pytest.raises(ValueError, match="covariates: expected None"):
            model.fit(CLOUDS, Y).predict(CLOUDS, covariates=np.arange(24))

    def test_what_covariates_decide_is_not_explained_by_forms(self):
        model = pf.PointFormClassifier(**FORMS).fit(CLOUDS, Y, covariates=np.arange(24))
        for explain in (
            lambda: pf.explain.basis_split(model, CLOUDS, Y, refits=0),
            lambda: pf.explain.prediction_split(model, CLOUDS),
        ):
            with pytest.raises(ValueError, match="the estimator was fitted with covariates"):
                explain()
        assert model.comparison_matrices(CLOUDS).shape == (24, 2, 2)  # which clouds alone decide
