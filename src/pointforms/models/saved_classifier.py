"""Classifiers on fixed features as a file has them: options, features, and a head."""

from __future__ import annotations

import os
from typing import Any, ClassVar, Self

import numpy as np
import torch
from pydantic import PositiveInt
from sklearn.base import clone
from sklearn.utils.validation import check_is_fitted

from pointforms.estimators import saving
from pointforms.estimators.saved_state import SavedState
from pointforms.estimators.saved_values import (
    Attribute,
    Labels,
    Names,
    pack,
    restore_estimator,
    restore_learned,
)
from pointforms.estimators.training_clouds import TRAINING_CLOUDS

_COLUMNS, _OUT_OF_FOLD = "columns", "out_of_fold"
_FEATURES, _HEAD = "features", "head"


class SavesHead:
    """A mixin for :class:`pointforms.models.classical.FeatureClassifier`: `save`, and loading."""

    _learned: ClassVar[dict[str, Attribute]] = {
        "n_features_in_": Attribute(PositiveInt),
        "feature_names_in_": Attribute(Names, length="features", optional=True),
        "classes_": Attribute(Labels),
        "chosen_": Attribute(dict[str, float | str]),
        "validation_loss_": Attribute(float),
        "fingerprints_": TRAINING_CLOUDS,
    }

    head: Any
    features_: Any
    head_: Any
    columns_: np.ndarray
    oof_predictions_: np.ndarray

    def save(self, folder: str | os.PathLike[str]) -> None:
        """Write the fitted classifier to a folder: safetensors and JSON, no pickle.

        :func:`pointforms.load` reads it. The classifier that it returns has arrays in place of the
        objects of scikit-learn in `head_`, and predicts the same, apart from rounding.

        Parameters
        ----------
        folder : path-like
            A folder that is empty, holds a saved model, or does not exist.
        """
        check_is_fitted(self, "head_")
        saving.save(self, folder)

    def _to_saved(self) -> SavedState:
        from pointforms.models.saved_features import saved_features
        from pointforms.models.saved_heads import as_arrays

        config = pack(self)
        config["options"].pop("features", None)  # an estimator, which is a part
        arrays = as_arrays(self.head, self.head_).arrays
        head = {name: torch.from_numpy(np.ascontiguousarray(a)) for name, a in arrays.items()}
        columns = torch.from_numpy(np.asarray(self.columns_, dtype=np.int64).copy())
        own = {_COLUMNS: columns}
        if hasattr(self, "oof_predictions_"):
            own[_OUT_OF_FOLD] = torch.from_numpy(self.oof_predictions_.copy())
        parts = {_FEATURES: saved_features(self.features_), _HEAD: SavedState({}, head)}
        return SavedState(config, own).with_parts(parts)

    @classmethod
    def _from_saved(cls, state: SavedState) -> Self:
        from pointforms.models.saved_features import restored_features
        from pointforms.models.saved_heads import HEADS

        own, parts = state.divided()
        out_of_fold = own.pop(_OUT_OF_FOLD, None)
        if own.keys() != {_COLUMNS} or parts.keys() != {_FEATURES, _HEAD}:
            raise ValueError("its configuration is damaged: expected columns, features and a head")
        features = restored_features(parts[_FEATURES])
        takes = "features" in cls._get_param_names()  # type: ignore[attr-defined]
        given = {"features": clone(features)} if takes else {}
        classifier = restore_estimator(cls, state.config, given)
        for name, value in restore_learned(cls, state.config, 0).items():
            setattr(classifier, name, value)
        if features.n_features_in_ != classifier.n_features_in_:
            raise ValueError(
                f"its features read {features.n_features_in_} features: expected "
                f"{classifier.n_features_in_}"
            )
        if out_of_fold is not None:
            classifier.oof_predictions_ = _checked_predictions(classifier, out_of_fold.numpy())
        columns = own[_COLUMNS].numpy()
        if columns.ndim != 1 or columns.dtype != np.int64 or (columns < 0).any():
            raise ValueError("its columns are damaged")
        arrays = {name: tensor.numpy() for name, tensor in parts[_HEAD].tensors.items()}
        classifier.features_, classifier.columns_ = features, columns
        classifier.head_ = HEADS[classifier.head].restored(
            arrays, len(columns), len(classifier.classes_)
        )
        restored: Self = classifier
        return restored


def _checked_predictions(classifier: Any, values: np.ndarray) -> np.ndarray:
    expected = len(getattr(classifier, "fingerprints_", [])), len(classifier.classes_)
    if values.shape != expected or values.dtype != np.float64 or np.isinf(values).any():
        raise ValueError(f"its out-of-fold predictions have shape {values.shape}, not {expected}")
    return values
