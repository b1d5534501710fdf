"""Short texts by which clouds are recognised, also after their values were rounded.

A table that is written and read again, or kept in single precision, has values that differ in their
last digits. So what is compared are a few rounded statistics of the points, not the points. They
are rounded to a hundredth of what they vary by among samples of one distribution: different clouds
differ in some of them, and those of one cloud agree. A statistic that lies near the middle between
two whole numbers may have been rounded to either: then both are tried.
"""

from __future__ import annotations

from collections.abc import Container, Iterator, Sequence
from functools import lru_cache
from hashlib import blake2b, shake_256
from itertools import product
from typing import Any

import numpy as np

from pointforms.clouds import cloud_list, plain_clouds
from pointforms.weights import relative_weights, weights_of

#: Bytes of a fingerprint, which is twice as many hexadecimal digits.
BYTES = 16
# Numbers of statistics: of the shape of a cloud, and of its place and extent each.
_OF_SHAPE, _OF_PLACE = 8, 4
# What is rounded to 1: this share of the deviation among samples of a distribution.
_STEP = 0.01
# Nearer than this to the middle between two whole numbers, both are tried, for at most so many
# statistics.
_NEAR, _MOST = 0.02, 6


def fingerprints(clouds: Any) -> list[str]:
    """Return a text per cloud that is the same for equal clouds, and for hardly any others.

    It depends on the values of the points and the ratios of their weights, and on nothing else:
    neither their order nor the precision of the same values matters.

    Parameters
    ----------
    clouds : Clouds, or list of array-like or tensor, each of shape (n_i, D)
        The clouds, or what was computed from them.

    Examples
    --------
    >>> first, second, third = fingerprints([[[0, 1], [2, 3]], [[2.0, 3.0], [0.0, 1.0]], [[0, 1]]])
    >>> first == second, first == third, len(first)
    (True, False, 32)
    """
    return [_digest(kind, _rounded(_statistics(values))) for kind, values in _with_weights(clouds)]


def possible_fingerprints(clouds: Any) -> list[list[str]]:
    """Return, per cloud, the fingerprints that it may have had before its values were rounded.

    The first is its own.

    Parameters
    ----------
    clouds : Clouds, or list of array-like or tensor, each of shape (n_i, D)
        The clouds, or what was computed from them.

    Examples
    --------
    >>> cloud = np.random.default_rng(0).normal(size=(50, 3))
    >>> [own], [possible] = fingerprints([cloud]), possible_fingerprints([np.float32(cloud)])
    >>> own in possible
    True
    """
    return [
        [_digest(kind, whole) for whole in _roundings(_statistics(values))]
        for kind, values in _with_weights(clouds)
    ]


def recognised(texts: Sequence[str], known: Container[str]) -> str | None:
    """Return the first of a cloud's possible fingerprints that is known, or None."""
    return next((text for text in texts if text in known), None)


def _with_weights(clouds: Any) -> Iterator[tuple[str, np.ndarray]]:
    """Yield the points of each cloud, with a column of weights if they differ, and their kind."""
    for cloud in plain_clouds(cloud_list(clouds)):
        values = cloud.double().cpu().contiguous().numpy() + 0.0  # -0 equals 0
        kind = ""
        if relative_weights(cloud) is not None:
            weights = weights_of(cloud)
            assert weights is not None
            ratios = (weights / weights.max()).cpu().numpy()
            values, kind = np.concatenate([values, ratios[:, None]], 1), "weighted "
        yield f"{kind}{values.shape!r}", values


def _digest(kind: str, numbers: np.ndarray) -> str:
    digest = blake2b(kind.encode(), digest_size=BYTES)
    digest.update(numbers.tobytes())
    return digest.hexdigest()


def _roundings(statistics: np.ndarray) -> list[np.ndarray]:
    """Return the statistics as whole numbers, in every way in which they may have been rounded."""
    whole = _rounded(statistics)
    off = statistics - whole  # from -0.5 to 0.5
    near = np.argsort(-np.abs(off), kind="stable")[:_MOST]
    ways = [(0, int(np.sign(off[i]))) if abs(off[i]) > 0.5 - _NEAR else (0,) for i in near]
    found = []
    for steps in product(*ways):
        moved = whole.copy()
        moved[near] += steps
        found.append(moved)
    return found


def _rounded(statistics: np.ndarray) -> np.ndarray:
    whole: np.ndarray = np.rint(statistics).astype("<i8")
    return whole


def _statistics(values: np.ndarray) -> np.ndarray:
    """Return statistics of points (n, D), in steps to which they are rounded."""
    n, D = values.shape
    unit = np.abs(values).max(0)
    unit[unit == 0] = 1.0
    values = values / unit
    center, extent = values.mean(0), values.std(0)
    extent[extent <= 1e-9] = 1.0  # a constant feature
    of_shape, of_place, phases = _coefficients(D)
    z = (values - center) / extent
    shape = np.cos(z @ of_shape.T + phases).mean(0)
    place = of_place @ (center / extent), of_place @ (np.log(extent) + np.log(unit))
    found = np.concatenate([shape, *place]) * np.sqrt(n) / _STEP
    # of features that hardly vary, the place is a large number
    clipped: np.ndarray = np.clip(found, -(2.0**60), 2.0**60)
    return clipped


@lru_cache(maxsize=64)
def _coefficients(D: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return fixed coefficients of D features for each statistic, and phases of those of shape."""
    count = (_OF_SHAPE + _OF_PLACE) * D + _OF_SHAPE
    drawn = np.frombuffer(shake_256(b"pointforms").digest(8 * count), "<u8") / 2.0**64
    rows = (2 * drawn[_OF_SHAPE:] - 1).reshape(-1, D) * np.sqrt(3 / D)  # of length about 1
    return 1.5 * rows[:_OF_SHAPE], rows[_OF_SHAPE:], 2 * np.pi * drawn[:_OF_SHAPE]
