"""The options of a Gram field: one frozen, validated record that every stage reads."""

from __future__ import annotations

import math
from dataclasses import dataclass
from numbers import Integral, Real
from typing import Any, Literal

import numpy as np

BandwidthPolicy = Literal["variable", "fixed"]
Center = Literal["mean", "point"]
Spectrum = Literal["raw", "projector"]
Search = Literal["auto", "tree", "brute", "approximate"]

#: The paper's estimator, read literally: for reproduction, not for use.
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
    """Options of :func:`pointforms.gram_field`, checked on construction.

    Parameters
    ----------
    neighbors : int or "auto"
        Points in each neighbourhood, the point itself included.
    dimension : int or None
        Intrinsic dimension d; None estimates it by local PCA.
    bandwidth : float or "auto"
        ε; "auto" is Berry and Harlim's rule.
    bandwidth_policy : "variable" or "fixed"
        ρ = q₀^β, or ρ constant.
    bandwidth_units : "local", "absolute" or a length
        Sets geomean(ρ): to geomean(r₀), not at all, or to that length.
    alpha, beta : float
        Exponents of the density normalisation and of the bandwidth function.
    density_neighbors : int or None
        k₀, the points that set the local scale r₀; None is neighbors // 4, at least 8.
    center : "mean" or "point"
        c_i: the kernel mean of the neighbourhood, or the point itself.
    calibrate : bool or "point"
        Rescale so that the mean trace (or every trace) is d.
    truncation : bool
        Restore the second moment lost by cutting the kernel at the last neighbour.
    spectrum : "raw" or "projector"
        Keep G, or replace it by the projector on its top-d eigenspace.
    rank : int or None
        Keep only the leading directions.
    search : "auto", "tree", "brute" or "approximate"
        How neighbours are found.
    """

    neighbors: int | Literal["auto"] = 32
    dimension: int | None = None
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
            if isinstance(value, np.generic):  # as from an array of choices
                object.__setattr__(self, name, value.item())
        for name in ("bandwidth", "alpha", "beta"):  # 1 and 1.0 are one setting
            value = getattr(self, name)
            if isinstance(value, int) and not isinstance(value, bool):
                object.__setattr__(self, name, float(value))
        if self.neighbors != "auto":
            check_int("neighbors", self.neighbors, at_least=2, or_else='"auto"')
        if self.dimension is not None:
            check_int("dimension", self.dimension, at_least=1, or_else="None")
        if self.bandwidth != "auto":
            _check_positive("bandwidth", self.bandwidth, or_else='"auto"')
        _check_choice("bandwidth_policy", self.bandwidth_policy, "variable", "fixed")
        if self.bandwidth_units not in ("local", "absolute"):
            _check_positive(
                "bandwidth_units", self.bandwidth_units, or_else='"local", "absolute" (or a length)'
            )
        _check_real("alpha", self.alpha)
        _check_real("beta", self.beta)
        if self.beta > 0:
            raise ValueError(
                f"beta={self.beta!r}: expected a number ≤ 0 (sparse regions need a wider kernel)"
            )
        if self.density_neighbors is not None:
            check_int("density_neighbors", self.density_neighbors, at_least=2, or_else="None")
        _check_choice("center", self.center, "mean", "point")
        _check_choice("calibrate", self.calibrate, True, False, "point")
        _check_choice("truncation", self.truncation, True, False)
        _check_choice("spectrum", self.spectrum, "raw", "projector")
        if self.rank is not None:
            check_int("rank", self.rank, at_least=1, or_else="None")
        _check_choice("search", self.search, "auto", "tree", "brute", "approximate")

    def check_width(self, features: int) -> None:
        """Refuse what clouds of this many features cannot have."""
        for name in ("dimension", "rank"):
            value = getattr(self, name)
            if value is not None and value > features:
                raise ValueError(f"{name}={value} exceeds the {features} features of the points")

    def list_length(self, n: int) -> int:
        """Neighbours of a point in a cloud of n (the whole cloud where n is smaller)."""
        if self.neighbors == "auto":
            raise ValueError('neighbors="auto" must be resolved for a cloud first')
        return min(n, self.neighbors)

    def density_list_length(self, n: int) -> int:
        """k₀ in a cloud of n: a quarter of the neighbours, at least 8, unless given."""
        k = self.list_length(n)
        return min(n, max(8, k // 4) if self.density_neighbors is None else self.density_neighbors)

    @classmethod
    def among(cls, options: dict[str, Any]) -> GramSettings:
        """Settings from a function's arguments, `locals()`, by their names."""
        return cls(**{name: options[name] for name in cls.__dataclass_fields__ if name in options})


def check_int(name: str, value: object, at_least: int, or_else: str = "") -> None:
    """Refuse what is not a whole number of at least `at_least`."""
    alternative = f" or {or_else}" if or_else else ""
    if isinstance(value, bool) or not isinstance(value, Integral):
        kind = ValueError if isinstance(value, str) else TypeError
        raise kind(f"{name}={value!r}: expected a whole number{alternative}")
    if value < at_least:
        raise ValueError(f"{name}={value!r}: expected at least {at_least}")


def _check_real(name: str, value: object, or_else: str = "") -> None:
    alternative = f" or {or_else}" if or_else else ""
    if isinstance(value, bool) or not isinstance(value, Real):
        kind = ValueError if isinstance(value, str) else TypeError
        raise kind(f"{name}={value!r}: expected a number{alternative}")
    if not math.isfinite(value):
        raise ValueError(f"{name}={value!r}: expected a finite number{alternative}")


def _check_positive(name: str, value: object, or_else: str) -> None:
    _check_real(name, value, or_else)
    if not value > 0:  # type: ignore[operator]
        raise ValueError(f"{name}={value!r}: expected a positive number or {or_else}")


def _check_choice(name: str, value: object, *choices: object) -> None:
    # `1 == True` in Python, so a choice must agree in type too
    if not any(value == choice and type(value) is type(choice) for choice in choices):
        expected = ", ".join(repr(choice) for choice in choices)
        raise ValueError(f"{name}={value!r}: expected one of {expected}")
