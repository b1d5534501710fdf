"""Units of the features: exact values, and predictions that do not depend on them."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch
from sklearn.base import clone
from sklearn.decomposition import PCA
from sklearn.preprocessing import RobustScaler, StandardScaler
from tests.helpers.tiny_estimators import answers, some_clouds, targets

import pointforms as pf
from pointforms.estimators import cross_fit
from pointforms.estimators.units import Units
from pointforms.models.neural import NeuralClassifier

pytestmark = pytest.mark.filterwarnings("ignore:the estimated dimension")

SHORT: dict[str, Any] = {"epochs": 3, "random_state": 0}
FORMS: dict[str, Any] = SHORT | {"forms": 2, "hidden": (8,), "head": 4, "neighbors": 5}
ESTIMATORS = {
    "classifier": pf.PointFormClassifier(**FORMS),
    "regressor": pf.PointFormRegressor(**FORMS),
    "transformer": pf.PointFormTransformer(**FORMS),
    "random forms": pf.PointFormTransformer(**(FORMS | {"epochs": 0})),
    "degrees": pf.PointFormClassifier(**(FORMS | {"degree": (0, 1, 2)})),
    "wedge": pf.PointFormClassifier(**(FORMS | {"degree": 2, "coefficients": "wedge"})),
    "cloud": pf.PointFormClassifier(**(FORMS | {"frame": "cloud"})),
    "robust": pf.PointFormClassifier(**(FORMS | {"scale": "robust"})),
    "mlp": NeuralClassifier(network="mlp", **SHORT),
    "gcn": NeuralClassifier(network="gcn", neighbors=5, **SHORT),
}
CLOUDS = some_clouds()
Y = {"regressor": targets("PointFormRegressor"), "random forms": None}


def tensors(clouds: list[Any]) -> list[torch.Tensor]:
    return [torch.as_tensor(cloud) for cloud in clouds]


@pytest.fixture
def clouds(rng) -> list[torch.Tensor]:
    """Clouds of 4 features in different units, far from 0."""
    return tensors([rng.normal(size=(n, 4)) * [1, 50, 0.02, 3] + [0, 9, -5, 1] for n in (5, 40, 9)])


class TestLearned:
    def test_standard_is_that_of_all_points_together(self, clouds):
        units = Units.learn(clouds, "standard")
        expected = StandardScaler().fit(torch.cat(clouds).numpy())
        np.testing.assert_allclose(units.center, expected.mean_, rtol=1e-12)
        np.testing.assert_allclose(units.unit, expected.scale_, rtol=1e-12)
        scaled = torch.cat(units.scaled(clouds))
        np.testing.assert_allclose(scaled, expected.transform(torch.cat(clouds)), atol=1e-12)

    def test_isotropic_is_one_number_that_keeps_ratios(self, clouds):
        units = Units.learn(clouds, "isotropic")
        [unit] = set(units.unit.tolist())
        points = torch.cat(clouds)
        assert unit == pytest.approx(float(points.var(0, correction=0).mean().sqrt()))
        scaled = units.scaled(clouds)
        for cloud, own in zip(clouds, scaled, strict=True):
            differences = own[:, None] - own[None]
            torch.testing.assert_close(differences * unit, cloud[:, None] - cloud[None])

    def test_robust_is_median_and_interquartile_range(self, rng):
        points = rng.normal(size=(4001, 2)) * [1, 100] + [7, 0]
        units = Units.learn(tensors([points[:2000], points[2000:]]), "robust")
        expected = RobustScaler(unit_variance=True).fit(points)
        np.testing.assert_allclose(units.center, expected.center_, rtol=1e-9)
        np.testing.assert_allclose(units.unit, expected.scale_, rtol=1e-9)
        np.testing.assert_allclose(units.unit, [1, 100], rtol=0.05)  # that of a normal deviation

    def test_robust_is_not_moved_by_an_outlier(self, rng):
        points = rng.normal(size=(200, 2))
        spoilt = points.copy()
        spoilt[3, 0] = 1e9
        before, after = (Units.learn(tensors([some]), "robust") for some in (points, spoilt))
        np.testing.assert_allclose(after.unit, before.unit, rtol=0.05)
        np.testing.assert_allclose(after.center, before.center, atol=0.05)
        assert Units.learn(tensors([spoilt]), "standard").unit[0] > 1e7

    def test_robust_without_quartiles_is_standard(self):
        """More than half of the values are 0, as counts of rare molecules are."""
        points = np.r_[np.zeros((30, 1)), np.ones((5, 1))]
        units = Units.learn(tensors([points]), "robust")
        assert float(units.unit) == pytest.approx(points.std())

    @pytest.mark.parametrize("scale", ["standard", "robust"])
    @pytest.mark.parametrize("value", [0.0, 0.1, -1e9, 1e300])
    def test_a_constant_feature_has_the_unit_1(self, scale, value, rng):
        """Also where the mean of equal numbers is off by a rounding error."""
        clouds = [np.c_[rng.normal(size=(7, 1)), np.full((7, 1), value)] for _ in range(3)]
        units = Units.learn(tensors(clouds), scale)
        assert units.unit[1] == 1
        assert units.unit[0] != 1
        assert torch.cat(units.scaled(tensors(clouds)))[:, 1].abs().max() <= 1e-15 * abs(value)

    @pytest.mark.parametrize("scale", ["standard", "isotropic", "robust"])
    def test_clouds_without_any_spread_have_the_unit_1(self, scale):
        assert Units.learn([torch.full((5, 2), 0.3)], scale).unit.tolist() == [1, 1]

    def test_isotropic_counts_constant_features(self, rng):
        cloud = np.c_[rng.normal(size=9), np.full(9, 2.0)]
        units = Units.learn(tensors([cloud]), "isotropic")
        np.testing.assert_allclose(units.unit, cloud[:, 0].std() / np.sqrt(2))

    def test_none_has_the_unit_1(self, clouds):
        assert Units.learn(clouds, None).unit.tolist() == [1.0] * 4

    @pytest.mark.parametrize("scale", ["standard", "isotropic", "robust"])
    def test_an_offset_changes_nothing_but_the_center(self, scale, rng):
        near = tensors([np.round(rng.normal(size=(20, 2)) * 2**20) / 2**20])
        far = [near[0] + 2.0**27]
        before, after = Units.learn(near, scale), Units.learn(far, scale)
        assert torch.equal(after.unit, before.unit)
        (near_origin, unit), (far_origin, _) = before.of_store, after.of_store
        assert torch.equal((far[0] - far_origin) / unit, (near[0] - near_origin) / unit)

    @pytest.mark.parametrize("offset", [0.0, 3e8, -1e13])
    def test_the_origin_of_a_store_is_near_and_exact_in_single_precision(self, offset, rng):
        clouds = tensors([rng.normal(size=(50, 3)) * [1, 1e-3, 7] + offset])
        units = Units.learn(clouds, "standard")
        origin, _ = units.of_store
        assert torch.equal(origin.float().double(), origin)
        far = (origin - units.center).abs()
        assert (far <= torch.maximum(units.unit, units.center.abs() * 2.0**-24)).all()

    @pytest.mark.parametrize("dtype", [torch.float32, torch.int64, torch.uint8])
    def test_other_types_are_measured_in_double_precision(self, dtype, rng):
        counts = [torch.as_tensor(rng.integers(0, 200, (30, 2))).to(dtype) for _ in range(2)]
        units = Units.learn(counts, "standard")
        expected = Units.learn([cloud.double() for cloud in counts], "standard")
        assert torch.equal(units.unit, expected.unit)
        kept = torch.float32 if dtype == torch.float32 else torch.float64
        assert {cloud.dtype for cloud in units.scaled(counts)} == {kept}
        axes = Units.learn(counts, "standard", components=1)
        assert {cloud.dtype for cloud in axes.coordinates(counts)} == {kept}

    def test_clouds_that_vanish_beside_an_extreme_value_are_refused(self, rng):
        """The message is about the units, since the cloud itself is as good as any."""
        clouds = tensors([rng.normal(size=(5, 2)), 1e19 * rng.normal(size=(5, 2)), np.ones((3, 2))])
        units = Units.learn(clouds, "standard")
        with pytest.raises(ValueError, match=r"cloud 0 has no extent in units of up to .*e\+1\d"):
            units.scaled(clouds)
        assert len(units.scaled(clouds[1:])) == 2  # one of which has never had any

    def test_values_whose_spread_overflows_are_refused(self):
        with pytest.raises(ValueError, match=r"values up to 1e\+308: their spread overflows"):
            Units.learn(tensors([np.array([[1e308], [-1e308]])]), "standard")


class TestComponents:
    @pytest.mark.parametrize("scale", ["standard", None])
    def test_they_are_those_of_scikit_learn_up_to_sign(self, scale, clouds):
        points = torch.cat(clouds).numpy()
        units = Units.learn(clouds, scale, components=3)
        scaled = StandardScaler().fit_transform(points) if scale else points - points.mean(0)
        pca = PCA(3).fit(scaled)
        expected, found = pca.transform(scaled), torch.cat(units.coordinates(clouds)).numpy()
        signs = np.sign((expected * found).sum(0))
        np.testing.assert_allclose(found, signs * expected, atol=1e-9 * abs(expected).max())
        np.testing.assert_allclose(units.axes @ units.axes.mT, np.eye(3), atol=1e-12)

    def test_signs_do_not_depend_on_the_order_of_the_clouds(self, clouds):
        forth, back = (
            Units.learn(some, "standard", components=4).axes for some in (clouds, clouds[::-1])
        )
        torch.testing.assert_close(forth, back)

    def test_they_are_searched_for_neighbours_as_they_are(self, clouds):
        units = Units.learn(clouds, "standard", components=2)
        projected = units.coordinates(clouds)
        for own, same in zip(projected, units.scaled(projected), strict=True):
            assert torch.equal(own, same)
        assert units.width == 2

    def test_there_are_at_most_as_many_as_features(self, clouds):
        with pytest.raises(ValueError, match="components=5: expected at most 4, the features"):
            Units.learn(clouds, "standard", components=5)

    @pytest.mark.parametrize("kind", ["classifier", "mlp", "gcn"])
    @pytest.mark.parametrize("scale", ["standard", None])
    def test_an_estimator_sees_them_instead_of_the_features(self, kind, scale):
        model = clone_of(kind, components=2, scale=scale).fit(CLOUDS, targets("mlp"))
        pca = PCA(2).fit(scaled_points(CLOUDS, scale))
        [first] = model.prepare(CLOUDS[:1])
        found = np.asarray(getattr(first, "points", first))
        expected = pca.transform(scaled_points(CLOUDS, scale)[: len(CLOUDS[0])])
        np.testing.assert_allclose(abs(found), abs(expected), atol=1e-9)
        assert model.n_features_in_ == 3
        with pytest.raises(ValueError, match=r"have 4 features, but .* was fitted with 3"):
            model.predict(some_clouds(D=4))
        again = model.predict_proba(model.prepare(CLOUDS))  # which are not projected twice
        np.testing.assert_array_equal(again, model.predict_proba(CLOUDS))

    def test_all_of_them_are_a_rotation(self):
        """Neighbours and Gram fields turn with the points."""
        model = clone_of("classifier", components=3).fit(CLOUDS, targets("mlp"))
        plain = clone_of("classifier").fit(CLOUDS, targets("mlp"))
        axes = torch.tensor(model.axes_, dtype=torch.float64)
        for field, own in zip(model.prepare(CLOUDS), plain.prepare(CLOUDS), strict=True):
            turned = axes / torch.from_numpy(plain.unit_)
            torch.testing.assert_close(field.matrix(), turned @ own.matrix() @ turned.mT)

    def test_they_need_clouds(self):
        fields = pf.gram_fields(CLOUDS, neighbors=5, dimension=2)
        with pytest.raises(ValueError, match="components=2: expected clouds rather than"):
            clone_of("classifier", components=2).fit(fields, targets("mlp"))
        model = clone_of("classifier", components=2).fit(CLOUDS, targets("mlp"))
        with pytest.raises(ValueError, match="the clouds have 3 features: expected 2"):
            model.predict(fields)

    def test_degrees_are_at_most_their_number(self):
        with pytest.raises(ValueError, match="degree=2 exceeds the 1 features"):
            clone_of("degrees", components=1).fit(CLOUDS, targets("mlp"))


def clone_of(name: str, **options: Any) -> Any:
    return clone(ESTIMATORS[name]).set_params(**options)


def scaled_points(clouds: list[np.ndarray], scale: str | None) -> np.ndarray:
    points = np.concatenate(clouds)
    return StandardScaler().fit_transform(points) if scale else points - points.mean(0)


class TestPredictions:
    @pytest.mark.parametrize("name", list(ESTIMATORS))
    def test_a_power_of_two_changes_nothing(self, name):
        """Numbers then have the same digits: the predictions are identical."""
        plain, other = self.both(name, 1024.0)
        np.testing.assert_array_equal(other, plain)

    @pytest.mark.parametrize("name", list(ESTIMATORS))
    def test_another_unit_changes_nothing_but_rounding_errors(self, name):
        plain, other = self.both(name, 1000.0)
        np.testing.assert_allclose(other, plain, atol=0.01)
        assert plain.std(0).min() > 0  # they do depend on the clouds

    def test_without_scale_they_depend_on_the_unit(self):
        plain, other = self.both("classifier", 1000.0, scale=None)
        assert abs(plain - other).max() > 0.01

    def both(self, name: str, factor: float, **options: Any) -> tuple[np.ndarray, np.ndarray]:
        y = Y.get(name, targets("mlp"))
        units = np.array([1.0, factor, 1.0])
        found = []
        for unit in (np.ones(3), units):
            clouds = [cloud * unit for cloud in CLOUDS]
            found.append(answers(clone_of(name, **options).fit(clouds, y), clouds))
        return found[0], found[1]

    def test_isotropic_depends_on_ratios_alone(self):
        found = []
        for factor in (1.0, 1024.0):
            clouds = [factor * cloud for cloud in CLOUDS]
            model = clone_of("classifier", scale="isotropic").fit(clouds, targets("mlp"))
            found.append(model.predict_proba(clouds))
        np.testing.assert_array_equal(found[0], found[1])

    @pytest.mark.parametrize("dtype", [np.float32, np.int32])
    def test_clouds_in_other_types(self, dtype):
        clouds = [np.round(100 * cloud) for cloud in CLOUDS]
        model = clone_of("classifier").fit(clouds, targets("mlp"))
        other = clone_of("classifier").fit([c.astype(dtype) for c in clouds], targets("mlp"))
        expected = model.predict_proba(clouds)
        np.testing.assert_allclose(
            other.predict_proba([c.astype(dtype) for c in clouds]), expected, atol=1e-4
        )

    def test_an_outlier_does_not_move_robust_units(self, rng):
        y = targets("mlp")
        test = [rng.normal(size=(8, 3)) for _ in range(6)]
        spoilt = [cloud.copy() for cloud in CLOUDS]
        spoilt[3][0, 0] = 1e6

        def moved(scale: str) -> float:
            models = [clone_of("mlp", scale=scale).fit(some, y) for some in (CLOUDS, spoilt)]
            return max(models[1].unit_ / models[0].unit_)

        assert moved("robust") < 1.2
        assert moved("standard") > 1e3
        model = clone_of("classifier", scale="robust").fit(spoilt, y)
        assert np.isfinite(model.predict_proba(test)).all()


class TestGeometry:
    @pytest.mark.parametrize("scale", ["standard", "isotropic", "robust"])
    def test_fields_are_those_of_scaled_clouds_in_coordinates_of_the_data(self, scale, rng):
        """z = (x - m) / s: a tangent vector v in z is s v in x, so G = diag(s) G_z diag(s)."""
        clouds = [rng.normal(size=(12, 3)) * [1, 40, 0.1] for _ in range(8)]
        model = clone_of("classifier", scale=scale).fit(clouds, np.arange(8) % 2)
        s, m = model.unit_, model.center_
        scaled = [(cloud - m) / s for cloud in clouds]
        expected = pf.gram_fields(scaled, neighbors=5, dimension=model.dimension_)
        for cloud, field, own in zip(clouds, model.prepare(clouds), expected, strict=True):
            np.testing.assert_array_equal(field.points, cloud)
            G = s[:, None] * own.matrix().numpy() * s
            np.testing.assert_allclose(field.matrix(), G, rtol=1e-9, atol=1e-12 * abs(G).max())

    def test_given_fields_keep_their_geometry(self):
        fields = pf.gram_fields(CLOUDS, neighbors=5, dimension=2)
        model = clone_of("classifier").fit(fields, targets("mlp"))
        assert all(a.factor is b.factor for a, b in zip(model.prepare(fields), fields, strict=True))
        np.testing.assert_allclose(model.unit_, np.concatenate(CLOUDS).std(0))

    def test_given_fields_keep_their_units(self):
        """Those of an earlier fit, whose fields some of its clouds then share."""
        model = clone_of("classifier", scale="robust").fit(CLOUDS, targets("mlp"))
        fields = model.prepare(CLOUDS)
        shared = clone_of("classifier", scale="robust").fit(fields[:12], targets("mlp")[:12])
        np.testing.assert_array_equal(shared.unit_, model.unit_)
        found = shared.predict_proba(CLOUDS)  # measured as the fields were
        np.testing.assert_allclose(found, shared.predict_proba(fields), atol=1e-6)
        others = pf.gram_fields(CLOUDS, neighbors=5, dimension=model.dimension_)
        with pytest.raises(ValueError, match="Gram field 12 was estimated in other units than"):
            clone_of("classifier").fit([*fields[:12], *others[12:]], targets("mlp"))
        with pytest.raises(ValueError, match="Gram field 0 was estimated in other units"):
            model.predict(others)

    def test_clouds_wait_for_their_units(self):
        """Before fit, nothing can be computed from them."""
        for name in ("classifier", "gcn"):
            for options in ({}, {"scale": None, "components": 2}):
                prepared = clone_of(name, **options).prepare(CLOUDS)
                assert not any(hasattr(one, "points") for one in prepared)
            assert hasattr(clone_of(name, scale=None).prepare(CLOUDS)[0], "points")

    def test_units_are_those_of_the_training_clouds(self, monkeypatch):
        """Whatever the clouds of the test fold are, and for each fold anew."""
        learned: list[Units] = []
        learn = Units.learn.__func__

        def spy(cls, clouds, scale, components=None):
            learned.append(learn(cls, clouds, scale, components))
            return learned[-1]

        monkeypatch.setattr(Units, "learn", classmethod(spy))
        folds = np.arange(16) // 8
        model = clone_of("classifier", epochs=1)
        cross_fit(model, CLOUDS, targets("mlp"), folds, seeds=(0, 1))
        assert len(learned) == 2
        for fold, units in enumerate(learned):
            points = np.concatenate([c for c, f in zip(CLOUDS, folds, strict=True) if f != fold])
            np.testing.assert_allclose(units.unit, points.std(0))
        assert not hasattr(model, "unit_")

    def test_an_earlier_fit_leaves_nothing(self):
        model = clone_of("classifier", components=2).fit(CLOUDS, targets("mlp"))
        model.set_params(components=None).fit(CLOUDS, targets("mlp"))
        assert not hasattr(model, "axes_")
        model.set_params(scale=None).fit(CLOUDS, targets("mlp"))
        assert not hasattr(model, "unit_")
        assert model.units is None
