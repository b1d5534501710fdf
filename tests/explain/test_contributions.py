"""What basis forms and points add to comparison matrices and to outputs."""

from __future__ import annotations

import copy
from dataclasses import replace

import numpy as np
import pytest
import torch

import pointforms as pf
from pointforms import exterior
from pointforms.explain import point_energy, prediction_split
from pointforms.explain.contributions import comparison_matrices, parts
from pointforms.explain.evaluation import CloudPoints, double_precision
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
