"""Clouds: lists of point clouds of differing sizes, and the one place that checks them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, overload

import numpy as np
import torch
from torch import Tensor

CloudLike = Any  # (n, D): anything NumPy or torch can read as a table of numbers


def as_cloud(points: CloudLike, name: str = "cloud", *, distinct: bool = True) -> Tensor:
    """A cloud as a finite floating-point tensor (n, D) of at least two distinct points.

    float32 stays float32, everything else becomes float64. Gradients are not carried.

    Parameters
    ----------
    points : (n, D)
        Array, tensor, data frame or nested list.
    name : str
        How errors call this cloud.
    distinct : bool
        Refuse clouds without two different points, which have no geometry.
    """
    tensor = _as_tensor(points, name)
    if tensor.ndim != 2:
        raise ValueError(f"{name} has shape {tuple(tensor.shape)}: expected (n, D)")
    n, D = tensor.shape
    if n == 0 or D == 0:
        missing = "points" if n == 0 else "features"
        raise ValueError(f"{name} has shape ({n}, {D}): it has no {missing}")
    # one pass finds NaN and infinity: both survive a sum
    if not bool(torch.isfinite(tensor.sum())) and not bool(torch.isfinite(tensor).all()):
        bad = (~torch.isfinite(tensor)).nonzero()
        i, j = bad[0].tolist()
        raise ValueError(
            f"{name} has {len(bad)} non-finite values, the first ({float(tensor[i, j])}) at "
            f"point {i}, feature {j}"
        )
    if distinct and n == 1:
        raise ValueError(f"{name} has 1 point: at least 2 are needed")
    if distinct and bool((tensor == tensor[0]).all()):
        raise ValueError(f"all {n} points of {name} are equal: it has no geometry")
    return tensor


def as_clouds(clouds: Iterable[CloudLike] | Clouds, *, distinct: bool = True) -> list[Tensor]:
    """Every cloud checked as in :func:`as_cloud`, and all of one width, before any work starts."""
    if isinstance(clouds, str | bytes) or not isinstance(clouds, Iterable):
        raise TypeError(f"clouds is {_describe(clouds)}: expected a list of (n, D) arrays")
    checked = [as_cloud(c, f"cloud {i}", distinct=distinct) for i, c in enumerate(clouds)]
    if not checked:
        raise ValueError("clouds is empty: expected at least one (n, D) array")
    first = checked[0]
    for i, cloud in enumerate(checked):
        if cloud.shape[1] != first.shape[1]:
            raise ValueError(
                f"cloud {i} has {cloud.shape[1]} features, cloud 0 has {first.shape[1]}"
            )
        if cloud.device != first.device:
            raise ValueError(f"cloud {i} is on {cloud.device}, cloud 0 on {first.device}")
    return checked


def _as_tensor(points: CloudLike, name: str) -> Tensor:
    if isinstance(points, Tensor):
        tensor = points.detach()
        if tensor.is_complex():
            raise TypeError(f"{name} is complex: expected real numbers")
        if tensor.layout != torch.strided:
            raise TypeError(f"{name} is a sparse tensor: pass {name}.to_dense()")
    else:
        if hasattr(points, "toarray"):  # a SciPy matrix would become a 0-d object array
            raise TypeError(f"{name} is a sparse matrix: pass {name}.toarray()")
        try:
            array = np.asarray(points)
        except ValueError as error:
            raise ValueError(
                f"{name} is {_describe(points)} that is not a table ({error}): expected (n, D); "
                "several clouds go to gram_fields"
            ) from None
        if array.dtype.kind not in "fiub":
            numbers = _numbers_among_objects(array)
            if numbers is None:
                raise TypeError(f"{name} is {_describe(points)}: expected real numbers, (n, D)")
            array = numbers
        if array.dtype.kind != "f" or array.dtype.itemsize not in (4, 8):
            array = array.astype(np.float64)
        array = array.astype(array.dtype.newbyteorder("="), copy=False)
        if any(stride < 0 for stride in array.strides) or not array.flags.writeable:
            array = array.copy()
        tensor = torch.from_numpy(array)
    return tensor if tensor.dtype in (torch.float32, torch.float64) else tensor.double()


def _numbers_among_objects(array: np.ndarray) -> np.ndarray | None:
    """A frame of mixed number types arrives as objects; text is not a number."""
    if array.dtype.kind != "O" or any(isinstance(value, str) for value in array.flat):
        return None
    try:
        return array.astype(np.float64)
    except (TypeError, ValueError):
        return None


def _describe(value: object) -> str:
    kind = type(value).__name__
    if isinstance(value, np.ndarray):
        return f"an array of dtype {value.dtype}"
    if isinstance(value, list | tuple):
        return f"a {kind} of length {len(value)}"
    return f"{kind} {value!r}" if isinstance(value, str | bytes) else f"a {kind}"


@dataclass(frozen=True, eq=False)
class Clouds(Sequence[Tensor]):
    """A ragged batch of clouds: one tensor of points, and where each cloud begins.

    Attributes
    ----------
    points : (N, D)
        The points of all clouds, cloud after cloud.
    offsets : (B + 1,)
        Cloud b is points[offsets[b] : offsets[b + 1]].
    ids : tuple of str
        One name a cloud.
    feature_names : tuple of str
        One name a column.

    Build it with :meth:`from_list`, :meth:`from_padded`, or a reader of `pointforms.readers`.
    """

    points: Tensor
    offsets: Tensor
    ids: tuple[str, ...]
    feature_names: tuple[str, ...]

    @classmethod
    def from_list(
        cls,
        clouds: Iterable[CloudLike],
        ids: Sequence[object] | None = None,
        feature_names: Sequence[object] | None = None,
    ) -> Clouds:
        """From arrays or tensors (n_i, D). One of them in float64 makes all float64."""
        checked = as_clouds(clouds, distinct=False)
        sizes = torch.tensor([0] + [len(cloud) for cloud in checked])
        D = checked[0].shape[1]
        return cls(
            torch.cat(checked),
            sizes.cumsum(0),
            _names("ids", ids, len(checked), ""),
            _names("feature_names", feature_names, D, "x"),
        )

    @classmethod
    def from_padded(
        cls,
        padded: CloudLike,
        lengths: Sequence[int] | np.ndarray | Tensor,
        ids: Sequence[object] | None = None,
        feature_names: Sequence[object] | None = None,
    ) -> Clouds:
        """From an array (B, n_max, D) of which cloud b fills the first lengths[b] rows."""
        array = padded if isinstance(padded, Tensor) else np.asarray(padded)
        if array.ndim != 3:
            raise ValueError(f"padded has shape {tuple(array.shape)}: expected (B, n_max, D)")
        counts = torch.as_tensor(lengths)
        if counts.shape != (len(array),) or counts.is_floating_point():
            raise ValueError(
                f"lengths has shape {tuple(counts.shape)} and dtype {counts.dtype}: "
                f"expected {len(array)} whole numbers"
            )
        for b, count in enumerate(counts.tolist()):
            if not 0 < count <= array.shape[1]:
                raise ValueError(f"cloud {b} has length {count}: expected 1 to {array.shape[1]}")
        return cls.from_list(
            (array[b, :count] for b, count in enumerate(counts.tolist())), ids, feature_names
        )

    def __len__(self) -> int:
        return len(self.offsets) - 1

    @overload
    def __getitem__(self, index: int) -> Tensor: ...
    @overload
    def __getitem__(self, index: slice) -> Clouds: ...
    def __getitem__(self, index: int | slice) -> Tensor | Clouds:
        if isinstance(index, slice):
            chosen = range(len(self))[index]
            return Clouds.from_list(
                [self[b] for b in chosen], [self.ids[b] for b in chosen], self.feature_names
            )
        b = range(len(self))[index]
        return self.points[int(self.offsets[b]) : int(self.offsets[b + 1])]

    def __iter__(self) -> Iterator[Tensor]:
        return (self[b] for b in range(len(self)))

    @property
    def sizes(self) -> Tensor:
        """Points in each cloud: (B,)."""
        return self.offsets.diff()

    def to(
        self, device: torch.device | str | None = None, dtype: torch.dtype | None = None
    ) -> Clouds:
        """The same clouds on another device or in another precision."""
        points = self.points.to(device=device, dtype=dtype)
        return Clouds(points, self.offsets.to(device), self.ids, self.feature_names)

    def __repr__(self) -> str:
        low, high = int(self.sizes.min()), int(self.sizes.max())
        size = f"{low}" if low == high else f"{low}-{high}"
        return f"Clouds({len(self)} clouds of {size} points in R^{self.points.shape[1]})"


def _names(what: str, given: Sequence[object] | None, count: int, prefix: str) -> tuple[str, ...]:
    if given is None:
        return tuple(f"{prefix}{i}" for i in range(count))
    if len(given) != count:
        raise ValueError(f"{what} has {len(given)} names: expected {count}")
    return tuple(str(name) for name in given)
