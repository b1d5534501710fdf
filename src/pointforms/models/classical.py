"""Classical classifiers on features of clouds: logistic regression, random forest, RBF-SVM.

Penalties and kernel widths are chosen by cross-validation inside the training clouds, with groups
kept together.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Literal, Self

import numpy as np
import torch
from sklearn import config_context
from sklearn.base import BaseEstimator, ClassifierMixin, clone
from sklearn.calibration import CalibratedClassifierCV
from sklearn.decomposition import PCA
from sklearn.ensemble import RandomForestClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import log_loss
from sklearn.metrics.pairwise import euclidean_distances
from sklearn.model_selection import StratifiedGroupKFold, cross_val_predict
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import FunctionTransformer, StandardScaler
from sklearn.svm import SVC
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted
from threadpoolctl import threadpool_limits  # type: ignore[import-untyped]

from pointforms.cloud import features_of
from pointforms.clouds import cloud_list
from pointforms.estimators.explaining import ExplainsItself
from pointforms.estimators.per_cloud import check_groups, one_per_cloud
from pointforms.estimators.targets import ClassTargets
from pointforms.estimators.training_clouds import fingerprints, training_places
from pointforms.models.saved_classifier import SavesHead
from pointforms.nn.origins import common_origin
from pointforms.summaries import PooledSummaries
from pointforms.support.cloud_estimator import TakesClouds
from pointforms.support.options import RandomState, shown

Head = Literal["logistic", "forest", "svm", "kernel"]
Folds = list[tuple[np.ndarray, np.ndarray]]
# a classifier, the chosen options, their loss, and what models without its fold say about a cloud
_Fitted = tuple[Any, dict[str, Any], float, np.ndarray | None]

_FOLDS = 5
# Inverse penalties of the logistic regression, the one that is used without folds, and the number
# of worse ones in a row that ends the search.
_LOGISTIC_C, _LOGISTIC_DEFAULT, _LOGISTIC_PATIENCE = np.logspace(-5, 3, 17), 1e-2, 3
# C of the SVM, and γ in units of 1 / features, which suits standardised features.
_SVM_C = (0.3, 1.0, 3.0, 10.0, 30.0, 100.0, 300.0, 1000.0)
_SVM_GAMMA = (0.01, 0.03, 0.1, 0.3, 1.0, 3.0)
_SVM_DEFAULT = (1.0, 1.0)
# Share of the features that a split of a tree considers.
_FOREST_SHARES: tuple[float | str, ...] = ("sqrt", 0.1)
_TREES, _TREES_TO_CHOOSE = 500, 60


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
            model, chosen, loss, inner = _HEADS[self.head](columns, codes, folds, seed, weights)
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


def inner_folds(codes: np.ndarray, groups: Any, seed: int) -> Folds:
    """Return up to five folds (train, validation) with every class on both sides.

    Groups stay together. The list is empty where classes and groups do not allow two folds.
    """
    members = np.arange(len(codes)) if groups is None else np.unique(groups, return_inverse=True)[1]
    classes = np.unique(codes)
    most = min(_FOLDS, *(len(np.unique(members[codes == c])) for c in classes))
    for count in range(most, 1, -1):
        splitter = StratifiedGroupKFold(count, shuffle=True, random_state=seed)
        folds = list(splitter.split(codes, codes, members))
        if all(len(np.unique(codes[part])) == len(classes) for fold in folds for part in fold):
            return folds
    return []


# A head fits X (N, f) and codes y (N,). It treats whole weights as so many copies of a cloud.


def _logistic(
    X: np.ndarray, y: np.ndarray, folds: Folds, seed: int, weights: np.ndarray | None = None
) -> _Fitted:
    # An L2-penalised linear model depends on features only through their products, which do not
    # change under rotation: N clouds need no more than N coordinates.
    steps: list[Any] = [_scaler(X, weights)]
    Z = steps[0].transform(X)
    if X.shape[1] > len(X):
        steps.append(PCA(svd_solver="full"))
        Z = steps[1].fit_transform(Z)
    models = [_logistic_model(_LOGISTIC_C[0], warm_start=True) for _ in folds]
    losses: list[float] = []
    inner: list[np.ndarray] = []
    for C in _LOGISTIC_C if folds else ():
        loss = 0.0
        inner.append(np.empty((len(y), len(np.unique(y)))))
        for model, (train, validation) in zip(models, folds, strict=True):
            model.set_params(C=C).fit(Z[train], y[train], _some(weights, train))
            inner[-1][validation] = model.predict_proba(Z[validation])
            loss += log_loss(
                y[validation],
                inner[-1][validation],
                sample_weight=_some(weights, validation),
            ) / len(folds)
        losses.append(loss)
        if len(losses) - np.argmin(losses) > _LOGISTIC_PATIENCE:
            break  # weaker penalties overfit, and are slow to fit
    chosen = {"C": float(_LOGISTIC_C[int(np.argmin(losses))])} if folds else {}
    model = _logistic_model(chosen.get("C", _LOGISTIC_DEFAULT)).fit(Z, y, weights)
    probabilities = inner[int(np.argmin(losses))] if folds else None
    return make_pipeline(*steps, model), chosen, min(losses, default=np.inf), probabilities


def _logistic_model(C: float, warm_start: bool = False) -> Any:
    return LogisticRegression(C=C, warm_start=warm_start, max_iter=2000)


def _forest(
    X: np.ndarray, y: np.ndarray, folds: Folds, seed: int, weights: np.ndarray | None = None
) -> _Fitted:
    # trees work in single precision, so what large features share is subtracted first
    origin = common_origin([torch.from_numpy(X)]).numpy()
    shift = FunctionTransformer(_minus, kw_args={"origin": origin})

    def forest(trees: int, share: float | str) -> Any:
        model = RandomForestClassifier(trees, max_features=share, random_state=seed)
        return Pipeline([("shift", shift), ("forest", model)])

    given = {"forest__sample_weight": weights}
    losses, inner = [], []
    for share in _FOREST_SHARES if folds else ():
        model = forest(_TREES_TO_CHOOSE, share)
        probabilities = cross_val_predict(
            model, X, y, cv=folds, method="predict_proba", params=given
        )
        # a class that no tree votes for is improbable, not impossible
        votes = probabilities * _TREES_TO_CHOOSE + 1
        inner.append(votes / votes.sum(1, keepdims=True))
        losses.append(log_loss(y, inner[-1], sample_weight=weights))
    chosen = {"max_features": _FOREST_SHARES[int(np.argmin(losses))]} if folds else {}
    model = forest(_TREES, chosen.get("max_features", "sqrt")).fit(X, y, **given)
    best = inner[int(np.argmin(losses))] if folds else None
    return model, chosen, min(losses, default=np.inf), best


def _minus(X: np.ndarray, origin: np.ndarray) -> np.ndarray:
    shifted: np.ndarray = X - origin
    return shifted


def _svm(
    X: np.ndarray, y: np.ndarray, folds: Folds, seed: int, weights: np.ndarray | None = None
) -> _Fitted:
    return _fit_svm(_scaler(X, weights), X, y, folds, weights)


def _kernel(
    X: np.ndarray, y: np.ndarray, folds: Folds, seed: int, weights: np.ndarray | None = None
) -> _Fitted:
    # one unit for all features: ratios of distances stay what they are
    scaler = _scaler(X, weights)
    spread = float(np.sqrt(scaler.var_.mean()))
    scaler.scale_ = np.full(X.shape[1], spread if spread > 0 else 1.0)
    return _fit_svm(scaler, X, y, folds, weights)


def _fit_svm(
    scaler: StandardScaler, X: np.ndarray, y: np.ndarray, folds: Folds, weights: np.ndarray | None
) -> _Fitted:
    scaled = scaler.transform(X)
    squared = euclidean_distances(scaled, squared=True)
    given = {"sample_weight": weights}
    best, (C, gamma) = np.inf, _SVM_DEFAULT
    inner = None
    for width in _SVM_GAMMA if folds else ():
        kernel = np.exp(-width / X.shape[1] * squared)
        for penalty in _SVM_C:
            model = SVC(kernel="precomputed", C=penalty)
            margins = cross_val_predict(
                model, kernel, y, cv=folds, method="decision_function", params=given
            )
            probabilities = _calibrated(margins.reshape(len(y), -1), y, weights)
            loss = float(log_loss(y, probabilities, sample_weight=weights))
            if loss < best:
                best, C, gamma, inner = loss, penalty, width, probabilities
    model = SVC(C=C, gamma=gamma / X.shape[1])
    # margins of clouds that the SVM was not fitted on, where there are folds
    everything = np.arange(len(y))
    calibrated = CalibratedClassifierCV(
        model, method="sigmoid", cv=folds or [(everything, everything)], ensemble=False
    )
    chosen = {"C": C, "gamma": gamma / X.shape[1]} if folds else {}
    calibrated.fit(scaled, y, sample_weight=weights)
    return make_pipeline(scaler, calibrated), chosen, best, inner


def _calibrated(margins: np.ndarray, y: np.ndarray, weights: np.ndarray | None) -> np.ndarray:
    """Return the probabilities that a logistic curve turns margins (N, 1 or C) into: (N, C)."""
    scaled = _scaler(margins, weights).transform(margins)
    curve = LogisticRegression(max_iter=1000).fit(scaled, y, weights)
    return np.asarray(curve.predict_proba(scaled))


def _scaler(X: np.ndarray, weights: np.ndarray | None) -> StandardScaler:
    # Rounding can make the weighted variance of a constant feature negative. StandardScaler then
    # takes its root, warns, and treats the feature as constant.
    with np.errstate(invalid="ignore"):
        return StandardScaler().fit(X, sample_weight=weights)


def _some(weights: np.ndarray | None, index: np.ndarray) -> np.ndarray | None:
    return None if weights is None else weights[index]


_HEADS: dict[str, Callable[..., _Fitted]] = {
    "logistic": _logistic,
    "forest": _forest,
    "svm": _svm,
    "kernel": _kernel,
}


def _one_thread() -> Any:
    """Limit BLAS to one thread: on small matrices and a busy machine, more are much slower."""
    return threadpool_limits(1, user_api="blas")
