"""The learned forms, in the coordinates of the data."""

from __future__ import annotations

import numpy as np
import pytest

import pointforms as pf
from pointforms.explain import coefficients, form

# coordinates in very different units
UNITS = np.array([1.0, 50.0, 0.02, 3.0])


def make_clouds(rng: np.random.Generator, count: int = 8) -> tuple[list[np.ndarray], np.ndarray]:
    clouds = [rng.normal(size=(20 + i, 4)) * UNITS + UNITS for i in range(count)]
    return clouds, np.arange(count) % 2


def fitted(kind: str, degree: object, rng: np.random.Generator) -> tuple[object, list]:
    clouds, y = make_clouds(rng)
    model = pf.PointFormClassifier(
        degree=degree, forms=3, coefficients=kind, epochs=2, hidden=(8,), neighbors=8,
        dimension=2, dtype="float64", random_state=0,
    )  # fmt: skip
    return model.fit(clouds, y), model.prepare(clouds)


@pytest.mark.parametrize("kind", ["dense", "wedge"])
def test_coefficients_give_the_estimators_comparison_matrices(kind: str, rng) -> None:
    model, fields = fitted(kind, (0, 1, 2, 3), rng)
    expected = model.comparison_matrices(fields)
    for place, k in enumerate((0, 1, 2, 3)):
        for i, field in enumerate(fields):
            C = pf.comparison_matrix(lambda p, k=k: coefficients(model, p, k), field, degree=k)
            np.testing.assert_allclose(C, expected[i, place], rtol=1e-9, atol=1e-12)


def test_a_form_pairs_like_its_entry_of_the_comparison_matrix(rng) -> None:
    model, fields = fitted("dense", 2, rng)
    expected = model.comparison_matrices(fields)[0]
    for a in range(3):
        for b in range(3):
            value = pf.inner_global(form(model, a), form(model.model_, b), fields[0], degree=2)
            assert float(value) == pytest.approx(expected[a, b], rel=1e-9)


def test_what_is_not_there_is_said(rng) -> None:
    model, fields = fitted("dense", (1, 2), rng)
    with pytest.raises(ValueError, match="degree=None: the model's forms have degree 1, 2"):
        coefficients(model, fields[0].points)
    with pytest.raises(ValueError, match="index=3: the model has 3 forms"):
        form(model, 3, degree=1)
    with pytest.raises(ValueError, match=r"shape \(5, 3\): expected \(n, 4\)"):
        coefficients(model, np.zeros((5, 3)), degree=1)
    with pytest.raises(TypeError, match="model is a int"):
        coefficients(3, np.zeros((5, 4)))
