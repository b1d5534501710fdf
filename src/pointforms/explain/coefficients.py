"""The learned forms themselves, in the coordinates of the data."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import torch
from sklearn.utils.validation import check_is_fitted
from torch import Tensor

from pointforms.estimators.point_form_estimator import PointFormEstimator
from pointforms.exterior import compound, multi_indices
from pointforms.nn.average import first_member
from pointforms.nn.network import PointFormNetwork
from pointforms.nn.point_forms import PointForms
from pointforms.tensors import as_tensor


def coefficients(model: Any, points: Any, degree: int | None = None) -> np.ndarray:
    """Return coefficients F_aI of the learned forms ω_a = Σ_I F_aI dx^I: (n, l, C(D, k)).

    x are the coordinates of the data. The network works in x̂ = (x - m) / s, where
    dx̂^I = dx^I / Π_{i in I} s_i; that factor is in the coefficients, so that with the Gram fields
    that the estimator prepares `pf.comparison_matrix` gives what its `comparison_matrices` gives.

    Of an estimator with several members, the forms are those of the first. With frame="cloud",
    "shape" or "batch", points are positions relative to the centre, with frame="shape" in units of
    the spread of the cloud.

    Parameters
    ----------
    model : PointFormClassifier, PointFormRegressor, PointFormTransformer or PointFormNetwork
        A fitted model.
    points : (n, D) array
        Where to evaluate the forms.
    degree : int, optional
        Degree of the forms, for a model that has several.

    Returns
    -------
    (n, l, C(D, k)) array

    Examples
    --------
    >>> import pointforms as pf
    >>> clouds = list(np.random.default_rng(0).normal(size=(4, 20, 3)))
    >>> model = pf.PointFormTransformer(forms=5, hidden=(4,), epochs=0, neighbors=8).fit(clouds)
    >>> pf.explain.coefficients(model, clouds[0]).shape
    (20, 5, 3)
    """
    network = network_of(model)
    layer = layer_of(network, degree)
    given = as_tensor(points, "points")
    if given.ndim != 2 or given.shape[1] != len(network.origin):
        raise ValueError(
            f"points have shape {tuple(given.shape)}: expected (n, {len(network.origin)})"
        )
    if network.frame == "both":
        raise ValueError(
            'the forms of a model with frame="both" depend on a point and on its cloud: '
            "expected another frame"
        )
    with torch.no_grad():
        F: np.ndarray = (
            evaluate(network, layer, given.to(network.mean.device)).double().cpu().numpy()
        )
    return F


def check_absolute(model: Any) -> None:
    """Raise an error unless the forms of a model are functions of absolute position."""
    network = network_of(model)
    if network.frame != "absolute":
        raise ValueError(
            f"the forms of a model with frame={network.frame!r} do not depend on position in the "
            'coordinates of the data: expected frame="absolute"'
        )


def form(model: Any, index: int, degree: int | None = None) -> Callable[[Any], np.ndarray]:
    """Return one learned form as a callable (n, D) -> (n, C(D, k)), as `pf.inner` takes it.

    Parameters
    ----------
    model : PointFormClassifier, PointFormRegressor, PointFormTransformer or PointFormNetwork
        A fitted model.
    index : int
        Which form; the first is 0.
    degree : int, optional
        Degree of the forms, for a model that has several.

    Returns
    -------
    callable

    Examples
    --------
    >>> import pointforms as pf
    >>> clouds = list(np.random.default_rng(0).normal(size=(4, 20, 3)))
    >>> model = pf.PointFormTransformer(forms=2, hidden=(4,), epochs=0, neighbors=8).fit(clouds)
    >>> omega = pf.explain.form(model, 0)
    >>> omega(clouds[0]).shape
    (20, 3)
    """
    count = layer_of(network_of(model), degree).forms
    if not 0 <= index < count:
        raise ValueError(f"index={index!r}: the model has {count} forms, 0 to {count - 1}")

    def omega(points: Any) -> np.ndarray:
        return coefficients(model, points, degree)[:, index]

    return omega


def network_of(model: Any) -> PointFormNetwork:
    """Return the network of a fitted estimator, or the network that was given."""
    if isinstance(model, PointFormEstimator):
        check_is_fitted(model, "model_")
        model = first_member(model.model_)
    if not isinstance(model, PointFormNetwork):
        raise TypeError(
            f"model is a {type(model).__name__}: expected a fitted estimator of point-forms or a "
            "PointFormNetwork"
        )
    return model


def layer_of(network: PointFormNetwork, degree: int | None) -> PointForms:
    """Return the forms of one degree, which may be omitted where there is only one."""
    layers = {layer.degree: layer for layer in network.point_forms()}
    if degree is None and len(layers) == 1:
        return next(iter(layers.values()))
    if degree is None or degree not in layers:
        raise ValueError(
            f"degree={degree!r}: the model's forms have degree {', '.join(map(str, layers))}"
        )
    return layers[degree]


def evaluate(network: PointFormNetwork, layer: PointForms, points: Tensor) -> Tensor:
    """Return coefficients of a layer's forms at points (..., D): (..., l, C(D, k)).

    For wedge forms (Σ α_1 ∧ ... ∧ α_k)_I = Σ det[α_a,i_b], the minors of the 1-forms.
    """
    # in double precision, since points far from 0 share their leading digits with the origin
    x = points.double()
    if network.frame == "absolute":
        x = x - network.origin
    return evaluate_read(network, layer, x / network.unit)


def evaluate_read(network: PointFormNetwork, layer: PointForms, read: Tensor) -> Tensor:
    """Return coefficients of a layer's forms, given what the network reads: (..., R)."""
    values: Tensor = layer.network((read.to(network.mean) - network.mean) / network.scale)
    if layer.wedge:
        one_forms = (values / network.unit).unflatten(-2, (layer.forms, layer.terms, layer.degree))
        return compound(one_forms, layer.degree).squeeze(-2).sum(-2)
    # dx^I in the units of the network is dx^I / Π_{i in I} unit_i in those of the data
    indices = multi_indices(len(network.unit), layer.degree).to(network.unit.device)
    return values / network.unit[indices].prod(-1)
