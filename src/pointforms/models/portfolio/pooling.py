"""Pool the predictions of several parts, with weights learned on clouds that no part has seen."""

from __future__ import annotations

import numpy as np
from scipy.optimize import minimize
from scipy.special import log_softmax, softmax

from pointforms.estimators.targets import ClassTargets, Targets
from pointforms.models.portfolio.common_prior import class_frequencies

# Smallest probability whose logarithm is pooled.
_SMALLEST = 1e-4
# How many clouds the prior belief counts for that all parts are worth the same.
_BELIEF = 2.0


class Pool:
    """Weights of parts: the pooled output is the weighted sum of their outputs.

    Outputs of a classifier are logarithms of probabilities. Parts add up as evidence: what counts
    of each is how far it is from the frequencies of the classes, log p - log f. So weights of 0
    leave the frequencies, and large ones make the pooled probabilities sharper.

    Parameters
    ----------
    weights : ndarray, shape (parts + 1,)
        At least 0, but for the last, that of the constant, which makes their sum 1.
    constant : ndarray, shape (K,)
        The output that does not depend on the cloud.
    probabilities : bool
        Whether predictions are probabilities.
    """

    def __init__(self, weights: np.ndarray, constant: np.ndarray, probabilities: bool) -> None:
        self.weights, self.constant, self.probabilities = weights, constant, probabilities

    @classmethod
    def learn(cls, predicted: np.ndarray, targets: Targets, clouds: np.ndarray) -> Pool:
        """Learn the weights of parts on some clouds.

        They minimise the mean loss, plus a belief that all parts are worth the same, which counts
        as much as a few clouds: with few clouds the pool is close to the mean.

        Parameters
        ----------
        predicted : ndarray, shape (parts, N, K)
            Out-of-fold predictions: probabilities, or standardised numbers.
        targets : Targets
            What was to be predicted.
        clouds : ndarray of int
            The clouds to learn on.
        """
        probabilities = targets.probabilities
        parts = len(predicted)
        constant = constant_output(targets)
        outputs = _outputs(predicted[:, clouds], probabilities) - constant
        y = targets.values[clouds]
        weights = targets.weights(clouds)
        share = np.ones(len(clouds)) if weights is None else weights
        share = share / share.sum()
        usual = np.full(parts, 1 / parts)
        belief = _BELIEF / len(clouds)

        def objective(w: np.ndarray) -> tuple[float, np.ndarray]:
            pooled = constant + np.tensordot(w, outputs, 1)
            if probabilities:
                logs = log_softmax(pooled, axis=1)
                loss = -(share * logs[np.arange(len(y)), y]).sum()
                error = np.exp(logs)
                error[np.arange(len(y)), y] -= 1
            else:
                error = 2 * (pooled - y) / y.shape[1]
                loss = (share[:, None] * (pooled - y) ** 2).sum() / y.shape[1]
            gradient = np.einsum("mnk,nk,n->m", outputs, error, share)
            away = w - usual
            return float(loss + belief * away @ away), gradient + 2 * belief * away

        found = minimize(
            objective, usual, jac=True, method="L-BFGS-B", bounds=[(0, None)] * len(usual)
        )
        return cls(np.append(found.x, 1 - found.x.sum()), constant, probabilities)

    def predict(self, predicted: np.ndarray) -> np.ndarray:
        """Return pooled predictions (N, K) for those of the parts (parts, N, K)."""
        pooled = self.output(predicted)
        return softmax(pooled, axis=1) if self.probabilities else pooled

    def output(self, predicted: np.ndarray) -> np.ndarray:
        """Return the weighted sum (N, K), for probabilities that of their logarithms."""
        outputs = _outputs(predicted, self.probabilities)
        of_constant = self.weights[-1] * self.constant
        pooled: np.ndarray = of_constant + np.tensordot(self.weights[:-1], outputs, 1)
        return pooled


def constant_output(targets: Targets) -> np.ndarray:
    """Return the best output that is the same for all clouds: (K,)."""
    if not isinstance(targets, ClassTargets):
        return np.zeros(targets.outputs)
    return np.asarray(np.log(class_frequencies(targets)))


def _outputs(predicted: np.ndarray, probabilities: bool) -> np.ndarray:
    """Return what is pooled: logarithms of probabilities, or numbers, (parts, N, K)."""
    return np.log(np.maximum(predicted, _SMALLEST)) if probabilities else predicted


def fold_pools(predicted: np.ndarray, targets: Targets, folds: np.ndarray) -> list[Pool]:
    """Return a pool for each fold, with weights learned on the other folds."""
    return [
        Pool.learn(predicted, targets, np.flatnonzero(folds != fold)) for fold in np.unique(folds)
    ]


def cross_fitted_pool(predicted: np.ndarray, targets: Targets, folds: np.ndarray) -> np.ndarray:
    """Return pooled predictions (N, K), for each fold with weights learned on the other folds."""
    result = np.zeros(predicted.shape[1:])
    pools = fold_pools(predicted, targets, folds)
    for fold, pool in zip(np.unique(folds), pools, strict=True):
        inside = folds == fold
        result[inside] = pool.predict(predicted[:, inside])
    return result
