"""How well given forms are approximated by combinations of the learned ones."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal

import numpy as np
import torch

from pointforms.explain.coefficients import check_absolute, coefficients, layer_of, network_of
from pointforms.exterior import pull
from pointforms.geometry.field import GramField, Measure
from pointforms.pairing import Form


def span_correlation(
    model: Any,
    targets: Form | Sequence[Form],
    fields: Sequence[GramField],
    measure: Measure = "uniform",
    metric: Literal["data", "ambient"] = "data",
    degree: int | None = None,
) -> np.ndarray:
    """Return R = |projection of the target on span{ω_1 .. ω_l}| / |target| for each target.

    The span has constant coefficients, and lengths are those of L² over all points of all clouds,
    |η|² = Σ_clouds Σ_p μ(p) ⟨η, η⟩(p). R is 1 where a combination of the learned forms *is* the
    target, and the cosine of the angle between them otherwise.

    Compare R with that of an untrained model (PointFormTransformer with epochs=0): many random
    forms span smooth targets too (in the plane sixteen reach 0.99 for linear targets). See
    :func:`pointforms.explain.class_directions` for how a classifier uses its forms.

    Parameters
    ----------
    model : PointFormClassifier, PointFormRegressor, PointFormTransformer or PointFormNetwork
        A fitted model.
    targets : callable or sequence of callable
        One form (n, D) -> (n, C(D, k)), or several.
    fields : sequence of GramField
        Gram fields of the clouds.
    measure : str, default "uniform"
        The measure μ.
    metric : {"data", "ambient"}, default "data"
        "data" is ⟨·,·⟩_G, which sees only the part of a form along the cloud, all that a model can
        learn from; "ambient" is the product of coefficients, which also counts directions off the
        cloud.
    degree : int, optional
        Degree of the forms, for a model that has several.

    Returns
    -------
    (targets,) array

    Examples
    --------
    >>> import pointforms as pf
    >>> clouds = list(np.random.default_rng(0).normal(size=(4, 30, 2)))
    >>> model = pf.PointFormTransformer(forms=2, hidden=(4,), epochs=0, neighbors=8).fit(clouds)
    >>> own = pf.explain.form(model, 0)
    >>> pf.explain.span_correlation(model, own, pf.gram_fields(clouds, neighbors=8)).round(3)
    array([1.])
    """
    if metric not in ("data", "ambient"):
        raise ValueError(f"metric={metric!r}: expected 'data' or 'ambient'")
    check_absolute(model)
    wanted = [targets] if callable(targets) else list(targets)
    k = layer_of(network_of(model), degree).degree
    gram: torch.Tensor | None = None
    for i, field in enumerate(fields):
        if not isinstance(field, GramField):
            raise TypeError(f"item {i} is a {type(field).__name__}: expected a GramField")
        learned = torch.from_numpy(coefficients(model, field.points, degree))
        given = [torch.as_tensor(np.asarray(target(field.points))).double() for target in wanted]
        F = torch.cat([learned, *(g.reshape(len(field), 1, -1) for g in given)], 1)
        if metric == "data":
            F = pull(F, field.factor.double(), k)
        mu = field.measure(measure).double()
        product = torch.einsum("p,pai,pbi->ab", mu, F, F)
        gram = product if gram is None else gram + product
    if gram is None:
        raise ValueError("no fields were given")
    l = gram.shape[0] - len(wanted)
    A, B = gram[:l, :l].numpy(), gram[:l, l:].numpy()
    norms = gram.diagonal()[l:].numpy()
    # the projection's squared length, Bᵀ A⁺ B, with forms scaled alike so that none is cut off
    unit = np.sqrt(np.where(np.diag(A) > 0, np.diag(A), 1.0))
    scaled = B / unit[:, None]
    solved = np.linalg.pinv(A / np.outer(unit, unit), rcond=1e-10, hermitian=True) @ scaled
    share = (scaled * solved).sum(0) / np.where(norms > 0, norms, np.nan)
    correlation: np.ndarray = np.sqrt(np.clip(share, 0, 1))
    return correlation
