"""The numbers behind the pictures."""

from __future__ import annotations

import re

import numpy as np
import pytest
import torch

import pointforms as pf
from pointforms.clouds import Clouds
from pointforms.explain.coefficients import coefficients
from pointforms.nn.network import PointFormNetwork
from pointforms.plot import area_map_data, comparison_pca_data, form_field_data
from pointforms.plot.planes import MOST_POINTS, look


def linear_forms(D: int, degree: int, weight: np.ndarray, bias: np.ndarray) -> PointFormNetwork:
    """A network whose forms are known: coefficients x ↦ weight x + bias, (l, C(D, k)) of them."""
    l, C = bias.shape
    network = PointFormNetwork(D, 2, (degree,), forms=l, hidden=()).double()
    last = network.point_forms()[0].network.last
    with torch.no_grad():
        last.weight.copy_(torch.from_numpy(weight.reshape(l * C, D)))
        last.bias.copy_(torch.from_numpy(bias.reshape(l * C)))
    return network


def turning_and_leaving() -> PointFormNetwork:
    """-y dx + x dy, and x dx + y dy."""
    weight = np.array([[[0.0, -1.0], [1.0, 0.0]], [[1.0, 0.0], [0.0, 1.0]]])
    return linear_forms(2, 1, weight, np.zeros((2, 2)))


@pytest.fixture
def rings(rng: np.random.Generator) -> list[np.ndarray]:
    t = rng.uniform(0, 2 * np.pi, (6, 200))
    radius = np.linspace(1.0, 1.5, 6)[:, None, None]
    return list(radius * np.stack([np.cos(t), np.sin(t)], -1))


def test_in_the_plane_a_field_is_the_forms_at_the_grid(rings):
    data = form_field_data(turning_and_leaving(), rings, grid=15)
    x, y = data.points.T
    np.testing.assert_allclose(data.vectors[:, 0], np.stack([-y, x], 1), atol=1e-12)
    np.testing.assert_allclose(data.vectors[:, 1], data.points, atol=1e-12)
    assert data.axes == ("x", "y")
    assert data.forms == (0, 1)
    assert not data.averaged
    # only where data are: not in the hole, not in the corners
    radius = np.hypot(x, y)
    side = (data.extent[1] - data.extent[0]) / 15
    assert radius.min() > 1.0 - side
    assert radius.max() < 1.5 + side
    assert len(data.points) > 40


def test_the_coefficients_of_a_trained_estimator_are_what_is_drawn(rings):
    clf = pf.PointFormClassifier(forms=3, epochs=1, hidden=(8,), random_state=0)
    clf.fit(rings, [0, 1, 0, 1, 0, 1])
    data = form_field_data(clf, rings, forms=[2, 0])
    F = coefficients(clf, data.points)
    np.testing.assert_array_equal(data.vectors, F[:, [2, 0]])
    assert data.forms == (2, 0)


def test_swapped_axes_swap_places_and_components(rings):
    straight = form_field_data(turning_and_leaving(), rings)
    swapped = form_field_data(turning_and_leaving(), rings, ("y", "x"))
    order = np.lexsort(straight.points.T)
    other = np.lexsort(swapped.points[:, ::-1].T)
    np.testing.assert_allclose(straight.points[order], swapped.points[other][:, ::-1], atol=1e-9)
    np.testing.assert_allclose(
        straight.vectors[order], swapped.vectors[other][..., ::-1], atol=1e-9
    )


def test_beyond_the_plane_a_cell_is_the_mean_over_its_points(rng):
    D, grid = 4, 5
    weight, bias = rng.normal(size=(3, D, D)), rng.normal(size=(3, D))
    network = linear_forms(D, 1, weight, bias)
    clouds = [rng.normal(size=(80, D)) for _ in range(3)]
    data = form_field_data(network, clouds, (3, 1), grid=grid, feature_names=["a", "b", "c", "d"])
    assert data.axes == ("d", "b")
    assert data.averaged
    points = np.concatenate(clouds)
    values = np.einsum("lij,nj->nli", weight, points) + bias
    left, right, bottom, top = data.extent
    half = np.array([right - left, top - bottom]) / (2 * grid)
    for place, vectors in zip(data.points, data.vectors, strict=True):
        inside = (np.abs(points[:, [3, 1]] - place) <= half).all(1)
        assert inside.any()
        np.testing.assert_allclose(vectors, values[inside].mean(0)[:, [3, 1]], atol=1e-9)


def test_principal_directions_are_those_of_largest_variance(rng):
    D = 5
    basis = np.linalg.qr(rng.normal(size=(D, D)))[0]
    spread = np.array([3.0, 2.0, 0.2, 0.1, 0.1])
    clouds = [rng.normal(size=(500, D)) * spread @ basis.T + 7 for _ in range(2)]
    plane = look(clouds)
    assert np.abs(plane.directions @ basis[:, :2]).max(1) == pytest.approx(1, abs=0.01)
    np.testing.assert_allclose(plane.directions @ plane.directions.T, np.eye(2), atol=1e-12)
    share = spread[:2] ** 2 / (spread**2).sum()
    for axis, expected in zip(plane.axes, share, strict=True):
        stated = int(re.search(r"\((\d+)% of variance\)", axis)[1])
        assert stated == pytest.approx(100 * expected, abs=3)
    # a constant form: its value on each direction, everywhere
    form = rng.normal(size=(1, D))
    data = form_field_data(linear_forms(D, 1, np.zeros((1, D, D)), form), clouds)
    expected = np.broadcast_to(form @ plane.directions.T, data.vectors.shape)
    np.testing.assert_allclose(data.vectors, expected, atol=1e-9)


def test_arrows_stand_at_right_angles_to_the_kernel_whatever_the_units(rings):
    """In the square frame, a direction in the kernel of a form is drawn across its arrow."""
    stretched = [ring * [1.0, 1000.0] for ring in rings]
    network = linear_forms(2, 1, np.zeros((1, 2, 2)), np.array([[1.0, 0.001]]))
    data = form_field_data(network, stretched)
    left, right, bottom, top = data.extent
    span = np.array([right - left, top - bottom])
    assert span[1] / span[0] == pytest.approx(1000, rel=0.05)
    kernel = np.array([0.001, -1.0]) / span
    arrows = data.arrows()[:, 0] / span
    np.testing.assert_allclose(arrows @ kernel, 0, atol=1e-12)
    # all of one length: a cell
    np.testing.assert_allclose(np.linalg.norm(arrows, axis=1), 1 / data.grid, rtol=1e-9)


def test_an_area_map_has_the_sign_of_the_form(rng):
    """ω = x dx∧dy: positive at the right; of (y, x) it is the negative, with the axes swapped."""
    network = linear_forms(2, 2, np.array([[[1.0, 0.0]]]), np.zeros((1, 1)))
    clouds = [rng.uniform(-1, 1, (2000, 2))]
    data = area_map_data(network, clouds, (0, 1), grid=10)
    x, _ = data.centres()
    np.testing.assert_allclose(data.values[0], np.tile(x, (10, 1)), atol=1e-12)
    assert data.values[0, 0, -1] > 0 > data.values[0, 0, 0]
    swapped = area_map_data(network, clouds, ("y", "x"), grid=10)
    np.testing.assert_allclose(swapped.values[0], -data.values[0].T, atol=1e-9)
    assert swapped.axes == ("y", "x")
    assert data.limit() == pytest.approx(np.quantile(np.abs(x), 0.98), rel=0.1)


def test_an_area_map_of_two_features_of_many(rng):
    D, C = 5, 10
    bias = rng.normal(size=(2, C))
    clouds = [rng.normal(size=(100, D))]
    network = linear_forms(D, 2, np.zeros((2, C, D)), bias)
    data = area_map_data(network, clouds, (4, 2), grid=6)
    column = [(i, j) for i in range(D) for j in range(i + 1, D)].index((2, 4))
    for form in range(2):
        seen = data.values[form][np.isfinite(data.values[form])]
        np.testing.assert_allclose(seen, -bias[form, column], rtol=1e-9)
    left, right, bottom, top = data.extent
    cell = ((data.data - [left, bottom]) / [right - left, top - bottom] * 6).astype(int)
    occupied = np.zeros((6, 6), dtype=bool)
    inside = ((cell >= 0) & (cell < 6)).all(1)
    occupied[cell[inside, 1], cell[inside, 0]] = True
    np.testing.assert_array_equal(np.isfinite(data.values[0]), occupied)


def test_pca_of_comparison_matrices_against_the_covariance(rng):
    A = rng.normal(size=(40, 3, 4))
    C = A @ A.transpose(0, 2, 1)
    data = comparison_pca_data(C)
    flat = C.reshape(40, 9)
    values, vectors = np.linalg.eigh(np.cov(flat.T))
    np.testing.assert_allclose(data.explained, values[::-1][:2] / values.sum())
    for a in range(2):
        axis = vectors[:, -1 - a]
        projected = (flat - flat.mean(0)) @ axis
        sign = np.sign(projected @ data.coordinates[:, a])
        np.testing.assert_allclose(data.coordinates[:, a], sign * projected, atol=1e-9)
        assert data.components[a].flat[np.abs(data.components[a]).argmax()] > 0
    np.testing.assert_allclose(np.linalg.norm(data.components, axis=(1, 2)), 1)
    np.testing.assert_allclose(data.components, data.components.transpose(0, 2, 1), atol=1e-12)


def test_matrices_that_vary_along_one_line_have_one_component():
    C = np.linspace(-1, 1, 5)[:, None, None] * np.diag([3.0, 4.0])
    data = comparison_pca_data(C)
    np.testing.assert_allclose(data.explained, [1, 0], atol=1e-12)
    np.testing.assert_allclose(data.coordinates[:, 0], 5 * np.linspace(-1, 1, 5))
    flat = comparison_pca_data(np.ones((3, 1, 1)))
    np.testing.assert_array_equal(flat.coordinates, 0)
    assert comparison_pca_data(np.zeros((4, 2, 3, 3))).components.shape == (2, 2, 3, 3)


def test_names_come_with_clouds_and_many_points_are_thinned(rng):
    clouds = Clouds.from_list(
        [rng.normal(size=(MOST_POINTS, 2)), rng.normal(size=(500, 2))], feature_names=["CD3", "CD4"]
    )
    plane = look(clouds, ["CD4", "CD3"])
    assert plane.axes == ("CD4", "CD3")
    assert len(plane.points) == MOST_POINTS
    assert set(plane.owner.tolist()) == {0, 1}
    np.testing.assert_array_equal(plane.view, plane.points[:, ::-1])


def test_an_outlier_does_not_shrink_the_rest(rng):
    cloud = np.concatenate([rng.normal(size=(500, 2)), [[1000.0, 0.0]]])
    left, right, _, _ = look([cloud]).extent
    assert right - left < 20


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"directions": ("x", "z")}, "no feature 'z'"),
        ({"directions": (0, 5)}, "no feature 5: there are 0 to 1"),
        ({"directions": (1, 1)}, "both features are 'y'"),
        ({"directions": (0, 1, 2)}, "expected 2"),
        ({"directions": "random"}, "directions='random'"),
        ({"directions": np.ones((2, 2))}, "right angles"),
        ({"directions": np.ones((2, 3))}, "shape"),
        ({"forms": [2]}, "no form 2: the model has 2"),
        ({"forms": []}, "forms is empty"),
        ({"grid": 1}, "grid=1"),
        ({"feature_names": ["a"]}, "1 names for 2 features"),
    ],
)
def test_bad_arguments_are_named(rings, arguments, message):
    with pytest.raises(ValueError, match=message):
        form_field_data(turning_and_leaving(), rings, **arguments)


def test_bad_clouds_and_matrices_are_refused(rings):
    with pytest.raises(ValueError, match="1 feature"):
        look([np.zeros((3, 1))])
    with pytest.raises(ValueError, match="forms have degree 1"):
        area_map_data(turning_and_leaving(), rings, (0, 1))
    with pytest.raises(ValueError, match=r"\(4, 2\)"):
        comparison_pca_data(np.zeros((4, 2)))
    with pytest.raises(ValueError, match="at least 2"):
        comparison_pca_data(np.zeros((1, 2, 2)))
    with pytest.raises(ValueError, match="non-finite"):
        comparison_pca_data(np.full((3, 2, 2), np.nan))
