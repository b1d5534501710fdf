"""How a fitted portfolio predicts: by all models, or by those that held a training cloud out."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from scipy.special import softmax
from sklearn.utils.validation import check_is_fitted
from torch import Tensor

from pointforms.clouds import cloud_list, plain_clouds
from pointforms.estimators.batch_centers import batch_centers
from pointforms.estimators.covariates import CovariateColumn, encode_covariates
from pointforms.estimators.member_outputs import predict_member
from pointforms.estimators.per_cloud import one_per_cloud
from pointforms.estimators.training_clouds import KnowsTrainingClouds
from pointforms.explain.prediction import PooledForms
from pointforms.models.portfolio.fold_models import FoldModels
from pointforms.models.portfolio.form_parts import pooled_forms
from pointforms.models.portfolio.heads import Head
from pointforms.models.portfolio.pooling import Pool
from pointforms.models.portfolio.saved_portfolio import networks_of
from pointforms.summaries import PooledSummaries
from pointforms.support.cloud_estimator import TakesClouds
from pointforms.weights import keep_weights


class PredictsByParts(KnowsTrainingClouds, TakesClouds):
    """A mixin for portfolios: predictions of fitted parts, and of the pool."""

    parts_: dict[str, Any]
    pool_: Pool
    fold_models_: FoldModels
    batch_centers_: Any
    covariates_: list[CovariateColumn]

    def prepare(self, clouds: Any) -> list[Tensor]:
        """Return the clouds, checked; a portfolio computes everything else in `fit`."""
        return plain_clouds(self._by_name(cloud_list(clouds)))

    # --- fitting ----------------------------------------------------------------------------

    def _predict(self, clouds: Any, covariates: Any, batch: Any) -> np.ndarray:
        """Return pooled predictions, probabilities or standardised numbers: (N, K)."""
        check_is_fitted(self, "pool_")
        pooled: np.ndarray = self.pool_.predict(self._predict_parts(clouds, covariates, batch))
        return pooled

    def pooled_forms(self, clouds: Any) -> PooledForms:
        """Return the point-forms, and the output for some clouds, as explanations need them.

        Parameters
        ----------
        clouds : Clouds, or list of array-like or tensor, each of shape (n_i, D)
            The clouds.

        Returns
        -------
        PooledForms
        """
        check_is_fitted(self, "pool_")
        return pooled_forms(self, clouds)

    def _predict_parts(
        self, clouds: Any, covariates: Any, batch: Any, fields: Any = None
    ) -> np.ndarray:
        """Return the predictions of every part, given Gram fields or without: (parts, N, K)."""
        points, summaries = self._inputs_of_parts(clouds, covariates, batch)
        results = []
        for part in self.parts_.values():
            if isinstance(part, Head):
                results.append(part.predict(summaries))
                continue
            if fields is None:  # all networks share their geometry
                fields = part.prepare(points)
            probabilities = hasattr(part, "classes_")
            results.append(part.predict_proba(fields) if probabilities else part.predict(fields))
        return np.stack(results)

    def _inputs_of_parts(
        self, clouds: Any, covariates: Any, batch: Any
    ) -> tuple[list[Tensor], np.ndarray]:
        """Return clouds as the networks read them, and their summaries (N, f)."""
        points = self.prepare(clouds)
        self._check_width(points[0].shape[1])
        if hasattr(self, "batch_centers_"):
            if batch is None:
                raise ValueError("batch is None: expected the batch of each cloud, as in fit")
            points = self._centred(points, one_per_cloud("batch", batch, len(points)))
        elif batch is not None:
            raise ValueError("batch is given, but fit had none")
        return points, self._summaries(points, covariates, len(points))

    def _held_out_by_member(self) -> list[np.ndarray]:
        if not hasattr(self, "fold_models_"):
            return []
        own = self.fold_models_
        return [np.flatnonzero(own.folds == fold) for fold in range(len(own.weights))]

    def _predict_out_of_fold(self, clouds: Any, of: Any, covariates: Any, batch: Any) -> np.ndarray:
        """Return pooled predictions for versions of training clouds, by models without them."""
        check_is_fitted(self, "pool_")
        if not hasattr(self, "fold_models_"):
            raise ValueError(
                f"this {type(self).__name__} was saved by an older version, which did not keep the "
                "folds of the training clouds: fit it again"
            )
        own = self.fold_models_
        points, summaries = self._inputs_of_parts(clouds, covariates, batch)
        positions = self._checked_positions(of, len(points))
        networks = networks_of(self.parts_)
        fields = networks[0].prepare(points) if networks else []
        result = np.full((len(points), len(self.pool_.constant)), np.nan)
        for fold, unseen in enumerate(self.unseen_members(positions).T):
            rows = np.flatnonzero(unseen)
            if not len(rows):
                continue
            some = [fields[i] for i in rows] if networks else []
            parts = [
                part.predict_fold(summaries[rows], fold)
                if isinstance(part, Head)
                else predict_member(part, fold, some)
                for part in self.parts_.values()
            ]
            if self.pool_.probabilities:
                parts = [
                    values if isinstance(part, Head) else softmax(values, axis=1)
                    for part, values in zip(self.parts_.values(), parts, strict=True)
                ]
            result[rows] = own.pooled(np.stack(parts), fold, self.pool_)
        return result

    def _summaries(
        self, points: Sequence[Tensor], covariates: Any, count: int, rows: np.ndarray | None = None
    ) -> np.ndarray:
        """Return pooled summaries, and beside them covariates, or some rows of them: (N, f)."""
        values: np.ndarray = PooledSummaries().fit_transform(points)
        learned = getattr(self, "covariates_", None)
        if learned is None:
            if covariates is not None:
                raise ValueError("covariates are given, but fit had none")
            return values
        if covariates is None:
            names = ", ".join(column["name"] for column in learned)
            raise ValueError(f"covariates is None: expected those of fit, {names}")
        return np.hstack([values, encode_covariates(covariates, learned, count, rows)])

    def _centred(self, points: Sequence[Tensor], batch: np.ndarray) -> list[Tensor]:
        centers = batch_centers(points, batch, self.batch_centers_)
        return [
            keep_weights(
                (cloud.double().cpu() - center).to(
                    cloud.dtype if cloud.dtype.is_floating_point else center.dtype
                ),
                cloud,
            )
            for cloud, center in zip(points, centers, strict=True)
        ]
