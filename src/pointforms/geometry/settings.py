"""The options of a Gram field: their defaults, documentation and checks, for every function."""

from __future__ import annotations

import inspect
import re
from dataclasses import dataclass
from numbers import Real
from typing import Any, Literal, TypeVar

import numpy as np

from pointforms.support.checks import (
    check_choice,
    check_int,
    check_positive,
    check_real,
    is_word,
)

BandwidthPolicy = Literal["variable", "fixed"]
Center = Literal["mean", "point"]
Spectrum = Literal["raw", "projector"]
Search = Literal["auto", "tree", "brute", "approximate"]
Dimension = int | Literal["local-pca"] | None

#: Options that reproduce the estimator exactly as the paper states it; the defaults are better.
PAPER_SETTINGS: dict[str, Any] = {
    "bandwidth": 1.0,
    "bandwidth_units": "absolute",
    "density_neighbors": 8,
    "center": "point",
    "calibrate": False,
    "truncation": False,
    "alpha": 0.0,
    "beta": -0.5,
    "spectrum": "raw",
}


@dataclass(frozen=True)
class GramSettings:
    """Options of a Gram field, checked on construction.

    Defaults and documentation of these options live here. :func:`pointforms.gram_field`,
    :func:`pointforms.gram_fields`, :func:`pointforms.laplacian`,
    :func:`pointforms.carre_du_champ` and the estimators take them as keywords of the same names.

    Parameters
    ----------
    neighbors : int or "auto", default "auto"
        Number of points in each neighbourhood, the point itself included; a smaller cloud is its
        own neighbourhood. Points tied at the last distance share the places that are left. "auto"
        chooses one number for all clouds of a call, usually from 8 to 256: that whose Gram fields
        are nearest to projectors of rank d.
    dimension : int, "local-pca" or None, default None
        Intrinsic dimension d. None estimates one for all clouds of a call, as the rank of the
        projectors that covariances of neighbourhoods are nearest to. "local-pca" counts directions
        of large variance among 32 or `neighbors` points, and takes the median of the clouds.
    bandwidth : float or "auto", default 1.0
        ε, a pure number in local units, where 1 suits most data; from 1e-30 to 1e30. "auto" uses
        the rule of Berry and Harlim: the ε at which the kernel sum grows fastest.
    bandwidth_policy : {"variable", "fixed"}, default "variable"
        "variable" sets ρ = q₀^β, wider where points are sparse; "fixed" makes ρ constant.
    bandwidth_units : {"local", "absolute"} or float, default "local"
        The geometric mean of ρ: "local" makes it that of the sample spacing r₀, a number makes it
        that length, and "absolute" leaves ρ as it is, as in the paper.
    alpha : float, default 0.0
        Exponent of the density normalisation of the kernel, from -100 to 100; 0 skips the
        normalisation.
    beta : float, default -0.5
        Exponent of the bandwidth function ρ = q₀^β, from -100 to 0.
    density_neighbors : int or None, default None
        k₀, the number of points, the point itself included, that set the local scale r₀. None
        takes a quarter of `neighbors`, at least 8.
    center : {"mean", "point"}, default "mean"
        c_i: the kernel mean of the neighbourhood, far better under noise, or the point p_i itself,
        as in the paper.
    calibrate : bool or "point", default True
        Rescale G by one factor per cloud, so that its mean trace is d; "point" uses one factor
        per point, so that every trace is d.
    truncation : bool, default True
        Divide by τ_i, the share of the kernel's second moment that is left after cutting it at the
        last neighbour. There is no cut where every point is a neighbour.
    spectrum : {"raw", "projector"}, default "raw"
        Keep G, or replace it by the projector on its top-d eigenspace.
    rank : int or None, default None
        Keep this many leading directions of G; None keeps all. The field's `discarded_trace` is
        the trace of the others.
    search : {"auto", "tree", "brute", "approximate"}, default "auto"
        How neighbours are searched. "auto" chooses by the size and width of the cloud;
        "approximate" needs the extra `ann`.

    Examples
    --------
    >>> import pointforms as pf
    >>> pf.GramSettings(neighbors=16).density_list_length(n=1000)
    8
    >>> pf.GramSettings(center="middle")
    Traceback (most recent call last):
    ValueError: center='middle': expected one of 'mean', 'point'
    """

    neighbors: int | Literal["auto"] = "auto"
    dimension: Dimension = None
    bandwidth: float | Literal["auto"] = 1.0
    bandwidth_policy: BandwidthPolicy = "variable"
    bandwidth_units: Literal["local", "absolute"] | float = "local"
    alpha: float = 0.0
    beta: float = -0.5
    density_neighbors: int | None = None
    center: Center = "mean"
    calibrate: bool | Literal["point"] = True
    truncation: bool = True
    spectrum: Spectrum = "raw"
    rank: int | None = None
    search: Search = "auto"

    def __post_init__(self) -> None:
        for name, value in list(vars(self).items()):
            if isinstance(value, np.generic):  # an element of an array of choices
                object.__setattr__(self, name, value.item())
        if not is_word(self.neighbors, "auto"):
            check_int("neighbors", self.neighbors, at_least=2, or_else='"auto"')
        if self.dimension is not None and not is_word(self.dimension, "local-pca"):
            check_int("dimension", self.dimension, at_least=1, or_else='"local-pca" or None')
        if not is_word(self.bandwidth, "auto"):
            check_positive("bandwidth", self.bandwidth, or_else='"auto"')
            _check_range("bandwidth", float(self.bandwidth), 1 / _WIDEST, _WIDEST)
        check_choice("bandwidth_policy", self.bandwidth_policy, "variable", "fixed")
        if not is_word(self.bandwidth_units, "local", "absolute"):
            check_positive(
                "bandwidth_units", self.bandwidth_units, or_else='"local", "absolute" (or a length)'
            )
        check_real("alpha", self.alpha)
        check_real("beta", self.beta)
        if self.beta > 0:
            raise ValueError(
                f"beta={self.beta!r}: expected a number ≤ 0 (sparse regions need a wider kernel)"
            )
        _check_range("beta", self.beta, -_LARGEST_EXPONENT, 0)
        _check_range("alpha", self.alpha, -_LARGEST_EXPONENT, _LARGEST_EXPONENT)
        if self.density_neighbors is not None:
            check_int("density_neighbors", self.density_neighbors, at_least=2, or_else="None")
        check_choice("center", self.center, "mean", "point")
        check_choice("calibrate", self.calibrate, True, False, "point")
        check_choice("truncation", self.truncation, True, False)
        check_choice("spectrum", self.spectrum, "raw", "projector")
        if self.rank is not None:
            check_int("rank", self.rank, at_least=1, or_else="None")
        check_choice("search", self.search, "auto", "tree", "brute", "approximate")
        for name in ("bandwidth", "bandwidth_units", "alpha", "beta"):
            value = getattr(self, name)
            if isinstance(value, Real):  # 1 and 1.0 are one setting
                object.__setattr__(self, name, float(value))

    def check_width(self, features: int) -> None:
        """Raise an error if `dimension` or `rank` exceeds the number of features."""
        for name in ("dimension", "rank"):
            value = getattr(self, name)
            if isinstance(value, int) and value > features:
                raise ValueError(f"{name}={value} exceeds the {features} features of the points")

    def list_length(self, n: int) -> int:
        """Return the number of neighbours in a cloud of n points: n if there are fewer."""
        if self.neighbors == "auto":
            raise ValueError('neighbors="auto" must be resolved for a cloud first')
        return min(n, self.neighbors)

    def factor_width(self, n: int, features: int) -> int:
        """Return the number of columns of the factor of a cloud of n points, unless points tie."""
        limits = [self.list_length(n), features, self.rank or features]
        if self.spectrum == "projector" and isinstance(self.dimension, int):
            limits.append(self.dimension)
        return min(limits)

    def has_pairs(self, n: int, features: int) -> bool:
        """Return whether fields of n points have pairs, the short form of their factors."""
        k = self.list_length(n)
        plain = self.spectrum == "raw" and self.rank is None and self.center == "mean"
        return plain and k <= features and n <= _WIDE * k

    def density_list_length(self, n: int) -> int:
        """Return k₀ in a cloud of n points."""
        k = self.list_length(n)
        k0 = self.density_neighbors
        return min(n, usual_density_neighbors(k) if k0 is None else k0)

    @classmethod
    def among(cls, options: dict[str, Any]) -> GramSettings:
        """Make settings from the entries of `options` that are named like one; ignore others."""
        return cls(**{name: options[name] for name in cls.__dataclass_fields__ if name in options})


def usual_density_neighbors(neighbors: int) -> int:
    """Return the default k₀ at k neighbours."""
    return max(8, neighbors // 4)


# Beyond these limits a kernel is constant, or sees single points, as far as numbers can tell.
_WIDEST, _LARGEST_EXPONENT = 1e30, 100
# Most points per neighbour for which products with all points of a cloud are faster.
_WIDE = 1.25


def _check_range(name: str, value: float, low: float, high: float) -> None:
    if not low <= value <= high:
        raise ValueError(f"{name}={value!r}: expected a number from {low:g} to {high:g}")


# The line of a docstring that stands for the entries of all options.
_PLACEHOLDER = "[options of GramSettings]"
_ENTRY = re.compile(r"^(\w+) : .*(?:\n    .*)*", re.MULTILINE)
_Documented = TypeVar("_Documented", bound=Any)


def documents_options(documented: _Documented) -> _Documented:
    """Decorate a function or class whose docstring has the line "[options of GramSettings]".

    The line is replaced as :func:`insert_options` does.
    """
    if documented.__doc__:  # absent under python -OO
        documented.__doc__ = insert_options(documented.__doc__)
    return documented


def insert_options(docstring: str) -> str:
    """Replace the line "[options of GramSettings]" by the documentation of every option.

    Options that have an entry of their own in the docstring are left out.
    """
    text = inspect.cleandoc(docstring)
    if _PLACEHOLDER not in text:
        return text
    own = {entry[1] for entry in _ENTRY.finditer(text)}
    options = _ENTRY.finditer(inspect.cleandoc(GramSettings.__doc__ or ""))
    return text.replace(_PLACEHOLDER, "\n".join(e[0] for e in options if e[1] not in own))
