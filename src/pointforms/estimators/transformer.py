"""PointFormTransformer: comparison features of clouds, for any estimator in a pipeline."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Any, Self

import numpy as np
import torch
from sklearn.base import ClassNamePrefixFeaturesOutMixin, TransformerMixin

from pointforms.clouds import cloud_list
from pointforms.estimators.batch_centers import learn_batch_centers
from pointforms.estimators.fits import Fit, Fitted
from pointforms.estimators.per_cloud import check_groups, check_order, checked_weights
from pointforms.estimators.point_form_estimator import PointFormEstimator
from pointforms.estimators.prediction import apply
from pointforms.estimators.targets import targets_of
from pointforms.geometry.stream import points_of
from pointforms.nn.average import AverageNetwork
from pointforms.support.options import Bounds
from pointforms.support.threads import one_thread


class PointFormTransformer(
    ClassNamePrefixFeaturesOutMixin,  # type: ignore[misc]
    TransformerMixin,  # type: ignore[misc]
    PointFormEstimator,
):
    """Turn clouds into vectors: readouts of the comparison matrices of forms.

    With labels or numbers `y`, `fit` learns the forms as a classifier or regressor of y does.
    Without them, or with epochs=0, the forms are random.

    Parameters
    ----------
    [options of PointFormEstimator]

    Attributes
    ----------
    model_ : PointFormNetwork or AverageNetwork
        The network whose readouts are the features, or several of them as members.
    oof_predictions_ : ndarray, shape (N, C), (N,) or (N, targets)
        Where several networks hold out parts of the training clouds: the prediction for each cloud
        by those that used it neither for training nor for choosing their epoch; NaN for a cloud of
        weight 0. It is not saved.
    history_ : list of dict
        Losses of each epoch: "train", the weighted loss that its steps minimised, and
        "validation", the mean loss of the validation clouds after it, without weights. Empty for
        random forms.
    training_clouds_ : list of str
        Fingerprints of the clouds of `fit`, by which `training_positions` finds them again; there
        are none for random forms.
    [attributes of PointFormEstimator]

    Examples
    --------
    >>> import pointforms as pf
    >>> task = pf.tasks.load("circles-vs-lines", clouds=40, points=32)
    >>> transformer = pf.PointFormTransformer(forms=4, epochs=0, random_state=0)
    >>> transformer.fit_transform(task.clouds).shape  # the upper triangle of 4 × 4 matrices
    (40, 10)
    """

    epochs: Annotated[int, Bounds(at_least=0)]

    def fit(
        self,
        clouds: Any,
        y: Any = None,
        groups: Any = None,
        sample_weight: Any = None,
        batch: Any = None,
    ) -> Self:
        """Learn the forms from y, or draw them at random.

        Parameters
        ----------
        clouds : Clouds, or list of array-like or tensor, each of shape (n_i, D)
            The training clouds, or their Gram fields.
        y : array-like, shape (N,) or (N, targets), or None, default None
            Labels or numbers; None draws random forms.
        groups : array-like, shape (N,), or None, default None
            Clouds of one group stay on one side of the validation split.
        sample_weight : array-like, shape (N,), or None, default None
            Weights of the clouds in the training loss, of which only the ratios matter. A cloud of
            weight 0 is neither trained nor validated on. The validation loss has no weights.
            Random forms do not depend on weights.
        batch : array-like, shape (N,), or None, default None
            The batch in which each cloud was measured, for frame="batch".

        Returns
        -------
        Self
            The fitted transformer.
        """
        self.check_options()
        clouds = cloud_list(clouds)
        check_order(clouds, y=y, groups=groups, sample_weight=sample_weight, batch=batch)
        if y is None or self.epochs == 0:
            check_groups(groups, len(clouds))
            checked_weights(sample_weight, len(clouds))
            with one_thread():
                self._draw_forms(clouds, self._checked_batch(batch, len(clouds)))
            return self
        targets = targets_of(y, len(clouds), self.class_weight, sample_weight)
        with one_thread():
            self._fit(clouds, targets, groups, batch=batch)
        return self

    def _draw_forms(self, clouds: Sequence[Any], batch: np.ndarray | None) -> None:
        self._keep_names(clouds)
        self._forget("batch_centers_", "covariates_", "oof_predictions_")
        self._forget("held_out_", "training_clouds_", "training_groups_")
        self.adapt(clouds, batch)
        prepared = self._stream(clouds)
        if batch is not None:
            self.batch_centers_ = learn_batch_centers(points_of(prepared), batch)
        store = self.make_store(prepared, centers=self._centers(prepared, batch))
        if self.components is None:
            self.n_features_in_ = store.features
        everything, seed = np.arange(len(clouds)), self._seed()
        networks = [
            self._make_model(store, 1, Fit(everything, np.arange(0), seed + i))
            for i in range(self.members)
        ]
        model = networks[0] if len(networks) == 1 else AverageNetwork(networks, False)
        self.keep(Fitted(model, best_epoch=0))

    def _networks(self) -> list[Any]:
        return list(getattr(self.model_, "members", [self.model_]))

    @property
    def _n_features_out(self) -> int:
        return sum(int(network.head[0].in_features) for network in self._networks())

    def transform(self, clouds: Any, batch: Any = None) -> np.ndarray:
        """Compute the readouts of the comparison matrices.

        Those of several members are concatenated.

        Parameters
        ----------
        clouds : Clouds, or list of array-like or tensor, each of shape (n_i, D)
            The clouds, or their Gram fields.
        batch : array-like, shape (N,), or None, default None
            Batches, for frame="batch". One that `fit` has not seen is centred by its own clouds.

        Returns
        -------
        ndarray, shape (N, features)
            One row per cloud.
        """
        with one_thread():
            store = self._prediction_store(clouds, batch=batch)
            readouts = [apply(network, store, network.features) for network in self._networks()]
        features: np.ndarray = torch.cat(readouts, 1).double().cpu().numpy()
        return features
