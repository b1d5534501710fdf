from __future__ import annotations

from dataclasses import replace
from itertools import product

import numpy as np
import pytest
import torch
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.metrics import roc_auc_score

import pointforms as pf
from pointforms.models.hodge import (
    HodgeClassifier,
    HodgeFeatures,
    clique_complex,
    comparison_features,
    count_features,
    hodge_spectrum,
)


def circle(n: int) -> np.ndarray:
    t = np.linspace(0, 2 * np.pi, n, endpoint=False)
    return np.c_[np.cos(t), np.sin(t)]


@pytest.fixture(scope="module")
def fitted():
    rng = np.random.default_rng(3)
    clouds = [rng.normal(size=(n, 3)) for n in (4, 5, 20, 20, 30, 40)]
    return HodgeClassifier(degrees=(1, 0), random_state=0).fit(clouds, [0, 1] * 3), clouds


def test_constant_forms_on_the_circle():
    """G = t tᵀ with unit tangents t = (-y, x): the comparison matrix of dx and dy is I/2."""
    fields = pf.gram_fields([circle(200)], spectrum="projector")
    found = comparison_features(fields, torch.zeros(2).double(), torch.eye(2).double(), 1, 0)
    np.testing.assert_allclose(found, [[0.5, 0, 0.5]], atol=1e-5)
    # with x = cos, ∫⟨x dx, x dx⟩ = mean(cos² sin²) = 1/8: monomial xx, the pair (dx, dx)
    found = comparison_features(fields, torch.zeros(2).double(), torch.eye(2).double(), 1, 1)
    np.testing.assert_allclose(found.reshape(6, 3)[3, 0], 1 / 8, atol=1e-5)


@pytest.mark.parametrize("degree", [0, 1, 2])
@pytest.mark.parametrize("measure", ["uniform", "volume-normalized"])
def test_features_are_entries_of_the_comparison_matrix(degree, measure, rng):
    """Of the forms 1, z_0, ..., z_2 times dz^I, in coordinates z = A (x - m)."""
    D, q = 4, 3
    field = pf.gram_field(rng.normal(size=(30, D)))
    A, m = torch.from_numpy(rng.normal(size=(q, D))), torch.from_numpy(rng.normal(size=D))
    moved = replace(field, points=(field.points - m) @ A.T, factor=A @ field.factor)
    forms = torch.eye(len(list(_indices(q, degree)))).double()

    def family(z: torch.Tensor) -> torch.Tensor:
        powers = torch.cat([torch.ones_like(z[:, :1]), z], 1)
        return torch.einsum("na,ij->naij", powers, forms).flatten(1, 2)

    C = pf.comparison_matrix(family, moved, degree, measure).reshape(q + 1, len(forms), q + 1, -1)
    (found,) = comparison_features([field], m, A, degree, 1, measure)
    assert len(found) == count_features(q, degree, 1)
    monomials = [(), (0,), (1,), (2,), (0, 0), (0, 1), (0, 2), (1, 1), (1, 2), (2, 2)]
    pairs = [(I, J) for I in range(len(forms)) for J in range(I, len(forms))]
    table = dict(zip(product(monomials, pairs), found, strict=True))
    for a, b in product(range(q + 1), repeat=2):
        powers = tuple(sorted(i - 1 for i in (a, b) if i > 0))
        for I, J in pairs:
            np.testing.assert_allclose(table[powers, (I, J)], float(C[a, I, b, J]), atol=1e-9)


def _indices(q: int, degree: int):
    return pf.exterior.multi_indices(q, degree)


def test_the_boundary_of_a_boundary_is_nothing(rng):
    B1, B2 = clique_complex(rng.normal(size=(30, 3)), 6)
    assert B2.shape[1] > 0
    assert abs(B1 @ B2).max() == 0


def test_spectra_count_components_and_loops():
    def zeros(points: np.ndarray) -> list[float]:
        found = hodge_spectrum(points, 4)
        return [found[13], found[28]]

    assert zeros(circle(40)) == [1, 1]
    assert zeros(np.concatenate([circle(40), 10 + circle(40)])) == [2, 2]
    assert zeros(np.c_[np.linspace(0, 1, 40), np.zeros(40)]) == [1, 0]


def test_small_spectra_have_closed_forms():
    """On the full simplex of n vertices L0 has eigenvalues 0 and n/(n-1), and L1 only n."""
    found = hodge_spectrum(np.eye(4), 6)
    np.testing.assert_allclose(found[:8], [0, *[4 / 3] * 7], atol=1e-9)
    np.testing.assert_allclose(found[15:28], 4, atol=1e-9)


# tangents where they are; curvature wherever it is
@pytest.mark.parametrize("name", ["circles-vs-lines", "colocated"])
def test_learns(name):
    task = pf.tasks.load(name, clouds=160, points=64)
    train, test = np.flatnonzero(task.folds != 0), np.flatnonzero(task.folds == 0)
    model = HodgeClassifier(spectra=False, random_state=0)
    model.fit([task.clouds[i] for i in train], task.labels[train], groups=task.groups[train])
    found = model.predict_proba([task.clouds[i] for i in test])[:, 1]
    assert roc_auc_score(task.labels[test], found) >= 0.95


@pytest.mark.parametrize("D", [2, 50])
def test_sizes_from_4_to_2000_in_any_width(D, rng):
    y = np.arange(9) % 3
    sizes = [4, 5, 6, 2000, 9, 12, *rng.integers(4, 40, 3)]
    clouds = [(1 + c) * rng.normal(size=(n, D)) for c, n in zip(y, sizes, strict=True)]
    model = HodgeClassifier(random_state=0).fit(clouds, y)
    probabilities = model.predict_proba(clouds)
    assert probabilities.shape == (9, 3)
    assert (probabilities.argmax(1) == y).mean() > 0.8
    assert len(model.columns_) < 4000
    features = model.features_.transform(clouds)
    assert np.isfinite(features).all()
    columns = np.unique(np.concatenate(list(model.features_.choices().values())))
    np.testing.assert_array_equal(columns, np.arange(features.shape[1]))


def test_order_of_points_does_not_matter(fitted, rng):
    features = fitted[0].features_
    grid = np.stack(np.meshgrid(*[np.arange(5.0)] * 3), -1).reshape(-1, 3)  # full of ties
    for cloud in (rng.normal(size=(150, 3)), grid[:60], grid):
        found = features.transform([rng.permutation(cloud)])
        spectra = slice(-30, None)
        np.testing.assert_allclose(
            found[:, spectra], features.transform([cloud])[:, spectra], atol=1e-8
        )
    cloud = rng.normal(size=(150, 3))
    np.testing.assert_allclose(
        features.transform([rng.permutation(cloud)]), features.transform([cloud]), atol=1e-8
    )


def test_fields_serve_as_well_as_clouds(fitted):
    model, clouds = fitted
    fields = model.features_.prepare(clouds)
    np.testing.assert_allclose(model.predict_proba(fields), model.predict_proba(clouds))
    again = clone(model).fit(fields, [0, 1] * 3)
    np.testing.assert_allclose(again.predict_proba(clouds), model.predict_proba(clouds))


def test_the_cloud_frame_forgets_where_a_cloud_is(fitted):
    model, clouds = fitted
    columns = model.features_.choices()["cloud frame"][:-3]  # less the mean
    moved = [cloud + 7 for cloud in clouds]
    np.testing.assert_allclose(
        model.features_.transform(moved)[:, columns],
        model.features_.transform(clouds)[:, columns],
        atol=1e-8,
    )


def test_errors_say_what_was_passed(fitted, rng):
    model, clouds = fitted
    with pytest.raises(NotFittedError):
        clone(model).predict(clouds)
    with pytest.raises(ValueError, match="2 features, but HodgeClassifier was fitted with 3"):
        model.predict([circle(10)])
    with pytest.raises(ValueError, match="directions=0: expected a whole number of at least 1"):
        HodgeFeatures(directions=0).fit(clouds)
    with pytest.raises(ValueError, match="cloud 0 has 1 point"):
        model.predict([rng.normal(size=(1, 3))])
    with pytest.raises(
        ValueError, match=r"cloud 1 has coordinates up to .*, whose powers overflow"
    ):
        model.predict([clouds[0], 1e149 * clouds[1]])


def test_degrees_that_the_features_do_not_have():
    clouds = list(np.random.default_rng(0).normal(size=(6, 20, 2)))
    with pytest.raises(ValueError, match="degree=3 exceeds the 2 features"):
        HodgeClassifier(degrees=(3,), random_state=0).fit(clouds, [0, 1] * 3)
