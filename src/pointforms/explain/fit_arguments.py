"""How `fit` of an estimator is given the groups and the weights of clouds."""

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
    names = _arguments(estimator, "groups")
    if not names:
        inside = estimator.get_params(deep=True).items()
        unreached = [name for name, value in inside if _arguments(value, "groups")]
        if unreached:
            warn_caller(
                f"groups do not reach {unreached[0]!r} of the {type(estimator).__name__}, whose "
                "fit takes none: refits divide clouds of one group inside of it"
            )
    return names


def argument_for_weights(estimator: Any) -> str:
    """Return the argument of `fit` that is to be the weights of clouds.

    In a pipeline, only its last step learns from weights.

    Parameters
    ----------
    estimator : estimator
        Any estimator on clouds.

    Examples
    --------
    >>> import pointforms as pf
    >>> from sklearn.pipeline import make_pipeline
    >>> argument_for_weights(make_pipeline(pf.CloudClassifier()))
    'cloudclassifier__sample_weight'
    """
    steps, learner = [], estimator
    while isinstance(learner, Pipeline):
        step, learner = learner.steps[-1]
        steps.append(step)
    if not _arguments(learner, "sample_weight"):
        raise ValueError(f"sample_weight: fit of {type(learner).__name__} takes no weights")
    return "__".join([*steps, "sample_weight"])


def _arguments(estimator: Any, name: str) -> list[str]:
    if isinstance(estimator, type) or not hasattr(estimator, "fit"):
        return []
    if isinstance(estimator, Pipeline):
        return [f"{step}__{one}" for step, own in estimator.steps for one in _arguments(own, name)]
    takes = name in inspect.signature(estimator.fit).parameters
    options = estimator.get_params(deep=False) if hasattr(estimator, "get_params") else {}
    return [name] if takes or options.keys() >= _SEARCH else []
