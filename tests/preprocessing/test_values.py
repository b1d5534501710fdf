"""What each transformer computes."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from sklearn.decomposition import PCA
from sklearn.preprocessing import RobustScaler, StandardScaler

import pointforms as pf
from pointforms.preprocessing.subsample import sampled_points

pp = pf.preprocessing


def clouds_of(rng, count=4, D=3):
    arrays = [rng.lognormal(size=(30 + i, D)) for i in range(count)]
    return pf.Clouds.from_list(arrays, feature_names=[f"m{j}" for j in range(D)])


def test_elementwise(rng):
    clouds = clouds_of(rng)
    x = clouds.points.numpy()
    np.testing.assert_allclose(pp.Arcsinh(5).fit_transform(clouds).points, np.arcsinh(x / 5))
    some = pp.Arcsinh({"m1": 150}).fit_transform(clouds).points.numpy()
    np.testing.assert_allclose(some[:, 1], np.arcsinh(x[:, 1] / 150))
    np.testing.assert_array_equal(some[:, [0, 2]], x[:, [0, 2]])
    np.testing.assert_allclose(pp.Log().fit_transform(clouds).points, np.log1p(x))
    np.testing.assert_allclose(pp.Log(0).fit_transform(clouds).points, np.log(x))


def test_errors_name_option_feature_and_cloud(rng):
    clouds = clouds_of(rng)
    with pytest.raises(ValueError, match="cofactor has 'm7', which is no feature: expected one of"):
        pp.Arcsinh({"m7": 5}).fit(clouds)
    with pytest.raises(ValueError, match="cofactor=0: expected"):
        pp.Arcsinh(0).fit(clouds)
    with pytest.raises(ValueError, match=r"cloud 1 has the value -1 at point 0, feature 'x1'"):
        pp.Log().fit_transform([[[0.0, 1.0]], [[0.0, -1.0]]])
    with pytest.raises(ValueError, match=r"cloud 0 has no finite result at point 0, feature 'x0'"):
        pp.Arcsinh().fit([[[1.0]]]).inverse_transform([[[1e4]]])
    with pytest.raises(ValueError, match="components=4: expected at most 3"):
        pp.PrincipalComponents(4).fit(clouds)
    with pytest.raises(ValueError, match=r"features has 'M9', which is no feature.*"):
        pp.SelectFeatures(["M9"]).fit(clouds)
    with pytest.raises(ValueError, match="twice"):
        pp.SelectFeatures(["m1", 1]).fit(clouds)
    with pytest.raises(ValueError, match="no feature is left"):
        pp.SelectFeatures([0, 1, 2], exclude=True).fit(clouds)


def test_units_are_those_of_scikit_learn(rng):
    clouds = clouds_of(rng)
    x = clouds.points.numpy()
    standard = pp.Standardize().fit_transform(clouds).points
    np.testing.assert_allclose(standard, StandardScaler().fit_transform(x), atol=1e-12)
    robust = pp.Standardize("robust").fit_transform(clouds).points
    expected = RobustScaler(unit_variance=True).fit_transform(x)
    np.testing.assert_allclose(robust, expected, atol=1e-12)


def test_components_are_those_of_scikit_learn_up_to_signs(rng):
    clouds = clouds_of(rng, D=5)
    x = clouds.points.numpy()
    ours, theirs = pp.PrincipalComponents(3).fit(clouds), PCA(3).fit(x)
    projected = ours.transform(clouds)
    np.testing.assert_allclose(projected.points.abs(), np.abs(theirs.transform(x)), atol=1e-10)
    np.testing.assert_allclose(
        ours.explained_variance_ratio_, theirs.explained_variance_ratio_, rtol=1e-10
    )
    # loadings lead from features to components
    np.testing.assert_allclose(
        projected.points, (x - x.mean(0)) @ projected.loadings.values.T, atol=1e-10
    )
    assert projected.loadings.feature_names == clouds.feature_names


def test_loadings_of_components_of_components(rng):
    clouds = clouds_of(rng, D=5)
    first = pp.PrincipalComponents(4, scale="standard").fit_transform(clouds)
    second = pp.PrincipalComponents(2, scale="robust").fit_transform(first)
    z = pp.Standardize().fit_transform(clouds).points.numpy()
    expected = z @ second.loadings.values.T
    shift = second.points.numpy() - expected  # one constant per component
    np.testing.assert_allclose(shift, np.broadcast_to(shift[0], shift.shape), atol=1e-10)


class TestSubsample:
    def test_the_sample_depends_on_seed_and_content_alone(self, rng):
        clouds = clouds_of(rng)
        sample = pp.Subsample(10, random_state=0).fit(clouds)
        expected = sample.transform(clouds)
        assert expected.sizes.tolist() == [10] * 4
        np.testing.assert_array_equal(sample.transform(clouds[[2]])[0], expected[2])
        np.testing.assert_array_equal(pp.Subsample(10).fit(clouds[[1]]).transform(clouds)[2],
                                      expected[2])  # fmt: skip
        other = pp.Subsample(10, random_state=1).fit_transform(clouds)
        assert not np.array_equal(other.points, expected.points)
        for cloud, part in zip(clouds, expected, strict=True):
            rows = {tuple(row) for row in cloud.tolist()}
            assert len({tuple(row) for row in part.tolist()} & rows) == 10

    @pytest.mark.parametrize("values", ["continuous", "few"])
    def test_the_order_of_points_does_not_matter(self, rng, values):
        cloud = (
            rng.normal(size=(40, 2)) if values == "continuous" else rng.integers(3, size=(40, 2))
        )
        turned = cloud[rng.permutation(40)]
        a, b = (c[sampled_points(c.astype(float), 9, 5)].tolist() for c in (cloud, turned))
        assert sorted(a) == sorted(b)

    def test_every_point_is_as_likely(self, rng):
        cloud = np.repeat([[0.0], [1.0]], [150, 50], axis=0)  # equal points are points too
        shares = [cloud[sampled_points(cloud, 20, seed)].mean() for seed in range(200)]
        assert np.mean(shares) == pytest.approx(0.25, abs=0.03)

    def test_a_seed_that_is_drawn_is_kept(self, rng):
        clouds = clouds_of(rng)
        sample = pp.Subsample(5, random_state=None).fit(clouds)
        np.testing.assert_array_equal(
            sample.transform(clouds).points, sample.transform(clouds).points
        )


class TestImpute:
    def frames(self, rng):
        t = rng.normal(size=(60, 1))
        values = t * [1.0, 2.0, -3.0] + 0.01 * rng.normal(size=(60, 3))
        frame = pd.DataFrame(values, columns=["CD3", "CD4", "CD8"])
        return [frame[:30], frame[30:]]

    def test_averages(self, rng):
        first, second = self.frames(rng)
        second = second.copy()
        second.iloc[3, 1] = np.nan
        known = np.concatenate([first["CD4"], second["CD4"].dropna()])
        for method, average in [("mean", np.mean), ("median", np.median)]:
            result = pp.Impute(method).fit_transform([first, second])
            assert float(result[1][3, 1]) == pytest.approx(average(known))
            measured = ~second.isna().to_numpy()
            np.testing.assert_array_equal(result[1].numpy()[measured], second.to_numpy()[measured])

    def test_neighbors_recover_what_other_features_determine(self, rng):
        first, second = self.frames(rng)
        impute = pp.Impute("neighbors", neighbors=3).fit([first])
        for lacking in (second.drop(columns="CD8"), second[["CD4", "CD3"]]):
            result = impute.transform([lacking])
            assert result.feature_names == ("CD3", "CD4", "CD8")
            error = np.abs(result[0][:, 2].numpy() - second["CD8"].to_numpy()).mean()
            assert error < 0.25 * second["CD8"].std()
        constant = pp.Impute().fit([first]).transform([second.drop(columns="CD8")])[0][:, 2]
        assert len(np.unique(constant)) == 1

    def test_two_panels_with_features_in_common(self, rng):
        first, second = self.frames(rng)
        panels = [first.drop(columns="CD8"), second.drop(columns="CD4")]
        result = pp.Impute("neighbors").fit_transform(panels)
        assert np.corrcoef(result[0][:, 2], first["CD8"])[0, 1] > 0.95

    def test_clouds_with_gaps_go_through_splits_and_estimators(self, rng):
        frames = self.frames(rng) * 3
        clouds = pf.incomplete_clouds([frames[0].drop(columns="CD3"), *frames[1:]])
        with pytest.raises(
            ValueError, match=r"cloud 0 has .* feature 'CD3'; preprocessing\.Impute"
        ):
            pf.PointFormTransformer(epochs=0).fit(clouds)
        filled = pp.Impute().fit(clouds[[0, 1, 2]]).transform(clouds[[0, 5]])
        assert filled.ids == ("0", "5")
        assert bool(filled.points.isfinite().all())

    def test_refusals(self, rng):
        first, second = self.frames(rng)
        empty = first.assign(CD3=np.nan)
        with pytest.raises(ValueError, match="no training cloud has a value of the feature 'CD3'"):
            pp.Impute().fit([empty])
        with pytest.raises(ValueError, match="the feature 'CD5', which Impute was not fitted with"):
            pp.Impute().fit([first]).transform([second.rename(columns={"CD8": "CD5"})])
        with pytest.raises(ValueError, match="cloud 1 has infinite values"):
            pp.Impute().fit([first, second.replace(second.iloc[0, 0], np.inf)])
        with pytest.raises(ValueError, match="cloud 1 has 2 features, cloud 0 has 3"):
            pp.Impute().fit([np.ones((2, 3)), np.ones((2, 2))])
        with pytest.raises(ValueError, match="cloud 1 has no named columns"):
            pp.Impute().fit([first, second.to_numpy()])


def test_selected_features_are_found_among_others(rng):
    clouds = clouds_of(rng)
    select = pp.SelectFeatures(["m2", "m0"]).fit(clouds)
    wider = pf.Clouds.from_list(
        [np.column_stack([c, c[:, :1]]) for c in clouds], feature_names=["m0", "m1", "m2", "Time"]
    )
    np.testing.assert_array_equal(select.transform(wider).points, clouds.points[:, [2, 0]])
    with pytest.raises(ValueError, match="m2"):
        select.transform(pf.Clouds.from_list(clouds, feature_names=["m0", "m1", "m3"]))
