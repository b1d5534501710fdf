"""Point clouds of different sizes: lists of them, and one tensor with all their points."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any, SupportsIndex, overload

import numpy as np
import torch
from torch import Tensor

from pointforms.cloud import CloudLike, as_cloud, column_names_of
from pointforms.loadings import Loadings
from pointforms.support.options import shown
from pointforms.tensors import describe
from pointforms.weights import checked_weights, keep_weights, weights_of, with_weights


def as_clouds(
    clouds: Iterable[CloudLike] | Clouds,
    *,
    distinct: bool = True,
    ids: Sequence[str] | None = None,
    feature_names: Sequence[str] | None = None,
    copy: bool = True,
) -> list[Tensor]:
    """Check every cloud as :func:`as_cloud` does, and that all have the same features and device.

    Parameters
    ----------
    clouds : Clouds, or iterable of array-like or tensor, each of shape (n_i, D)
        The clouds.
    distinct : bool, default True
        Refuse clouds without two different points, which have no geometry.
    ids : sequence of str or None, default None
        Names of the clouds for error messages; those of a :class:`Clouds` go first.
    feature_names : sequence of str or None, default None
        Names of the columns for error messages; those of a :class:`Clouds` go first.
    copy : bool, default True
        False returns tensors of floating-point numbers as they are.

    Returns
    -------
    list of Tensor, each of shape (n_i, D)

    Examples
    --------
    >>> [len(cloud) for cloud in as_clouds([[[0, 1], [2, 3]], [[4, 5], [6, 7], [8, 9]]])]
    [2, 3]
    """
    clouds = listed_clouds(clouds)
    if isinstance(clouds, Clouds):
        ids, feature_names = clouds.ids, clouds.feature_names
    else:
        clouds = _in_common_order(clouds)

    def name(i: int) -> str:
        return _cloud_name(i, ids)

    checked = [
        as_cloud(c, name(i), distinct=distinct, feature_names=feature_names, copy=copy)
        for i, c in enumerate(clouds)
    ]
    first = checked[0]
    for i, cloud in enumerate(checked):
        if cloud.shape[1] != first.shape[1]:
            raise ValueError(
                f"{name(i)} has {cloud.shape[1]} features, {name(0)} has {first.shape[1]}"
            )
        if cloud.device != first.device:
            raise ValueError(f"{name(i)} is on {cloud.device}, {name(0)} on {first.device}")
    return checked


def check_each(clouds: Clouds) -> None:
    """Check clouds as :func:`as_clouds` does, one after another, so that no copy of all is made.

    Parameters
    ----------
    clouds : Clouds
        The clouds. They may have a single point, or equal points.

    Examples
    --------
    >>> check_each(Clouds(torch.tensor([[0.0], [torch.inf]]), torch.tensor([0, 2]), ("a",), ("x",)))
    Traceback (most recent call last):
    ValueError: cloud 0 ('a') has 1 non-finite values, the first (inf) at point 1, feature 'x'
    """
    for i, cloud in enumerate(clouds):
        as_cloud(
            cloud, _cloud_name(i, clouds.ids), distinct=False, feature_names=clouds.feature_names
        )


def _cloud_name(i: int, ids: Sequence[str] | None) -> str:
    """Return what error messages call cloud i."""
    named = ids is not None and i < len(ids) and ids[i] != str(i)
    return f"cloud {i} ({ids[i]!r})" if named and ids is not None else f"cloud {i}"


def cloud_list(clouds: Any) -> Sequence[Any]:
    """Return clouds, or what was computed from them, as a sequence that is not empty.

    Data frames with named columns become :class:`Clouds`, which keep the names. Otherwise the
    clouds themselves are not looked at.

    Parameters
    ----------
    clouds : Clouds or iterable
        Clouds, which are returned as they are, or anything else that has one item per cloud.

    Returns
    -------
    Clouds or list

    Examples
    --------
    >>> cloud_list(np.zeros((5, 2)))
    Traceback (most recent call last):
    ValueError: clouds has shape (5, 2), like one cloud: pass it as [cloud]
    """
    listed = listed_clouds(clouds)
    if isinstance(listed, Clouds) or column_names_of(listed[0]) is None:
        return listed
    return Clouds.from_list(listed)


def _in_common_order(clouds: Sequence[Any]) -> Sequence[Any]:
    """Return data frames with their columns in the order of the first; others as they are."""
    names = column_names_of(clouds[0])
    if names is None:
        return clouds
    ordered = []
    for i, cloud in enumerate(clouds):
        own = column_names_of(cloud)
        if own is not None and own != names:
            if len(own) == len(set(own)) == len(names) and set(own) == set(names):
                cloud = cloud[names]
            elif len(own) == len(names):
                only = sorted(set(own) ^ set(names))
                raise ValueError(
                    f"cloud {i} has the columns {shown(own)}, cloud 0 has {shown(names)}"
                    + (f"; only one of them has {shown(only)}" if only else "")
                )
        ordered.append(cloud)
    return ordered


def listed_clouds(clouds: Any) -> Sequence[Any]:
    """Return clouds as a sequence that is not empty, or raise an error."""
    scalar = isinstance(clouds, str | bytes) or getattr(clouds, "ndim", None) == 0
    if scalar or not isinstance(clouds, Iterable):
        raise TypeError(f"clouds is {describe(clouds)}: expected a list of (n, D) arrays")
    if isinstance(clouds, dict):
        raise TypeError("clouds is a dict: pass list(clouds.values())")
    shape = tuple(getattr(clouds, "shape", ()))
    if len(shape) == 2:
        raise ValueError(f"clouds has shape {shape}, like one cloud: pass it as [cloud]")
    listed = clouds if isinstance(clouds, Clouds) else list(clouds)
    if not len(listed):
        raise ValueError("clouds is empty: expected at least one (n, D) array")
    return listed


def plain_clouds(clouds: Any) -> list[Tensor]:
    """Return the points of clouds, or of what was computed from them, such as Gram fields.

    Parameters
    ----------
    clouds : Clouds, iterable of clouds, or sequence of objects with an attribute `points`
        Clouds are checked; the points of other objects were checked before. Tensors carry the
        weights of their points, if there are any.

    Returns
    -------
    list of Tensor, each of shape (n_i, D)

    Examples
    --------
    >>> import pointforms as pf
    >>> fields = pf.gram_fields([[[0.0, 1.0], [2.0, 3.0]]])
    >>> plain_clouds(fields)[0] is fields[0].points
    True
    """
    first = clouds[0] if isinstance(clouds, Sequence) and clouds else None
    if isinstance(getattr(first, "points", None), Tensor):
        return [keep_weights(item.points, item) for item in clouds]
    return as_clouds(clouds, distinct=False)


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
        if not isinstance(clouds, Clouds):
            clouds = listed_clouds(clouds)
            if feature_names is None:
                feature_names = column_names_of(clouds[0])
        names, features = _texts("ids", ids), _texts("feature_names", feature_names)
        checked = as_clouds(clouds, distinct=False, ids=names, feature_names=features)
        sizes = torch.tensor([0] + [len(cloud) for cloud in checked])
        D = checked[0].shape[1]
        return cls(
            torch.cat(checked),
            sizes.cumsum(0),
            _names("ids", names, len(checked), ""),
            _names("feature_names", features, D, "x"),
            weights=_joined_weights(checked, weights),
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


def _joined_weights(clouds: Sequence[Tensor], given: Sequence[Any] | None) -> Tensor | None:
    """Return the weights of all points (N,), given or carried by the clouds; None without any."""
    if given is None:
        own = [weights_of(cloud) for cloud in clouds]
    elif isinstance(given, str | bytes) or not hasattr(given, "__len__"):
        raise TypeError(f"weights is {describe(given)}: expected one array (n_i,) per cloud")
    elif len(given) != len(clouds):
        raise ValueError(f"weights has {len(given)} entries: expected {len(clouds)}, one per cloud")
    else:
        own = [
            None if one is None else checked_weights(one, len(cloud), f"weights of cloud {i}")
            for i, (one, cloud) in enumerate(zip(given, clouds, strict=True))
        ]
    if all(one is None for one in own):
        return None
    ones = [cloud.new_ones(len(cloud), dtype=torch.float64) for cloud in clouds]
    return torch.cat(
        [one if mine is None else mine.to(one) for one, mine in zip(ones, own, strict=True)]
    )


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
