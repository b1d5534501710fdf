"""Tables of numbers that belong to the points of many clouds, in memory or in a temporary file."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

import torch
from torch import Tensor

from pointforms.nn.batches import split_points
from pointforms.support.scratch_numbers import ScratchNumbers

#: Most bytes of geometry that a store keeps in memory; the rest goes to a temporary file.
IN_MEMORY = 1 << 30


def common_size(sizes: Sequence[int]) -> int | None:
    """Return the size that all clouds have; None if they differ.

    Examples
    --------
    >>> common_size([128, 128]), common_size([5, 40])
    (128, None)
    """
    return sizes[0] if len(set(sizes)) == 1 else None


class PointNumbers(Protocol):
    """A table (C, r) of numbers at each point of each of many clouds, for batches to gather.

    All tables of a cloud have the same number of columns; those of other clouds may have more.
    """

    @property
    def shape(self) -> tuple[int, int]:
        """Numbers of rows and columns of the widest table."""

    def write(self, cloud: int, tables: Tensor) -> None:
        """Keep the tables of a cloud, (n, C, r). Every cloud is written once."""

    def finish(self) -> None:
        """Get ready to be read; nothing is written afterwards."""

    def read(self, first: int, last: int) -> Tensor:
        """Return a copy of the tables of the clouds from `first` up to `last`: (points, C, r)."""

    def gather(self, index: Tensor, rows: Tensor | None, place: Tensor, width: int) -> Tensor:
        """Return tables of a batch, zero on padding: (..., B, n, C, width).

        Parameters
        ----------
        index : Tensor of int, shape (..., B)
            The clouds, on the CPU.
        rows : Tensor of int, shape (..., B, n), or None
            Points of each cloud; None takes all. Points that a cloud lacks are padding.
        place : Tensor of int, shape (..., B, n)
            The same points among those of all clouds; padding has the number of all points.
        width : int
            Number of columns, at least that of each of the clouds.
        """

    def gather_parts(
        self,
        index: Tensor,
        shapes: Sequence[tuple[int, int]],
        place: Tensor,
        widths: Sequence[int],
    ) -> list[Tensor]:
        """Return tables of all points of each part of a batch, as :meth:`gather` does.

        Parameters
        ----------
        index : Tensor of int, shape (..., B)
            The clouds, one part after the other, on the CPU.
        shapes : sequence of (int, int)
            Numbers of clouds and of points per cloud of each part.
        place : Tensor of int, shape (..., P)
            The points of all parts among those of all clouds, as in :meth:`gather`.
        widths : sequence of int
            Number of columns of each part.
        """


class NumbersInMemory:
    """The tables of all points in one tensor on a device.

    Parameters
    ----------
    sizes : sequence of int
        Number of points of each cloud.
    shape : (int, int)
        Rows and columns of a table. Wider ones may follow.
    dtype : torch.dtype
        Precision.
    device : torch.device or str
        Where the numbers are kept.
    """

    def __init__(
        self,
        sizes: Sequence[int],
        shape: tuple[int, int],
        dtype: torch.dtype,
        device: torch.device | str,
    ) -> None:
        self._ends = torch.tensor([0, *sizes]).cumsum(0).tolist()
        self._columns = 0
        self._size = common_size(sizes)
        # the last table is zero, and padding refers to it
        self._values = torch.zeros(self._ends[-1] + 1, *shape, dtype=dtype, device=device)

    @property
    def shape(self) -> tuple[int, int]:
        return self._values.shape[-2], self._values.shape[-1]

    def write(self, cloud: int, tables: Tensor) -> None:
        wider = tables.shape[-1] - self.shape[-1]
        if wider > 0:
            self._values = torch.nn.functional.pad(self._values, (0, wider))
        own = slice(self._ends[cloud], self._ends[cloud + 1])
        self._values[own, :, : tables.shape[-1]] = tables
        self._columns = max(self._columns, tables.shape[-1])

    def finish(self) -> None:
        self._values = self._values[..., : self._columns].contiguous()

    def read(self, first: int, last: int) -> Tensor:
        return self._values[self._ends[first] : self._ends[last]].clone()

    def gather(self, index: Tensor, rows: Tensor | None, place: Tensor, width: int) -> Tensor:
        # whole tables are copied several times faster than some of their columns, and whole clouds
        # faster than their points
        if rows is None and self._size:
            clouds = self._values[:-1].view(len(self._ends) - 1, -1)
            own = index.flatten() % len(clouds)  # it may count from the end
            chosen = clouds.index_select(0, own.to(clouds.device))
        else:
            chosen = self._values.flatten(1).index_select(0, place.flatten())
        return chosen.view(*place.shape, *self.shape)[..., :width]

    def gather_parts(
        self,
        index: Tensor,
        shapes: Sequence[tuple[int, int]],
        place: Tensor,
        widths: Sequence[int],
    ) -> list[Tensor]:
        chosen = self._values.flatten(1).index_select(0, place.flatten())
        parts = split_points(chosen.view(*place.shape, *self.shape), shapes, -3)
        return [part[..., :width] for part, width in zip(parts, widths, strict=True)]


class NumbersInFile:
    """The tables of each cloud in a temporary file, from which batches are read to a device.

    Parameters
    ----------
    sizes : sequence of int
        Number of points of each cloud.
    shape : (int, int)
        Rows and columns of a table. Narrower and wider ones may follow.
    dtype : torch.dtype
        Precision.
    device : torch.device or str
        Where batches go.
    """

    def __init__(
        self,
        sizes: Sequence[int],
        shape: tuple[int, int],
        dtype: torch.dtype,
        device: torch.device | str,
    ) -> None:
        self._sizes, self._rows, self._device = list(sizes), shape[0], device
        self._numbers = ScratchNumbers(dtype, sum(sizes) * shape[0] * shape[1])
        self._dtype = dtype
        self._columns = [0] * len(self._sizes)
        self._starts = [0] * len(self._sizes)

    @property
    def shape(self) -> tuple[int, int]:
        return self._rows, max(self._columns)

    def write(self, cloud: int, tables: Tensor) -> None:
        self._columns[cloud] = tables.shape[-1]
        self._starts[cloud] = self._numbers.append(tables)

    def finish(self) -> None:
        """Nothing is left to do: every cloud was written at once."""

    def read(self, first: int, last: int) -> Tensor:
        width = self.shape[1]
        tables = torch.zeros(sum(self._sizes[first:last]), self._rows, width, dtype=self._dtype)
        parts = tables.split(self._sizes[first:last])
        for cloud, part in zip(range(first, last), parts, strict=True):
            part[..., : self._columns[cloud]] = self._tables(cloud)
        self._numbers.release()
        return tables.to(self._device)

    def gather(self, index: Tensor, rows: Tensor | None, place: Tensor, width: int) -> Tensor:
        shape = (*place.shape, self._rows, width)
        batch = torch.empty(index.numel(), *shape[-3:], dtype=self._dtype)
        chosen = [None] * len(batch) if rows is None else rows.flatten(0, -2).cpu()
        for own, cloud, some in zip(batch, index.flatten().tolist(), chosen, strict=True):
            tables, size, columns = self._tables(cloud), self._sizes[cloud], self._columns[cloud]
            if some is not None:
                real = some < size
                drawn = tables[torch.where(real, some, 0)]
                own[:, :, :columns] = torch.where(real[:, None, None], drawn, 0)
            else:
                own[:size, :, :columns] = tables
                own[size:] = 0
            own[:, :, columns:] = 0
        self._numbers.release()
        return batch.view(shape).to(self._device)

    def gather_parts(
        self,
        index: Tensor,
        shapes: Sequence[tuple[int, int]],
        place: Tensor,
        widths: Sequence[int],
    ) -> list[Tensor]:
        clouds = index.split([B for B, _ in shapes], -1)
        places = split_points(place, shapes, -1)
        return [
            self.gather(own, None, of_points, width)
            for own, of_points, width in zip(clouds, places, widths, strict=True)
        ]

    def _tables(self, cloud: int) -> Tensor:
        shape = (self._sizes[cloud], self._rows, self._columns[cloud])
        return self._numbers.read(self._starts[cloud], shape[0] * shape[1] * shape[2]).view(shape)


class Tables:
    """Makes tables for the points of the same clouds: in memory, while there is little of it.

    Parameters
    ----------
    sizes : sequence of int
        Number of points of each cloud.
    dtype : torch.dtype
        Precision.
    device : torch.device or str
        Where batches go, and tables that are in memory.
    """

    def __init__(
        self, sizes: Sequence[int], dtype: torch.dtype, device: torch.device | str
    ) -> None:
        self.sizes, self.dtype, self.device = sizes, dtype, device
        self._left = IN_MEMORY

    def empty(self, rows: int, columns: int) -> PointNumbers:
        """Return a table (rows, columns) per point, to be written."""
        size = (sum(self.sizes) + 1) * rows * columns * self.dtype.itemsize
        given = (self.sizes, (rows, columns), self.dtype, self.device)
        if size > self._left:
            return NumbersInFile(*given)
        self._left -= size
        return NumbersInMemory(*given)
