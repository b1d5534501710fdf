"""PointFormTransformer: comparison features of clouds, for any estimator in a pipeline."""

from __future__ import annotations

from typing import Any, Self

import numpy as np
from sklearn.base import TransformerMixin
from sklearn.utils.multiclass import type_of_target

from pointforms.estimators.point_form_estimator import PointFormEstimator
from pointforms.estimators.prediction import apply
from pointforms.estimators.targets import ClassTargets, NumberTargets, Targets
from pointforms.estimators.trainer import Fit, Fitted


class PointFormTransformer(TransformerMixin, PointFormEstimator):  # type: ignore[misc]
    """Turn clouds into vectors: readouts of the comparison matrices of forms.

    With labels or numbers `y`, `fit` learns the forms as a classifier or regressor of y does.
    Without them, or with epochs=0, the forms are random.

    Parameters
    ----------
    [options of PointFormEstimator]

    Attributes
    ----------
    model_ : PointFormNetwork
        The network whose readouts are the features.
    n_features_in_ : int
        Number of features of the clouds, D.
    dimension_ : int
        The intrinsic dimension that all Gram fields share.
    history_ : list of dict
        Losses of each epoch: "train", the weighted loss that its steps minimised, and
        "validation", the mean loss of the validation clouds after it, without weights. Empty for
        random forms.
    best_epoch_ : int
        The epoch whose parameters were kept.

    Examples
    --------
    >>> import pointforms as pf
    >>> task = pf.tasks.load("circles-vs-lines", clouds=40, points=32)
    >>> transformer = pf.PointFormTransformer(forms=4, epochs=0, random_state=0)
    >>> transformer.fit_transform(task.clouds).shape  # the upper triangle of 4 × 4 matrices
    (40, 10)
    """

    _fewest_epochs = 0

    def fit(self, clouds: Any, y: Any = None, groups: Any = None) -> Self:
        """Learn the forms from y, or draw them at random.

        Parameters
        ----------
        clouds : Clouds, or list of array-like or tensor, each of shape (n_i, D)
            The training clouds, or their Gram fields.
        y : array-like, shape (N,) or (N, targets), or None, default None
            Labels or numbers; None draws random forms.
        groups : array-like, shape (N,), or None, default None
            Clouds of one group stay on one side of the validation split.

        Returns
        -------
        Self
            The fitted transformer.
        """
        self.check_options()
        clouds = list(clouds)
        if y is None or self.epochs == 0:
            self._draw_forms(clouds)
            return self
        kind = NumberTargets if type_of_target(y).startswith("continuous") else ClassTargets
        targets: Targets = kind.of(y, len(clouds), self.class_weight)
        self._fit(clouds, targets, groups)
        return self

    def _draw_forms(self, clouds: list[Any]) -> None:
        store = self.make_store(self._prepare_for_fit(clouds))
        self.n_features_in_ = store.features
        everything = Fit(np.arange(len(clouds)), np.arange(0), self._seed())
        self.keep(Fitted(self._make_model(store, 1, everything), best_epoch=0))

    def transform(self, clouds: Any) -> np.ndarray:
        """Compute the readouts of the comparison matrices.

        Parameters
        ----------
        clouds : Clouds, or list of array-like or tensor, each of shape (n_i, D)
            The clouds, or their Gram fields.

        Returns
        -------
        ndarray, shape (N, features)
            One row per cloud.
        """
        store = self._prediction_store(clouds)
        readouts = apply(self.model_, store, self.model_.features)
        features: np.ndarray = readouts.double().cpu().numpy()
        return features
