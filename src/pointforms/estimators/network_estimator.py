"""The scikit-learn shell around a network on clouds, and the one recipe that trains it."""

from __future__ import annotations

import threading
from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated, Any, Literal, Self

import numpy as np
import torch
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted
from torch import Tensor, nn

from pointforms.clouds import cloud_list
from pointforms.estimators.convergence import warn_if_never_improved
from pointforms.estimators.per_cloud import check_groups
from pointforms.estimators.prediction import class_probabilities
from pointforms.estimators.targets import ClassTargets, Targets
from pointforms.estimators.trainer import Fit, Fitted, Schedule, Store, train
from pointforms.estimators.validation_split import validation_part
from pointforms.support.cloud_estimator import TakesClouds
from pointforms.support.options import Bounds, Count, Positive, RandomState

# torch draws initial parameters from one generator, which all threads share.
_generator = threading.Lock()


@dataclass(kw_only=True, eq=False, repr=False)
class NetworkEstimator(TakesClouds, BaseEstimator, ABC):  # type: ignore[misc]
    """Base class of every estimator that trains a network on clouds.

    A subclass defines what is computed from the clouds once (`prepare`), how batches of that are
    gathered (`make_store`), which network reads them (`_new_model`), and how that network takes
    the statistics of its training clouds (`_standardize`). It adds its own options as fields of
    a data class, from which scikit-learn reads the parameters.
    """

    epochs: Count = 60
    batch_size: Count = 32
    learning_rate: Positive = 3e-3
    weight_decay: Annotated[float, Bounds(at_least=0)] = 1e-3
    validation_fraction: Annotated[float, Bounds(at_least=0, below=1)] = 0.15
    patience: Count = 20
    points_per_epoch: Count | None = None
    random_state: RandomState = None
    device: str = "cpu"
    dtype: Literal["float32", "float64"] = "float32"
    progress: bool = False
    class_weight: Literal["balanced"] | dict[Any, Positive] | None = None

    # --- what a subclass defines ------------------------------------------------------------

    @abstractmethod
    def prepare(self, clouds: Any) -> Sequence[Any]:
        """Compute from each cloud what does not depend on labels, for many fits to share.

        Once the estimator is fitted, features with names are put in the order of `fit`.
        """

    @abstractmethod
    def make_store(self, prepared: Sequence[Any], origin: Tensor | None = None) -> Store:
        """Turn prepared clouds into tensors, from which batches are gathered.

        Points become differences from the origin (D,), which is that of a trained network, or by
        default one near the clouds.
        """

    @abstractmethod
    def _new_model(self, outputs: int) -> nn.Module:
        """Make the untrained network."""

    @abstractmethod
    def _standardize(self, model: nn.Module, store: Any, fit: Fit) -> None:
        """Give the network the statistics of the training clouds."""

    # --- training ---------------------------------------------------------------------------

    def check_options(self) -> None:
        """Raise an error if an option has a value that no fit can work with."""
        super().check_options()
        _check_device(self.device)

    def make_stores(
        self, prepared: Sequence[Any], trainings: Sequence[np.ndarray]
    ) -> Sequence[Store]:
        """Return a store of all clouds for each set of training clouds, given by their indices.

        What is learned from the clouds without their labels is learned from that set alone. Sets
        for which it is the same share a store.
        """
        return [self.make_store(prepared)] * len(trainings)

    def train_parts(
        self,
        stores: Sequence[Store],
        targets: Targets,
        parts: Sequence[tuple[np.ndarray, int]],
        groups: Any = None,
        together: bool | None = None,
        progress: bool = False,
    ) -> list[Fitted]:
        """Train one network per part as :meth:`train_networks` does, each on its own store."""
        trained: dict[int, Fitted] = {}
        for store in {id(store): store for store in stores}.values():
            members = [i for i, one in enumerate(stores) if one is store]
            chosen = [parts[i] for i in members]
            fitted = self.train_networks(store, targets, chosen, groups, together, progress)
            trained |= dict(zip(members, fitted, strict=True))
        return [trained[i] for i in range(len(parts))]

    def train_networks(
        self,
        store: Store,
        targets: Targets,
        parts: Sequence[tuple[np.ndarray, int]],
        groups: Any = None,
        together: bool | None = None,
        progress: bool = False,
    ) -> list[Fitted]:
        """Train one network per part: the recipe of `fit`, `cross_fit`, sweeps and refits.

        Each network starts from its own seed, is standardised by its own training clouds, and
        keeps the parameters of its best epoch on a validation part split off them. Apart from
        rounding, the result for a part does not depend on the other parts.

        Parameters
        ----------
        store : Store
            All clouds, made by `make_store`.
        targets : Targets
            What to predict for each of them.
        parts : sequence of (ndarray of int, int)
            The training clouds, as indices, and the seed of each network.
        groups : array-like, shape (N,), or None, default None
            Clouds of one group stay on one side of the validation split.
        together : bool or None, default None
            Whether networks train together in stacks; None decides by their size.
        progress : bool, default False
            Show a progress bar.

        Returns
        -------
        list of Fitted
            One per part, in order.
        """
        self.check_options()
        self.n_features_in_ = store.features
        y = targets.tensor(getattr(torch, self.dtype)).to(self.device)
        schedule = Schedule(
            int(self.epochs), int(self.batch_size), int(self.patience), self.points_per_epoch
        )
        fits = [self.make_fit(clouds, targets, groups, seed) for clouds, seed in parts]
        trained = train(
            lambda fit: self._make_model(store, targets.outputs, fit),
            store,
            y,
            targets.loss,
            fits,
            schedule,
            together=together,
            progress=progress,
        )
        for fit, fitted in zip(fits, trained, strict=True):
            fitted.guess = targets.guess_loss(fit)
        return trained

    def make_fit(self, clouds: np.ndarray, targets: Targets, groups: Any, seed: int) -> Fit:
        """Split a validation part off the training clouds, groups kept together."""
        inner, validation = validation_part(
            targets.values[clouds],
            None if groups is None else np.asarray(groups)[clouds],
            self.validation_fraction,
            seed,
            targets.stratify,
        )
        return Fit(
            clouds[inner],
            clouds[validation],
            seed,
            float(self.learning_rate),
            float(self.weight_decay),
            targets.weights(clouds[inner]),
        )

    def keep(self, fitted: Fitted) -> None:
        """Make a trained network the fitted state of this estimator."""
        self.model_: Any = fitted.model
        self.history_ = fitted.history
        self.best_epoch_ = fitted.best_epoch

    def _fit(self, clouds: Any, targets: Targets, groups: Any) -> None:
        """Train on all clouds, with a seed drawn from `random_state`."""
        groups = check_groups(groups, len(targets.values))
        self._keep_names(clouds)
        kept = targets.counted()
        if len(kept) < len(clouds):  # so that the others do not choose the dimension either
            clouds, targets = [clouds[i] for i in kept], targets.subset(kept)
            groups = None if groups is None else groups[kept]
        store = self.make_store(self._prepare_for_fit(clouds))
        part = (np.arange(len(clouds)), self._seed())
        [fitted] = self.train_networks(store, targets, [part], groups, progress=self.progress)
        warn_if_never_improved([fitted], groups is not None, stacklevel=4)
        self.keep(fitted)

    def _prepare_for_fit(self, clouds: Any) -> Sequence[Any]:
        """Prepare the training clouds, and remember what later clouds have to share with them."""
        return self.prepare(clouds)

    def _make_model(self, store: Any, outputs: int, fit: Fit) -> nn.Module:
        """Make the untrained network of a fit, standardised by its training clouds."""
        with _generator:
            state = torch.get_rng_state()
            torch.manual_seed(fit.seed)
            model = self._new_model(outputs).to(self.device, getattr(torch, self.dtype))
            torch.set_rng_state(state)  # leave the caller's random numbers alone
        self._standardize(model, store, fit)
        return model

    def _seed(self) -> int:
        return int(check_random_state(self.random_state).randint(2**31 - 1))

    # --- the fitted estimator ---------------------------------------------------------------

    def prepare_for_prediction(self, clouds: Any) -> Sequence[Any]:
        """Prepare clouds as :meth:`prepare`, and check that they are as wide as those of `fit`."""
        check_is_fitted(self, "model_")
        prepared = self.prepare(clouds)
        first = prepared[0]
        points = first if isinstance(first, torch.Tensor) else first.points
        self._check_width(points.shape[1])
        return prepared

    def _prediction_store(self, clouds: Any) -> Store:
        return self.make_store(self.prepare_for_prediction(clouds), self.model_.origin)

    def count_parameters(self) -> int:
        """Return the number of trainable parameters of the fitted network."""
        check_is_fitted(self, "model_")
        return sum(p.numel() for p in self.model_.parameters() if p.requires_grad)


def _check_device(device: str) -> None:
    """Raise an error unless torch can compute on a device."""
    try:
        torch.zeros(1, device=device).item()
    except (AssertionError, ImportError, NotImplementedError, RuntimeError) as error:
        reason = str(error).partition("\n")[0].rstrip(".")
        raise ValueError(
            f"device={device!r}: expected a device of this machine, such as 'cpu' ({reason})"
        ) from None


class NetworkClassifier(ClassifierMixin, NetworkEstimator):  # type: ignore[misc]
    """Base class of every classifier that trains a network on clouds."""

    def fit(self, clouds: Any, y: Any, groups: Any = None, sample_weight: Any = None) -> Self:
        """Learn to predict the class of a cloud.

        Parameters
        ----------
        clouds : Clouds, or list of array-like or tensor, each of shape (n_i, D)
            The training clouds, or what `prepare` returned for them.
        y : array-like, shape (N,)
            A label of any kind per cloud.
        groups : array-like, shape (N,), or None, default None
            Clouds of one group stay on one side of the validation split.
        sample_weight : array-like, shape (N,), or None, default None
            Weights of the clouds in the training loss, of which only the ratios matter. A cloud of
            weight 0 is neither trained nor validated on. The validation loss has no weights.

        Returns
        -------
        Self
            The fitted classifier.
        """
        self.check_options()
        clouds = cloud_list(clouds)
        targets = ClassTargets.of(y, len(clouds), self.class_weight, sample_weight)
        self._fit(clouds, targets, groups)
        self.classes_ = targets.classes
        return self

    def predict_proba(self, clouds: Any) -> np.ndarray:
        """Predict class probabilities.

        Parameters
        ----------
        clouds : Clouds, or list of array-like or tensor, each of shape (n_i, D)
            The clouds, or what `prepare` returned for them.

        Returns
        -------
        ndarray, shape (N, C)
            One column per class, in the order of `classes_`.
        """
        store = self._prediction_store(clouds)
        return class_probabilities(self.model_, store)

    def predict(self, clouds: Any) -> np.ndarray:
        """Predict the most probable class.

        Parameters
        ----------
        clouds : Clouds, or list of array-like or tensor, each of shape (n_i, D)
            The clouds, or what `prepare` returned for them.

        Returns
        -------
        ndarray, shape (N,)
            One label per cloud.
        """
        best = self.predict_proba(clouds).argmax(1)
        labels: np.ndarray = self.classes_[best]
        return labels
