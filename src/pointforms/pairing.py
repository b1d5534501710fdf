"""Pairings of differential forms on a cloud: pointwise, global, and the comparison matrix.

A k-form is any callable that maps points (n, D) to coefficients (n, C(D, k)); a family of l forms
returns (n, l, C(D, k)). Both may return NumPy arrays or tensors. Large clouds are passed in blocks
of points, so the value at a point must not depend on the other points.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from math import comb
from numbers import Integral
from typing import Any

import torch
from torch import Tensor

from pointforms.exterior import COMPOUND_MAX, check_degree, pull
from pointforms.geometry.field import GramField, Measure
from pointforms.tensors import as_tensor

Form = Callable[[Tensor], Any]

# Numbers in the largest temporary while forms are pulled back: 1 MB in float64. Larger ones are no
# faster.
_WORKING_SET = 1 << 17
# Coefficients of one form in the first call, before the number of forms is known.
_ONE_CALL = 1 << 14


def inner(omega: Form, eta: Form, field: GramField, degree: int = 1) -> Tensor:
    """Return ⟨ω, η⟩(p) = (Vᵀω)(p) · (Vᵀη)(p) at every point of a cloud.

    The pairing is symmetric, bilinear, and ≥ 0 for ω = η.

    Parameters
    ----------
    omega : callable
        A k-form ω: maps points (n, D) to coefficients (n, C(D, k)), as an array or a tensor.
    eta : callable
        A k-form η.
    field : GramField
        The Gram field of the cloud.
    degree : int, default 1
        k, the degree of the forms, at most D.

    Returns
    -------
    Tensor, shape (n,)

    Examples
    --------
    >>> import numpy as np, pointforms as pf
    >>> t = np.linspace(0, 2 * np.pi, 200, endpoint=False)
    >>> field = pf.gram_field(np.c_[np.cos(t), np.sin(t)], spectrum="projector")
    >>> dx = lambda points: np.tile([1.0, 0.0], (len(points), 1))
    >>> product = pf.inner(dx, dx, field)  # |dx|² = sin² t along the circle
    >>> bool(np.abs(product.numpy() - np.sin(t) ** 2).max() < 1e-3)
    True
    """
    _check_form(omega)
    _check_form(eta)
    blocks = _pulled(lambda p: (omega(p), eta(p)), field, degree)
    return _checked(torch.cat([_product(F) for _, F in blocks]))


def inner_global(
    omega: Form, eta: Form, field: GramField, degree: int = 1, measure: Measure = "uniform"
) -> Tensor:
    """Return ⟨⟨ω, η⟩⟩ = Σ_p μ(p) ⟨ω, η⟩(p), the pairing over a whole cloud.

    Parameters
    ----------
    omega : callable
        A k-form ω: maps points (n, D) to coefficients (n, C(D, k)), as an array or a tensor.
    eta : callable
        A k-form η.
    field : GramField
        The Gram field of the cloud.
    degree : int, default 1
        k, the degree of the forms, at most D.
    measure : {"uniform", "volume", "volume-normalized"}, default "uniform"
        Weights μ of the points, see :meth:`GramField.measure`.

    Returns
    -------
    Tensor, shape ()

    Examples
    --------
    >>> import numpy as np, pointforms as pf
    >>> t = np.linspace(0, 2 * np.pi, 200, endpoint=False)
    >>> field = pf.gram_field(np.c_[np.cos(t), np.sin(t)], spectrum="projector")
    >>> dx = lambda points: np.tile([1.0, 0.0], (len(points), 1))
    >>> round(float(pf.inner_global(dx, dx, field)), 3)  # the mean of sin² t
    0.5
    """
    return _checked(field.measure(measure) @ inner(omega, eta, field, degree))


def comparison_matrix(
    forms: Form, field: GramField, degree: int = 1, measure: Measure = "uniform"
) -> Tensor:
    """Return C_ab = Σ_p μ(p) ⟨ω_a, ω_b⟩(p) for a family of l forms.

    C is symmetric positive semidefinite and does not depend on the order of the points.

    Parameters
    ----------
    forms : callable
        A family of k-forms: maps points (n, D) to coefficients (n, l, C(D, k)), as an array or a
        tensor.
    field : GramField
        The Gram field of the cloud.
    degree : int, default 1
        k, the degree of the forms, at most D.
    measure : {"uniform", "volume", "volume-normalized"}, default "uniform"
        Weights μ of the points, see :meth:`GramField.measure`.

    Returns
    -------
    Tensor, shape (l, l)

    Examples
    --------
    >>> import numpy as np, pointforms as pf
    >>> t = np.linspace(0, 2 * np.pi, 200, endpoint=False)
    >>> field = pf.gram_field(np.c_[np.cos(t), np.sin(t)], spectrum="projector")
    >>> basis = lambda points: np.tile(np.eye(2), (len(points), 1, 1))  # dx and dy
    >>> bool(np.abs(pf.comparison_matrix(basis, field).numpy() - np.eye(2) / 2).max() < 1e-3)
    True
    """
    _check_form(forms)
    total: Tensor | None = None
    mu: Tensor | None = None
    for rows, F in _pulled(lambda p: (forms(p),), field, degree):
        mu = field.measure(measure).sqrt() if mu is None else mu
        weighted = (F * mu[rows, None, None]).transpose(0, 1).flatten(1)
        product = weighted @ weighted.T
        total = product if total is None else total + product
    assert total is not None
    return _checked(total)


def _checked(products: Tensor) -> Tensor:
    """Return products of forms if they are finite."""
    if not bool(torch.isfinite(products.detach()).all()):
        raise ValueError(
            f"products of the forms exceed the range of {products.dtype}: rescale the forms"
        )
    return products


def _product(F: Tensor) -> Tensor:
    """Return the pointwise products of two pulled-back forms (rows, 2, C)."""
    if F.shape[1] != 2:
        raise ValueError(
            f"omega and eta are {F.shape[1]} forms together: expected one each; "
            "comparison_matrix takes families of forms"
        )
    return (F[:, 0] * F[:, 1]).sum(-1)


def _check_form(form: object) -> None:
    if not callable(form):
        raise TypeError(
            f"a form is a {type(form).__name__}: expected a callable (n, D) -> (n, C(D, k))"
        )


def _pulled(
    forms: Callable[[Tensor], tuple[Any, ...]], field: GramField, degree: int
) -> Iterator[tuple[slice, Tensor]]:
    """Yield Vᵀω of all forms, (rows, l, C(r, k)), in blocks of points that limit memory."""
    if not isinstance(field, GramField):
        raise TypeError(f"field is a {type(field).__name__}: expected a GramField")
    if isinstance(degree, bool) or not isinstance(degree, Integral) or degree < 0:
        raise ValueError(f"degree={degree!r}: expected a whole number, at least 0")
    degree = int(degree)
    n, D, r = field.factor.shape
    check_degree(degree, D)
    # the number of forms is known only once they are evaluated
    size = max(1, _ONE_CALL // max(1, comb(D, degree)))
    start = 0
    while start < n:
        rows = slice(start, min(start + size, n))
        F = torch.cat(
            [_coefficients(out, field, rows, degree) for out in forms(field.points[rows])], 1
        )
        size = max(1, _WORKING_SET // _temporary(D, r, degree, F.shape[1]))
        for part in range(rows.start, rows.stop, size):
            block = slice(part, min(part + size, rows.stop))
            inside = slice(block.start - rows.start, block.stop - rows.start)
            yield block, pull(F[inside], field.factor[block], degree)
        start = rows.stop


def _coefficients(values: Any, field: GramField, rows: slice, degree: int) -> Tensor:
    """Check what a form returned for some rows and return it as (rows, l, C(D, k))."""
    n, D, _ = field.factor.shape
    C, m = comb(D, degree), rows.stop - rows.start
    F = as_tensor(values, "what a form returned", keep_gradient=True).to(field.factor)
    if len(F.shape) and F.shape[0] == n != m:  # a form that returned its values at all points
        F = F[rows]
    if F.shape == (m,) and degree == 0:
        F = F.unsqueeze(-1)
    if F.shape == (m, C):
        F = F.unsqueeze(1)
    if F.ndim != 3 or F.shape[0] != m or F.shape[2] != C:
        raise ValueError(
            f"a form of degree {degree} returned shape {tuple(F.shape)} for {m} points in R^{D}: "
            f"expected ({m}, {C}), or ({m}, l, {C}) for l forms"
        )
    if not bool(torch.isfinite(F.detach()).all()):
        raise ValueError(f"a form of degree {degree} returned values that are not finite")
    return F


def _temporary(D: int, r: int, degree: int, count: int) -> int:
    """Return the size per point of the largest temporary of :func:`pull`."""
    if degree == 0:
        return count
    unfolded = count * comb(D, degree - 1) * max(D, r)
    return max(1, unfolded, min(comb(D, degree) * comb(r, degree), COMPOUND_MAX))
