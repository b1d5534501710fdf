"""Frames: what a network reads at a point, and what therefore does not change its predictions."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch
from tests.helpers.tiny_estimators import some_clouds

import pointforms as pf
from pointforms.models.neural import NeuralClassifier
from pointforms.nn.frames import framed, inputs_of
from pointforms.nn.point_store import PointStore

SHORT: dict[str, Any] = {"epochs": 3, "random_state": 0}
FORMS: dict[str, Any] = SHORT | {
    "forms": 2, "hidden": (8,), "head": 4, "neighbors": 5, "dimension": 2,
}  # fmt: skip
FRAMES = ("absolute", "cloud", "shape", "both", "batch")
CLOUDS = some_clouds()
Y = np.arange(16) % 2
# the classes are in both batches
BATCH = np.repeat(["a", "b"], 8)


def make(kind: str, **options: Any) -> Any:
    if kind == "forms":
        return pf.PointFormClassifier(**(FORMS | options))
    return NeuralClassifier(network=kind, neighbors=3, **(SHORT | options))


def fitted(kind: str, clouds: list[Any] = CLOUDS, **options: Any) -> Any:
    batch = {"batch": BATCH} if options.get("frame") == "batch" else {}
    return make(kind, **options).fit(clouds, Y, **batch)


each_kind = pytest.mark.parametrize("kind", ["forms", "mlp", "gcn"])


class TestValues:
    clouds = (torch.tensor([[0.0, 1.0], [2.0, 3.0]]), torch.tensor([[5.0, 5.0]]))

    def test_absolute(self):
        assert all(
            a is b for a, b in zip(framed(self.clouds, "absolute"), self.clouds, strict=True)
        )

    def test_cloud(self):
        first, second = framed(self.clouds, "cloud")
        assert first.tolist() == [[-1.0, -1.0], [1.0, 1.0]]
        assert second.tolist() == [[0.0, 0.0]]

    def test_shape(self):
        """The root mean square distance from the mean is 1, or 0 if there is only one point."""
        first, second = framed(self.clouds, "shape")
        np.testing.assert_allclose(first, np.array([[-1, -1], [1, 1]]) / np.sqrt(2))
        assert second.tolist() == [[0.0, 0.0]]

    def test_both(self):
        first, _ = framed(self.clouds, "both")
        assert first.tolist() == [[0.0, 1.0, -1.0, -1.0], [2.0, 3.0, 1.0, 1.0]]

    def test_batch(self):
        centers = torch.tensor([[1.0, 1.0], [5.0, 0.0]])
        first, second = framed(self.clouds, "batch", centers)
        assert first.tolist() == [[-1.0, 0.0], [1.0, 2.0]]
        assert second.tolist() == [[0.0, 5.0]]
        with pytest.raises(ValueError, match='frame="batch" needs the batch of each cloud'):
            framed(self.clouds, "batch")

    @pytest.mark.parametrize("frame", FRAMES)
    def test_there_is_a_number_for_each_input(self, frame):
        found = framed(self.clouds, frame, torch.zeros(2, 2))
        assert {one.shape[1] for one in found} == {inputs_of(frame, 2)}
        assert inputs_of(frame, 2) == (4 if frame == "both" else 2)

    @pytest.mark.parametrize("frame", FRAMES)
    def test_a_store_frames_what_it_has_scaled(self, frame):
        """In double precision, before anything is rounded."""
        far = [cloud.double() + 2.0**30 for cloud in self.clouds]
        origin, unit = torch.full((2,), 2.0**30).double(), torch.tensor([2.0, 4.0]).double()
        centers = torch.stack([cloud.mean(0) for cloud in far]) + 1
        store = PointStore(far, torch.float32, "cpu", origin, unit, frame, centers)
        scaled = [cloud.double() / unit for cloud in self.clouds]
        expected = framed(scaled, frame, (centers - origin) / unit)
        torch.testing.assert_close(store.points[:-1], torch.cat(expected).float())
        assert not store.points[-1].any()


class TestInvariance:
    @each_kind
    @pytest.mark.parametrize("frame", ["cloud", "shape"])
    @pytest.mark.parametrize("scale", ["standard", None])
    def test_where_a_cloud_is_does_not_matter(self, kind, frame, scale, rng):
        model = fitted(kind, frame=frame, scale=scale)
        moved = [cloud + 100 * rng.normal(size=3) for cloud in CLOUDS]
        expected = model.predict_proba(CLOUDS)
        np.testing.assert_allclose(model.predict_proba(moved), expected, atol=1e-4)
        assert expected[:, 0].std() > 1e-3

    @each_kind
    @pytest.mark.parametrize("frame", ["absolute", "both"])
    def test_otherwise_it_does(self, kind, frame, rng):
        model = fitted(kind, frame=frame)
        moved = [cloud + 100 * rng.normal(size=3) for cloud in CLOUDS]
        assert abs(model.predict_proba(moved) - model.predict_proba(CLOUDS)).max() > 0.01

    @each_kind
    @pytest.mark.parametrize("scale", ["isotropic", "standard", None])
    def test_the_size_of_a_cloud_does_not_change_its_shape(self, kind, scale, rng):
        model = fitted(kind, frame="shape", scale=scale)
        sizes = np.exp(rng.normal(size=len(CLOUDS)))
        larger = [cloud * s for cloud, s in zip(CLOUDS, sizes, strict=True)]
        expected = model.predict_proba(CLOUDS)
        np.testing.assert_allclose(model.predict_proba(larger), expected, atol=1e-4)
        other = fitted(kind, frame="cloud", scale=scale)
        assert abs(other.predict_proba(larger) - other.predict_proba(CLOUDS)).max() > 0.01

    @pytest.mark.parametrize("scale", ["standard", "robust", None])
    def test_gram_fields_do_not_depend_on_the_frame(self, scale):
        usual = fitted("forms", scale=scale).prepare(CLOUDS)
        for frame in FRAMES[1:-1]:
            fields = fitted("forms", scale=scale, frame=frame).prepare(CLOUDS)
            for field, own in zip(fields, usual, strict=True):
                assert torch.equal(field.points, own.points)
                assert torch.equal(field.factor, own.factor)

    @each_kind
    def test_both_reads_twice_as_many_numbers(self, kind):
        model = fitted(kind, frame="both")
        store = model.make_store(model.prepare(CLOUDS))
        assert store.points.shape[1] == 6
        assert model.model_.mean.shape == (6,)
        relative = store.points[: len(CLOUDS[0]), 3:]
        np.testing.assert_allclose(relative.mean(0), 0, atol=1e-6)

    def test_a_shift_of_clouds_is_seen_from_where_it_can_be_seen(self, rng):
        y = np.arange(40) % 2
        shifted = [rng.normal(size=(20, 2)) + np.array([3 * label, 0]) for label in y]
        options = FORMS | {"epochs": 20, "learning_rate": 1e-2, "validation_fraction": 0}
        for frame, least, most in (("absolute", 1, 1), ("both", 1, 1), ("cloud", 0, 0.9)):
            model = pf.PointFormClassifier(**(options | {"frame": frame})).fit(shifted[:30], y[:30])
            assert least <= model.score(shifted[30:], y[30:]) <= most


class TestBatches:
    def shifts(self, rng: np.random.Generator) -> dict[str, np.ndarray]:
        return {name: np.round(50 * rng.normal(size=3)) for name in ("a", "b", "c")}

    @each_kind
    @pytest.mark.parametrize("scale", ["standard", None])
    def test_what_a_batch_has_in_common_does_not_matter(self, kind, scale, rng):
        """Neither for neighbours, nor for units, nor for what the network reads."""
        shifts = self.shifts(rng)
        moved = [c + shifts[name] for c, name in zip(CLOUDS, BATCH, strict=True)]
        plain = fitted(kind, frame="batch", scale=scale)
        other = fitted(kind, moved, frame="batch", scale=scale)
        np.testing.assert_allclose(other.unit_, plain.unit_, rtol=1e-9)
        expected = plain.predict_proba(CLOUDS, batch=BATCH)
        np.testing.assert_allclose(other.predict_proba(moved, batch=BATCH), expected, atol=1e-3)
        assert expected[:, 0].std() > 1e-3

    @each_kind
    def test_a_batch_that_was_not_seen_is_centred_by_its_own_clouds(self, kind, rng):
        model = fitted(kind, frame="batch")
        new = np.repeat(["c", "d"], 8)
        expected = model.predict_proba(CLOUDS, batch=new)
        shift = self.shifts(rng)["c"]
        moved = [cloud + shift * (name == "c") for cloud, name in zip(CLOUDS, new, strict=True)]
        np.testing.assert_allclose(model.predict_proba(moved, batch=new), expected, atol=1e-4)

    @each_kind
    def test_a_batch_that_was_seen_keeps_its_centre(self, kind):
        """So that a prediction does not depend on the other clouds to predict."""
        model = fitted(kind, frame="batch")
        together = model.predict_proba(CLOUDS, batch=BATCH)
        alone = model.predict_proba(CLOUDS[3:4], batch=BATCH[3:4])
        np.testing.assert_allclose(alone[0], together[3], atol=1e-5)
        moved = model.predict_proba([CLOUDS[3] + 50], batch=BATCH[3:4])
        assert abs(moved[0] - together[3]).max() > 1e-3

    @each_kind
    def test_batches_are_needed(self, kind):
        with pytest.raises(ValueError, match='frame="batch" needs the batch of each cloud'):
            make(kind, frame="batch").fit(CLOUDS, Y)
        model = fitted(kind, frame="batch")
        with pytest.raises(ValueError, match='frame="batch" needs the batch of each cloud'):
            model.predict(CLOUDS)
        with pytest.raises(ValueError, match="batch has 3 entries for 16 clouds"):
            model.predict(CLOUDS, batch=BATCH[:3])

    @each_kind
    def test_batches_are_used_by_that_frame_alone(self, kind):
        with pytest.raises(ValueError, match="by frame=\"batch\" only: frame is 'cloud'"):
            make(kind, frame="cloud").fit(CLOUDS, Y, batch=BATCH)
        with pytest.raises(ValueError, match="by frame=\"batch\" only: frame is 'absolute'"):
            fitted(kind).predict(CLOUDS, batch=BATCH)

    def test_the_transformer_takes_them_too(self, rng):
        for epochs in (0, 2):
            model = pf.PointFormTransformer(**(FORMS | {"epochs": epochs, "frame": "batch"}))
            features = model.fit(CLOUDS, Y, batch=BATCH).transform(CLOUDS, batch=BATCH)
            matrices = model.comparison_matrices(CLOUDS, batch=BATCH)
            scaled = matrices / float(model.model_.energy)
            np.testing.assert_allclose(features, scaled[:, [0, 0, 1], [0, 1, 1]], rtol=1e-5)
            with pytest.raises(ValueError, match="needs the batch of each cloud"):
                model.comparison_matrices(CLOUDS)

    def test_a_comparison_of_folds_has_no_batches(self):
        from pointforms.estimators import cross_fit

        with pytest.raises(ValueError, match='frame="batch": expected another frame'):
            cross_fit(make("forms", frame="batch"), CLOUDS, Y, np.arange(16) % 2)
