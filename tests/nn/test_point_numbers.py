from __future__ import annotations

import pickle

import numpy as np
import pytest
import torch

import pointforms as pf
from pointforms.nn import point_numbers
from pointforms.nn.batches import FormBatch
from pointforms.nn.field_store import FieldStore
from pointforms.nn.point_numbers import NumbersInFile, NumbersInMemory, Tables

KINDS = pytest.mark.parametrize("kind", [NumbersInMemory, NumbersInFile])
SIZES = [3, 1, 4]


def tables(width: int, size: int) -> torch.Tensor:
    return torch.randn(size, 2, width)


@KINDS
class TestKinds:
    def test_clouds_are_written_in_any_order_and_width(self, kind):
        """The width that was expected is neither needed nor a limit."""
        numbers = kind(SIZES, (2, 2), torch.float32, "cpu")
        own = [tables(1, 3), tables(3, 1), tables(2, 4)]
        for cloud in (1, 2, 0):
            numbers.write(cloud, own[cloud])
        numbers.finish()
        assert numbers.shape == (2, 3)
        found = numbers.read(0, 3).split(SIZES)
        for cloud, expected in enumerate(own):
            width = expected.shape[-1]
            assert torch.equal(found[cloud][..., :width], expected)
            assert not found[cloud][..., width:].any()
        assert torch.equal(numbers.read(1, 3), torch.cat(found[1:]))

    def test_columns_that_no_cloud_has_are_left_out(self, kind):
        numbers = kind([3], (2, 5), torch.float32, "cpu")
        numbers.write(0, tables(2, 3))
        numbers.finish()
        assert numbers.shape == (2, 2)

    @pytest.mark.parametrize("width", [1, 2])
    def test_what_is_read_is_a_copy(self, kind, width):
        numbers = kind([3], (2, width), torch.float32, "cpu")
        numbers.write(0, tables(width, 3))
        before = numbers.read(0, 1)
        numbers.read(0, 1).zero_()
        assert torch.equal(numbers.read(0, 1), before)
        assert before.any()


@pytest.mark.parametrize("sizes", [[3, 3, 3], [3, 1, 4]])
def test_both_kinds_gather_the_same(sizes):
    """Whole clouds of one size, some of their first columns, stacks of batches, or some points."""
    stores = [
        kind(sizes, (2, 3), torch.float32, "cpu") for kind in (NumbersInMemory, NumbersInFile)
    ]
    for cloud, size in enumerate(sizes):
        own = tables(3 if cloud else 1, size)
        for numbers in stores:
            numbers.write(cloud, own)
    ends = np.cumsum(sizes)
    for numbers in stores:
        numbers.finish()
    for index, rows in (
        (torch.tensor([[2, 0], [1, 1]]), None),
        (torch.tensor([0, 0]), None),
        (torch.tensor([2, 0]), torch.tensor([[1, 2], [0, 3]])),
    ):
        n = max(sizes[i] for i in index.flatten()) if rows is None else 2
        wanted = torch.arange(n).expand(*index.shape, n) if rows is None else rows
        starts = torch.from_numpy(ends - sizes)[index].unsqueeze(-1)
        real = wanted < torch.tensor(sizes)[index].unsqueeze(-1)
        place = torch.where(real, starts + wanted, int(ends[-1]))
        for width in (1, 3) if not index.any() else (3,):
            first, second = (numbers.gather(index, rows, place, width) for numbers in stores)
            assert first.shape == (*index.shape, n, 2, width)
            assert torch.equal(first, second)
            flat = stores[0].read(0, len(sizes))
            assert torch.equal(first[real], flat[place[real]][..., :width])
            assert not first[~real].any()


def test_tables_go_to_a_file_beyond_the_limit(monkeypatch):
    monkeypatch.setattr(point_numbers, "IN_MEMORY", 9 * 4 * (6 + 1))
    made = Tables(SIZES, torch.float32, "cpu")
    kinds = [type(made.empty(rows, columns)) for rows, columns in ((2, 3), (1, 2), (1, 1))]
    assert kinds == [NumbersInMemory, NumbersInFile, NumbersInMemory]


def assert_equal(expected: torch.Tensor, found: torch.Tensor) -> None:
    """Factors are NaN where they are not needed."""
    torch.testing.assert_close(found, expected, rtol=0, atol=0, equal_nan=True)


def leaves(batch: FormBatch) -> list[torch.Tensor]:
    parts = [batch.points, batch.factor, batch.weights]
    return [*parts, *batch.compounds.values(), *batch.metrics.values()]


@pytest.fixture
def fields():
    rng = np.random.default_rng(0)
    sizes = (40, 5, 12, 30, 7, 25)
    weights = [rng.uniform(0.5, 2, n) if n > 10 else None for n in sizes]
    clouds = pf.Clouds.from_list([rng.normal(size=(n, 8)) for n in sizes], weights=weights)
    return pf.gram_fields(clouds, neighbors=10, dimension=2)


@pytest.fixture
def in_file(monkeypatch):
    def limit(fields, **options) -> FieldStore:
        with monkeypatch.context() as patch:
            patch.setattr(point_numbers, "IN_MEMORY", 0)
            return FieldStore(fields, **options)

    return limit


@pytest.mark.parametrize("degrees", [(), (1,), (2,), (0, 1, 2), (3,), (9,)])
@pytest.mark.parametrize("rank", [None, 2])
def test_batches_are_the_same_in_a_file(fields, in_file, degrees, rank):
    if rank is not None:
        clouds = [field.points for field in fields]
        fields = pf.gram_fields(clouds, neighbors=10, dimension=2, rank=rank)
    small, large = FieldStore(fields, degrees=degrees), in_file(fields, degrees=degrees)
    assert isinstance(small.factor, NumbersInMemory)
    assert isinstance(large.factor, NumbersInFile)
    assert small.numbers() == large.numbers()
    index = torch.tensor([[3, 1, 5], [0, 0, 2]])
    rows = torch.stack([torch.randperm(12) for _ in range(6)]).view(2, 3, 12)
    rows[0, 1] = torch.arange(12)  # more than cloud 1 has
    ascending = torch.tensor([1, 4, 2, 5, 3, 0])
    for own, other in (
        (small.gather(index), large.gather(index)),
        (small.gather(index, rows), large.gather(index, rows)),
        *zip(small.gather_parts(ascending).parts, large.gather_parts(ascending).parts, strict=True),
    ):
        for expected, found in zip(leaves(own), leaves(other), strict=True):
            assert_equal(expected, found)


def test_a_store_in_a_file_can_go_to_another_process(fields, in_file):
    store = in_file(fields, degrees=(1,))
    copied = pickle.loads(pickle.dumps(store))
    index = torch.tensor([2, 0])
    for expected, found in zip(
        leaves(store.gather(index)), leaves(copied.gather(index)), strict=True
    ):
        assert_equal(expected, found)
