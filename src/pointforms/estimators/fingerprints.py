"""Short texts by which clouds are recognised, also after their values were rounded.

A table that is written and read again, or kept in single precision, has values that differ in their
last digits. So what is compared are a few rounded statistics of the points, not the points: means
and deviations of features, and means of waves over the cloud. They are rounded to steps that are
large compared with the error that six significant digits leave in them. A statistic that lies near
the middle between two whole numbers may have been rounded to either: then both are tried.

Two clouds get different texts if the mean or the deviation of a feature differs by more than a few
steps. A step is about 1e-4 of the root mean square of the feature, divided by n^(1/8) for n points.
Far from zero it is at most 0.03 to 0.1 of the standard error of the mean, so that samples of one
distribution differ. Smaller changes may go unnoticed: one replaced point among 50,000, or among
some hundred where the values deviate by less than a hundredth of their size. Clouds of one or two
points differ only if their values do in the first four digits or so.

Rounding to six digits is allowed for in features that deviate by at least 1/5,000 of their values;
single precision leaves enough of others, too. Features that deviate by less than 1/100,000 count as
constant. A rounded cloud may be missed if hundreds of points share two or three values that lie far
from zero and have more than six digits.
"""

from __future__ import annotations

from collections.abc import Container, Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from hashlib import blake2b, shake_256
from itertools import product
from typing import Any

import numpy as np

from pointforms.clouds import cloud_list, plain_clouds
from pointforms.weights import relative_weights, weights_of

#: Bytes of a fingerprint, which is twice as many hexadecimal digits.
BYTES = 16
# Numbers of statistics: waves over the cloud; combinations of means, and of deviations.
_WAVES, _COMBINATIONS = 8, 4
# What is rounded to 1 is this share of the root mean square of a feature. Six significant digits
# leave a relative error of 3e-6 or less in every value (a standard deviation). In a mean over n
# points it is divided by sqrt(n) if the values differ, but by 1 if they are equal: with n^(1/8),
# either error is small, and one replaced point among ten thousand counts.
_STEP = 1e-4
# Far from zero that is too much for samples to differ. The step is at most this share of the root
# mean square over sqrt(n), but in any case between these shares of the error of the mean.
_STEP_OF_MEAN, _LEAST_OF_ERROR, _MOST_OF_ERROR = 6e-5, 0.03, 0.1
# Rounding to six digits changes a mean by less than this share of the root mean square.
_MOST_OF_ROUNDING = 1e-5
# Features that deviate less, relative to their root mean square, count as constant.
_CONSTANT = 1e-5
# Steps are powers of two, which are the same before and after rounding unless the logarithm lies
# very near the middle between two integers; this number keeps that of simple values away from it.
_OFFSET = 0.2137
# Nearer than this to the middle between two whole numbers, both are tried, for at most so many
# statistics.
_NEAR, _MOST = 0.15, 8


def fingerprints(clouds: Any) -> list[str]:
    """Return a text per cloud: the same for equal clouds, different for those that differ enough.

    It depends on the values of the points and the ratios of their weights, and on nothing else:
    neither the order of the points nor the type of the same values matters. Clouds that differ by
    less than the resolution, which the top of this file states, may have the same text.

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
    return [_own(kind, _moments(values)) for kind, values in _with_weights(clouds)]


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
    return [_possible(kind, _moments(values)) for kind, values in _with_weights(clouds)]


def shared_fingerprints(clouds: Any) -> list[str]:
    """Return a text per cloud that is also the same for clouds of which one is the other, rounded.

    It is the first fingerprint of an earlier cloud that is a possible one of this cloud, or else
    its own.

    Parameters
    ----------
    clouds : Clouds, or list of array-like or tensor, each of shape (n_i, D)
        The clouds, or what was computed from them.

    Examples
    --------
    >>> clouds = list(np.random.default_rng(0).normal(size=(100, 20, 2)))
    >>> texts = shared_fingerprints(clouds + [np.round(cloud, 6) for cloud in clouds])
    >>> texts[:100] == texts[100:], len(set(texts))
    (True, 100)
    """
    known = [(kind, _moments(values)) for kind, values in _with_weights(clouds)]
    near = _near_another([moments for _, moments in known])
    texts: set[str] = set()
    found: list[str] = []
    for (kind, moments), has_near in zip(known, near, strict=True):
        possible = _possible(kind, moments) if has_near else [_own(kind, moments)]
        found.append(recognised(possible, texts) or possible[0])
        texts.add(found[-1])
    return found


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


def _own(kind: str, moments: _Moments) -> str:
    return _digest(kind, _rounded(*_statistics(moments)))


def _possible(kind: str, moments: _Moments) -> list[str]:
    return list(dict.fromkeys(_digest(kind, whole) for whole in _roundings(moments)))


def _digest(kind: str, numbers: np.ndarray) -> str:
    digest = blake2b(kind.encode(), digest_size=BYTES)
    digest.update(numbers.tobytes())
    return digest.hexdigest()


@dataclass(frozen=True, eq=False)
class _Moments:
    """What is known about the n points of a cloud, with features in units that are powers of two.

    Features that count as constant have deviation 0.
    """

    n: int
    units: np.ndarray  # their logarithms to base 2
    center: np.ndarray
    deviation: np.ndarray
    waves: np.ndarray

    @property
    def size(self) -> np.ndarray:
        """The root mean square of each feature."""
        size: np.ndarray = np.hypot(self.center, self.deviation)
        return size

    def steps(self, size: np.ndarray, deviation: np.ndarray) -> np.ndarray:
        """Return the step (D,) for each feature, before it becomes a power of two."""
        steps = _STEP * self.n**-0.125 * size
        of_mean = np.maximum(_STEP_OF_MEAN * size, _LEAST_OF_ERROR * deviation)
        of_mean = np.minimum(of_mean, _MOST_OF_ERROR * deviation) * self.n**-0.5
        steps = np.where(deviation > 0, np.minimum(steps, of_mean), steps)
        return np.where(steps > 0, steps, 1.0)


def _moments(values: np.ndarray) -> _Moments:
    """Return means of points (n, D), and means of waves over the standardised points."""
    n, D = values.shape
    units = np.frexp(np.abs(values).max(0))[1]
    values = np.ldexp(values, -units)
    center = values.mean(0)
    values = values - center
    deviation = values.std(0)
    deviation[deviation <= _CONSTANT * np.hypot(center, deviation)] = 0.0
    z = np.where(deviation > 0, values, 0.0) / np.where(deviation > 0, deviation, 1.0)
    directions, _, phases = _coefficients(D)
    waves = np.cos(z @ directions.T + phases).mean(0)
    return _Moments(n, units, center, deviation, waves)


def _near_another(clouds: Sequence[_Moments]) -> np.ndarray:
    """Return whether each cloud can be another one, rounded, by the sum of its features' means."""
    sums = np.array([np.ldexp(one.center, one.units).sum() for one in clouds])
    sizes = np.array([np.ldexp(one.size, one.units).sum() for one in clouds])
    order = np.argsort(sums, kind="stable")
    close = np.diff(sums[order]) <= _MOST_OF_ROUNDING * np.minimum(
        sizes[order][1:], sizes[order][:-1]
    )
    near = np.zeros(len(clouds), dtype=bool)
    near[order[1:][close]] = near[order[:-1][close]] = True
    return near


def _statistics(
    moments: _Moments, size_off: float = 0.0, deviation_off: float = 0.0
) -> tuple[np.ndarray, np.ndarray]:
    """Return the logarithms of the steps (D,), and the statistics in steps.

    Parameters
    ----------
    moments : _Moments
        Moments of the cloud.
    size_off, deviation_off : float, default 0.0
        Steps are chosen as if the root mean square and the deviation of every feature were larger
        by so many steps.
    """
    varies = moments.deviation > 0
    steps = moments.steps(moments.size, moments.deviation)
    size = moments.size + size_off * steps * (moments.size > 0)
    deviation = moments.deviation + deviation_off * steps * varies
    steps = moments.steps(size, deviation)
    powers = _nearest_power(steps)
    of_deviation = np.exp2(_nearest_power(steps / np.where(varies, deviation, 1.0))) * varies
    directions, combinations, _ = _coefficients(len(steps))
    of_waves = np.sqrt(directions**2 @ of_deviation**2)
    waves = moments.waves / np.where(of_waves > 0, of_waves, 1.0)
    scaled = np.ldexp([moments.center, moments.deviation], -powers)
    return moments.units + powers, np.concatenate([waves, *(scaled @ combinations.T)])


def _nearest_power(values: np.ndarray) -> np.ndarray:
    """Return the logarithms to base 2 of the powers of two nearest to values."""
    powers: np.ndarray = np.rint(np.log2(values) + _OFFSET).astype(np.int32)
    return powers


def _rounded(powers: np.ndarray, statistics: np.ndarray) -> np.ndarray:
    whole: np.ndarray = np.concatenate([powers, np.rint(statistics)]).astype("<i8")
    return whole


def _roundings(moments: _Moments) -> Iterator[np.ndarray]:
    """Yield the statistics as whole numbers, in every way in which they may have been rounded."""
    steps_tried = set()
    for signs in [(0, 0), (1, 1), (-1, -1), (1, -1), (-1, 1)]:
        powers, statistics = _statistics(moments, *(_NEAR * sign for sign in signs))
        whole = _rounded(powers, statistics)
        if whole.tobytes() in steps_tried:
            continue
        steps_tried.add(whole.tobytes())
        off = statistics - np.rint(statistics)  # from -0.5 to 0.5
        near = np.argsort(-np.abs(off), kind="stable")[:_MOST]
        ways = [(0, int(np.sign(off[i]))) if abs(off[i]) > 0.5 - _NEAR else (0,) for i in near]
        for moves in product(*ways):
            moved = whole.copy()
            moved[len(powers) + near] += moves
            yield moved


@lru_cache(maxsize=64)
def _coefficients(D: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return fixed directions of waves, combinations of D features, and phases of the waves."""
    count = (_WAVES + _COMBINATIONS) * D + _WAVES
    drawn = np.frombuffer(shake_256(b"pointforms").digest(8 * count), "<u8") / 2.0**64
    rows = (2 * drawn[_WAVES:] - 1).reshape(-1, D) * np.sqrt(3 / D)  # of length about 1
    return 1.5 * rows[:_WAVES], rows[_WAVES:], 2 * np.pi * drawn[:_WAVES]
