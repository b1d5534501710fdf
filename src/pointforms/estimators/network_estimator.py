"""The scikit-learn shell around a network on clouds, and the one recipe that trains it."""

from __future__ import annotations

import threading
from abc import ABC, abstractmethod
from collections.abc import Sequence
from copy import copy
from dataclasses import dataclass
from typing import Annotated, Any, Literal

import numpy as np
import torch
from sklearn.base import BaseEstimator
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted
from torch import Tensor, nn

from pointforms.clouds import cloud_list
from pointforms.estimators.allocator import return_freed_memory
from pointforms.estimators.batch_centers import learn_batch_centers
from pointforms.estimators.convergence import warn_if_never_improved
from pointforms.estimators.ensemble import Ensemble, train_ensemble
from pointforms.estimators.fits import Fit, Fitted, Schedule, Store
from pointforms.estimators.per_cloud import check_groups
from pointforms.estimators.plans import Recipe
from pointforms.estimators.saved_networks import save_network
from pointforms.estimators.saved_state import SavedState
from pointforms.estimators.saves_itself import SavesItself
from pointforms.estimators.scaled_clouds import ScalesClouds
from pointforms.estimators.targets import Targets
from pointforms.estimators.trainer import train
from pointforms.estimators.training_clouds import KnowsTrainingClouds
from pointforms.estimators.units import Scale
from pointforms.geometry.stream import points_of
from pointforms.nn.average import first_member
from pointforms.nn.frames import Frame
from pointforms.support.options import Bounds, Count, Positive, RandomState

# torch draws initial parameters from one generator, which all threads share.
_generator = threading.Lock()
# From this many numbers of geometry per point on, it pays to gather them once for all members.
_MUCH_GEOMETRY = 2000
# Decays that weight_decay="auto" tries.
DECAYS = (0.01, 1.0, 10.0)


@dataclass(kw_only=True, eq=False, repr=False)
class NetworkEstimator(SavesItself, KnowsTrainingClouds, ScalesClouds, BaseEstimator, ABC):  # type: ignore[misc]
    """Base class of every estimator that trains a network on clouds.

    A subclass defines what is computed from the clouds once (`prepare`), how batches of that are
    gathered (`make_store`), which network reads them (`_new_model`), and how that network takes
    the statistics of its training clouds (`_standardize`). It adds its own options as fields of
    a data class, from which scikit-learn reads the parameters.
    """

    epochs: Count = 60
    batch_size: Count = 32
    learning_rate: Positive = 3e-3
    weight_decay: Annotated[float, Bounds(at_least=0)] | Literal["auto"] = 1.0
    scale: Scale | None = "standard"
    components: Count | None = None
    frame: Frame = "absolute"
    members: Count = 1
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

    def _stream(self, clouds: Any) -> Any:
        """Return what `make_store` takes instead of what `prepare` returns, to need less memory."""
        return self.prepare(clouds)

    @abstractmethod
    def make_store(
        self,
        prepared: Any,
        origin: Tensor | None = None,
        centers: Tensor | None = None,
    ) -> Store:
        """Turn prepared clouds into tensors, from which batches are gathered.

        Points become differences from the origin (D,), which is that of a trained network, or by
        default one near the clouds; where `adapt` has learned units, these replace both. `centers`
        (N, D) are the centres of the clouds' batches, for frame="batch".
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
        check_device(self.device)

    def make_stores(
        self, prepared: Sequence[Any], trainings: Sequence[np.ndarray]
    ) -> Sequence[Store]:
        """Return a store of all clouds for each set of training clouds, given by their indices.

        What is learned from the clouds without their labels is learned from that set alone. Sets
        for which it is the same share a store.
        """
        if not self._learns_units():
            return [self.make_store(prepared)] * len(trainings)
        self._refuse_batch_frame()
        stores: dict[bytes, Store] = {}
        for training in trainings:
            key = training.tobytes()
            if key not in stores:
                adapted = copy(self)
                adapted.adapt([prepared[i] for i in training])
                stores[key] = adapted.make_store(adapted._stream(prepared))
        return [stores[training.tobytes()] for training in trainings]

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
        folds: np.ndarray | None = None,
        deadline: float | None = None,
    ) -> list[Fitted]:
        """Train a network or an ensemble per part: the recipe of every fit.

        Each network starts from its own seed, is standardised by its own training clouds, and
        keeps the parameters of its best epoch on a validation part split off them. Members of an
        ensemble have one best epoch and decay in common. Apart from rounding, the result for a part
        does not depend on the other parts.

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
        folds : ndarray of int, shape (clouds of a part,), or None, default None
            What the members of an ensemble hold out: one member per fold. None chooses folds.
        deadline : float or None, default None
            Reading of `time.perf_counter` after which no further epoch starts.

        Returns
        -------
        list of Fitted
            One per part, in order; an `Ensemble` where there are members.
        """
        self.check_options()
        if self.components is None:
            self.n_features_in_ = store.features
        y = targets.tensor(getattr(torch, self.dtype)).to(self.device)
        schedule = Schedule(
            int(self.epochs),
            int(self.batch_size),
            int(self.patience),
            self.points_per_epoch,
            deadline,
            targets.learned,
        )

        def make_model(fit: Fit) -> nn.Module:
            model = self._make_model(store, targets.outputs, fit)
            _start_at(model, targets.guess(fit))
            return model

        recipe = self._recipe(store.stackable and store.numbers() >= _MUCH_GEOMETRY)
        groups = None if groups is None else np.asarray(groups)
        plans = [recipe.plan(clouds, targets, groups, seed, folds) for clouds, seed in parts]
        fits = [plan for plan in plans if isinstance(plan, Fit)]
        options: dict[str, Any] = {"together": together, "progress": progress}
        alone = iter(train(make_model, store, y, targets.loss, fits, schedule, **options))
        trained: list[Fitted] = []
        for plan in plans:
            if isinstance(plan, Fit):
                one = next(alone)
                one.guess = targets.guess_loss(plan)
            else:
                one = train_ensemble(make_model, store, y, targets, plan, schedule, progress)
            trained.append(one)
        return trained

    def _recipe(self, share_batches: bool = True) -> Recipe:
        decays = DECAYS if self.weight_decay == "auto" else (float(self.weight_decay),)
        fraction, rate = float(self.validation_fraction), float(self.learning_rate)
        return Recipe(int(self.members), fraction, rate, decays, share_batches)

    def keep(self, fitted: Fitted) -> None:
        """Make a trained network the fitted state of this estimator."""
        self.model_: Any = fitted.model
        self.history_ = fitted.history
        self.best_epoch_ = fitted.best_epoch

    def _fit(
        self,
        clouds: Any,
        targets: Targets,
        groups: Any,
        covariates: Any = None,
        batch: Any = None,
    ) -> None:
        """Train on all clouds, with a seed drawn from `random_state`."""
        count = len(clouds)
        groups = check_groups(groups, count)
        batch = self._checked_batch(batch, count)
        self._keep_names(clouds)
        kept, given, all_groups = targets.counted(), clouds, groups
        if len(kept) < count:  # so that the others do not choose the dimension either
            clouds, targets = [clouds[i] for i in kept], targets.subset(kept)
            groups = None if groups is None else groups[kept]
            batch = None if batch is None else batch[kept]
        self.adapt(clouds, batch)
        return_freed_memory()
        prepared = self._stream(clouds)
        self._forget("batch_centers_", "oof_predictions_", "held_out_")
        self._forget("training_clouds_", "training_groups_")
        if batch is not None:
            self.batch_centers_ = learn_batch_centers(points_of(prepared), batch)
        store = self._make_store_with(prepared, None, covariates, batch, kept, count)
        del prepared  # the store has all that is needed
        return_freed_memory()
        part = (np.arange(len(clouds)), self._seed())
        [fitted] = self.train_networks(store, targets, [part], groups, progress=self.progress)
        warn_if_never_improved([fitted], groups is not None, stacklevel=4)
        self.keep(fitted)
        self._keep_training_clouds(given, kept, all_groups)
        self._keep_out_of_fold(fitted, kept, count, targets)

    def _keep_out_of_fold(
        self, fitted: Fitted, kept: np.ndarray, count: int, targets: Targets
    ) -> None:
        """Keep the predictions for clouds that networks held out, in the units of the targets."""
        if isinstance(fitted, Ensemble) and fitted.out_of_fold is not None:
            values = targets.restored(fitted.out_of_fold)
            self.oof_predictions_ = np.full((count, *values.shape[1:]), np.nan)
            self.oof_predictions_[kept] = values
        if isinstance(fitted, Ensemble) and fitted.held_out is not None:
            self.held_out_ = [kept[own].tolist() for own in fitted.held_out]

    def _make_store_with(
        self,
        prepared: Any,
        origin: Tensor | None,
        covariates: Any,
        batch: np.ndarray | None,
        kept: np.ndarray,
        count: int,
    ) -> Store:
        """Return a store of clouds with their batches; a subclass may take covariates."""
        if covariates is not None:
            raise ValueError(f"covariates: expected None, {type(self).__name__} reads clouds only")
        return self.make_store(prepared, origin, self._centers(prepared, batch))

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
        self._check_prepared(prepared)
        return prepared

    def _check_prepared(self, prepared: Any) -> None:
        """Raise an error unless prepared clouds are as wide as those of `fit`."""
        width = points_of(prepared)[0].shape[1]
        if self.components is None:
            self._check_width(width)
        elif width != self.components:
            raise ValueError(f"the clouds have {width} features: expected {self.components}")

    def _prediction_store(self, clouds: Any, covariates: Any = None, batch: Any = None) -> Store:
        check_is_fitted(self, "model_")
        clouds = cloud_list(clouds)
        count = len(clouds)
        batch = self._checked_batch(batch, count)
        prepared = self._stream(clouds)
        self._check_prepared(prepared)
        origin: Any = first_member(self.model_).origin
        return self._make_store_with(prepared, origin, covariates, batch, np.arange(count), count)

    def count_parameters(self) -> int:
        """Return the number of trainable parameters of the fitted network."""
        check_is_fitted(self, "model_")
        return sum(p.numel() for p in self.model_.parameters() if p.requires_grad)

    def _to_saved(self) -> SavedState:
        return save_network(self)

    def _to_device(self) -> None:
        self.model_ = self.model_.to(self.device)


def _start_at(model: nn.Module, guess: np.ndarray) -> None:
    """Make training start at one prediction for all clouds, the best without looking at them."""
    last = [layer for layer in model.modules() if isinstance(layer, nn.Linear)][-1]
    if last.bias is not None and last.out_features == len(guess):
        with torch.no_grad():
            last.bias.add_(torch.from_numpy(guess).to(last.bias))


def check_device(device: str) -> None:
    """Raise an error unless torch can compute on a device."""
    try:
        torch.zeros(1, device=device).item()
    except (AssertionError, ImportError, NotImplementedError, RuntimeError) as error:
        reason = str(error).partition("\n")[0].rstrip(".")
        raise ValueError(
            f"device={device!r}: expected a device of this machine, such as 'cpu' ({reason})"
        ) from None
