"""How `fit` of an estimator is given the groups of clouds."""

from __future__ import annotations

import inspect
from typing import Any

from sklearn.pipeline import Pipeline

from pointforms.support.blame import warn_caller

# Options by which searches such as GridSearchCV are recognised.
_SEARCH = {"estimator", "cv", "refit"}


def arguments_for_groups(estimator: Any) -> list[str]:
    """Return the arguments of `fit` that are to be the groups; warn if they cannot be given.

    A search for options takes them for its folds, a pipeline for those of its steps that take
    groups. Estimators that have no use for groups are not given any.

    Parameters
    ----------
    estimator : estimator
        Any estimator on clouds.

    Examples
    --------
    >>> import pointforms as pf
    >>> from sklearn.pipeline import make_pipeline
    >>> arguments_for_groups(make_pipeline(pf.CloudClassifier()))
    ['cloudclassifier__groups']
    """
    names = _arguments(estimator)
    if not names:
        inside = estimator.get_params(deep=True).items()
        unreached = [name for name, value in inside if _arguments(value)]
        if unreached:
            warn_caller(
                f"groups do not reach {unreached[0]!r} of the {type(estimator).__name__}, whose "
                "fit takes none: refits divide clouds of one group inside of it"
            )
    return names


def _arguments(estimator: Any) -> list[str]:
    if isinstance(estimator, type) or not hasattr(estimator, "fit"):
        return []
    if isinstance(estimator, Pipeline):
        return [f"{step}__{name}" for step, own in estimator.steps for name in _arguments(own)]
    takes = "groups" in inspect.signature(estimator.fit).parameters
    options = estimator.get_params(deep=False) if hasattr(estimator, "get_params") else {}
    return ["groups"] if takes or options.keys() >= _SEARCH else []
