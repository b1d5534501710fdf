"""Fitted point-form estimators as a file has them: options, fitted attributes, and weights."""

from __future__ import annotations

from typing import Any

import torch
from sklearn.base import ClassifierMixin
from torch import Tensor

from pointforms.estimators.saved_state import SavedState
from pointforms.estimators.saved_values import (
    pack,
    restore_estimator,
    restore_learned,
    restore_weights_of_format_1,
)
from pointforms.estimators.training_clouds import check_held_out, check_training_groups
from pointforms.geometry.choice import USUAL_NEIGHBORS
from pointforms.geometry.settings import GramSettings
from pointforms.nn.average import AverageNetwork
from pointforms.support.blame import warn_caller

# How the names of the weights of members begin, before their number.
_MEMBERS = "members."
# Options that models of version 0.2.0 and older do not name, as they were then.
_OPTIONS_BEFORE: dict[str, Any] = {"scale": None, "frame": "absolute", "members": 1}


def save_network(estimator: Any) -> SavedState:
    """Return a fitted estimator as a file has it."""
    return SavedState(pack(estimator), estimator.model_.state_dict())


def restore_network(cls: Any, state: SavedState) -> Any:
    """Return the point-form estimator that :func:`save_network` was given, on the CPU.

    The network gets memory only once all weights have the shapes that the options describe.
    """
    estimator = _without_network(cls, state)
    return _with_weights(estimator, _network(estimator, state.tensors), state)


def restore_baseline(cls: Any, state: SavedState) -> Any:
    """Return the classifier by another network that :func:`save_network` was given, on the CPU."""
    estimator = restore_estimator(cls, state.config)
    for attribute, value in restore_learned(cls, state.config, 0).items():
        setattr(estimator, attribute, value)
    _check_units(estimator)
    network = _described_network(estimator, state.tensors, len(estimator.classes_))
    return _with_weights(estimator, network, state)


def _with_weights(estimator: Any, network: torch.nn.Module, state: SavedState) -> Any:
    for name, values in state.tensors.items():
        if not torch.isfinite(values).all():
            raise ValueError(f"its weights {name!r} are not finite")
    check_training_groups(estimator)
    if hasattr(estimator, "held_out_"):
        clouds = len(getattr(estimator, "training_clouds_", []))
        check_held_out(estimator.held_out_, clouds, len(getattr(network, "members", [])))
    network.load_state_dict(state.tensors, assign=True)
    estimator.model_ = network.eval()
    return estimator


def _without_network(cls: Any, state: SavedState) -> Any:
    """Return the estimator of a configuration, without its network."""
    estimator = restore_estimator(cls, state.config, _OPTIONS_BEFORE)
    outputs = _outputs(estimator, state.tensors)
    learned = restore_learned(cls, state.config, outputs)
    if state.config.get("format") == 1:
        restore_weights_of_format_1(estimator, learned)
    for attribute, value in learned.items():
        setattr(estimator, attribute, value)
    if not hasattr(estimator, "neighbors_"):  # of version 0.2.0 or older
        estimator.neighbors_ = estimator.neighbors
        if estimator.neighbors == "auto":
            estimator.neighbors_ = USUAL_NEIGHBORS
            warn_caller(
                "this model was saved by a version that chose the neighbours of each cloud: it "
                f"now uses {USUAL_NEIGHBORS} for all, and predicts differently. Fit it again"
            )
    fitted = {**estimator.get_params(deep=False), "dimension": estimator.dimension_}
    GramSettings.among(fitted).check_width(estimator.components or estimator.n_features_in_)
    _check_units(estimator)
    return estimator


def _check_units(estimator: Any) -> None:
    """Raise an error unless the units of the features fit together."""
    learned = [hasattr(estimator, name) for name in ("center_", "unit_")]
    if learned[0] != learned[1] or learned[0] != estimator._learns_units():
        raise ValueError("its units do not fit its options")
    if learned[0] and not (estimator.unit_ > 0).all():
        raise ValueError("attribute unit_: expected positive numbers")
    axes = getattr(estimator, "axes_", None)
    if (axes is not None) != (estimator.components is not None):
        raise ValueError("attribute axes_ does not fit components")
    widths = {len(row) for row in axes or ()}
    if axes is not None and (
        len(axes) != estimator.components or widths != {estimator.n_features_in_}
    ):
        raise ValueError(
            f"attribute axes_: expected {estimator.components} rows of "
            f"{estimator.n_features_in_} numbers"
        )
    width = estimator.components or estimator.n_features_in_
    centers = getattr(estimator, "batch_centers_", {})
    if bool(centers) != (estimator.frame == "batch"):
        raise ValueError("attribute batch_centers_ does not fit frame")
    if any(len(center) != width for center in centers.values()):
        raise ValueError(f"attribute batch_centers_: expected {width} numbers per batch")


def _network(estimator: Any, tensors: dict[str, Tensor]) -> torch.nn.Module:
    """Return the network of an estimator without memory for its weights, which fit the tensors."""
    # no file has so many coefficients, and counting them would take long
    features = estimator.n_features_in_
    if estimator.coefficients == "dense":
        for degree in estimator.degrees():
            if min(degree, features - degree) > 62:
                raise ValueError(f"degree={degree} is too high for {features} features")
    if max(len(estimator.hidden), len(estimator.degrees())) > len(tensors):
        raise ValueError("its options describe more layers than it has weights")
    return _described_network(estimator, tensors, _outputs(estimator, tensors))


def _described_network(estimator: Any, tensors: dict[str, Tensor], outputs: int) -> torch.nn.Module:
    """Return a network without memory for its weights, whose shapes are those of the tensors."""
    members = {name.split(".")[1] for name in tensors if name.startswith(_MEMBERS)}
    with torch.device("meta"):
        network: torch.nn.Module = estimator._new_model(outputs)
        if members:
            if len(tensors) < len(members) * len(network.state_dict()):
                raise ValueError(f"it has too few weights for {len(members)} members")
            networks = [network] + [estimator._new_model(outputs) for _ in range(len(members) - 1)]
            network = AverageNetwork(networks, isinstance(estimator, ClassifierMixin))
        network = network.to(getattr(torch, estimator.dtype))
    expected = network.state_dict()
    for name in ("origin", "unit"):  # older models have neither: 0 and 1
        if name not in tensors and not members:
            expected.pop(name, None)
    for name in sorted(expected.keys() | tensors.keys()):
        if name not in expected:
            raise ValueError(f"it has weights {name!r}, which its options do not describe")
        found, described = _described(_tensor(tensors, name)), _described(expected[name])
        if found != described:
            raise ValueError(f"its weights {name!r} are {found}: its options describe {described}")
    return network


def _outputs(estimator: Any, tensors: dict[str, Tensor]) -> int:
    """Return the number of outputs: one per entry of the last bias."""
    name = "head.2.bias" if estimator.head else "head.0.bias"
    bias = _tensor(tensors, name if name in tensors else f"{_MEMBERS}0.{name}")
    if bias.ndim != 1:
        raise ValueError(f"its weights {name!r} are {_described(bias)}: expected one axis")
    return len(bias)


def _tensor(tensors: dict[str, Tensor], name: str) -> Tensor:
    if name not in tensors:
        raise ValueError(f"it has no weights {name!r}, which its options describe")
    return tensors[name]


def _described(tensor: Tensor) -> str:
    return f"{str(tensor.dtype).removeprefix('torch.')} of shape {tuple(tensor.shape)}"
