"""What the portfolios for classes and for numbers share: parts, weights, what each is worth."""

from __future__ import annotations

import os
from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass, replace
from time import perf_counter
from typing import Annotated, Any, Literal

import numpy as np
import torch
from sklearn.base import BaseEstimator
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils import check_random_state
from torch import Tensor

from pointforms.clouds import plain_clouds
from pointforms.estimators.batch_centers import learn_batch_centers
from pointforms.estimators.covariates import (
    CovariateColumn,
    learn_covariates,
)
from pointforms.estimators.held_out import MOST_PARTS, held_out_folds
from pointforms.estimators.network_estimator import check_device
from pointforms.estimators.per_cloud import check_groups, one_per_cloud
from pointforms.estimators.targets import ClassTargets, Targets
from pointforms.estimators.units import Scale
from pointforms.geometry.settings import Dimension, GramSettings
from pointforms.models.portfolio.common_prior import with_common_prior
from pointforms.models.portfolio.contributions import Contribution, contribution
from pointforms.models.portfolio.fold_models import FoldModels
from pointforms.models.portfolio.geometry_part import (
    GeometryOptions,
    SharedGeometry,
    fit_point_forms,
)
from pointforms.models.portfolio.heads import HEADS
from pointforms.models.portfolio.parts_prediction import PredictsByParts
from pointforms.models.portfolio.pooling import Pool, constant_output, cross_fitted_pool
from pointforms.models.portfolio.saved_portfolio import SavesPortfolio
from pointforms.support.blame import warn_caller
from pointforms.support.docstring_entries import insert_entries
from pointforms.support.options import Count, NotEmpty, Positive, RandomState, shown
from pointforms.support.progress import track
from pointforms.support.saved_classes import register_class

#: Parts of a portfolio by name, the quickest first.
PartName = Literal["linear", "forest", "forms", "centred forms"]
ALL_PARTS: tuple[PartName, ...] = ("linear", "forest", "forms", "centred forms")
_FORMS: dict[str, GeometryOptions] = {
    "forms": GeometryOptions("absolute", (0, 1)),
    "centred forms": GeometryOptions("cloud", (0, 1)),
}
# Points of a larger cloud that an epoch of a network sees, and its hidden layers.
_POINTS, _HIDDEN = 64, (32, 32)


@dataclass(kw_only=True, eq=False, repr=False)
class CloudPortfolio(
    SavesPortfolio,
    PredictsByParts,
    BaseEstimator,  # type: ignore[misc]
    ABC,
):
    """Base class of the portfolios.

    Parts are trained once per fold of the training clouds. What they predict for the clouds of that
    fold teaches the weights of the parts; a prediction is the weighted sum of the parts, each the
    mean over its folds.

    Parameters
    ----------
    parts : sequence of str, default ("linear", "forest", "forms", "centred forms")
        What the portfolio is made of: a penalised linear model and a forest on pooled summaries of
        each cloud (means, deviations, quantiles, covariances), point-forms that depend on absolute
        positions, and point-forms that depend on positions relative to the cloud's mean.
    scale : {"standard", "isotropic", "robust"} or None, default "standard"
        Units of the features for the point-forms; see :class:`pointforms.PointFormClassifier`.
    neighbors : int or "auto", default "auto"
        Number of points in each neighbourhood; "auto" lets the training clouds choose.
    dimension : int, "local-pca" or None, default None
        Intrinsic dimension, or how the training clouds choose it.
    time_limit : float or None, default None
        Seconds after which no further part is begun, nor a further epoch of one. The first part is
        always fitted. A part that is left out is named in a warning.
    random_state : int, RandomState or None, default None
        Seed of folds, trees and networks.
    device : str, default "cpu"
        Where to train networks, as torch names it.
    cache : path-like or None, default None
        A folder that keeps Gram fields.
    n_jobs : int or None, default None
        Number of threads that compute Gram fields; -1 uses one per core, None the calling thread.
    progress : bool, default False
        Show a progress bar, and print what each part is worth.

    Attributes
    ----------
    contributions_ : dict of str to Contribution
        What "geometry", the point-forms, adds to the summaries alone, and "summaries", with the
        covariates, to the geometry alone, out of fold. Intervals resample groups, with the trained
        models as they are. Printed, each is one sentence. Empty if one of both has no part.
    parts_ : dict
        The fitted parts by name.
    part_scores_ : dict
        The scores of the out-of-fold predictions of each part.
    weights_ : dict
        The weight of each part; with weights of 0, predictions are the same for all clouds.
    n_features_in_ : int
        Number of features of the clouds, D.
    feature_names_in_ : ndarray of str, shape (D,)
        Their names, if the clouds of `fit` had any.
    training_clouds_ : list of str
        Fingerprints of the clouds of `fit`, by which `training_positions` finds them again.
    training_groups_ : list of int
        Groups of the clouds of `fit`, by number, if it was given any.
    fold_models_ : FoldModels
        The fold of each training cloud, and the weights for each fold, which were learned on
        out-of-fold predictions for the others.
    """

    parts: Annotated[Sequence[PartName], NotEmpty()] = ALL_PARTS
    scale: Scale | None = "standard"
    neighbors: int | Literal["auto"] = "auto"
    dimension: Dimension = None
    time_limit: Positive | None = None
    random_state: RandomState = None
    device: str = "cpu"
    cache: str | os.PathLike[str] | None = None
    n_jobs: Literal[-1] | Count | None = None
    progress: bool = False

    def __init_subclass__(cls, **options: Any) -> None:
        super().__init_subclass__(**options)
        cls.__doc__ = insert_portfolio_options(cls.__doc__ or "")
        register_class(cls.__name__, cls)

    def check_options(self) -> None:
        """Raise an error if an option has a value that no fit can work with."""
        super().check_options()
        GramSettings.among(self.get_params(deep=False))
        check_device(self.device)
        if len(set(self.parts)) < len(self.parts):
            raise ValueError(f"parts={shown(self.parts)}: expected different names")

    def _fit(self, clouds: Any, targets: Targets, groups: Any, covariates: Any, batch: Any) -> None:
        start = perf_counter()
        count = len(clouds)
        groups = check_groups(groups, count)
        self._keep_names(clouds)
        self._forget(
            "batch_centers_", "covariates_", "parts_", "pool_", "contributions_",
            "oof_predictions_", "oof_score_", "oof_scores_", "part_scores_", "fold_models_",
            "training_clouds_", "training_groups_",
        )  # fmt: skip
        if covariates is not None and not set(self.parts) & set(HEADS):
            raise ValueError(
                f"covariates: expected None, or one of the parts {', '.join(HEADS)}, which read "
                "them beside the summaries"
            )
        points = given = plain_clouds(clouds)
        self.n_features_in_ = points[0].shape[1]
        kept = targets.counted()
        if batch is not None:
            labels = one_per_cloud("batch", batch, count)
            own = [points[i] for i in kept]
            self.batch_centers_ = learn_batch_centers(own, labels[kept])
            points = self._centred(points, labels)
        if covariates is not None:
            self.covariates_: list[CovariateColumn] = learn_covariates(covariates, count, kept)
        points = [points[i] for i in kept]
        summaries = self._summaries(points, covariates, count, kept)
        targets = _with_weights(targets.subset(kept))
        all_groups, groups = groups, None if groups is None else groups[kept]
        seed = int(check_random_state(self.random_state).randint(2**31 - 1))
        divisions = held_out_folds(targets.values, groups, MOST_PARTS, seed, targets.stratify)
        if not len(divisions):
            raise ValueError(_reason_for_no_folds(targets, groups))
        folds = divisions[0]
        deadline = None if self.time_limit is None else start + self.time_limit
        predicted = self._fit_parts(points, summaries, targets, folds, seed, deadline)
        names = list(predicted)
        stacked = np.stack([predicted[name] for name in names])
        self.pool_ = Pool.learn(stacked, targets, np.arange(len(folds)))
        self.fold_models_ = FoldModels.of(stacked, targets, folds, kept, count)
        self._keep_training_clouds(given, kept, all_groups)
        pooled = cross_fitted_pool(stacked, targets, folds)
        self.oof_predictions_ = _placed(targets.restored(pooled), kept, count)
        self.contributions_ = self._contributions(predicted, pooled, targets, folds, groups, seed)
        self.oof_scores_ = self._scores(targets, pooled)
        self.oof_score_ = next(iter(self.oof_scores_.values()))
        self.part_scores_ = {name: self._scores(targets, p) for name, p in predicted.items()}
        self._warn_if_nothing_learned(targets, pooled, groups is not None)
        if self.progress:
            for one in self.contributions_.values():
                print(one)

    def _fit_parts(
        self,
        points: Sequence[Tensor],
        summaries: np.ndarray,
        targets: Targets,
        folds: np.ndarray,
        seed: int,
        deadline: float | None,
    ) -> dict[str, np.ndarray]:
        """Fit the parts, and return their out-of-fold predictions by name."""
        self.parts_: dict[str, Any] = {}
        predicted: dict[str, np.ndarray] = {}
        classes = targets.outputs if targets.probabilities else None
        geometry: SharedGeometry | None = None
        left_out = []
        with track(len(self.parts), "parts of the portfolio", self.progress) as advance:
            for i, name in enumerate(self.parts):
                left = None if deadline is None else deadline - perf_counter()
                if predicted and left is not None and left <= 0:
                    left_out.append(name)
                    continue
                if name in HEADS:
                    head = HEADS[name](classes=classes)
                    found = head.fit(
                        summaries,
                        targets.values,
                        folds,
                        targets.weights(np.arange(len(folds))),
                        random_state=seed,
                    )
                    self.parts_[name] = head
                else:
                    if geometry is None:
                        geometry = SharedGeometry(points, targets, self._network_options())
                    share = None if left is None else perf_counter() + left / (len(self.parts) - i)
                    self.parts_[name], found = fit_point_forms(
                        geometry, _FORMS[name], targets, folds, seed, share
                    )
                predicted[name] = with_common_prior(found, targets, folds)
                advance(1)
        if left_out:
            warn_caller(f"time_limit={self.time_limit} has passed: left out {', '.join(left_out)}")
        return predicted

    def _network_options(self) -> dict[str, Any]:
        return {
            "scale": self.scale,
            "neighbors": self.neighbors,
            "dimension": self.dimension,
            "device": self.device,
            "cache": self.cache,
            "n_jobs": self.n_jobs,
            "points_per_epoch": _POINTS,
            "hidden": _HIDDEN,
            "members": MOST_PARTS,
        }

    def _contributions(
        self,
        predicted: dict[str, np.ndarray],
        pooled: np.ndarray,
        targets: Targets,
        folds: np.ndarray,
        groups: np.ndarray | None,
        seed: int,
    ) -> dict[str, Contribution]:
        """Compare the portfolio with what remains of it without the geometry, and without the rest.

        Weights are learned anew without a part, cross-fitted as those of the whole.
        """
        families = {
            "geometry": [name for name in predicted if name in _FORMS],
            "summaries": [name for name in predicted if name in HEADS],
        }
        if not all(families.values()):
            return {}
        y = targets.values
        found = {}
        for part, other in (("geometry", "summaries"), ("summaries", "geometry")):
            rest = np.stack([predicted[name] for name in families[other]])
            without = cross_fitted_pool(rest, targets, folds)
            found[part] = contribution(part, other, y, pooled, without, groups, seed)
        return found

    def _warn_if_nothing_learned(self, targets: Targets, pooled: np.ndarray, grouped: bool) -> None:
        """Warn if held-out clouds are not predicted better than by one prediction for all."""
        y = torch.from_numpy(targets.values)
        constant = np.broadcast_to(constant_output(targets), pooled.shape).copy()
        outputs = np.log(np.maximum(pooled, 1e-15)) if targets.probabilities else pooled
        losses = [
            float(targets.loss(torch.from_numpy(values), y).mean())
            for values in (outputs, constant)
        ]
        if losses[0] >= losses[1]:
            hint = "" if grouped else "clouds that belong together, without groups; "
            warn_caller(
                f"{type(self).__name__}: no part predicts clouds it has not seen better than "
                f"guessing (loss {losses[0]:.3g}, by guessing {losses[1]:.3g}). Likely reasons: "
                f"{hint}too few clouds; labels that are noise",
                ConvergenceWarning,
            )

    @abstractmethod
    def _scores(self, targets: Targets, predicted: np.ndarray) -> dict[str, float]:
        """Return the scores of out-of-fold predictions, the most important first."""


def _placed(values: np.ndarray, kept: np.ndarray, count: int) -> np.ndarray:
    """Return values of some clouds among those of all; NaN for the others."""
    result = np.full((count, *values.shape[1:]), np.nan)
    result[kept] = values
    return result


def _with_weights(targets: Targets) -> Targets:
    """Return targets whose weights of classes have become weights of clouds.

    All parts, in all folds, then weigh a cloud alike. Classes that every fold balances anew would
    have other weights where more of their clouds are held out.
    """
    if not isinstance(targets, ClassTargets) or targets.class_weight is None:
        return targets
    weights = targets.weights(np.arange(len(targets.values)))
    return replace(targets, class_weight=None, sample_weight=weights)


def _reason_for_no_folds(targets: Targets, groups: np.ndarray | None) -> str:
    """Return why clouds cannot be divided into two folds."""
    what = "cloud" if groups is None else "group of clouds"
    names = np.arange(len(targets.values)) if groups is None else groups
    if not isinstance(targets, ClassTargets):
        return f"there is one {what}: expected at least two"
    for code, label in enumerate(targets.classes.tolist()):
        if len(np.unique(names[targets.values == code])) < 2:
            return f"class {label!r} has one {what}: expected at least two, to hold out one"
    return "no two parts of the groups both have all classes: expected more groups per class"


def insert_portfolio_options(docstring: str) -> str:
    """Replace the lines "[options of CloudPortfolio]" and "[attributes of CloudPortfolio]"."""
    own = CloudPortfolio.__doc__
    text = insert_entries(docstring, "[options of CloudPortfolio]", own, "Parameters")
    return insert_entries(text, "[attributes of CloudPortfolio]", own, "Attributes")
