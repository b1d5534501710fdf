"""Several clouds of different sizes in one tensor, with their names."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any, SupportsIndex, overload

import numpy as np
import torch
from torch import Tensor

from pointforms.cloud import CloudLike, column_names_of
from pointforms.clouds.list_checks import checked_clouds, listed
from pointforms.loadings import Loadings
from pointforms.support.options import shown
from pointforms.tensors import describe
from pointforms.weights import joined_weights, with_weights


@dataclass(frozen=True, eq=False)
class Clouds(Sequence[Tensor]):
    """Several clouds of different sizes: one tensor of points, and where each cloud begins.

    A sequence of tensors (n_i, D), with names. Make one with :meth:`from_list`,
    :meth:`from_padded` or a reader of `pointforms.io`.

    Parameters
    ----------
    points : Tensor, shape (N, D)
        The points of all clouds, cloud after cloud.
    offsets : Tensor, shape (B + 1,)
        Cloud b is points[offsets[b] : offsets[b + 1]].
    ids : tuple of str
        One name per cloud.
    feature_names : tuple of str
        One name per column.
    loadings : Loadings or None, default None
        What the columns are made of, if they are components of other features.
    weights : Tensor or None, shape (N,), default None
        The mass that each point stands for, such as the number of cells of a landmark; positive.
        None weighs all points equally. The tensors of single clouds carry their own.

    Examples
    --------
    >>> import numpy as np, pointforms as pf
    >>> clouds = pf.Clouds.from_list([np.eye(2), np.ones((3, 2))], ids=["a", "b"])
    >>> clouds
    Clouds(2 clouds of 2-3 points in R^2)
    >>> clouds[0].shape, clouds.sizes.tolist(), clouds.feature_names
    (torch.Size([2, 2]), [2, 3], ('x0', 'x1'))
    """

    points: Tensor
    offsets: Tensor
    ids: tuple[str, ...]
    feature_names: tuple[str, ...]
    loadings: Loadings | None = None
    weights: Tensor | None = None

    @classmethod
    def from_list(
        cls,
        clouds: Iterable[CloudLike],
        ids: Sequence[object] | None = None,
        feature_names: Sequence[object] | None = None,
        weights: Sequence[Any] | None = None,
    ) -> Clouds:
        """Join arrays or tensors (n_i, D). If one of them is float64, all become float64.

        Parameters
        ----------
        clouds : iterable of array-like or tensor, each of shape (n_i, D)
            The clouds.
        ids : sequence or None, default None
            One name per cloud; None numbers them from 0.
        feature_names : sequence or None, default None
            One name per column; None takes the columns of data frames, and calls others x0, x1, …
        weights : sequence of array-like or None, each of shape (n_i,), default None
            Weights of the points of each cloud; None for a cloud weighs its points by 1 each.
            None for all takes those that tensors of another :class:`Clouds` carry.

        Examples
        --------
        >>> Clouds.from_list([[[0.0, 1.0]], [[2.0, 3.0], [4.0, 5.0]]]).ids
        ('0', '1')
        >>> Clouds.from_list([[[2.0, 3.0], [4.0, 5.0]]], weights=[[500, 20]]).weights
        tensor([500.,  20.], dtype=torch.float64)
        """
        items = listed(clouds)
        if feature_names is None:
            feature_names = column_names_of(items[0])
        names, features = _texts("ids", ids), _texts("feature_names", feature_names)
        own = (
            (clouds.ids, clouds.feature_names) if isinstance(clouds, Clouds) else (names, features)
        )
        checked = checked_clouds(items, distinct=False, ids=own[0], feature_names=own[1])
        sizes = torch.tensor([0] + [len(cloud) for cloud in checked])
        D = checked[0].shape[1]
        return cls(
            torch.cat(checked),
            sizes.cumsum(0),
            _names("ids", names, len(checked), ""),
            _names("feature_names", features, D, "x"),
            weights=joined_weights(checked, weights),
        )

    @classmethod
    def from_padded(
        cls,
        padded: CloudLike,
        lengths: Sequence[int] | np.ndarray | Tensor,
        ids: Sequence[object] | None = None,
        feature_names: Sequence[object] | None = None,
    ) -> Clouds:
        """Take clouds out of an array (B, n_max, D), of which cloud b fills the first rows.

        Parameters
        ----------
        padded : array-like or tensor, shape (B, n_max, D)
            Rows beyond the length of a cloud are ignored.
        lengths : sequence of int, shape (B,)
            Number of points of each cloud.
        ids : sequence or None, default None
            One name per cloud; None numbers them from 0.
        feature_names : sequence or None, default None
            One name per column; None calls them x0, x1, …

        Examples
        --------
        >>> Clouds.from_padded(np.zeros((2, 5, 3)), lengths=[2, 5]).sizes.tolist()
        [2, 5]
        """
        array = padded if isinstance(padded, Tensor) else np.asarray(padded)
        if array.ndim != 3:
            raise ValueError(f"padded has shape {tuple(array.shape)}: expected (B, n_max, D)")
        counts = lengths.cpu().numpy() if isinstance(lengths, Tensor) else _any_array(lengths)
        if counts.shape != (len(array),) or counts.dtype.kind not in "iu":
            raise ValueError(
                f"lengths has shape {counts.shape} and dtype {counts.dtype}: "
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
    def __getitem__(self, index: slice | Sequence[int] | np.ndarray | Tensor) -> Clouds: ...
    def __getitem__(
        self, index: int | slice | Sequence[int] | np.ndarray | Tensor
    ) -> Tensor | Clouds:
        if isinstance(index, slice):
            return self._some(range(len(self))[index])
        if not isinstance(index, SupportsIndex) or np.ndim(index) == 1:  # type: ignore[arg-type]
            return self._some(self._places(np.asarray(index)))
        b = range(len(self))[index]
        own = slice(int(self.offsets[b]), int(self.offsets[b + 1]))
        return with_weights(self.points[own], None if self.weights is None else self.weights[own])

    def __iter__(self) -> Iterator[Tensor]:
        return (self[b] for b in range(len(self)))

    @property
    def sizes(self) -> Tensor:
        """Number of points of each cloud: (B,)."""
        return self.offsets.diff()

    @property
    def has_names(self) -> bool:
        """Whether the features have names of their own, other than the default x0, x1, …."""
        return self.feature_names != _names("feature_names", None, len(self.feature_names), "x")

    def in_order(self, feature_names: Sequence[str]) -> Clouds:
        """Return the same clouds with their features in another order.

        Parameters
        ----------
        feature_names : sequence of str
            The names of all features, in the new order.

        Examples
        --------
        >>> clouds = Clouds.from_list([[[0.0, 1.0]]], feature_names=["CD4", "CD8"])
        >>> clouds.in_order(["CD8", "CD4"])[0]
        tensor([[1., 0.]], dtype=torch.float64)
        """
        names = tuple(feature_names)
        if names == self.feature_names:
            return self
        if len(set(names)) < len(names) or sorted(names) != sorted(self.feature_names):
            other = sorted(set(names) ^ set(self.feature_names))
            raise ValueError(
                f"the clouds have the features {shown(self.feature_names)}: expected "
                f"{shown(names)}" + (f"; only one of them has {shown(other)}" if other else "")
            )
        columns = [self.feature_names.index(name) for name in names]
        loadings = None if self.loadings is None else self.loadings.some(columns)
        points = self.points[:, columns]
        return replace(self, points=points, feature_names=names, loadings=loadings)

    def at_least(self, points: int) -> Clouds:
        """Return the clouds that have at least this many points."""
        kept = [b for b, size in enumerate(self.sizes.tolist()) if size >= points]
        if not kept:
            raise ValueError(
                f"no cloud has at least {points} points: the largest has {int(self.sizes.max())}"
            )
        return self._some(kept)

    def _places(self, index: np.ndarray) -> list[int]:
        """Return the clouds that an array of numbers or of True and False chooses."""
        if index.ndim != 1:
            raise TypeError(f"the index has shape {index.shape}: expected a number or one axis")
        if index.dtype == bool:
            if len(index) != len(self):
                raise IndexError(f"the index has {len(index)} entries for {len(self)} clouds")
            index = np.flatnonzero(index)
        elif len(index) and index.dtype.kind not in "iu":
            raise TypeError(f"the index has dtype {index.dtype}: expected whole numbers or bool")
        return [range(len(self))[b] for b in index.tolist()]

    def take(self, indices: Any, axis: int = 0) -> Clouds:
        """Return some clouds by their positions, as scikit-learn asks for them.

        Parameters
        ----------
        indices : sequence of int
            Positions of the clouds.
        axis : int, default 0
            Only 0, the axis of clouds.

        Examples
        --------
        >>> Clouds.from_list([[[0.0]], [[1.0]], [[2.0]]]).take([2, 0]).ids
        ('2', '0')
        """
        if axis != 0:
            raise ValueError(f"axis={axis}: expected 0, the axis of clouds")
        return self._some(self._places(np.asarray(indices)))

    @property
    def iloc(self) -> Clouds:
        """The clouds themselves: with it, scikit-learn splits clouds without losing their names."""
        return self

    loc = iloc

    def _some(self, chosen: Sequence[int]) -> Clouds:
        if not len(chosen):
            raise ValueError("clouds is empty: expected at least one (n, D) array")
        starts = self.offsets.tolist()
        own = [slice(starts[b], starts[b + 1]) for b in chosen]
        sizes = torch.tensor([0] + [rows.stop - rows.start for rows in own])
        return replace(
            self,
            points=torch.cat([self.points[rows] for rows in own]),
            offsets=sizes.cumsum(0).to(self.offsets.device),
            ids=tuple(self.ids[b] for b in chosen),
            weights=(
                None if self.weights is None else torch.cat([self.weights[rows] for rows in own])
            ),
        )

    def to(
        self, device: torch.device | str | None = None, dtype: torch.dtype | None = None
    ) -> Clouds:
        """Return the same clouds on another device or in another precision."""
        points = self.points.to(device=device, dtype=dtype)
        weights = None if self.weights is None else self.weights.to(device)
        return replace(self, points=points, offsets=self.offsets.to(device), weights=weights)

    def __repr__(self) -> str:
        low, high = int(self.sizes.min()), int(self.sizes.max())
        size = f"{low}" if low == high else f"{low}-{high}"
        weighted = "" if self.weights is None else "weighted "
        return f"Clouds({len(self)} clouds of {size} {weighted}points in R^{self.points.shape[1]})"


def _names(what: str, given: list[str] | None, count: int, prefix: str) -> tuple[str, ...]:
    if given is None:
        return tuple(f"{prefix}{i}" for i in range(count))
    if len(given) != count:
        raise ValueError(f"{what} has {len(given)} names: expected {count}")
    return tuple(given)


def _texts(what: str, given: Any) -> list[str] | None:
    """Return names as text; one text, or one number, is not a sequence of names."""
    if given is None:
        return None
    scalar = isinstance(given, str | bytes) or getattr(given, "ndim", 1) == 0
    if scalar or not isinstance(given, Iterable):
        raise TypeError(f"{what} is {describe(given)}: expected a sequence of names")
    return [str(name) for name in given]


def _any_array(values: Any) -> np.ndarray:
    """Return values as an array, of objects where they are of several kinds."""
    try:
        return np.asarray(values)
    except (ValueError, RuntimeError):
        return np.array(values, dtype=object)
