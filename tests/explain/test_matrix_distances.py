from __future__ import annotations

import numpy as np
import pytest

import pointforms as pf
from pointforms.explain.matrix_distances import distances_of_matrices, form_matrices


@pytest.fixture
def clouds(rng):
    return list(rng.normal(size=(6, 16, 3)))


@pytest.fixture
def model(clouds):
    return pf.PointFormTransformer(
        degree=(0, 1), forms=3, hidden=(4,), epochs=0, members=2, neighbors=6, dimension=2,
        random_state=0,
    ).fit(clouds)  # fmt: skip


def test_diagonal_matrices_have_distances_in_closed_form():
    # eigenvalues far above the floor: |log C - log C'|² is the sum over them
    C = np.stack([np.diag([1.0, 1.0]), np.diag([np.e, 1.0]), np.diag([1.0, np.e**2])])
    D = distances_of_matrices([C])
    np.testing.assert_allclose(D[0], [0, 1, 2], atol=5e-3)
    np.testing.assert_allclose(D[1, 2], np.sqrt(5), atol=1e-2)
    unit = np.linalg.norm(C, axis=(1, 2)).mean()
    E = distances_of_matrices([C], "euclidean")
    np.testing.assert_allclose(E[0], [0, (np.e - 1) / unit, (np.e**2 - 1) / unit])


@pytest.mark.parametrize("metric", ["log-euclidean", "euclidean"])
def test_neither_the_basis_nor_the_scale_of_forms_matters(rng, metric):
    A = rng.normal(size=(5, 4, 4))
    C = A @ A.transpose(0, 2, 1)
    Q = np.linalg.qr(rng.normal(size=(4, 4)))[0]
    D = distances_of_matrices([C], metric)
    np.testing.assert_allclose(distances_of_matrices([7 * Q @ C @ Q.T], metric), D, atol=1e-8)
    np.testing.assert_allclose(distances_of_matrices([C, C], metric), D, atol=1e-12)


def test_singular_matrices_have_finite_distances(rng):
    v = rng.normal(size=(4, 3))
    D = distances_of_matrices([np.einsum("ni,nj->nij", v, v)])
    assert np.isfinite(D).all()
    assert not distances_of_matrices([np.zeros((3, 2, 2))]).any()


def test_matrices_are_those_of_the_model(clouds, model):
    blocks = form_matrices(model, clouds)
    assert [(b.member, b.degree) for b in blocks] == [(0, 0), (0, 1), (1, 0), (1, 1)]
    expected = model.comparison_matrices(clouds)
    for degree in (0, 1):
        np.testing.assert_allclose(blocks[degree].matrices, expected[:, degree], rtol=1e-4)


def test_features_name_the_forms(clouds, model):
    features = pf.explain.comparison_features(model, clouds)
    C = model.comparison_matrices(clouds)
    assert features.values.shape == (6, 12)
    j = features.names.index("degree 1: 2 × 3")
    assert (features.degrees[j], features.forms[j]) == (1, (2, 3))
    np.testing.assert_allclose(features.values[:, j], C[:, 1, 1, 2], rtol=1e-4, atol=1e-7)


def test_the_order_of_points_does_not_matter(clouds, model):
    D = pf.explain.comparison_distances(model, clouds)
    turned = pf.explain.comparison_distances(model, [cloud[::-1].copy() for cloud in clouds])
    np.testing.assert_allclose(D, turned, atol=1e-6)


def test_wrong_arguments_are_named(clouds, model):
    with pytest.raises(ValueError, match="metric='cosine'"):
        pf.explain.comparison_distances(model, clouds, "cosine")
    with pytest.raises(TypeError, match="model is a str: expected a fitted model"):
        pf.explain.comparison_distances("model", clouds)
    linear = pf.CloudClassifier(parts=("linear",), random_state=0).fit(clouds, [0, 1] * 3)
    with pytest.raises(ValueError, match="expected forms among them"):
        pf.explain.comparison_distances(linear, clouds)
