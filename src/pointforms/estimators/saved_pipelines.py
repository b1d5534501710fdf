"""Estimators as a file has them, alone or as the steps of a pipeline of scikit-learn."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from sklearn.pipeline import Pipeline
from sklearn.utils.validation import check_is_fitted

from pointforms.estimators.saved_state import SavedState
from pointforms.support.saved_classes import registered_class

_PIPELINE = "Pipeline"
_PASSTHROUGH = "passthrough"


def state_of(estimator: Any) -> SavedState:
    """Return everything that predictions of an estimator or pipeline need.

    A pipeline has its steps as parts, by their positions; their names may have any letters.
    """
    if isinstance(estimator, Pipeline):
        steps = {str(i): _state_of_step(*step) for i, step in enumerate(estimator.steps)}
        names = [name for name, _ in estimator.steps]
        return SavedState({"class": _PIPELINE, "options": {"names": names}}, {}).with_parts(steps)
    if not hasattr(estimator, "_to_saved"):
        raise ValueError(
            f"a {type(estimator).__name__} is no estimator of pointforms that can be saved"
        )
    state: SavedState = estimator._to_saved()
    return state


def restore_state(state: SavedState) -> Any:
    """Return the fitted estimator or pipeline that :func:`state_of` was given, on the CPU."""
    if state.config.get("class") != _PIPELINE:
        return registered_class(state.config.get("class"))._from_saved(state)
    names = _names(state.config)
    own, parts = state.divided()
    if own or list(parts) != [str(i) for i in range(len(names))]:
        raise ValueError("its configuration is damaged: steps and their names differ")
    steps = []
    for name, part in zip(names, parts.values(), strict=True):
        kind = part.config.get("class")
        if kind == _PIPELINE:
            raise ValueError(f"step {name!r} is a pipeline: expected an estimator")
        steps.append((name, _PASSTHROUGH if kind == _PASSTHROUGH else restore_state(part)))
    return Pipeline(steps)


def parts_of(estimator: Any, config: Mapping[str, Any]) -> Iterator[tuple[Any, Mapping[str, Any]]]:
    """Return an estimator, or the steps of a pipeline, with the configuration of each."""
    if not isinstance(estimator, Pipeline):
        yield estimator, config
        return
    for (_, step), own in zip(estimator.steps, config["parts"].values(), strict=True):
        if step != _PASSTHROUGH:
            yield step, own


def _state_of_step(name: str, step: Any) -> SavedState:
    if step is None or step == _PASSTHROUGH:
        return SavedState({"class": _PASSTHROUGH, "options": {}}, {})
    if isinstance(step, Pipeline) or not hasattr(step, "_to_saved"):
        raise ValueError(
            f"its step {name!r} is a {type(step).__name__}: expected estimators of pointforms"
        )
    check_is_fitted(step)
    return state_of(step)


def _names(config: Mapping[str, Any]) -> list[str]:
    options = config.get("options")
    names: Any = options.get("names") if isinstance(options, dict) else None
    valid = isinstance(names, list) and names and all(isinstance(name, str) for name in names)
    if not valid or len(set(names)) < len(names) or any("__" in name for name in names):
        raise ValueError("its configuration is damaged: no names of steps")
    return [str(name) for name in names]
