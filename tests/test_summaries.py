from __future__ import annotations

import numpy as np
import pytest

import pointforms as pf
from pointforms.summaries import PooledSummaries


@pytest.fixture
def clouds(rng) -> list[np.ndarray]:
    return [rng.normal(size=(n, 3)) for n in (4, 9, 30, 4)]


def test_summaries_are_what_they_say():
    cloud = np.array([[0.0, 1.0], [2.0, 5.0], [4.0, 0.0]])
    (summary,) = PooledSummaries(quantiles=(0.5,)).fit_transform([cloud])
    mean, std, median, covariance = np.split(summary, [2, 4, 6])
    np.testing.assert_allclose(mean, [2, 2])
    np.testing.assert_allclose(std, cloud.std(0))
    np.testing.assert_allclose(median, [2, 1])
    C = np.cov(cloud.T, bias=True)
    np.testing.assert_allclose(covariance, [C[0, 0], C[0, 1], C[1, 1]])


def test_one_point_has_a_place_and_no_spread():
    (summary,) = PooledSummaries().fit_transform([np.array([[3.0, 4.0]])])
    np.testing.assert_allclose(summary, [3, 4, 0, 0, *[3, 4] * 5, 0, 0, 0])


def test_summaries_of_fields_are_those_of_their_points(clouds):
    summaries = PooledSummaries(covariance=False).fit(clouds)
    np.testing.assert_allclose(
        summaries.transform(pf.gram_fields(clouds)), summaries.transform(clouds)
    )
    assert summaries.transform(clouds).shape == (4, 7 * 3)


def test_the_order_of_points_does_not_matter(clouds, rng):
    shuffled = [rng.permutation(cloud) for cloud in clouds]
    summaries = PooledSummaries().fit(clouds)
    np.testing.assert_allclose(summaries.transform(shuffled), summaries.transform(clouds))


def test_bad_options_and_clouds_are_named(clouds):
    with pytest.raises(
        ValueError,
        match=r"quantiles=\(50,\): .* of at least 0 and of at most 1",
    ):
        PooledSummaries(quantiles=(50,)).fit(clouds)
    with pytest.raises(ValueError, match=r"the clouds have 2 features, .* was fitted with 3"):
        PooledSummaries().fit(clouds).transform([cloud[:, :2] for cloud in clouds])


@pytest.mark.parametrize("scale", [1e200, 1.7e308])
def test_coordinates_whose_squares_overflow_are_refused(scale):
    cloud = scale * np.array([[1.0, 0.0], [-1.0, 0.5]])
    for many in (cloud, cloud[:1]):
        message = r"cloud 1 has (coordinates|values) up to .*: .* overflow"
        with pytest.raises(ValueError, match=message):
            PooledSummaries().fit([np.eye(2)]).transform([np.eye(2), many])


def test_the_frame_of_a_cloud_leaves_out_its_place(clouds, rng):
    summaries = PooledSummaries(frame="cloud").fit(clouds)
    found = summaries.transform(clouds)
    assert found.shape == (4, summaries.width(3))
    moved = [cloud + 10 * rng.normal(size=3) for cloud in clouds]
    np.testing.assert_allclose(summaries.transform(moved), found, atol=1e-12)
    (line,) = PooledSummaries((0.5,), covariance=False, frame="cloud").fit_transform(
        [[[1.0], [2.0], [6.0]]]
    )
    np.testing.assert_allclose(line, [np.std([1, 2, 6]), -1])


def test_weighted_summaries_are_those_of_copies():
    rng = np.random.default_rng(7)
    points, counts = rng.normal(size=(50, 3)), rng.integers(1, 6, 50)
    model = PooledSummaries(quantiles=[0, 1]).fit([points])
    weighted = model.transform(pf.Clouds.from_list([points], weights=[counts]))
    copies = model.transform([np.repeat(points, counts, 0)])
    np.testing.assert_allclose(weighted, copies)
    assert not np.allclose(weighted, model.transform([points]), atol=1e-3)
    fields = pf.gram_fields(pf.Clouds.from_list([points], weights=[counts]), neighbors=8)
    np.testing.assert_allclose(model.transform(fields), copies)
    same = pf.Clouds.from_list([points], weights=[np.full(50, 3.0)])
    np.testing.assert_array_equal(
        PooledSummaries().fit_transform(same), PooledSummaries().fit_transform([points])
    )
