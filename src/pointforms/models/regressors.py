"""Regressors of clouds by name; the registry of models has classifiers only."""

from __future__ import annotations

from pkgutil import resolve_name
from typing import Any

from pointforms.support.suggestions import suggest

#: The class of each, as "module:class".
REGRESSORS = {
    "cloud-regressor": "pointforms.models.portfolio:CloudRegressor",
    "npf-regressor": "pointforms.estimators:PointFormRegressor",
}


def make_regressor(name: str, random_state: Any = None, **options: Any) -> Any:
    """Return an untrained regressor with `fit(clouds, y, groups)` and `predict(clouds)`.

    Parameters
    ----------
    name : str
        "cloud-regressor" or "npf-regressor".
    random_state : int, RandomState or None, default None
        Makes the fit repeat.
    **options
        Options of its class, such as `time_limit`. An unknown one raises an error.

    Examples
    --------
    >>> import pointforms as pf
    >>> type(pf.models.make_regressor("cloud-regressor", random_state=0)).__name__
    'CloudRegressor'
    """
    if name not in REGRESSORS:
        raise ValueError(f"no regressor {name!r}: {suggest(name, REGRESSORS)}")
    return resolve_name(REGRESSORS[name])(random_state=random_state, **options)
