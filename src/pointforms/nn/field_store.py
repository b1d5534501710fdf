"""A store of Gram fields of many clouds, from which padded batches are gathered for a network."""

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
from pointforms.nn.frames import Frame
from pointforms.nn.point_numbers import PointNumbers, Tables
from pointforms.nn.point_store import PointStore
from pointforms.nn.prepared_forms import compound_fits, prepared_compounds, prepared_metrics
from pointforms.nn.stored_pairs import StoredPairs, rounded
from pointforms.weights import relative_weights

# Number of parts of a batch, with factors and with pairs, where more than this share of the batch
# would be padding otherwise.
_PARTS, _PARTS_WITH_PAIRS, _PADDING = 6, 4, 0.2


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
        Degrees of the dense forms that batches are made for: geometry is kept in the form that
        suits these best, and factors are NaN where they are not needed. By default, batches have
        factors, which serve forms of all degrees.
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
        in_pairs = stream.pairs and 1 in degrees and max(degrees) == 1
        self.pairs = self._write_pairs(stream, measure) if in_pairs else None
        tables = Tables(self._counts, dtype, device)
        self.factor: PointNumbers | None = None
        if self.pairs is None:
            self.factor = self._write_factors(stream, measure, tables)
        self.rank = int(self._ranks.max())
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
        parts = _PARTS if self.pairs is None else _PARTS_WITH_PAIRS
        self.parts = parts if padding > _PADDING else 1
        # forms with very many coefficients fill the processor by themselves, and those of networks
        # that see their own features only are compared in blocks, which torch.func cannot map over
        self.stackable = all(
            k < 2 or comb(self.features, k) * comb(self.rank, k) <= COMPOUND_MAX for k in degrees
        )
        self.compounds: dict[int, PointNumbers] = {}
        self.metrics: dict[int, PointNumbers] = {}
        for k in degrees:
            fits = k >= 1 and compound_fits(self.features, self.rank, k, total)
            if self.factor is not None and fits:
                if comb(self.features, k) < self._typical_width(k):
                    self.metrics[k] = prepared_metrics(self.factor, self.weights, k, tables)
                elif k >= 2:
                    self.compounds[k] = prepared_compounds(self.factor, k, tables)
        # a batch has the factor, unless all forms are compared by something else
        prepared = self.compounds.keys() | self.metrics.keys() | {0}
        self._needs_factor = not degrees or not set(degrees) <= prepared

    def _write_pairs(self, stream: FieldStream, measure: Measure) -> StoredPairs | None:
        """Keep the measure of every field, and its pairs; None if a field needs its factor."""
        tables = Tables(self._counts, self.weights.dtype, self.sizes.device)
        stored = StoredPairs(tables, self.features)
        for i, field, mu in self._each_field(stream, measure):
            if not stored.write(i, field, self.unit, mu, stream.given):
                return None
        stored.finish()
        return stored

    def _write_factors(self, stream: FieldStream, measure: Measure, tables: Tables) -> PointNumbers:
        """Keep the measure of every field, and its factor."""
        dtype = self.weights.dtype
        stored = tables.empty(self.features, stream.width)
        largest = torch.zeros((), dtype=dtype)
        for i, field, _ in self._each_field(stream, measure):
            V = field.factor.cpu() / self.unit[:, None] if self.in_units else field.factor
            V = V.to("cpu", dtype)
            stored.write(i, V)
            low, high = V.aminmax()  # several times as fast as a norm
            largest = torch.maximum(largest, torch.maximum(-low, high))
        self._check_range("factor", bool(largest.isfinite()))
        stored.finish()
        return stored

    def _each_field(
        self, stream: FieldStream, measure: Measure
    ) -> Iterator[tuple[int, GramField, Tensor]]:
        """Yield fields with their places and measures, and keep measures and ranks."""
        ends = self._host_sizes.cumsum(0).tolist()
        for rows, fields in stream.groups():
            for i, field in zip(rows, fields, strict=True):
                self._ranks[i] = field.factor.shape[-1]
                mu = field.measure(measure)
                self.weights[ends[i] - len(field) : ends[i]] = mu.to("cpu", self.weights.dtype)
                yield i, field, mu
            del fields  # before the next ones are computed
        largest = self.weights.max()
        self._check_range(f"measure={measure!r}", bool(largest.isfinite() & (largest > 0)))

    def _check_range(self, name: str, fits: bool) -> None:
        if not fits:
            raise ValueError(
                f"{name} is beyond the range of {self.weights.dtype}: rescale the features, or "
                "use dtype='float64'"
            )

    def _typical_width(self, degree: int) -> float:
        """Return what two products with a compound factor cost, in columns of one with a metric.

        Of a batch in parts, only the factors of large clouds are wide; but their own widths save
        less than they promise, since narrow products are slow.
        """
        if self.parts == 1 or degree > 1:
            return 2.0 * comb(self.rank, degree)
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
        """Return how many numbers of geometry a batch holds per point.

        Pairs count as the factor that they describe, so that the same fits train together as with
        factors.
        """
        if self.pairs is not None:
            return self.features * self.rank
        factors = () if self.factor is None else (self.factor,)
        prepared = (*factors, *self.compounds.values(), *self.metrics.values())
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
        _check_some(index)
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
        raised: Tensor | None = None
        if rows is not None:
            sizes = self.sizes[index].unsqueeze(-1)
            raised = (sizes / rows.shape[-1]).clamp_min(1.0).to(weights.dtype)
            if self._by_measure is not None:
                totals = self._by_measure[index].unsqueeze(-1)
                equal = totals / (rows.shape[-1] * weights)
                drawn = (totals > 0) & (sizes > rows.shape[-1]) & (weights > 0)
                raised = torch.where(drawn, equal, raised)
            weights = weights * raised
            metrics = {k: values * raised[..., None, None] for k, values in metrics.items()}
        covariates = tuple(values[index] for values in self.covariates)
        pairs: tuple[Tensor, ...] = ()
        if self.pairs is not None:
            others = place if rows is None else self.places(on_host)[0]
            pairs = self.pairs.gather(on_host, rows, place, others, raised)
        if self.factor is not None and self._needs_factor:
            factor = tables(self.factor, int(self._ranks[on_host].max()))
        else:
            factor = self._no_factor(place.shape)
        return FormBatch(points, factor, weights, compounds, metrics, covariates, pairs)

    def gather_parts(self, index: Tensor) -> FormParts:
        """Gather a batch of clouds in parts, each padded to the largest of its own clouds.

        Parameters
        ----------
        index : Tensor of int, shape (..., B)
            The clouds, by ascending size.
        """
        _check_some(index)
        count, on_host = min(self.parts, index.shape[-1]), index.cpu()
        clouds = on_host.tensor_split(count, -1)
        shapes = [(own.shape[-1], int(self._host_sizes[own].max())) for own in clouds]
        place = self._places_of_parts(on_host, shapes)

        def tables(numbers: PointNumbers, widths: Sequence[int] | None = None) -> list[Tensor]:
            same = [numbers.shape[-1]] * count
            return numbers.gather_parts(on_host, shapes, place, widths or same)

        compounds = {k: tables(numbers) for k, numbers in self.compounds.items()}
        metrics = {k: tables(numbers) for k, numbers in self.metrics.items()}
        pairs: Sequence[tuple[Tensor, ...]] = [()] * count
        if self.pairs is not None:
            others = self._places_of_parts(on_host, [(B, rounded(n)) for B, n in shapes])
            pairs = self.pairs.gather_parts(on_host, shapes, place, others)
        if self.factor is not None and self._needs_factor:
            factors = tables(self.factor, [int(self._ranks[own].max()) for own in clouds])
        else:
            factors = [self._no_factor((*index.shape[:-1], *shape)) for shape in shapes]
        rows = self.points.index_select(0, place.flatten()).view(*place.shape, -1)
        points, weights = split_points(rows, shapes), split_points(self.weights[place], shapes, -1)
        covariates = [values[index.to(values.device)] for values in self.covariates]
        of_parts = [values.tensor_split(count, -2) for values in covariates]
        parts = [
            FormBatch(
                points[i],
                factors[i],
                weights[i],
                {k: values[i] for k, values in compounds.items()},
                {k: values[i] for k, values in metrics.items()},
                tuple(values[i] for values in of_parts),
                pairs[i],
            )
            for i in range(count)
        ]
        return FormParts(tuple(parts), rows)

    def _places_of_parts(self, index: Tensor, shapes: Sequence[tuple[int, int]]) -> Tensor:
        """Return the rows of the flat tensors for all points of the parts of a batch: (..., P)."""
        cloud, row = numbered_points(shapes)
        of_cloud = index[..., cloud]
        place = self._host_offsets[of_cloud] + row
        place = place.where(row < self._host_sizes[of_cloud], len(self.points) - 1)
        return place.to(self.sizes.device)

    def _no_factor(self, shape: Sequence[int]) -> Tensor:
        """Return a factor that takes no memory, and shows in results if it is used all the same."""
        nan = self.weights.new_full((), torch.nan)
        return nan.expand(*shape, self.features, self.rank)


def _check_some(index: Tensor) -> None:
    """Raise an error unless a batch has clouds."""
    if not index.numel():
        raise ValueError(f"index has shape {tuple(index.shape)}: expected at least one cloud")
