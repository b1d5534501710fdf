from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
import torch

import pointforms as pf
from pointforms.geometry.stream import FieldStream
from pointforms.nn import point_numbers
from pointforms.nn.batches import pad
from pointforms.nn.field_store import FieldStore

D = 4


@pytest.fixture
def fields(rng):
    return pf.gram_fields([rng.normal(size=(n, D)) for n in (12, 30, 45)], dimension=2)


class TestStore:
    def test_gather_pads_and_weighs(self, fields):
        store = FieldStore(fields, dtype=torch.float64)
        batch = store.gather(torch.tensor([2, 0]))
        assert batch.points.shape == (2, 45, D)
        assert torch.equal(batch.points[1, :12], fields[0].points)
        assert float(batch.weights[1, 12:].abs().max()) == 0.0
        torch.testing.assert_close(batch.weights.sum(1), torch.ones(2, dtype=torch.float64))
        G = batch.factor[0] @ batch.factor[0].mT
        torch.testing.assert_close(G, fields[2].matrix())

    def test_a_part_stands_for_the_whole(self, fields):
        store = FieldStore(fields, dtype=torch.float64)
        rows = torch.stack([torch.randperm(45)[:20], torch.arange(20)])
        batch = store.gather(torch.tensor([2, 0]), rows)
        torch.testing.assert_close(batch.weights.sum(1), torch.ones(2, dtype=torch.float64))
        assert torch.equal(batch.points[0], fields[2].points[rows[0]])

    @pytest.mark.parametrize("way", ["gather", "gather_parts"])
    def test_a_batch_has_clouds(self, fields, way):
        gather = getattr(FieldStore(fields), way)
        with pytest.raises(
            ValueError, match=r"index has shape \(0,\): expected at least one cloud"
        ):
            gather(torch.zeros(0, dtype=torch.long))

    def test_fields_are_gram_fields(self):
        with pytest.raises(ValueError, match="no Gram fields: expected at least one"):
            FieldStore([])
        with pytest.raises(TypeError, match=r"^fields\[0\] is of type int: expected a GramField"):
            FieldStore([1, 2])

    def test_moments(self, fields):
        store = FieldStore(fields, dtype=torch.float64)
        mean, scale = store.moments([0, 2])
        points = torch.cat([fields[0].points, fields[2].points])
        torch.testing.assert_close(mean, points.mean(0))
        torch.testing.assert_close(scale, points.std(0, correction=0))

    def test_pad_reads_numbered_rows(self):
        rows = torch.arange(10.0).view(5, 2)
        padded = pad(rows, torch.tensor([0, 0, 0, 2, 2]))
        assert padded.shape == (3, 3, 2)
        assert torch.equal(padded[0], rows[:3])
        assert torch.equal(padded[2, :2], rows[3:])
        assert not padded[1].any()
        assert not padded[2, 2:].any()


@pytest.mark.parametrize(("degree", "features"), [(0, 6), (1, 6), (2, 6), (1, 60)])
def test_no_step_waits_for_the_device(degree, features, rng):
    """Tensors on "meta" have shapes and no values: whoever asks for a value gets an error."""
    clouds = [rng.normal(size=(n, features)) for n in (40, 9, 20, 30)]
    fields = pf.gram_fields(clouds, dimension=2, neighbors=40)
    store = FieldStore(fields, degrees=(degree,), device="meta")
    assert (store.pairs is not None) == (features == 60)
    layer = pf.nn.PointForms(features, degree, forms=4).to("meta")
    whole = store.gather(torch.tensor([2, 0, 1]))
    parts = store.gather_parts(torch.tensor([1, 2, 3, 0]))
    assert [part.points.shape[-2] for part in (whole, *parts.parts)] == [40, 9, 20, 30, 40]
    for batch in (whole, parts):
        layer(batch, batch.rows).sum().backward()
    assert all(values.grad is not None for values in layer.parameters())


SIZES = (60, 5, 6, 7, 7, 8, 9, 11, 14, 20)
ASCENDING = torch.tensor([1, 2, 3, 4, 5, 6, 7, 8, 9, 0])


@pytest.mark.parametrize("degrees", [(1,), (2,), ()])
def test_clouds_of_one_size_are_gathered_as_those_of_many(degrees, rng):
    clouds = [rng.normal(size=(12, 4)) for _ in range(3)]
    fields = pf.gram_fields([*clouds, rng.normal(size=(5, 4))], dimension=2, neighbors=8)
    one, many = (FieldStore(some, degrees=degrees) for some in (fields[:3], fields))
    for index in (torch.tensor([2, 0]), torch.tensor([[1, 1], [0, 2]])):
        batches = [store.gather(index) for store in (one, many)]
        for mine, other in zip(*batches, strict=True):
            if isinstance(mine, dict):
                assert mine.keys() == other.keys()
                assert all(torch.equal(mine[k], other[k]) for k in mine)
            elif isinstance(mine, torch.Tensor):  # factors are NaN where they are not needed
                torch.testing.assert_close(mine, other, rtol=0, atol=0, equal_nan=True)
        for mine, other in zip(one.places(index), many.places(index), strict=True):
            assert mine.shape == other.shape
        assert one.places(index)[1].all()


def test_clouds_of_one_size_without_forms_of_a_degree(rng):
    """Two points have one direction: the compound factor of degree 3 has no columns."""
    fields = pf.gram_fields([rng.normal(size=(2, 3)) for _ in range(3)], dimension=1)
    batch = FieldStore(fields, degrees=(1, 3)).gather(torch.tensor([2, 0]))
    sizes = [0 in values.shape for values in (batch.compounds | batch.metrics).values()]
    assert any(sizes)


def test_clouds_are_counted_from_the_end_too(rng):
    fields = pf.gram_fields([rng.normal(size=(9, 3)) for _ in range(3)], dimension=1)
    store = FieldStore(fields, degrees=(1,))
    last, same = (store.gather(torch.tensor([i])) for i in (-1, 2))
    assert torch.equal(last.points, same.points)
    assert torch.equal(last.metrics[1], same.metrics[1])


def test_factors_of_small_clouds_are_narrow(rng):
    """In parts, a factor has the columns that its clouds need."""
    clouds = [rng.normal(size=(n, 20)) for n in SIZES]
    fields = pf.gram_fields(clouds, neighbors=8, dimension=2)
    small, *_, large = FieldStore(fields, degrees=(1,)).gather_parts(ASCENDING).parts
    assert small.factor.shape[-1] < large.factor.shape[-1]


@pytest.mark.parametrize("D", [3, 20], ids=["metric", "factor"])
@pytest.mark.parametrize(
    ("degree", "options"),
    [(0, {}), (1, {}), (2, {}), (2, {"coefficients": "wedge"}), (1, {"sees": "own"})],
)
def test_parts_change_neither_matrices_nor_gradients(D, degree, options, rng):
    clouds = [rng.normal(size=(n, D)) for n in SIZES]
    fields = pf.gram_fields(clouds, neighbors=8, dimension=2)
    degrees = () if "coefficients" in options else (degree,)
    store = FieldStore(fields, degrees=degrees, dtype=torch.float64)
    assert bool(store.metrics) == (sum(degrees) > 0 and D == 3)
    layer = pf.nn.PointForms(D, degree, forms=4, **options).double()
    found = []
    for batch in (store.gather(ASCENDING), store.gather_parts(ASCENDING)):
        C = layer(batch, batch.rows)
        found.append((C, *torch.autograd.grad(C.pow(2).sum(), tuple(layer.parameters()))))
    for a, b in zip(*found, strict=True):
        torch.testing.assert_close(a, b, rtol=1e-9, atol=1e-10)


def many_features(rng: np.random.Generator) -> list[pf.GramField]:
    """Fields of clouds with fewer points than features, which have pairs.

    The lists of the largest cloud do not contain all of its points.
    """
    clouds = [rng.normal(size=(n, 40)) + 5 for n in (30, 5, 6, 7, 7, 8, 9, 11, 14, 20)]
    return list(pf.gram_fields(clouds, neighbors=24, dimension=2))


def stream_of(fields: list[pf.GramField]) -> FieldStream:
    """A stream whose fields should have pairs, as far as is known beforehand."""
    points = [field.points for field in fields]
    return FieldStream(points, 24, pairs=True, groups=lambda: [(range(len(fields)), fields)])


def without_pairs(fields: list[pf.GramField]) -> list[pf.GramField]:
    return [replace(field, pairs=None) for field in fields]


def matrices_and_gradients(layer: torch.nn.Module, batch) -> list[torch.Tensor]:
    C = layer(batch, batch.rows)
    return [C, *torch.autograd.grad(C.pow(2).sum(), tuple(layer.parameters()))]


@pytest.mark.parametrize("measure", ["uniform", "volume-normalized"])
@pytest.mark.parametrize("sees", ["all", "own"])
@pytest.mark.parametrize("unit", [None, 2.0])
def test_pairs_compare_as_factors_do(measure, sees, unit, rng):
    fields = many_features(rng)
    unit = None if unit is None else torch.linspace(0.1, unit, 40)
    options = {"measure": measure, "degrees": (1,), "dtype": torch.float64, "unit": unit}
    short, long = (FieldStore(some, **options) for some in (fields, without_pairs(fields)))
    assert short.pairs is not None
    assert long.pairs is None
    layer = pf.nn.PointForms(40, forms=4, sees=sees).double()
    index = torch.tensor([0, 2])
    rows = torch.tensor([[3, 1, 4], [0, 2, 9]])  # the second cloud has fewer points
    for gather in (
        lambda store: store.gather(ASCENDING),
        lambda store: store.gather_parts(ASCENDING),
        lambda store: store.gather(index, rows),
    ):
        found = [matrices_and_gradients(layer, gather(store)) for store in (short, long)]
        for a, b in zip(*found, strict=True):
            torch.testing.assert_close(a, b, rtol=1e-9, atol=1e-10)


def test_pairs_in_a_file(rng, monkeypatch):
    fields = many_features(rng)
    here = FieldStore(fields, degrees=(1,))
    monkeypatch.setattr(point_numbers, "IN_MEMORY", 0)
    there = FieldStore(fields, degrees=(1,))
    for a, b in zip(here.gather(ASCENDING).pairs, there.gather(ASCENDING).pairs, strict=True):
        assert torch.equal(a, b)


def flattened(fields: list[pf.GramField], i: int) -> None:
    """Move most points of a cloud close together, so that differences of positions are inexact."""
    points = fields[i].points.clone()
    points[: len(points) // 2 + 1] *= 1e-6
    fields[i] = pf.gram_field(points, neighbors=24, dimension=2, density_neighbors=3)


@pytest.mark.parametrize("odd", [0, 4, 9])
@pytest.mark.parametrize("in_memory", [True, False])
@pytest.mark.parametrize(
    "change",
    [
        lambda fields, i: fields.__setitem__(i, replace(fields[i], pairs=None)),
        lambda fields, i: fields.__setitem__(i, replace(fields[i], factor=2 * fields[i].factor)),
        lambda fields, i: fields[i].factor[:, 0].mul_(-1),  # the energy of each feature stays
        flattened,
    ],
    ids=["no pairs", "another factor", "a feature mirrored", "neighbourhoods too small"],
)
def test_one_field_that_needs_its_factor(odd, in_memory, change, rng, monkeypatch):
    """All clouds are stored in one way: as factors, also those that came before."""
    if not in_memory:
        monkeypatch.setattr(point_numbers, "IN_MEMORY", 0)
    fields = many_features(rng)
    change(fields, odd)
    options = {"degrees": (1,), "dtype": torch.float64}
    expected = FieldStore(without_pairs(fields), **options).gather(ASCENDING)
    for some in (fields, stream_of(fields)):
        store = FieldStore(some, **options)
        assert store.pairs is None
        for a, b in zip(store.gather(ASCENDING)[:3], expected[:3], strict=True):
            assert torch.equal(a, b)


def test_rows_of_a_field_are_stored_as_factors(rng):
    """Its pairs are still those of all points."""
    (field,) = many_features(rng)[-1:]
    names = ("points", "factor", "log_density", "scale", "discarded_trace")
    half = replace(field, **{name: getattr(field, name)[:10] for name in names})
    assert FieldStore([half], degrees=(1,)).pairs is None


def test_tiny_clouds_in_single_precision(rng):
    """The scales of pairs are reciprocals of lengths, here beyond the range of single precision."""
    clouds = [1e-38 * rng.normal(size=(12, 40)) for _ in range(3)]
    fields = pf.gram_fields(clouds, neighbors=24, dimension=2)
    short, long = (FieldStore(some, degrees=(1,)) for some in (fields, without_pairs(fields)))
    assert short.pairs is not None
    layer = pf.nn.PointForms(40, forms=4)
    x = torch.from_numpy(rng.normal(size=(3, 12, 40))).float()
    ours, expected = (layer(store.gather(torch.arange(3)), x) for store in (short, long))
    torch.testing.assert_close(
        ours, expected, rtol=1e-4, atol=1e-5 * float(expected.detach().abs().max())
    )


def test_factors_beyond_the_range_of_single_precision(rng):
    fields = [
        replace(field, pairs=1e200 * field.pairs, factor=1e200 * field.factor)
        for field in many_features(rng)
    ]
    with pytest.raises(ValueError, match=r"factor is beyond the range of torch\.float32"):
        FieldStore(fields, degrees=(1,))


def test_factors_that_are_not_needed_cannot_be_used_in_silence(rng):
    batch = FieldStore(many_features(rng), degrees=(1,)).gather(ASCENDING)
    layer = pf.nn.PointForms(40, degree=2, forms=4, coefficients="wedge")
    assert layer(batch, batch.points).isnan().all()


def test_pairs_count_as_factors(rng):
    fields = many_features(rng)
    short, long = (FieldStore(some, degrees=(1,)) for some in (fields, without_pairs(fields)))
    assert short.pairs is not None
    assert short.numbers() == long.numbers()
