"""The point-forms of a portfolio, as explanations take them."""

from __future__ import annotations

from typing import Any

import numpy as np

from pointforms.explain.prediction import PooledForms
from pointforms.models.portfolio.heads import Head


def pooled_forms(portfolio: Any, clouds: Any) -> PooledForms:
    """Return the point-forms of a fitted portfolio, their weights, and its output for clouds.

    Parameters
    ----------
    portfolio : CloudPortfolio
        A fitted portfolio with point-forms among its parts.
    clouds : Clouds, or list of array-like or tensor, each of shape (n_i, D)
        The clouds.
    """
    for name, what in (("covariates_", "covariates"), ("batch_centers_", "batches")):
        if hasattr(portfolio, name):
            raise ValueError(
                f"the estimator was fitted with {what}: expected one that decides by clouds alone"
            )
    forms = {n: part for n, part in portfolio.parts_.items() if not isinstance(part, Head)}
    if not forms:
        raise ValueError(
            f"the parts are {', '.join(portfolio.parts_)}: expected forms among them, which are "
            "sums over points"
        )
    points = portfolio.prepare(clouds)
    portfolio._check_width(points[0].shape[1])
    fields = next(iter(forms.values())).prepare(points)
    predicted = portfolio._predict_parts(points, None, None, fields)
    pooled = portfolio.pool_.output(predicted)
    outputs = pooled.shape[1]
    numbers = hasattr(portfolio, "target_scale_")
    return PooledForms(
        fields,
        list(forms.values()),
        [portfolio.weights_[name] for name in forms],
        pooled,
        np.array(portfolio.target_scale_) if numbers else np.ones(outputs),
        np.array(portfolio.target_mean_) if numbers else np.zeros(outputs),
        list(forms),
    )
