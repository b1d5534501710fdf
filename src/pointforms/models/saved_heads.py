"""Classical classifiers as arrays, which a file can hold, and what they predict.

A head is made from a fitted classifier of scikit-learn and predicts what that predicts, apart from
rounding. No object of scikit-learn is saved or restored.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar, Self

import numpy as np
from scipy.spatial.distance import cdist
from scipy.special import expit, softmax
from sklearn.linear_model import LogisticRegression
from sklearn.utils.multiclass import _ovr_decision_function

from pointforms.models.portfolio.array_checks import Expected, check_range, checked_arrays
from pointforms.models.portfolio.forest import trees_of
from pointforms.models.portfolio.trees import TREE_ARRAYS, Trees, check_references

# Distances that a kernel head holds at a time.
_VALUES = 1 << 22


class ArrayHead:
    """Base class of heads: arrays, and the probabilities that follow from them."""

    expected: ClassVar[Mapping[str, Expected]]

    def __init__(self, arrays: Mapping[str, np.ndarray]) -> None:
        self.arrays = dict(arrays)

    @classmethod
    def restored(cls, arrays: Mapping[str, np.ndarray], features: int, classes: int) -> Self:
        """Return the head of arrays that were read from a file, or raise an error.

        Parameters
        ----------
        arrays : mapping of str to ndarray
            The arrays.
        features : int
            Number of features that the head reads.
        classes : int
            Number of classes.
        """
        pairs = classes * (classes - 1) // 2
        sizes = {
            "features": features,
            "classes": classes,
            "functions": 1 if classes == 2 else classes,
            "others": classes - 1,
            "pairs": pairs,
            "one": 1,
            "two": 2,
        }
        empty = ("components", "splits")
        checked, _ = checked_arrays(arrays, cls._expected(arrays), sizes, empty)
        for name in ("scale", "gamma"):
            if name in checked and not (checked[name] > 0).all():
                raise ValueError(f"array {name!r} has values that are not above 0")
        head = cls(checked)
        head.check()
        return head

    @classmethod
    def _expected(cls, arrays: Mapping[str, np.ndarray]) -> Mapping[str, Expected]:
        return cls.expected

    def check(self) -> None:
        """Raise an error unless the arrays fit together."""

    def _standardised(self, X: np.ndarray) -> np.ndarray:
        standardised: np.ndarray = (X - self.arrays["mean"]) / self.arrays["scale"]
        return standardised


class LogisticHead(ArrayHead):
    """Logistic regression on standardised features, or on principal components of these."""

    expected: ClassVar[Mapping[str, Expected]] = {
        "mean": Expected("float64", ("features",)),
        "scale": Expected("float64", ("features",)),
        "coefficients": Expected("float64", ("functions", "features")),
        "intercept": Expected("float64", ("functions",)),
    }

    @classmethod
    def of(cls, head: Any) -> LogisticHead:
        """Return the head of a pipeline of scaler, possibly components, and regression."""
        scaler, *between, model = [step for _, step in head.steps]
        assert isinstance(model, LogisticRegression)
        coefficients, intercept = model.coef_, model.intercept_
        for components in between:  # ⟨w, A (z - m)⟩ = ⟨Aᵀ w, z⟩ - ⟨Aᵀ w, m⟩
            coefficients = coefficients @ components.components_
            intercept = intercept - coefficients @ components.mean_
        return cls(_floats(scaler) | {"coefficients": coefficients, "intercept": intercept})

    def predict_proba(self, X: np.ndarray) -> np.ndarray:
        """Return the probabilities of the classes: (N, C)."""
        Z = self._standardised(X)
        logits = Z @ self.arrays["coefficients"].T + self.arrays["intercept"]
        if logits.shape[1] > 1:
            return np.asarray(softmax(logits, axis=1))
        return np.column_stack([expit(-logits[:, 0]), expit(logits[:, 0])])


class ForestVotes(ArrayHead):
    """The mean of the votes of decision trees."""

    expected: ClassVar[Mapping[str, Expected]] = {
        "origin": Expected("float64", ("features",)),
        "roots": Expected("int32", ("trees",)),
        **TREE_ARRAYS,
    }

    @classmethod
    def of(cls, head: Any) -> ForestVotes:
        """Return the head of a pipeline of a shift and a forest."""
        forest = head.named_steps["forest"]
        trees = Trees.of(trees_of(forest, len(forest.classes_)))
        arrays = {name: getattr(trees, name) for name in ("roots", *TREE_ARRAYS)}
        origin = np.asarray(head.named_steps["shift"].kw_args["origin"], dtype=np.float64)
        return cls({"origin": origin, **arrays})

    def check(self) -> None:
        """Raise an error unless every descent ends, and leaves hold probabilities."""
        own = self.arrays
        leaves, features = own["leaves"], len(own["origin"])
        check_references(own["roots"], own["children"], own["feature"], len(leaves), features)
        check_range("leaves", leaves, 0, 1)

    def predict_proba(self, X: np.ndarray) -> np.ndarray:
        """Return the probabilities of the classes: (N, C)."""
        trees = Trees(self.arrays["roots"], *(self.arrays[name] for name in TREE_ARRAYS))
        return trees.mean((X - self.arrays["origin"]).astype(np.float32))


class KernelHead(ArrayHead):
    """A support vector machine with Gaussian kernel, whose margins become probabilities."""

    expected: ClassVar[Mapping[str, Expected]] = {
        "mean": Expected("float64", ("features",)),
        "scale": Expected("float64", ("features",)),
        "gamma": Expected("float64", ("one",)),
        "support": Expected("float64", ("vectors", "features")),
        "counts": Expected("int64", ("classes",)),
        "dual": Expected("float64", ("others", "vectors")),
        "intercept": Expected("float64", ("pairs",)),
        "curves": Expected("float64", ("functions", "two")),
    }

    @classmethod
    def of(cls, head: Any) -> KernelHead:
        """Return the head of a pipeline of a scaler and a calibrated machine."""
        scaler, calibrated = [step for _, step in head.steps]
        [one] = calibrated.calibrated_classifiers_
        machine = one.estimator
        return cls(
            _floats(scaler)
            | {
                "gamma": np.array([float(machine.gamma)]),
                "support": np.asarray(machine.support_vectors_, dtype=np.float64),
                "counts": np.asarray(machine.n_support_, dtype=np.int64),
                "dual": np.asarray(machine.dual_coef_, dtype=np.float64),
                "intercept": np.asarray(machine.intercept_, dtype=np.float64),
                "curves": np.array([[curve.a_, curve.b_] for curve in one.calibrators]),
            }
        )

    def check(self) -> None:
        """Raise an error unless every support vector belongs to one class."""
        counts = self.arrays["counts"]
        if (counts < 0).any() or counts.sum() != len(self.arrays["support"]):
            raise ValueError("array 'counts' does not count the support vectors")

    def predict_proba(self, X: np.ndarray) -> np.ndarray:
        """Return the probabilities of the classes: (N, C)."""
        margins = self._margins(self._standardised(X))
        slope, offset = self.arrays["curves"].T
        shares = expit(-(slope * margins + offset))
        if shares.shape[1] == 1:
            return np.column_stack([1 - shares, shares])
        total = shares.sum(1, keepdims=True)
        uniform = np.full_like(shares, 1 / shares.shape[1])
        return np.asarray(np.divide(shares, total, out=uniform, where=total != 0))

    def _margins(self, Z: np.ndarray) -> np.ndarray:
        """Return the margins of the classes against the others: (N, C), or (N, 1) for two."""
        own = self.arrays
        rows = max(1, _VALUES // len(own["support"]))
        parts = []
        for start in range(0, len(Z), rows):
            squared = cdist(Z[start : start + rows], own["support"], "sqeuclidean")
            parts.append(self._pairs(np.exp(-own["gamma"] * squared)))
        between = np.concatenate(parts)
        classes = len(own["counts"])
        if classes == 2:
            return np.asarray(between)
        return np.asarray(_ovr_decision_function(between < 0, -between, classes))

    def _pairs(self, kernel: np.ndarray) -> np.ndarray:
        """Return the margin of each pair of classes i < j: (n, pairs)."""
        dual, ends = self.arrays["dual"], np.cumsum(self.arrays["counts"])
        classes = len(ends)
        if classes == 2:
            return np.asarray(kernel @ dual.T + self.arrays["intercept"])
        of = [
            slice(end - count, end) for end, count in zip(ends, self.arrays["counts"], strict=True)
        ]
        margins = [
            kernel[:, of[i]] @ dual[j - 1, of[i]] + kernel[:, of[j]] @ dual[i, of[j]]
            for i in range(classes)
            for j in range(i + 1, classes)
        ]
        return np.asarray(np.stack(margins, axis=1) + self.arrays["intercept"])


#: The class of each kind of head.
HEADS: dict[str, Any] = {
    "logistic": LogisticHead,
    "forest": ForestVotes,
    "svm": KernelHead,
    "kernel": KernelHead,
}


def as_arrays(kind: str, head: Any) -> ArrayHead:
    """Return a fitted head as arrays; one that was restored is returned as it is."""
    if isinstance(head, ArrayHead):
        return head
    converted: ArrayHead = HEADS[kind].of(head)
    return converted


def _floats(scaler: Any) -> dict[str, np.ndarray]:
    return {"mean": np.array(scaler.mean_), "scale": np.array(scaler.scale_)}
