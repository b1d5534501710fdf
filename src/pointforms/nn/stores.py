"""Stores of clouds and Gram fields, from which padded batches are gathered for a network."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from math import comb, prod

import numpy as np
import torch
from torch import Tensor

from pointforms.exterior import COMPOUND_MAX
from pointforms.geometry.field import GramField, Measure
from pointforms.geometry.stream import FieldStream
from pointforms.nn.batches import FormBatch, FormParts, numbered_points, split_points
from pointforms.nn.frames import Frame, framed, inputs_of
from pointforms.nn.origins import common_origin, relative
from pointforms.nn.point_numbers import PointNumbers, Tables, common_size
from pointforms.nn.prepared_forms import compound_fits, prepared_compounds, prepared_metrics
from pointforms.support.weighted_statistics import (
    pooled_weights,
    weighted_deviation,
    weighted_mean,
)
from pointforms.weights import keep_weights, relative_weights, weights_of

# Number of parts of a batch, where more than this share of the batch would be padding otherwise.
_PARTS, _PADDING = 6, 0.2


class PointStore:
    """Clouds of different sizes in one flat tensor: what a network reads at their points.

    Parameters
    ----------
    clouds : sequence of Tensor, each of shape (n_i, D)
        The clouds.
    dtype : torch.dtype
        Precision of the tensors.
    device : torch.device or str
        Where they are kept.
    origin : Tensor or None, shape (D,)
        What is subtracted from the points, before they are rounded to `dtype`. None uses that of
        the clouds, see :func:`pointforms.nn.origins.common_origin`. A network reads points as
        differences from the origin of the store that it was trained with.
    unit : Tensor or None, shape (D,), default None
        What the differences are divided by, in double precision; None leaves them as they are.
    frame : {"absolute", "cloud", "shape", "both", "batch"}, default "absolute"
        From where the network sees the points, see :func:`pointforms.nn.frames.framed`.
    centers : Tensor or None, shape (N, D), default None
        The centre of the batch of each cloud, for frame="batch".
    """

    def __init__(
        self,
        clouds: Sequence[Tensor],
        dtype: torch.dtype,
        device: torch.device | str,
        origin: Tensor | None = None,
        unit: Tensor | None = None,
        frame: Frame = "absolute",
        centers: Tensor | None = None,
    ) -> None:
        # on the CPU, so that gathering a batch never waits for a device
        self._host_sizes = sizes = torch.tensor([len(cloud) for cloud in clouds])
        self._counts: list[int] = sizes.tolist()
        self._size = common_size(self._counts)
        own = [weights_of(cloud) for cloud in clouds]
        # weights of all points, in double precision on the CPU; None if they are equal
        self._mass = pooled_weights(own, self._counts)
        self.features = clouds[0].shape[1]
        if frame != "absolute" and origin is None:
            origin = torch.zeros(self.features)  # what is read are differences anyway
        self.origin = common_origin(clouds) if origin is None else origin.double().cpu()
        self.in_units = unit is not None
        self.unit = torch.ones(self.features).double() if unit is None else unit.double().cpu()
        if centers is not None:
            centers = (centers.double().cpu() - self.origin) / self.unit
        # the last row is zero, and padding refers to it
        self.points = torch.zeros(
            int(sizes.sum()) + 1, inputs_of(frame, self.features), dtype=dtype
        )
        places = self.points[:-1].split(self._counts)
        for place, cloud in zip(places, self._read(clouds, frame, centers, dtype), strict=True):
            place.copy_(cloud)
        self.points = self.points.to(device)
        self.sizes = sizes.to(device)
        self._host_offsets = sizes.cumsum(0) - sizes
        self.offsets = self._host_offsets.to(device)

    def _read(
        self, clouds: Sequence[Tensor], frame: Frame, centers: Tensor | None, dtype: torch.dtype
    ) -> Iterator[Tensor]:
        """Return what is read at the points of each cloud, one cloud after the other."""
        if not self.in_units and frame == "absolute":
            return relative(clouds, self.origin, dtype)
        in_units = (
            keep_weights((cloud.double().cpu() - self.origin) / self.unit, cloud)
            for cloud in clouds
        )
        seen = (
            framed([cloud], frame, None if centers is None else centers[i : i + 1])[0]
            for i, cloud in enumerate(in_units)
        )
        return relative(seen, torch.zeros(()), dtype)

    #: Number of parts in which a batch is gathered.
    parts = 1

    def __len__(self) -> int:
        return len(self.sizes)

    def moments(self, clouds: Sequence[int] | np.ndarray) -> tuple[Tensor, Tensor]:
        """Return the mean and standard deviation of what is read at the points of some clouds.

        A point of weight w counts as w points.

        Parameters
        ----------
        clouds : sequence or ndarray of int
            Indices of the clouds.

        Returns
        -------
        tuple of Tensor
            Mean and standard deviation, each of shape (R,). The deviation of a constant feature
            is given as 1.
        """
        chosen = torch.zeros(len(self), dtype=torch.bool, device=self.sizes.device)
        chosen[torch.as_tensor(np.asarray(clouds), device=self.sizes.device)] = True
        of_points = chosen.repeat_interleave(self.sizes)
        points = self.points[:-1][of_points].double()
        mass = None if self._mass is None else self._mass.to(points)[of_points]
        deviation = weighted_deviation(points, mass)
        deviation = torch.where(deviation > 0, deviation, 1.0)
        return weighted_mean(points, mass).to(self.points), deviation.to(self.points)

    def draw(self, cloud: int, points: int, rng: np.random.Generator) -> np.ndarray:
        """Draw random points of a cloud that has more than that: (points,) rows of it."""
        return rng.permutation(self._counts[cloud])[:points]

    def places(self, index: Tensor, rows: Tensor | None = None) -> tuple[Tensor, Tensor]:
        """Return the rows of the flat tensors for the clouds `index`, and which are not padding.

        Parameters
        ----------
        index : Tensor of int, shape (..., B)
            The clouds. On the CPU, unless one is to wait for the device.
        rows : Tensor of int, shape (..., B, m), or None, default None
            Points of each cloud; None takes all. Points that a smaller cloud lacks are padding.

        Returns
        -------
        tuple of Tensor
            Both of shape (..., B, n), or (..., B, m). Of clouds of one size, the second may be one
            number that is expanded.
        """
        if rows is None:
            largest = self._size or int(self._host_sizes[index.cpu()].max())
            rows = torch.arange(largest, device=self.sizes.device).expand(*index.shape, -1)
            if self._size:
                place = self.offsets[index.to(rows.device)].unsqueeze(-1) + rows
                return place, place.new_ones((), dtype=torch.bool).expand_as(place)
        index = index.to(self.sizes.device)
        sizes = self.sizes[index].unsqueeze(-1)
        real = rows < sizes
        place = torch.where(real, self.offsets[index].unsqueeze(-1) + rows, len(self.points) - 1)
        return place, real


class FieldStore(PointStore):
    """Gram fields of many clouds, from which batches are gathered.

    Geometry of up to 1 GB is kept in memory, and what is beyond that in a temporary file. Batches
    are the same, to the last digit.

    Parameters
    ----------
    fields : sequence of GramField, or FieldStream
        One per cloud. Those of a stream are not kept.
    measure : {"uniform", "volume", "volume-normalized"}, default "uniform"
        Weights of the points in a comparison matrix.
    degrees : sequence of int, default ()
        Degrees of dense forms whose compound factors are computed beforehand, if they fit in
        memory.
    dtype : torch.dtype, default torch.float32
        Precision of the tensors.
    device : torch.device or str, default "cpu"
        Where they are kept.
    origin : Tensor or None, shape (D,), default None
        What is subtracted from the points before they are rounded to `dtype`. None chooses it by
        the clouds; it is 0 unless they are far from 0. To evaluate a network on other clouds, pass
        the `origin` of the store that it was trained with.
    unit : Tensor or None, shape (D,), default None
        What features are divided by: batches have points and factors in these units. None keeps
        those of the fields.
    frame : {"absolute", "cloud", "shape", "both", "batch"}, default "absolute"
        From where the network sees the points, see :func:`pointforms.nn.frames.framed`.
    centers : Tensor or None, shape (N, D), default None
        The centre of the batch of each cloud, for frame="batch".
    covariates : Tensor or None, shape (N, c), default None
        Numbers that belong to whole clouds.

    Examples
    --------
    >>> import numpy as np, torch
    >>> import pointforms as pf
    >>> rng = np.random.default_rng(0)
    >>> fields = pf.gram_fields([rng.normal(size=(n, 3)) for n in (20, 30, 40)], dimension=2)
    >>> store = pf.nn.FieldStore(fields)
    >>> batch = store.gather(torch.tensor([2, 0]))
    >>> batch.points.shape, batch.factor.shape
    (torch.Size([2, 40, 3]), torch.Size([2, 40, 3, 3]))
    """

    def __init__(
        self,
        fields: Sequence[GramField] | FieldStream,
        measure: Measure = "uniform",
        degrees: Sequence[int] = (),
        dtype: torch.dtype = torch.float32,
        device: torch.device | str = "cpu",
        origin: Tensor | None = None,
        unit: Tensor | None = None,
        frame: Frame = "absolute",
        centers: Tensor | None = None,
        covariates: Tensor | None = None,
    ) -> None:
        stream = fields if isinstance(fields, FieldStream) else FieldStream.of(fields)
        points = stream.points
        super().__init__(points, dtype, device, origin, unit, frame, centers)
        self.covariates = () if covariates is None else (covariates.to(device, dtype),)
        total = len(self.points) - 1
        self.weights = torch.zeros(total + 1, dtype=dtype)
        self._ranks = torch.zeros(len(points), dtype=torch.long)
        tables = Tables(self._counts, dtype, device)
        self.factor = self._write_fields(stream, measure, unit, tables)
        width = self.factor.shape[-1]
        # of clouds whose points differ in weight, heavy points are drawn more often: otherwise a
        # few of them, or none, would stand for most of the cloud
        self._by_measure: Tensor | None = None
        if self._mass is not None:
            unequal = [relative_weights(one) is not None for one in points]
            totals = [part.sum() for part in self.weights[:-1].split(self._counts)]
            totals = [total * own for total, own in zip(totals, unequal, strict=True)]
            self._by_measure = torch.stack(totals).to(device)
        self.weights = self.weights.to(device)
        padding = 1 - total / (len(points) * max(self._counts))
        self.parts = _PARTS if padding > _PADDING else 1
        # forms with very many coefficients fill the processor by themselves, and those of networks
        # that see their own features only are compared in blocks, which torch.func cannot map over
        self.stackable = all(
            k < 2 or comb(self.features, k) * comb(width, k) <= COMPOUND_MAX for k in degrees
        )
        self.compounds: dict[int, PointNumbers] = {}
        self.metrics: dict[int, PointNumbers] = {}
        for k in degrees:
            if k >= 1 and compound_fits(self.features, width, k, total):
                if comb(self.features, k) < self._typical_width(k):
                    self.metrics[k] = prepared_metrics(self.factor, self.weights, k, tables)
                elif k >= 2:
                    self.compounds[k] = prepared_compounds(self.factor, k, tables)
        # a batch has the factor, unless all forms are compared by what was prepared
        prepared = self.compounds.keys() | self.metrics.keys() | {0}
        self._needs_factor = not degrees or not set(degrees) <= prepared

    def _write_fields(
        self, stream: FieldStream, measure: Measure, unit: Tensor | None, tables: Tables
    ) -> PointNumbers:
        """Keep the factor and the measure of every field, and return the factors."""
        dtype = self.weights.dtype
        factors = tables.empty(self.features, stream.width)
        largest = torch.zeros((), dtype=dtype)
        ends = self._host_sizes.cumsum(0).tolist()
        for rows, fields in stream.groups:
            for i, one in zip(rows, fields, strict=True):
                factor = one.factor if unit is None else one.factor.cpu() / self.unit[:, None]
                factor = factor.to("cpu", dtype)
                factors.write(i, factor)
                low, high = factor.aminmax()  # several times as fast as a norm
                largest = torch.maximum(largest, torch.maximum(-low, high))
                self._ranks[i] = factor.shape[-1]
                self.weights[ends[i] - len(one) : ends[i]] = one.measure(measure).to("cpu", dtype)
            del fields  # before the next ones are computed
        for name, value in (("factor", largest), (f"measure={measure!r}", self.weights.max())):
            if not bool(torch.isfinite(value)) or (value == 0 and name != "factor"):
                raise ValueError(
                    f"{name} is beyond the range of {dtype}: rescale the features, or use "
                    "dtype='float64'"
                )
        factors.finish()
        return factors

    def _typical_width(self, degree: int) -> float:
        """Return what two products with a compound factor cost, in columns of one with a metric.

        Of a batch in parts, only the factors of large clouds are wide; but their own widths save
        less than they promise, since narrow products are slow.
        """
        if self.parts == 1 or degree > 1:
            return 2.0 * comb(self.factor.shape[-1], degree)
        mean = (self._ranks * self._host_sizes).sum() / self._host_sizes.sum()
        return 4 / 3 * float(mean)

    def draw(self, cloud: int, points: int, rng: np.random.Generator) -> np.ndarray:
        """Draw random points of a cloud that has more than that: (points,) rows of it.

        Where points differ in weight, they are drawn by the measure, at equal steps of its sum over
        a random order, so that heavy points may be drawn several times.
        """
        if self._by_measure is None or not bool(self._by_measure[cloud] > 0):
            return super().draw(cloud, points, rng)
        start, size = int(self.offsets[cloud]), self._counts[cloud]
        order = rng.permutation(size)
        mu = self.weights[start : start + size].double().cpu().numpy()
        ends = np.cumsum(mu[order])
        steps = (np.arange(points) + rng.random()) / points * ends[-1]
        return np.asarray(order[np.minimum(np.searchsorted(ends, steps), size - 1)])

    def numbers(self) -> int:
        """Return how many numbers of geometry a batch holds per point."""
        prepared = (self.factor, *self.compounds.values(), *self.metrics.values())
        return sum(prod(numbers.shape) for numbers in prepared)

    def gather(self, index: Tensor, rows: Tensor | None = None) -> FormBatch:
        """Gather a batch of clouds.

        Parameters
        ----------
        index : Tensor of int, shape (..., B)
            The clouds.
        rows : Tensor of int, shape (..., B, m), or None, default None
            Points of each cloud, drawn by :meth:`draw`; None takes all. Points that a smaller cloud
            lacks are padding, and weights are raised so that a part of a cloud stands for the
            whole.

        Returns
        -------
        FormBatch
            Padded to the largest of the clouds.
        """
        place, _ = self.places(index, rows)
        if rows is None and self._size:  # whole clouds are copied faster than their points
            own = index.to(self.sizes.device)
            points, weights = (
                values[:-1].unflatten(0, (-1, self._size))[own]
                for values in (self.points, self.weights)
            )
        else:
            points, weights = self.points[place], self.weights[place]
        return self._with_geometry(index, rows, place, points, weights)

    def _with_geometry(
        self, index: Tensor, rows: Tensor | None, place: Tensor, points: Tensor, weights: Tensor
    ) -> FormBatch:
        """Return the batch of some points, given what is read at them, and their weights."""
        on_host = index.cpu()
        index = index.to(self.sizes.device)

        def tables(numbers: PointNumbers, width: int | None = None) -> Tensor:
            return numbers.gather(on_host, rows, place, width or numbers.shape[-1])

        compounds = {k: tables(numbers) for k, numbers in self.compounds.items()}
        metrics = {k: tables(numbers) for k, numbers in self.metrics.items()}
        if rows is not None:
            sizes = self.sizes[index].unsqueeze(-1)
            whole = (sizes / rows.shape[-1]).clamp_min(1.0).to(weights.dtype)
            if self._by_measure is not None:
                totals = self._by_measure[index].unsqueeze(-1)
                equal = totals / (rows.shape[-1] * weights)
                drawn = (totals > 0) & (sizes > rows.shape[-1]) & (weights > 0)
                whole = torch.where(drawn, equal, whole)
            weights = weights * whole
            metrics = {k: values * whole[..., None, None] for k, values in metrics.items()}
        covariates = tuple(values[index] for values in self.covariates)
        if self._needs_factor:
            factor = tables(self.factor, int(self._ranks[on_host].max()))
        else:  # zeros that take no memory
            factor = weights.new_zeros(self.factor.shape).expand(*place.shape, -1, -1)
        return FormBatch(points, factor, weights, compounds, metrics, covariates)

    def gather_parts(self, index: Tensor) -> FormParts:
        """Gather a batch of clouds in parts, each padded to the largest of its own clouds.

        Parameters
        ----------
        index : Tensor of int, shape (..., B)
            The clouds, by ascending size.
        """
        count = min(self.parts, index.shape[-1])
        sizes = self._host_sizes[index.cpu()].tensor_split(count, -1)
        shapes = [(part.shape[-1], int(part.max())) for part in sizes]
        cloud, row = numbered_points(shapes)
        of_cloud = index.cpu()[..., cloud]
        place = self._host_offsets[of_cloud] + row
        place = place.where(row < self._host_sizes[of_cloud], len(self.points) - 1)
        rows = self.points[place := place.to(self.sizes.device)]
        places, weights = (split_points(of, shapes, -1) for of in (place, self.weights[place]))
        own = zip(places, split_points(rows, shapes), weights, strict=True)
        clouds = index.tensor_split(count, -1)
        parts = [self._with_geometry(i, None, *of) for i, of in zip(clouds, own, strict=True)]
        return FormParts(tuple(parts), rows)


def pad(rows: Tensor, batch: Tensor) -> Tensor:
    """Pad rows (N, ...), whose clouds are numbered by `batch` (N,), ascending, to (B, n, ...)."""
    count = int(batch.max()) + 1
    sizes = torch.bincount(batch, minlength=count)
    offsets = sizes.cumsum(0) - sizes
    place = torch.arange(len(batch), device=batch.device) - offsets[batch]
    padded = rows.new_zeros(count, int(sizes.max()), *rows.shape[1:])
    padded[batch, place] = rows
    return padded
