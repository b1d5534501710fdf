"""Portfolios as a file has them: options, fitted attributes, weights of the parts, and the parts.

Each part is saved as it would be alone. What a file says about one part must fit the others.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import asdict
from typing import Any, ClassVar, Literal, Self

import numpy as np
import torch
from pydantic import FiniteFloat, PositiveInt, TypeAdapter, ValidationError
from sklearn.base import is_classifier
from torch import Tensor

from pointforms.estimators import PointFormClassifier, PointFormRegressor
from pointforms.estimators.covariates import CovariateColumn, covariate_names
from pointforms.estimators.saved_state import SavedState
from pointforms.estimators.saved_values import (
    Attribute,
    Names,
    pack,
    restore_estimator,
    restore_learned,
)
from pointforms.estimators.saves_itself import SavesItself
from pointforms.estimators.training_clouds import (
    TRAINING_CLOUDS,
    TRAINING_GROUPS,
    check_training_groups,
)
from pointforms.geometry.settings import GramSettings
from pointforms.models.portfolio.array_checks import Expected, check_range, checked_arrays
from pointforms.models.portfolio.contributions import Contribution
from pointforms.models.portfolio.fold_models import FoldModels
from pointforms.models.portfolio.heads import HEADS, Head
from pointforms.models.portfolio.pooling import Pool
from pointforms.summaries import PooledSummaries

_CONTRIBUTIONS = TypeAdapter(dict[Literal["geometry", "summaries"], Contribution])
_POOL = {
    "weights": Expected("float64", ("parts",)),
    "constant": Expected("float64", ("outputs",)),
}
_LARGEST_WEIGHT = 1e6
# The tensor with the predictions for training clouds, which are NaN for clouds of weight 0.
_OUT_OF_FOLD = "oof_predictions"
# How the names of the tensors begin that say which models have not seen a training cloud.
_FOLD_MODELS = "fold_models."


class SavesPortfolio(SavesItself):
    """A mixin for portfolios that can be saved."""

    _fitted_attribute = "pool_"
    # Attributes of a fitted portfolio that are saved beside its parts.
    _learned: ClassVar[dict[str, Attribute]] = {
        "n_features_in_": Attribute(PositiveInt),
        "feature_names_in_": Attribute(Names, length="features", optional=True),
        "batch_centers_": Attribute(dict[Any, list[FiniteFloat]], optional=True),
        "covariates_": Attribute(list[CovariateColumn], optional=True),
        "oof_score_": Attribute(FiniteFloat),
        "oof_scores_": Attribute(dict[str, FiniteFloat]),
        "part_scores_": Attribute(dict[str, dict[str, FiniteFloat]]),
        "training_clouds_": TRAINING_CLOUDS,
        "training_groups_": TRAINING_GROUPS,
    }

    device: str
    contributions_: dict[str, Contribution]
    oof_predictions_: np.ndarray
    parts_: dict[str, Any]
    pool_: Pool
    fold_models_: FoldModels

    @property
    def weights_(self) -> dict[str, float]:
        """The weight of each part, and of a constant prediction."""
        return dict(zip(self.parts_, self.pool_.weights[:-1].tolist(), strict=True))

    def _to_saved(self) -> SavedState:
        contributions = {name: asdict(one) for name, one in self.contributions_.items()}
        tensors = {
            "pool.weights": self.pool_.weights,
            "pool.constant": self.pool_.constant,
            _OUT_OF_FOLD: self.oof_predictions_,
        }
        if hasattr(self, "fold_models_"):
            arrays = self.fold_models_.arrays()
            tensors |= {f"{_FOLD_MODELS}{name}": array for name, array in arrays.items()}
        own = SavedState(
            {**pack(self), "contributions": contributions},
            {name: torch.from_numpy(array) for name, array in tensors.items()},
        )
        return own.with_parts({name: _saved_part(part) for name, part in self.parts_.items()})

    @classmethod
    def _from_saved(cls, state: SavedState) -> Self:
        tensors, parts = state.divided()
        portfolio = restore_estimator(cls, state.config)
        out_of_fold = tensors.pop(_OUT_OF_FOLD, None)
        by_fold = {
            name.removeprefix(_FOLD_MODELS): tensors.pop(name).numpy()
            for name in list(tensors)
            if name.startswith(_FOLD_MODELS)
        }
        portfolio.pool_ = _restored_pool(tensors, len(parts), is_classifier(portfolio))
        outputs = len(portfolio.pool_.constant)
        for attribute, value in restore_learned(cls, state.config, outputs).items():
            setattr(portfolio, attribute, value)
        check_training_groups(portfolio)
        width = portfolio.n_features_in_
        centers = getattr(portfolio, "batch_centers_", None)
        if centers is not None and {len(center) for center in centers.values()} != {width}:
            raise ValueError(f"attribute batch_centers_: expected {width} numbers per batch")
        portfolio.parts_ = _restored_parts(portfolio, parts, outputs)
        portfolio.contributions_ = _restored_contributions(state.config)
        portfolio.oof_predictions_ = _restored_out_of_fold(portfolio, out_of_fold, outputs)
        if by_fold:  # models of version 0.2.0 and older lack it
            portfolio.fold_models_ = FoldModels.from_arrays(by_fold, len(parts), outputs)
            _check_folds(portfolio)
        restored: Self = portfolio
        return restored

    def _to_device(self) -> None:
        for part in networks_of(self.parts_):
            part.device = self.device
            part._to_device()


def networks_of(parts: Mapping[str, Any]) -> list[Any]:
    """Return the parts that are networks."""
    return [part for part in parts.values() if not isinstance(part, Head)]


def _saved_part(part: Any) -> SavedState:
    if isinstance(part, Head):
        arrays = part.arrays()
        return SavedState({}, {name: torch.from_numpy(arrays[name]) for name in arrays})
    saved: SavedState = part._to_saved()
    return saved


def _restored_pool(tensors: dict[str, Tensor], parts: int, probabilities: bool) -> Pool:
    arrays = {name.removeprefix("pool."): value.numpy() for name, value in tensors.items()}
    checked, sizes = checked_arrays(arrays, _POOL, {"parts": parts + 1})
    check_range("weights", checked["weights"][:-1], 0, _LARGEST_WEIGHT)
    check_range("weights", checked["weights"], -_LARGEST_WEIGHT, _LARGEST_WEIGHT)
    if probabilities and sizes["outputs"] < 2:
        raise ValueError("array 'constant' has one entry: expected one per class")
    return Pool(checked["weights"], checked["constant"], probabilities)


def _restored_parts(
    portfolio: Any, states: Mapping[str, SavedState], outputs: int
) -> dict[str, Any]:
    unknown = [name for name in states if name not in portfolio.parts]
    if unknown or not states:
        named = repr(unknown[0]) if unknown else "nothing"
        raise ValueError(f"its parts have {named}: expected some of {', '.join(portfolio.parts)}")
    restored: dict[str, Any] = {}
    for name, state in states.items():
        try:
            restore = _restored_head if name in HEADS else _restored_network
            restored[name] = restore(name, state, portfolio, outputs)
        except ValueError as error:
            raise ValueError(f"part {name!r}: {error}") from None
    _check_shared_geometry(networks_of(restored))
    return restored


def _restored_head(name: str, state: SavedState, portfolio: Any, outputs: int) -> Head:
    arrays = {key: value.numpy() for key, value in state.tensors.items()}
    head = HEADS[name].from_arrays(arrays, outputs if is_classifier(portfolio) else None)
    width = PooledSummaries().width(portfolio.n_features_in_)
    width += len(covariate_names(getattr(portfolio, "covariates_", [])))
    if (head.features, head.outputs) != (width, outputs):
        raise ValueError(
            f"it reads {head.features} summaries and has {head.outputs} outputs: expected {width} "
            f"and {outputs}"
        )
    return head


def _restored_network(name: str, state: SavedState, portfolio: Any, outputs: int) -> Any:
    kind: Any = PointFormClassifier if is_classifier(portfolio) else PointFormRegressor
    if state.config.get("class") != kind.__name__:
        raise ValueError(f"it is a {state.config.get('class')!r}: expected a {kind.__name__!r}")
    part = kind._from_saved(state)
    if part.n_features_in_ != portfolio.n_features_in_:
        raise ValueError(
            f"it has {part.n_features_in_} features: expected {portfolio.n_features_in_}"
        )
    if hasattr(part, "covariates_") or part.frame == "batch":
        raise ValueError("it reads more than clouds")
    if is_classifier(portfolio):
        if not np.array_equal(part.classes_, portfolio.classes_):
            raise ValueError("its classes are not those of the portfolio")
    elif part.single_target_ or len(part.target_mean_) != outputs:
        raise ValueError(f"it has {len(part.target_mean_)} outputs: expected {outputs}")
    part.device = portfolio.device
    return part


def _check_shared_geometry(networks: Iterable[Any]) -> None:
    """Raise an error unless all networks can read the Gram fields of the first."""
    described = [
        (
            GramSettings.among(part.get_params(deep=False)),
            (part.scale, part.components, part.neighbors_, part.dimension_),
            *(np.ravel(getattr(part, name, [])).tolist() for name in ("center_", "unit_", "axes_")),
        )
        for part in networks
    ]
    if any(one != described[0] for one in described):
        raise ValueError("its networks do not have one geometry")


def _check_folds(portfolio: Any) -> None:
    """Raise an error unless every part has one model per fold, and every cloud a fold."""
    own, clouds = portfolio.fold_models_, len(getattr(portfolio, "training_clouds_", []))
    if len(own.folds) != clouds:
        raise ValueError(f"it has folds of {len(own.folds)} clouds: expected {clouds}")
    for name, part in portfolio.parts_.items():
        if isinstance(part, Head):
            count = len(part.arrays()["scale"])
        else:
            count = len(getattr(part.model_, "members", []))
        if count != len(own.weights):
            raise ValueError(
                f"part {name!r} has {count} models: expected {len(own.weights)}, one per fold"
            )


def _restored_contributions(config: Mapping[str, Any]) -> dict[str, Contribution]:
    try:
        text = json.dumps(config.get("contributions"))
        found = _CONTRIBUTIONS.validate_json(text, strict=True)
    except ValidationError as error:
        raise ValueError(f"its contributions are damaged: {error.errors()[0]['msg']}") from None
    return {str(name): one for name, one in found.items()}


def _restored_out_of_fold(portfolio: Any, tensor: Tensor | None, outputs: int) -> np.ndarray:
    if tensor is None or tensor.dtype != torch.float64 or not tensor.ndim:
        raise ValueError("its out-of-fold predictions are missing")
    expected: tuple[int, ...] = (len(tensor), outputs)
    if not is_classifier(portfolio) and portfolio.single_target_:
        expected = expected[:1]
    if tuple(tensor.shape) != expected:
        raise ValueError(
            f"its out-of-fold predictions have shape {tuple(tensor.shape)}: expected {expected}"
        )
    values: np.ndarray = tensor.numpy()
    if np.isinf(values).any():
        raise ValueError("its out-of-fold predictions are not finite")
    return values
