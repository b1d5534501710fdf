"""What basis forms and points add to comparison matrices and to outputs."""

from __future__ import annotations

import copy
from dataclasses import replace

import numpy as np
import pytest
import torch
from benchmarks.which_cells import measure, plant_subpopulation

import pointforms as pf
from pointforms import exterior
from pointforms.explain import point_energy, prediction_split
from pointforms.explain.contributions import comparison_matrices, parts
from pointforms.explain.evaluation import CloudPoints, double_precision
from pointforms.nn.average import AverageNetwork
from pointforms.nn.network import PointFormNetwork

READOUTS = ("tri", "flat", "diag", "pool", "gram")


def random_network(kind: str, rng: np.random.Generator) -> tuple[PointFormNetwork, list]:
    """An untrained network on clouds in odd units, and their fields."""
    units = np.array([1.0, 30.0, 0.1, 4.0])
    clouds = [rng.normal(size=(n, 4)) * units for n in (9, 14, 11)]
    torch.manual_seed(0)
    network = double_precision(PointFormNetwork(4, 2, (0, 1, 2, 3), 3, "tri", kind, (8,)))
    network.standardize(torch.zeros(4), torch.from_numpy(units))
    return network, pf.gram_fields(clouds, neighbors=6, dimension=2)


@pytest.mark.parametrize("kind", ["dense", "wedge"])
@pytest.mark.parametrize("route", ["compound", "slots"])
def test_contributions_of_basis_forms_sum_to_the_comparison_matrix(
    kind: str, route: str, rng, monkeypatch
) -> None:
    network, fields = random_network(kind, rng)
    points = CloudPoints.of(fields, "volume-normalized")
    expected = comparison_matrices(network, points)
    if route == "slots":
        monkeypatch.setattr(exterior, "COMPOUND_MAX", 0)
    for layer, C in zip(network.point_forms(), expected, strict=True):
        torch.testing.assert_close(parts(network, layer, points).sum(1), C, rtol=1e-9, atol=1e-12)


def test_contributions_follow_their_equation(rng) -> None:
    from pointforms.explain.coefficients import evaluate

    network, fields = random_network("dense", rng)
    field, points = fields[1], CloudPoints.of(fields, "uniform")
    for layer in network.point_forms():
        F = evaluate(network, layer, field.points)
        dual = F @ field.compound(layer.degree)  # the dense matrix that the code does without
        product = torch.einsum("pai,pbi->iab", F, dual) / len(field)
        expected = 0.5 * (product + product.mT)
        torch.testing.assert_close(
            parts(network, layer, points)[1], expected, rtol=1e-9, atol=1e-12
        )


def test_a_range_of_basis_forms_is_that_part_of_all(rng) -> None:
    network, fields = random_network("dense", rng)
    points, layer = CloudPoints.of(fields, "uniform"), network.point_forms()[2]
    whole = parts(network, layer, points)
    torch.testing.assert_close(parts(network, layer, points, slice(2, 5)), whole[:, 2:5])
    chosen = points.of_clouds(np.array([2, 0]))
    torch.testing.assert_close(parts(network, layer, chosen), whole[[2, 0]])


@pytest.mark.parametrize("kind", ["dense", "wedge"])
def test_contributions_do_not_depend_on_units(kind: str, rng) -> None:
    network, fields = random_network(kind, rng)
    units = torch.tensor([10.0, 0.5, 7.0, 1e-3], dtype=torch.float64)
    other = copy.deepcopy(network)
    other.standardize(network.mean * units, network.scale * units)
    scaled = [replace(f, points=f.points * units, factor=f.factor * units[:, None]) for f in fields]
    a, b = CloudPoints.of(fields, "uniform"), CloudPoints.of(scaled, "uniform")
    for one, two in zip(network.point_forms(), other.point_forms(), strict=True):
        torch.testing.assert_close(
            parts(network, one, a), parts(other, two, b), rtol=1e-8, atol=1e-12
        )


def trained(
    rng: np.random.Generator, readout: str, kind: type = pf.PointFormClassifier, degree=(0, 1, 2)
):
    clouds = [rng.normal(size=(12 + i % 5, 3)) * (1 + 0.5 * (i % 2)) for i in range(16)]
    model = kind(
        degree=degree, forms=3, readout=readout, epochs=5, hidden=(8,), head=8, neighbors=8,
        dimension=2, measure="volume-normalized", dtype="float64", random_state=0,
    )  # fmt: skip
    return model.fit(clouds, np.arange(16) % 2), model.prepare(clouds)


def test_energies_of_points_sum_to_the_trace(rng) -> None:
    model, fields = trained(rng, "tri")
    C = model.comparison_matrices(fields)
    for place, k in enumerate((0, 1, 2)):
        energy = point_energy(model, fields, degree=k)
        assert [len(e) for e in energy] == [len(f) for f in fields]
        assert all((e >= 0).all() for e in energy)
        np.testing.assert_allclose(
            [e.sum() for e in energy], np.trace(C[:, place], axis1=1, axis2=2), rtol=1e-9
        )
    of_network = point_energy(model.model_, fields, degree=1, measure="volume-normalized")
    np.testing.assert_allclose(of_network[3], point_energy(model, fields, degree=1)[3])
    with pytest.raises(TypeError, match="a network needs Gram fields"):
        point_energy(model.model_, [f.points for f in fields], degree=1)


@pytest.mark.parametrize("readout", READOUTS)
def test_a_prediction_is_its_baseline_and_its_points(readout: str, rng) -> None:
    model, fields = trained(rng, readout)
    split = prediction_split(model, fields[:5], reference=fields[5:])
    p = model.predict_proba(fields[:5])
    np.testing.assert_allclose(split.output[:, 1], np.log(p[:, 1] / p[:, 0]), rtol=1e-6, atol=1e-8)
    sums = split.baseline + np.stack([part.sum(0) for part in split.points])
    np.testing.assert_allclose(sums, split.output, rtol=1e-4, atol=1e-4)
    # it is about the points: they do not all add the same
    assert all(part[:, 1].std() > 0 for part in split.points)


def test_the_split_of_a_regression_is_in_units_of_the_target(rng) -> None:
    clouds = [rng.normal(size=(12, 3)) * (1 + i / 8) for i in range(16)]
    model = pf.PointFormRegressor(
        epochs=5, forms=3, hidden=(8,), neighbors=8, dimension=2, dtype="float64", random_state=0
    )
    fields = model.fit(clouds, 100.0 + 50.0 * np.arange(16)).prepare(clouds)
    split = prediction_split(model, fields)
    np.testing.assert_allclose(split.output[:, 0], model.predict(fields), rtol=1e-9)
    sums = split.baseline + np.stack([part.sum(0) for part in split.points])
    np.testing.assert_allclose(sums, split.output, rtol=1e-5)


def test_a_split_needs_something_to_compare_with(rng) -> None:
    model, fields = trained(rng, "tri")
    with pytest.raises(ValueError, match="give reference clouds"):
        prediction_split(model, fields[:1])
    with pytest.raises(TypeError, match="PointFormTransformer"):
        prediction_split(pf.PointFormTransformer(), fields)


def test_the_split_of_an_ensemble_is_that_of_its_average(rng) -> None:
    clouds = [rng.normal(size=(12 + i % 5, 3)) * (1 + 0.5 * (i % 2)) for i in range(16)]
    model = pf.PointFormClassifier(
        degree=(0, 1), forms=3, members=4, epochs=5, hidden=(8,), head=8, neighbors=8, dimension=2,
        dtype="float64", random_state=0,
    )  # fmt: skip
    fields = model.fit(clouds, np.arange(16) % 2).prepare(clouds)
    assert len(model.model_.members) == 4
    split = prediction_split(model, fields[:5], reference=fields[5:])
    p = model.predict_proba(fields[:5])
    np.testing.assert_allclose(split.output[:, 1], np.log(p[:, 1] / p[:, 0]), rtol=1e-6, atol=1e-8)
    sums = split.baseline + np.stack([part.sum(0) for part in split.points])
    np.testing.assert_allclose(sums, split.output, rtol=1e-4, atol=1e-4)
    first = copy.copy(model)
    first.model_ = model.model_.members[0]
    alone = prediction_split(first, fields[:5], reference=fields[5:])
    assert not np.allclose(alone.points[0], split.points[0])
    first.model_ = AverageNetwork([model.model_.members[0]] * 3, probabilities=True)
    repeated = prediction_split(first, fields[:5], reference=fields[5:])
    np.testing.assert_allclose(repeated.points[2], alone.points[2], atol=1e-10)


def test_the_split_of_an_ensemble_of_regressors_is_the_mean_of_theirs(rng) -> None:
    clouds = [rng.normal(size=(12, 3)) * (1 + i / 8) for i in range(16)]
    model = pf.PointFormRegressor(
        epochs=3, forms=3, members=3, hidden=(8,), neighbors=8, dimension=2, dtype="float64",
        random_state=0,
    )  # fmt: skip
    fields = model.fit(clouds, 100.0 + 50.0 * np.arange(16)).prepare(clouds)
    split = prediction_split(model, fields)
    np.testing.assert_allclose(split.output[:, 0], model.predict(fields), rtol=1e-9)
    each, one = [], copy.copy(model)
    for member in model.model_.members:
        one.model_ = member
        each.append(prediction_split(one, fields).points[4])
    np.testing.assert_allclose(split.points[4], np.mean(each, 0), rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("kind", [pf.CloudClassifier, pf.CloudRegressor])
def test_the_split_of_a_portfolio_says_what_does_not_go_through_points(kind: type, rng) -> None:
    clouds = [rng.normal(size=(14, 3)) * (1 + 0.5 * (i % 2)) for i in range(20)]
    y = np.arange(20) % 2 * (1 if kind is pf.CloudClassifier else 10.0)
    model = kind(parts=("linear", "forms"), neighbors=8, dimension=2, random_state=0).fit(clouds, y)
    split = prediction_split(model, clouds[:6], reference=clouds[6:])
    if kind is pf.CloudClassifier:
        p = model.predict_proba(clouds[:6])
        expected = np.log(p[:, 1] / p[:, 0])
    else:
        expected = model.predict(clouds[:6])
    np.testing.assert_allclose(split.output[:, -1], expected, rtol=1e-5, atol=1e-6)
    through = np.stack([part.sum(0) for part in split.points])
    np.testing.assert_allclose(split.baseline + through + split.rest, split.output, atol=1e-9)
    assert 0 < split.share < 1
    # the part of the forms is their own split, times their weight
    forms = model.parts_["forms"]
    own = prediction_split(forms, clouds[:6], reference=clouds[6:])
    unit = 1.0 if kind is pf.CloudClassifier else model.target_scale_
    expected = model.weights_["forms"] * own.points[3] * unit
    np.testing.assert_allclose(split.points[3], expected, rtol=1e-6, atol=1e-9)
    alone = kind(parts=("forms",), neighbors=8, dimension=2, random_state=0).fit(clouds, y)
    assert prediction_split(alone, clouds[:6], reference=clouds[6:]).share > 0.99


def test_a_portfolio_without_forms_or_with_covariates_is_not_split(rng) -> None:
    clouds, y = [rng.normal(size=(14, 3)) for _ in range(12)], np.arange(12) % 2
    clouds = [cloud + label for cloud, label in zip(clouds, y, strict=True)]
    linear = pf.CloudClassifier(parts=("linear",), random_state=0).fit(clouds, y)
    with pytest.raises(ValueError, match="the parts are linear: expected forms among them"):
        prediction_split(linear, clouds)
    linear.covariates_ = []
    with pytest.raises(ValueError, match="fitted with covariates"):
        prediction_split(linear, clouds)


def test_the_cells_that_carry_the_class_add_most() -> None:
    data = plant_subpopulation(seed=0, clouds=40, points=60, features=3, shift=4.0)
    model = pf.PointFormClassifier(forms=4, hidden=(16,), neighbors=32, dimension=3, random_state=0)
    area, found, share = measure(model, data, train=28)
    assert area > 0.95
    assert found >= 0.8
    assert share == 1
