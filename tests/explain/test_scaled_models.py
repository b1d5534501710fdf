"""Explanations of models whose features are scaled, and which see points from another frame."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import torch

import pointforms as pf
from pointforms.explain import (
    basis_split,
    class_directions,
    coefficients,
    form,
    point_energy,
    prediction_split,
)
from pointforms.explain.evaluation import CloudPoints, double_precision

# coordinates in very different units, far from 0
UNITS = np.array([1.0, 50.0, 0.02, 3.0])
OFFSET = np.array([0.0, 1e6, -7.0, 4.0])
DEGREES = (0, 1, 2)
BATCH = np.array(["a", "b"])[np.arange(12) // 3 % 2]


@pytest.fixture
def clouds(rng) -> list[np.ndarray]:
    return [
        (rng.normal(size=(10 + i, 4)) * (1 + i % 2) + rng.normal(size=4)) * UNITS + OFFSET
        for i in range(12)
    ]


def fitted(clouds: list[np.ndarray], kind: Any = pf.PointFormClassifier, **options: Any) -> Any:
    small = {
        "degree": DEGREES, "forms": 3, "epochs": 2, "hidden": (8,), "neighbors": 6, "dimension": 2,
        "dtype": "float64", "random_state": 0,
    }  # fmt: skip
    y = np.arange(12) % 2
    batch = {"batch": BATCH} if options.get("frame") == "batch" else {}
    if kind is pf.PointFormRegressor:
        y = np.arange(12.0) ** 2
    return kind(**(small | options)).fit(clouds, y, **batch)


def positions(model: Any) -> Callable[[torch.Tensor], torch.Tensor]:
    """How a point is given to the forms of a model, by the points of its cloud."""
    unit = torch.from_numpy(model.unit_)

    def seen(points: torch.Tensor) -> torch.Tensor:
        if model.frame == "absolute":
            return points
        relative = points - points.mean(0)
        if model.frame == "shape":
            return relative / (relative / unit).square().sum(1).mean().sqrt()
        return relative

    return seen


@pytest.mark.parametrize("coefficients_kind", ["dense", "wedge"])
@pytest.mark.parametrize("frame", ["absolute", "cloud", "shape"])
@pytest.mark.parametrize("scale", ["standard", "isotropic", "robust", None])
def test_coefficients_and_gram_fields_give_the_comparison_matrices(
    coefficients_kind, frame, scale, clouds
):
    """C = Σ_p μ(p) ⟨ω_a, ω_b⟩_G(p) with both in coordinates of the data."""
    if scale == "isotropic":
        clouds = [cloud / UNITS for cloud in clouds]
    model = fitted(clouds, scale=scale, frame=frame, coefficients=coefficients_kind)
    expected = model.comparison_matrices(clouds)
    seen = positions(model) if frame != "absolute" or scale else lambda points: points
    for i, field in enumerate(model.prepare(clouds)):
        read = seen(field.points)
        for place, k in enumerate(DEGREES):
            F = coefficients(model, read, k)
            C = pf.comparison_matrix(lambda _, F=F: F, field, degree=k)
            np.testing.assert_allclose(
                C, expected[i, place], rtol=1e-6, atol=1e-9 * abs(expected[i, place]).max()
            )


def test_in_single_precision(clouds):
    model = fitted(clouds, frame="cloud", dtype="float32", degree=2)
    expected = model.comparison_matrices(clouds)
    for i, field in enumerate(model.prepare(clouds)):
        F = coefficients(model, field.points - field.points.mean(0))
        C = pf.comparison_matrix(lambda _, F=F: F, field, degree=2)
        np.testing.assert_allclose(C, expected[i], rtol=1e-4, atol=1e-5 * abs(expected[i]).max())


def test_positions_in_a_batch(clouds):
    model = fitted(clouds, frame="batch", degree=1)
    expected = model.comparison_matrices(clouds, batch=BATCH)
    for i, field in enumerate(model.prepare(clouds)):
        center = torch.tensor(model.batch_centers_[BATCH[i]], dtype=torch.float64)
        F = coefficients(model, field.points - center)
        C = pf.comparison_matrix(lambda _, F=F: F, field)
        np.testing.assert_allclose(C, expected[i], rtol=1e-6, atol=1e-12)


def test_forms_are_those_of_the_first_member(clouds):
    model = fitted(clouds, members=2, degree=1)
    expected = model.comparison_matrices(clouds)
    first = [form(model.model_.members[0], a) for a in range(3)]
    for i, field in enumerate(model.prepare(clouds)):
        for a in range(3):
            for b in range(3):
                value = pf.inner_global(first[a], form(model, b), field)
                assert float(value) == pytest.approx(expected[i, a, b], rel=1e-6, abs=1e-12)


def test_principal_components_are_the_coordinates_of_the_forms(clouds):
    model = fitted(clouds, components=2, degree=(1, 2))
    expected = model.comparison_matrices(clouds)
    for i, field in enumerate(model.prepare(clouds)):
        for place, k in enumerate((1, 2)):
            C = pf.comparison_matrix(lambda p, k=k: coefficients(model, p, k), field, degree=k)
            np.testing.assert_allclose(C, expected[i, place], rtol=1e-6, atol=1e-12)
    with pytest.raises(ValueError, match=r"shape \(10, 4\): expected \(n, 2\)"):
        coefficients(model, clouds[0], 1)


@pytest.mark.parametrize("frame", ["absolute", "cloud", "shape", "both"])
@pytest.mark.parametrize("scale", ["standard", None])
class TestPoints:
    def test_energies_sum_to_the_trace(self, frame, scale, clouds):
        model = fitted(clouds, frame=frame, scale=scale)
        C = model.comparison_matrices(clouds)
        for place, k in enumerate(DEGREES):
            sums = [energy.sum() for energy in point_energy(model, clouds, degree=k)]
            np.testing.assert_allclose(sums, np.trace(C[:, place], axis1=1, axis2=2), rtol=1e-6)

    @pytest.mark.parametrize("kind", [pf.PointFormClassifier, pf.PointFormRegressor])
    def test_a_prediction_is_its_baseline_and_its_points(self, kind, frame, scale, clouds):
        model = fitted(clouds, kind, frame=frame, scale=scale)
        split = prediction_split(model, clouds)
        if kind is pf.PointFormClassifier:
            p = model.predict_proba(clouds)
            np.testing.assert_allclose(split.output[:, 1], np.log(p[:, 1] / p[:, 0]), atol=1e-6)
        else:
            np.testing.assert_allclose(split.output[:, 0], model.predict(clouds), rtol=1e-6)
        sums = split.baseline + np.stack([part.sum(0) for part in split.points])
        np.testing.assert_allclose(sums, split.output, rtol=1e-3, atol=1e-3)

    def test_what_a_network_reads_is_what_its_store_holds(self, frame, scale, clouds):
        model = fitted(clouds, frame=frame, scale=scale)
        fields = model.prepare(clouds)
        store = model.make_store(fields, model.model_.origin)
        points = CloudPoints.of(fields, "uniform")
        read = points.read_by(double_precision(model.model_))
        torch.testing.assert_close(read, store.points[:-1], rtol=1e-9, atol=1e-9)


def wide(rng: np.random.Generator, feature: int) -> tuple[list[np.ndarray], np.ndarray]:
    """Clouds anywhere in space; those of class 1 are wide along a feature."""
    y = np.arange(40) % 2
    clouds = [rng.normal(size=(14, 3)) for _ in y]
    for cloud, label in zip(clouds, y, strict=True):
        cloud[:, feature] *= 1 + 3 * label
        cloud += 20 * rng.normal(size=3)
    return [cloud * [1, 100, 0.01] for cloud in clouds], y


@pytest.mark.parametrize("feature", [0, 1, 2])
def test_the_split_of_a_framed_model_finds_the_feature(feature, rng):
    clouds, y = wide(rng, feature)
    model = pf.PointFormClassifier(
        forms=3, hidden=(8,), head=8, epochs=4, neighbors=8, dimension=2, frame="cloud",
        random_state=0,
    ).fit(clouds, y)  # fmt: skip
    found = basis_split(model, clouds, y, refits=1, permutations=100)
    assert [one.name for one in found.top(1)] == [f"x{feature}"]
    assert found.p[feature] <= 0.05


def test_refits_are_measured_as_the_model_is(clouds, monkeypatch):
    """Networks that are trained on a half read the clouds in units of that half."""
    from pointforms.explain import refits

    seen = []
    measure = refits.measure_contributions

    def spy(network, points, *arguments):
        seen.append(network)
        return measure(network, points, *arguments)

    monkeypatch.setattr(refits, "measure_contributions", spy)
    y = np.arange(12) % 2
    model = fitted(clouds, degree=1)
    pf.explain.basis_split(model, clouds, y, refits=1, permutations=9)
    assert len(seen) == 2
    for network in seen:
        np.testing.assert_allclose(network.unit, model.unit_, rtol=0.5)
        read = CloudPoints.of(model.prepare(clouds), "uniform").read_by(network)
        assert read.std(0).min() > 0.3
        assert read.std(0).max() < 3


def test_what_cannot_be_explained_is_refused(clouds):
    y = np.arange(12) % 2
    both = fitted(clouds, frame="both", degree=1)
    with pytest.raises(ValueError, match='with frame="both" depend on a point and on its cloud'):
        coefficients(both, clouds[0])
    batched = fitted(clouds, frame="batch", degree=1)
    for explain in (
        lambda: point_energy(batched, clouds),
        lambda: pf.explain.basis_split(batched, clouds, y, refits=0),
        lambda: class_directions(batched, clouds, y),
    ):
        with pytest.raises(ValueError, match='frame="batch" cannot be explained'):
            explain()
    projected = fitted(clouds, components=2, degree=1)
    with pytest.raises(ValueError, match="components=2: the split is over features"):
        pf.explain.basis_split(projected, clouds, y, refits=0)
