"""What every estimator that trains a network on clouds shares, whatever the network is."""

from __future__ import annotations

import threading
from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import Any, Self

import numpy as np
import torch
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted
from torch import Tensor, nn
from torch.nn import functional

from pointforms.estimators.trainer import Fit, Schedule, Store, apply, train
from pointforms.estimators.validation import validation_part
from pointforms.support.checks import check_int

# torch draws initial parameters from one generator, which all threads share.
_generator = threading.Lock()


class CloudLearner(BaseEstimator, ABC):  # type: ignore[misc]
    """Options of training, and how they become a fit.

    A subclass says what its clouds are prepared to (`prepare`), how batches of them are gathered
    (`make_store`), which network reads those (`_new_model`), and how it takes the statistics of
    its training clouds (`_standardize`).
    """

    _fewest_epochs = 1
    # set by the constructors of subclasses
    epochs: int
    batch_size: int
    learning_rate: float
    weight_decay: float
    validation_fraction: float
    patience: int
    points_per_epoch: int | None
    random_state: int | np.random.RandomState | None
    device: str
    dtype: str
    progress: bool

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.two_d_array = False
        tags.input_tags.three_d_array = True
        return tags

    # --- what a subclass defines ------------------------------------------------------------

    @abstractmethod
    def prepare(self, clouds: Any) -> Sequence[Any]:
        """What is computed of every cloud once, and can be shared by many fits."""

    @abstractmethod
    def make_store(self, prepared: Sequence[Any]) -> Store:
        """Prepared clouds as tensors, from which batches are gathered."""

    @abstractmethod
    def _new_model(self, outputs: int) -> nn.Module:
        """The network, untrained."""

    @abstractmethod
    def _standardize(self, model: nn.Module, store: Any, fit: Fit) -> None:
        """Give the network the statistics of the training clouds."""

    @abstractmethod
    def _width(self, prepared: Sequence[Any]) -> int:
        """Features of the clouds."""

    # --- training ---------------------------------------------------------------------------

    def check_options(self) -> None:
        """Refuse what no fit can work with."""
        for name in ("batch_size", "patience"):
            check_int(name, getattr(self, name), at_least=1)
        check_int("epochs", self.epochs, at_least=self._fewest_epochs)
        if self.dtype not in ("float32", "float64"):
            raise ValueError(f"dtype={self.dtype!r}: expected one of ('float32', 'float64')")
        if not 0 <= self.validation_fraction < 1:
            raise ValueError(f"validation_fraction={self.validation_fraction!r}: expected [0, 1)")

    def make_model(self, store: Any, outputs: int, fit: Fit) -> nn.Module:
        """The untrained model of a fit, standardised by its training clouds."""
        with _generator:
            state = torch.get_rng_state()
            torch.manual_seed(fit.seed)
            model = self._new_model(outputs).to(self.device, getattr(torch, self.dtype))
            torch.set_rng_state(state)  # leave the caller's random numbers alone
        self._standardize(model, store, fit)
        return model

    def schedule(self) -> Schedule:
        return Schedule(
            int(self.epochs), int(self.batch_size), int(self.patience), self.points_per_epoch
        )

    def make_fit(self, train_part: np.ndarray, y: np.ndarray, groups: Any, seed: int) -> Fit:
        """Split a validation part off the training clouds, groups kept together."""
        stratify = isinstance(self, ClassifierMixin)
        inner, validation = validation_part(
            y[train_part],
            None if groups is None else np.asarray(groups)[train_part],
            self.validation_fraction,
            seed,
            stratify,
        )
        return Fit(
            train_part[inner],
            train_part[validation],
            seed,
            float(self.learning_rate),
            float(self.weight_decay),
        )

    def seed(self) -> int:
        return int(check_random_state(self.random_state).randint(2**31 - 1))

    def _fitting(self, clouds: Any) -> Sequence[Any]:
        """Clouds prepared for `fit`, which learns their width."""
        prepared = self.prepare(clouds)
        self.n_features_in_ = self._width(prepared)
        return prepared

    def _checked(self, clouds: Any) -> Sequence[Any]:
        """Clouds prepared for a fitted model."""
        check_is_fitted(self, "model_")
        prepared = self.prepare(clouds)
        width = self._width(prepared)
        if width != self.n_features_in_:
            raise ValueError(
                f"the clouds have {width} features, but {type(self).__name__} was fitted with "
                f"{self.n_features_in_}"
            )
        return prepared

    def _fit_network(
        self,
        prepared: Sequence[Any],
        y: np.ndarray,
        targets: Tensor,
        outputs: int,
        loss: Any,
        groups: Any,
    ) -> Self:
        store = self.make_store(prepared)
        fit = self.make_fit(np.arange(len(prepared)), y, groups, self.seed())
        fitted = train(
            lambda f: self.make_model(store, outputs, f),
            store,
            targets.to(self.device),
            loss,
            [fit],
            self.schedule(),
            progress=self.progress,
        )[0]
        self.outputs_ = outputs
        self.model_: Any = fitted.model
        self.history_ = fitted.history
        self.best_epoch_ = fitted.best_epoch
        return self

    # --- what was learned -------------------------------------------------------------------

    def _outputs(self, clouds: Any) -> Tensor:
        store = self.make_store(self._checked(clouds))
        return apply(self.model_, self.model_, store)

    def count_parameters(self) -> int:
        """Trainable parameters of the fitted model."""
        check_is_fitted(self, "model_")
        return sum(p.numel() for p in self.model_.parameters() if p.requires_grad)


class CloudClassifier(ClassifierMixin, CloudLearner):  # type: ignore[misc]
    """Labels, their weights, and probabilities."""

    class_weight: Any

    def fit(self, clouds: Any, y: Any, groups: Any = None) -> Self:
        """Learn to tell the classes apart.

        Parameters
        ----------
        clouds : list of (n_i, D), or what `prepare` made of them
        y : (N,)
            Labels of any kind.
        groups : (N,) or None
            Clouds of one group stay on one side of the validation split.
        """
        self.check_options()
        clouds = list(clouds)
        self.classes_, codes = encoded_labels(y, len(clouds))
        check_groups(groups, len(clouds))
        prepared = self._fitting(clouds)
        loss = self.loss(codes)
        return self._fit_network(
            prepared, codes, torch.from_numpy(codes), len(self.classes_), loss, groups
        )

    def loss(self, codes: np.ndarray) -> Any:
        """Cross-entropy of each cloud, weighted by class."""
        weight = torch.from_numpy(self._class_weights(codes)).to(
            self.device, getattr(torch, self.dtype)
        )
        return lambda out, y: functional.cross_entropy(out, y, reduction="none") * weight[y]

    def _class_weights(self, codes: np.ndarray) -> np.ndarray:
        counts = np.bincount(codes, minlength=len(self.classes_))
        if self.class_weight is None:
            return np.ones(len(counts))
        if self.class_weight == "balanced":
            return len(codes) / (len(counts) * np.maximum(counts, 1))
        if isinstance(self.class_weight, dict):
            absent = set(self.class_weight) - set(self.classes_.tolist())
            if absent:
                raise ValueError(f"class_weight names {min(absent, key=str)!r}, which is no class")
            return np.array([self.class_weight.get(c, 1.0) for c in self.classes_.tolist()])
        raise ValueError(
            f"class_weight={self.class_weight!r}: expected None, 'balanced' or a dictionary"
        )

    def predict_proba(self, clouds: Any) -> np.ndarray:
        """Probabilities of the classes: (N, C)."""
        probabilities: np.ndarray = self._outputs(clouds).double().softmax(-1).cpu().numpy()
        return probabilities

    def predict(self, clouds: Any) -> np.ndarray:
        """The most probable class of each cloud: (N,)."""
        found: np.ndarray = self.classes_[self.predict_proba(clouds).argmax(1)]
        return found


def encoded_labels(y: Any, clouds: int) -> tuple[np.ndarray, np.ndarray]:
    """The classes, and the class of each cloud as an index."""
    classes, codes = np.unique(_checked_labels(y, clouds), return_inverse=True)
    if len(classes) < 2:
        raise ValueError(f"y has 1 class, {classes[0]!r}: at least 2 are needed")
    return classes, codes


def _checked_labels(y: Any, clouds: int) -> np.ndarray:
    """Labels as an array, one for each cloud, none missing."""
    labels = np.asarray(y)
    if labels.ndim != 1:
        raise ValueError(f"y has shape {labels.shape}: expected ({clouds},)")
    if len(labels) != clouds:
        raise ValueError(f"y has {len(labels)} labels for {clouds} clouds")
    missing = (
        ~np.isfinite(labels)
        if labels.dtype.kind == "f"
        else np.array([v is None or v != v for v in labels.tolist()], dtype=bool)
    )
    if missing.any():
        raise ValueError(
            f"y has {int(missing.sum())} missing labels, the first at {missing.argmax()}"
        )
    if labels.dtype.kind == "f" and (labels != np.round(labels)).any():
        raise ValueError(
            "y has fractions: a classifier needs classes; PointFormRegressor takes numbers"
        )
    return labels


def check_groups(groups: Any, clouds: int) -> None:
    if groups is not None and len(groups) != clouds:
        raise ValueError(f"groups has {len(groups)} entries for {clouds} clouds")
