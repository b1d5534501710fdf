"""A penalised linear model per fold, on features of whole clouds."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Self

import numpy as np
from scipy.special import softmax
from sklearn.linear_model import LogisticRegression
from threadpoolctl import threadpool_limits  # type: ignore[import-untyped]

from pointforms.estimators.cross_choice import cross_fitted_choice

# Inverse penalties of logistic regression, from the strongest penalty to the weakest, and the
# number of folds with a worse loss in a row after which a fold tries no weaker one.
_INVERSE_PENALTIES = np.logspace(-5, 2, 15)
_PATIENCE = 3
# Penalties of ridge regression, relative to the mean eigenvalue of the features' covariance.
_RIDGES = np.logspace(4, -4, 17)
_SMALLEST = 1e-12


class LinearHead:
    """Logistic or ridge regression on standardised features, one model per fold.

    The penalty for the clouds of a fold is the one of the smallest loss on the clouds of the other
    folds; a prediction for new clouds is the mean over the models of all folds, with the penalty of
    the smallest loss over all clouds.

    Parameters
    ----------
    classes : int or None
        Number of classes; None for regression.
    """

    def __init__(self, classes: int | None) -> None:
        self.classes = classes

    def fit(
        self,
        X: np.ndarray,
        y: np.ndarray,
        folds: np.ndarray,
        weights: np.ndarray | None = None,
        random_state: int = 0,
    ) -> np.ndarray:
        """Fit a model per fold, and return out-of-fold predictions.

        Parameters
        ----------
        X : ndarray, shape (N, f)
            Features.
        y : ndarray, shape (N,) of int, or (N, targets)
            Classes, or standardised numbers.
        folds : ndarray of int, shape (N,)
            The fold of each cloud, 0 to K - 1.
        weights : ndarray, shape (N,), or None, default None
            Weights of the clouds.
        random_state : int, default 0
            Not used; the models are deterministic.

        Returns
        -------
        ndarray, shape (N, classes) or (N, targets)
        """
        weights = np.ones(len(X)) if weights is None else weights
        paths = []
        with threadpool_limits(1, user_api="blas"):
            for fold in range(int(folds.max()) + 1):
                train = folds != fold
                paths.append(self._path(X[train], y[train], weights[train], X[~train], y[~train]))
        longest = max(len(path) for path in paths)
        predicted = np.zeros((longest, len(X), self.classes or y.shape[1]))
        losses = np.full((longest, len(X)), np.inf)
        for fold, path in enumerate(paths):
            for option, model in enumerate(path):
                inside = folds == fold
                predicted[option, inside] = self._apply(X[inside], *model)
                losses[option, inside] = self._losses(predicted[option, inside], y[inside])
        choice = cross_fitted_choice(losses, folds, weights)
        chosen = [path[choice.overall] for path in paths]
        self.matrix = np.stack([matrix for matrix, _ in chosen])
        self.offset = np.stack([offset for _, offset in chosen])
        return np.asarray(predicted[choice.by_fold[folds], np.arange(len(X))])

    def predict(self, X: np.ndarray) -> np.ndarray:
        """Return the mean prediction of the models of all folds."""
        models = zip(self.matrix, self.offset, strict=True)
        return np.mean([self._apply(X, *model) for model in models], axis=0)

    def arrays(self) -> dict[str, np.ndarray]:
        """Return everything that is needed to predict."""
        return {"matrix": self.matrix, "offset": self.offset}

    @classmethod
    def from_arrays(cls, arrays: Mapping[str, np.ndarray], classes: int | None) -> Self:
        """Return a fitted head from what :meth:`arrays` returned, checked."""
        head = cls(classes)
        head.matrix, head.offset = arrays["matrix"], arrays["offset"]
        if head.matrix.ndim != 3 or head.offset.shape != head.matrix.shape[::2]:
            raise ValueError(
                f"linear models of shapes {head.matrix.shape} and {head.offset.shape} do not fit"
            )
        if classes is not None and head.offset.shape[1] != classes:
            raise ValueError(f"linear models of {head.offset.shape[1]} classes: expected {classes}")
        return head

    def _apply(self, X: np.ndarray, matrix: np.ndarray, offset: np.ndarray) -> np.ndarray:
        outputs: np.ndarray = X @ matrix + offset
        return outputs if self.classes is None else softmax(outputs, axis=1)

    def _losses(self, predicted: np.ndarray, y: np.ndarray) -> np.ndarray:
        if self.classes is None:
            squares: np.ndarray = np.square(predicted - y).mean(1)
            return squares
        return -np.log(np.maximum(predicted[np.arange(len(y)), y], _SMALLEST))

    def _path(
        self,
        X: np.ndarray,
        y: np.ndarray,
        weights: np.ndarray,
        X_test: np.ndarray,
        y_test: np.ndarray,
    ) -> list[tuple[np.ndarray, np.ndarray]]:
        """Return linear maps (f, outputs) with their offsets, from strong to weak penalties."""
        share = weights / weights.sum()
        mean = share @ X
        deviation = np.sqrt(share @ np.square(X - mean))
        varies = deviation > 1e-9 * np.abs(X).max(0)
        scale = np.where(varies, deviation, np.inf)
        Z = (X - mean) / scale
        # a penalised linear model depends on products of features only, which rotation keeps: n
        # clouds need no more than n coordinates
        _, _, axes = np.linalg.svd(Z, full_matrices=False)
        Z = Z @ axes.T
        back = (axes / scale).T
        fit = self._ridge if self.classes is None else self._logistic
        path, worse, best = [], 0, np.inf
        for coefficients, intercept in fit(Z, y, weights):
            matrix = back @ coefficients
            path.append((matrix, intercept - mean @ matrix))
            loss = self._losses(self._apply(X_test, *path[-1]), y_test).mean()
            worse, best = (0, loss) if loss < best else (worse + 1, best)
        return path

    def _logistic(self, Z: np.ndarray, y: np.ndarray, weights: np.ndarray) -> Any:
        C = self.classes or 2
        present = np.unique(y)
        model = LogisticRegression(warm_start=True, max_iter=2000)
        for penalty in _INVERSE_PENALTIES:
            coefficients = np.zeros((Z.shape[1], C))
            intercept = np.full(C, np.log(0.5 / len(y)))
            if len(present) == 1:
                intercept[present] = 0.0
            else:
                model.set_params(C=penalty).fit(Z, y, weights)
                if len(present) == 2:
                    coefficients[:, present] = np.outer(model.coef_[0], (-0.5, 0.5))
                    intercept[present] = model.intercept_[0] * np.array((-0.5, 0.5))
                else:
                    coefficients[:, present] = model.coef_.T
                    intercept[present] = model.intercept_
            yield coefficients, intercept

    def _ridge(self, Z: np.ndarray, y: np.ndarray, weights: np.ndarray) -> Any:
        share = weights / weights.sum()
        mean = share @ y
        covariance = (Z * share[:, None]).T @ Z
        values, vectors = np.linalg.eigh(covariance)
        products = vectors.T @ ((Z * share[:, None]).T @ (y - mean))
        unit = max(float(np.trace(covariance)) / max(1, min(Z.shape)), _SMALLEST)
        for penalty in _RIDGES:
            solved = products / (np.maximum(values, 0) + penalty * unit)[:, None]
            yield vectors @ solved, mean
