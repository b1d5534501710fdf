"""Penalised linear models of features, one per fold: logistic regression and ridge."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from scipy.special import softmax
from sklearn.exceptions import NotFittedError
from sklearn.linear_model import LogisticRegression
from threadpoolctl import threadpool_limits  # type: ignore[import-untyped]

from pointforms.estimators.cross_choice import cross_fitted_choice
from pointforms.models.portfolio.array_checks import Expected, check_range, checked_arrays
from pointforms.models.portfolio.fold_data import FoldData, checked_features
from pointforms.models.portfolio.standardisation import (
    SMALLEST_SCALE,
    centre_and_scale,
    standardised,
)

# Penalties, from strong to weak, and the number of worse ones in a row that ends the search of the
# logistic regression, where weak ones are slow.
_PENALTIES, _PATIENCE = np.logspace(5, -3, 17), 3
# A certain but wrong prediction costs -log of this, 34.5, rather than infinity.
_SMALLEST_PROBABILITY = 1e-15
_LARGEST_COEFFICIENT = 1e100
_ARRAYS = {
    "centre": Expected("float64", ("K", "f")),
    "scale": Expected("float64", ("K", "f")),
    "coefficients": Expected("float64", ("K", "outputs", "f")),
    "intercept": Expected("float64", ("K", "outputs")),
    "floor": Expected("float64", ("K", "outputs")),
}


class LinearHead:
    """Linear models with an L2 penalty on standardised features, one model per fold.

    The penalty is the one with the smallest out-of-fold log loss or squared error. For the
    out-of-fold predictions of a fold it is chosen by the other folds.

    Multiplying a feature by a power of two changes no prediction.

    Parameters
    ----------
    classes : int or None
        Number of classes, C; None for regression of targets that have been standardised.

    Attributes
    ----------
    penalty : float or None
        The penalty of the models that predict, after a fit.

    Examples
    --------
    >>> X = np.random.default_rng(0).normal(size=(60, 4))
    >>> y, folds = (X[:, 0] > 0).astype(int), np.arange(60) % 5
    >>> head = LinearHead(classes=2)
    >>> out_of_fold = head.fit(X, y, folds)
    >>> bool((out_of_fold.argmax(1) == y).mean() > 0.8)
    True
    >>> same = LinearHead.from_arrays(head.arrays(), classes=2)
    >>> np.array_equal(same.predict(X), head.predict(X))
    True
    """

    def __init__(self, classes: int | None) -> None:
        self.classes = classes
        self.penalty: float | None = None
        self._arrays: dict[str, np.ndarray] = {}

    def fit(
        self,
        X: np.ndarray,
        y: np.ndarray,
        folds: np.ndarray,
        weights: np.ndarray | None = None,
        random_state: int = 0,
    ) -> np.ndarray:
        """Train one model on the complement of every fold.

        Parameters
        ----------
        X, y, folds
            Features, targets and folds of the clouds, as in :class:`FoldData`.
        weights : ndarray, shape (N,), or None, default None
            Weights of the clouds, in the fits and in the choice; only their ratios matter.
        random_state : int, default 0
            Not used: the models do not depend on chance.

        Returns
        -------
        ndarray, shape (N, C) or (N, t)
            Probabilities or numbers by the model of each cloud's fold, which has not seen it.
        """
        data = FoldData.of(X, y, folds, weights, self.classes)
        with threadpool_limits(1, user_api="blas"):
            parts = [_Part.of(data, fold) for fold in range(data.count)]
            search = _ridge if self.classes is None else _logistic
            predicted, losses = search(data, parts, self.classes)
            choice = cross_fitted_choice(losses, data.folds, data.weights)
            self.penalty = float(_PENALTIES[choice.overall])
            models = [part.models[choice.overall] for part in parts]
            self._arrays = {
                "centre": np.stack([part.centre for part in parts]),
                "scale": np.stack([part.scale for part in parts]),
                "coefficients": np.stack(
                    [part.unrotated(m.coefficients) for part, m in zip(parts, models, strict=True)]
                ),
                "intercept": np.stack([model.intercept for model in models]),
                "floor": np.stack([model.floor for model in models]),
            }
        return np.asarray(predicted[choice.by_fold[data.folds], np.arange(len(data.folds))])

    def predict(self, X: np.ndarray) -> np.ndarray:
        """Return the mean prediction of the models of all folds: (N, C) or (N, t)."""
        count = len(self.arrays()["centre"])
        return np.asarray(sum(self.predict_fold(X, fold) for fold in range(count)) / count)

    def predict_fold(self, X: np.ndarray, fold: int) -> np.ndarray:
        """Return the prediction of the model that has not seen a fold: (N, C) or (N, t)."""
        X = checked_features(X, self.features)
        centre, scale, *model = (array[fold] for array in self.arrays().values())
        with threadpool_limits(1, user_api="blas"):
            return _Model(*model).predict(standardised(X, centre, scale), self.classes)

    def arrays(self) -> dict[str, np.ndarray]:
        """Return everything that is needed to predict.

        Returns
        -------
        dict of str to ndarray
            "centre" and "scale" (K, f) of the features, "coefficients" (K, outputs, f),
            "intercept" (K, outputs), and "floor" (K, outputs), the probability of classes that a
            model has not seen, 0 for all others.
        """
        if not self._arrays:
            raise NotFittedError("LinearHead is not fitted")
        return dict(self._arrays)

    @property
    def features(self) -> int:
        """Number of features, f."""
        return int(self.arrays()["centre"].shape[1])

    @property
    def outputs(self) -> int:
        """Number of classes or targets."""
        return int(self.arrays()["intercept"].shape[1])

    @classmethod
    def from_arrays(cls, arrays: Mapping[str, np.ndarray], classes: int | None) -> Self:
        """Return a head that predicts as the one whose :meth:`arrays` are given.

        Parameters
        ----------
        arrays : mapping of str to ndarray
            The arrays. A ValueError says what is wrong with them.
        classes : int or None
            Number of classes; None for regression.
        """
        sizes = {} if classes is None else {"outputs": classes}
        checked, _ = checked_arrays(arrays, _ARRAYS, sizes)
        check_range("scale", checked["scale"], SMALLEST_SCALE, np.inf)
        for name in ("coefficients", "intercept"):
            check_range(name, checked[name], -_LARGEST_COEFFICIENT, _LARGEST_COEFFICIENT)
        check_range("floor", checked["floor"], 0, 1 / max(classes or 1, 1))
        if classes is not None and (checked["floor"] > 0).all(1).any():
            raise ValueError("array 'floor' has a model that has seen no class")
        head = cls(classes)
        head._arrays = checked
        return head


@dataclass(frozen=True)
class _Model:
    """One fitted model: coefficients (outputs, f), intercept (outputs,), and floor (outputs,)."""

    coefficients: np.ndarray
    intercept: np.ndarray
    floor: np.ndarray

    def predict(self, Z: np.ndarray, classes: int | None) -> np.ndarray:
        values = Z @ self.coefficients.T + self.intercept
        if classes is None:
            return np.asarray(values)
        seen = np.where(self.floor > 0, -np.inf, values)
        return np.asarray(self.floor + (1 - self.floor.sum()) * softmax(seen, axis=1))


@dataclass(frozen=True)
class _Part:
    """What one fold trains on and predicts, in coordinates that are as few as possible.

    A linear model with an L2 penalty depends on features only through their products, which do not
    change under rotation: n clouds need no more than n coordinates.
    """

    training: np.ndarray
    held_out: np.ndarray
    centre: np.ndarray
    scale: np.ndarray
    rotation: np.ndarray | None
    train_coordinates: np.ndarray
    held_out_coordinates: np.ndarray
    models: list[_Model]

    @classmethod
    def of(cls, data: FoldData, fold: int) -> _Part:
        training, held_out = data.training(fold), np.flatnonzero(data.folds == fold)
        centre, scale = centre_and_scale(data.X[training], data.weights_of(training))
        Z = standardised(data.X[training], centre, scale)
        Z_out = standardised(data.X[held_out], centre, scale)
        rotation = None
        if Z.shape[1] > len(Z):
            rotation, triangle = np.linalg.qr(Z.T)
            Z, Z_out = triangle.T, Z_out @ rotation
        return cls(training, held_out, centre, scale, rotation, Z, Z_out, [])

    def unrotated(self, coefficients: np.ndarray) -> np.ndarray:
        return coefficients if self.rotation is None else coefficients @ self.rotation.T


_Searched = tuple[np.ndarray, np.ndarray]  # predictions (options, N, outputs), losses (options, N)


def _logistic(data: FoldData, parts: list[_Part], classes: int | None) -> _Searched:
    assert classes is not None
    codes, everything = data.y, np.arange(len(data.y))
    predicted = np.zeros((len(_PENALTIES), len(codes), classes))
    losses = np.full((len(_PENALTIES), len(codes)), np.inf)
    means: list[float] = []
    solvers = [LogisticRegression(warm_start=True, max_iter=2000) for _ in parts]
    for option, penalty in enumerate(_PENALTIES):
        for part, solver in zip(parts, solvers, strict=True):
            solver.set_params(C=1 / penalty)
            model = _logistic_model(data, part, solver, classes)
            part.models.append(model)
            predicted[option, part.held_out] = model.predict(part.held_out_coordinates, classes)
        losses[option] = -np.log(
            predicted[option, everything, codes].clip(_SMALLEST_PROBABILITY, None)
        )
        means.append(float(np.average(losses[option], weights=data.weights)))
        if len(means) - np.argmin(means) > _PATIENCE:
            break  # weaker penalties overfit, and are slow to fit
    return predicted, losses


def _logistic_model(data: FoldData, part: _Part, solver: Any, classes: int) -> _Model:
    codes = data.y[part.training]
    seen = np.unique(codes)
    coefficients = np.zeros((classes, part.train_coordinates.shape[1]))
    intercept = np.zeros(classes)
    if len(seen) > 1:
        solver.fit(part.train_coordinates, codes, data.weights_of(part.training))
        rows = seen[1:] if len(seen) == 2 else seen  # of two classes, the first has a score of 0
        coefficients[rows], intercept[rows] = solver.coef_, solver.intercept_
    # by Laplace's rule for a class without any of n clouds
    floor = np.where(np.isin(np.arange(classes), seen), 0.0, 1 / (len(codes) + classes))
    return _Model(coefficients, intercept, floor)


def _ridge(data: FoldData, parts: list[_Part], classes: int | None) -> _Searched:
    predicted = np.zeros((len(_PENALTIES), *data.y.shape))
    for part in parts:
        y, weights = data.y[part.training], data.weights_of(part.training)
        mean = np.average(y, axis=0, weights=weights)
        root = np.ones((len(y), 1)) if weights is None else np.sqrt(weights)[:, None]
        left, singular, right = np.linalg.svd(root * part.train_coordinates, full_matrices=False)
        projected = left.T @ (root * (y - mean))
        for option, penalty in enumerate(_PENALTIES):
            shrunk = (singular / (singular**2 + penalty))[:, None] * projected
            model = _Model((right.T @ shrunk).T, mean, np.zeros(len(mean)))
            part.models.append(model)
            predicted[option, part.held_out] = model.predict(part.held_out_coordinates, None)
    return predicted, ((predicted - data.y) ** 2).mean(2)
