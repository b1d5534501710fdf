"""Classical classifiers on features of clouds: logistic regression, random forest, RBF-SVM.

Penalties and kernel widths are chosen by cross-validation inside the training clouds, with groups
kept together.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, Literal, Self

import numpy as np
from sklearn import config_context
from sklearn.base import BaseEstimator, ClassifierMixin, clone
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted
from threadpoolctl import threadpool_limits  # type: ignore[import-untyped]

from pointforms.cloud import features_of
from pointforms.clouds import cloud_list
from pointforms.estimators.explaining import ExplainsItself
from pointforms.estimators.fingerprints import fingerprints
from pointforms.estimators.per_cloud import check_groups, check_order, one_per_cloud
from pointforms.estimators.targets import ClassTargets
from pointforms.estimators.training_clouds import training_places
from pointforms.models.heads import FIT_HEAD, Head
from pointforms.models.heads.inner_folds import Folds, inner_folds
from pointforms.models.saved_classifier import SavesHead
from pointforms.summaries import PooledSummaries
from pointforms.support.cloud_estimator import TakesClouds
from pointforms.support.options import RandomState, shown
from pointforms.support.threads import one_thread


class FeatureClassifier(
    SavesHead,
    ExplainsItself,
    TakesClouds,
    ClassifierMixin,  # type: ignore[misc]
    BaseEstimator,  # type: ignore[misc]
):
    """Classify clouds by fixed features of each and a classical classifier behind them.

    Parameters
    ----------
    features : transformer
        From a list of (n_i, D) clouds to features (N, f), without using the labels. If it has a
        method `choices()`, which returns names and columns of alternative sets of features, the
        set is chosen too.
    head : {"logistic", "forest", "svm", "kernel"}, default "logistic"
        Penalised logistic regression, random forest, or an SVM with Gaussian kernel and
        calibrated probabilities; "kernel" is an SVM whose kernel sees the distances between
        features as they are, without standardising each. Penalty, kernel width and the forest's
        share of features are those of the smallest log loss over five folds of the training
        clouds.
    random_state : int, RandomState or None, default None
        Seed of the inner folds and the forest.

    Attributes
    ----------
    classes_ : (C,) array
    features_ : transformer
        The fitted transformer.
    columns_ : array of int
        The features that are used.
    head_ : classifier
        The fitted classifier.
    chosen_ : dict
        The options that cross-validation chose; empty where a class has a single group, so that
        there is nothing to validate on and defaults are used.
    validation_loss_ : float
        The log loss of the chosen options in cross-validation.
    oof_predictions_ : (N, C) array
        Probabilities of the training clouds by models of the inner folds that have not seen them,
        where there are such folds; NaN for a cloud of weight 0.
    n_features_in_ : int
    """

    features: Any
    head: Head
    random_state: RandomState
    _inner: np.ndarray | None

    def __init__(
        self, *, features: Any, head: Head = "logistic", random_state: RandomState = None
    ) -> None:
        self.features = features
        self.head = head
        self.random_state = random_state

    def fit(self, clouds: Any, y: Any, groups: Any = None, sample_weight: Any = None) -> Self:
        """Learn the classes.

        Parameters
        ----------
        clouds : list of (n_i, D) array, or of their Gram fields
        y : (N,) array
            Labels of any kind.
        groups : (N,) array, optional
            Clouds of one group stay on one side of every inner split.
        sample_weight : (N,) array, optional
            Weights of the clouds, also in the inner validation; only their ratios matter. A cloud
            of weight 0 is left out.
        """
        self.check_options()
        transformer = self.unfitted_features()
        clouds = cloud_list(clouds)
        check_order(clouds, y=y, groups=groups, sample_weight=sample_weight)
        targets = ClassTargets.of(y, len(clouds), sample_weight=sample_weight)
        groups = check_groups(groups, len(clouds))
        self._keep_names(clouds)
        kept, given = targets.counted(), clouds
        codes, weights = targets.values[kept], targets.weights(kept)
        seed = int(check_random_state(self.random_state).randint(2**31 - 1))
        folds = inner_folds(codes, None if groups is None else groups[kept], seed)
        # scikit-learn's own routing of weights is for those who call fit, not for what it calls
        with _one_thread(), config_context(enable_metadata_routing=False):
            clouds = self.prepare([clouds[i] for i in kept])  # once, for both fit and transform
            X = transformer.fit(clouds).transform(clouds)
            self.features_ = transformer
            self._fit_head(X, codes, folds, seed, weights)
        self._keep_out_of_fold(given, kept)
        self.classes_ = targets.classes
        self.n_features_in_ = transformer.n_features_in_
        return self

    def _fit_head(
        self,
        X: np.ndarray,
        codes: np.ndarray,
        folds: Folds,
        seed: int,
        weights: np.ndarray | None,
    ) -> None:
        """Fit the head on every set of features and keep the best; without folds, use the first."""
        choices = {"all": np.arange(X.shape[1])}
        if hasattr(self.features_, "choices"):
            choices = self.features_.choices()
        best, self._inner = np.inf, None
        for name in list(choices)[: None if folds else 1]:
            columns = X[:, choices[name]]
            model, chosen, loss, inner = FIT_HEAD[self.head](columns, codes, folds, seed, weights)
            if loss < best or not folds:
                best, self.head_, self.columns_ = loss, model, choices[name]
                self._inner = inner
                self.chosen_: dict[str, Any] = chosen
                self.validation_loss_ = loss if folds else np.nan
                if len(choices) > 1:
                    self.chosen_ = chosen | {"features": name}

    def _keep_out_of_fold(self, clouds: Any, kept: np.ndarray) -> None:
        """Keep what inner folds predicted, and by which clouds are recognised."""
        inner = self.__dict__.pop("_inner")
        self._forget("oof_predictions_", "fingerprints_")
        if inner is not None:
            self.oof_predictions_ = np.full((len(clouds), inner.shape[1]), np.nan)
            self.oof_predictions_[kept] = inner
            self.fingerprints_ = fingerprints(clouds)

    def predict_out_of_fold(self, clouds: Any, of: Any = None) -> np.ndarray:
        """Return the probabilities that models without its fold gave to each training cloud.

        They come from the inner folds on which the options were chosen, by models with the chosen
        options; a forest has fewer trees there. What features learn without labels, such as their
        units, they learned from all training clouds.

        Parameters
        ----------
        clouds : Clouds, or list of array-like or tensor, each of shape (n_i, D)
            Training clouds, in any order.
        of : array-like of int, shape (N,), or None, default None
            Their positions in `fit`, if known.

        Returns
        -------
        ndarray, shape (N, C)
            Probabilities; NaN for a cloud of weight 0.
        """
        check_is_fitted(self, "head_")
        if not hasattr(self, "oof_predictions_"):
            raise ValueError(
                f"this {type(self).__name__} was fitted without inner folds: a class has a single "
                "cloud or group"
            )
        found = training_places(self.fingerprints_, self._by_name(cloud_list(clouds)))
        if of is not None:
            given = one_per_cloud("of", of, len(found))
            known = [self.fingerprints_[i] for i in found]
            if given.dtype.kind not in "iu" or not all(
                0 <= i < len(self.fingerprints_) and self.fingerprints_[i] == text
                for i, text in zip(given.tolist(), known, strict=True)
            ):
                raise ValueError("of: expected the positions of these very clouds in fit")
            found = given
        return np.asarray(self.oof_predictions_[found])

    def check_options(self) -> None:
        """Raise an error if an option has a value that no fit can work with."""
        super().check_options()
        transformer = self.unfitted_features()
        if hasattr(transformer, "check_options"):
            transformer.check_options()

    def unfitted_features(self) -> Any:
        """Return an unfitted copy of the transformer."""
        if not hasattr(self.features, "transform") or isinstance(self.features, type):
            raise ValueError(f"features={shown(self.features)}: expected a transformer of clouds")
        return clone(self.features)

    def prepare(self, clouds: Any) -> list[Any]:
        """Compute once what every fit needs: Gram fields, where the features come from them."""
        clouds = self._by_name(cloud_list(clouds))
        transformer = self.unfitted_features()
        if hasattr(transformer, "prepare"):
            return list(transformer.prepare(clouds))
        return list(clouds)

    def predict_proba(self, clouds: Any) -> np.ndarray:
        """Return the probabilities of the classes: (N, C)."""
        check_is_fitted(self, "head_")
        clouds = self._by_name(cloud_list(clouds))
        features = features_of(clouds[0])
        if features is not None:  # before geometry uses the fitted dimension
            self._check_width(features)
        with _one_thread():
            X = self.features_.transform(clouds)[:, self.columns_]
            probabilities: np.ndarray = self.head_.predict_proba(X)
        return probabilities

    def predict(self, clouds: Any) -> np.ndarray:
        """Return the most probable class of each cloud: (N,)."""
        best = self.predict_proba(clouds).argmax(1)
        labels: np.ndarray = self.classes_[best]
        return labels


def classifier_of_summaries(
    head: Head,
    random_state: RandomState = None,
    covariance: bool = True,
    frame: Literal["absolute", "cloud"] = "absolute",
) -> FeatureClassifier:
    """Return a classifier on pooled summaries, its options chosen by cross-validation.

    Parameters
    ----------
    head : {"logistic", "forest", "svm"}
        The classifier.
    random_state : int, RandomState or None, default None
        Seed of the inner folds and the forest.
    covariance, frame
        Options of :class:`pointforms.summaries.PooledSummaries`.
    """
    features = PooledSummaries(covariance=covariance, frame=frame)
    return FeatureClassifier(features=features, head=head, random_state=random_state)


@contextmanager
def _one_thread() -> Iterator[None]:
    """Limit torch and BLAS to one thread: on small matrices, more are slower on a busy machine."""
    with one_thread(), threadpool_limits(1, user_api="blas"):
        yield
