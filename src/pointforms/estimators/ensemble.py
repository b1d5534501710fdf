"""Train the networks of one ensemble together, and choose decay and epoch on what they hold out."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Container, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import torch
from torch import Tensor, nn

from pointforms.estimators.allocator import keep_freed_memory
from pointforms.estimators.cross_choice import cross_fitted_choice
from pointforms.estimators.fits import Fit, Fitted, Schedule, Store
from pointforms.estimators.plans import Plan
from pointforms.estimators.targets import Targets
from pointforms.estimators.trainer import diverged, finish
from pointforms.estimators.training_run import Run
from pointforms.nn.average import AverageNetwork
from pointforms.support.progress import track

# Most numbers in the hidden layers of one step: with more, a step does not fit in the cache.
_TOGETHER = 1 << 22
# Numbers that a network computes per point in one step, about.
_PER_POINT = 400
# Largest number of clouds per batch in evaluation.
_EVALUATED = 64


@dataclass
class Ensemble(Fitted):
    """Trained members: their average as one model, and what they predict for held-out clouds.

    Attributes
    ----------
    out_of_fold : ndarray, shape (N, outputs), or None
        Mean output, for a classifier probability, of the networks that hold out each cloud, at the
        epoch and decay that the other clouds choose. None if some cloud is never held out.
    decay : float
        The decay that was kept.
    held_out : list of ndarray of int, or None
        The clouds that each member of the model was not trained on, as positions among the training
        clouds. None if some cloud is never held out, or if the members hold out nothing.
    """

    out_of_fold: np.ndarray | None = None
    decay: float = np.nan
    held_out: list[np.ndarray] | None = None


def train_ensemble(
    make_model: Callable[[Fit], nn.Module],
    store: Store,
    y: Tensor,
    targets: Targets,
    plan: Plan,
    schedule: Schedule,
    progress: bool = False,
) -> Ensemble:
    """Train all networks of a plan, and keep those of the best decay at their best common epoch.

    Decay and epoch are those of the smallest mean loss over all held-out clouds.

    Parameters
    ----------
    make_model, store, schedule
        As in :func:`pointforms.estimators.trainer.train`.
    y : Tensor, shape (N, ...)
        The targets as a tensor.
    targets : Targets
        What to predict for each cloud of the store.
    plan : Plan
        The networks.
    progress : bool, default False
        Show a progress bar.
    """
    fits, branches = _branches(plan)
    stacks = _Stacks(make_model, store, y, targets, fits, schedule)
    with keep_freed_memory(), track(len(fits) * schedule.epochs, "training", progress) as advance:
        for epoch in range(schedule.epochs):
            trained = stacks.train_epoch()
            for branch in branches:
                if not branch.ended:
                    branch.add([trained[i] for i in branch.scouts])
                    if branch.best_epoch == epoch and branch.best < np.inf:
                        branch.states = [stacks.state(i) for i in branch.keepers]
                    branch.ended = schedule.ends(
                        branch.training, branch.best_epoch, len(plan.places)
                    )
            advance(len(trained))
            running = {i for branch in branches if not branch.ended for i in branch.places}
            if not running or schedule.is_over():
                break
            stacks.keep(running)
            advance(len(trained.keys() - running) * (schedule.epochs - epoch - 1))
    best = min(branches, key=lambda branch: branch.best)
    kept = [stacks.models[i] for i in best.keepers]
    for i, (place, model) in enumerate(zip(best.keepers, kept, strict=True)):
        finish(model, best.states[i] if best.states else {}, fits[place])
        if plan.kept:  # no held-out cloud has shown whether it is sound
            _check_outputs(model, store, fits[place])
    model = kept[0] if len(kept) == 1 else AverageNetwork(kept, targets.probabilities)
    history = [
        {"train": train, "validation": held_out}
        for train, held_out in zip(best.training, best.pooled, strict=True)
    ]
    return Ensemble(
        model.eval(),
        best.best_epoch,
        history,
        guess=_guess_loss(targets, plan),
        stopped=best.ended,
        out_of_fold=_out_of_fold(branches, plan, targets.probabilities),
        decay=fits[best.keepers[0]].weight_decay,
        held_out=_held_out(plan),
    )


def _held_out(plan: Plan) -> list[np.ndarray] | None:
    """Return what each network that is kept holds out, if every cloud is held out by one."""
    if plan.kept or not plan.holds_out_all():
        return None
    return [np.flatnonzero(plan.folds[division] == fold) for division, fold in plan.places]


def _check_outputs(model: nn.Module, store: Store, fit: Fit) -> None:
    """Raise an error unless the outputs for the training clouds are finite."""
    clouds = torch.from_numpy(fit.train).to(store.sizes.device)
    with torch.no_grad():
        for some in clouds.split(_EVALUATED):
            if not bool(torch.isfinite(model(store.gather(some))).all()):
                raise diverged(fit)


def stack_size(store: Store, schedule: Schedule) -> int:
    """Return how many networks that share their batches train together."""
    if not store.stackable:
        return 1
    n = min(int(store.sizes.max()), schedule.points or int(store.sizes.max()))
    clouds = min(schedule.batch_size, len(store.sizes))
    return max(1, _TOGETHER // (clouds * n * _PER_POINT))


class _Epoch(NamedTuple):
    """One epoch of one network: training loss, and outputs and losses for what it holds out."""

    training: float
    outputs: Tensor
    losses: np.ndarray


class _Stacks:
    """All networks of a plan, in stacks that train together.

    Networks are named by their place in the list of fits.
    """

    def __init__(
        self,
        make_model: Callable[[Fit], nn.Module],
        store: Store,
        y: Tensor,
        targets: Targets,
        fits: Sequence[Fit],
        schedule: Schedule,
    ) -> None:
        size = stack_size(store, schedule)
        by_steps: dict[int, list[int]] = defaultdict(list)
        for place, fit in enumerate(fits):
            by_steps[schedule.steps(fit)].append(place)
        self._runs: list[tuple[list[int], Run]] = []
        self.models: dict[int, nn.Module] = {}
        for same in by_steps.values():
            for start in range(0, len(same), size):
                places = same[start : start + size]
                some = [fits[i] for i in places]
                run = Run(make_model, store, y, targets.loss, some, schedule)
                self._runs.append((places, run))
                self.models |= dict(zip(places, run.models, strict=True))

    def train_epoch(self) -> dict[int, _Epoch]:
        """Train all networks that are still running for an epoch."""
        result: dict[int, _Epoch] = {}
        for places, run in self._runs:
            if run.running:
                trained = run.train_epoch()
                outputs = run.outputs()
                epochs = map(_Epoch, trained, outputs, run.losses(outputs))
                result |= dict(zip([places[i] for i in run.running], epochs, strict=True))
        return result

    def state(self, place: int) -> dict[str, Tensor]:
        """Return the parameters of a running network."""
        for places, run in self._runs:
            if place in places:
                return run.state(run.running.index(places.index(place)))
        raise KeyError(place)

    def keep(self, running: Container[int]) -> None:
        """Stop all other networks."""
        for places, run in self._runs:
            going = [p for p, i in enumerate(run.running) if places[i] in running]
            if len(going) < len(run.running):
                run.keep(going)


class _Branch:
    """The networks of one decay, and their losses epoch by epoch.

    Attributes
    ----------
    scouts : list of int
        Places of the networks that hold out clouds.
    keepers : list of int
        Places of those that are kept: the scouts themselves, or others that hold out nothing.
    """

    def __init__(self, scouts: list[int], others: list[int]) -> None:
        self.scouts = scouts
        self.keepers = others or scouts
        self.places = [*scouts, *others]
        self.training: list[float] = []
        self.pooled: list[float] = []
        self.losses: list[list[np.ndarray]] = []
        self.outputs: list[list[np.ndarray]] = []
        self.best, self.best_epoch = np.inf, 0
        self.states: list[dict[str, Tensor]] = []
        self.ended = False

    def add(self, scouts: Sequence[_Epoch]) -> None:
        """Add an epoch of the scouts."""
        self.training.append(float(np.mean([scout.training for scout in scouts])))
        self.losses.append([scout.losses for scout in scouts])
        self.outputs.append([scout.outputs.float().cpu().numpy() for scout in scouts])
        self.pooled.append(float(np.concatenate(self.losses[-1]).mean()))
        if self.pooled[-1] < self.best:
            self.best, self.best_epoch = self.pooled[-1], len(self.pooled) - 1


def _branches(plan: Plan) -> tuple[list[Fit], list[_Branch]]:
    """Return all networks of a plan, and their places by decay."""
    fits: list[Fit] = []
    branches = []
    for d, scouts in enumerate(plan.scouts):
        others = plan.kept[d] if plan.kept else []
        places = list(range(len(fits), len(fits) + len(scouts) + len(others)))
        fits += [*scouts, *others]
        branches.append(_Branch(places[: len(scouts)], places[len(scouts) :]))
    return fits, branches


def _guess_loss(targets: Targets, plan: Plan) -> float:
    """Return the mean loss over held-out clouds of one prediction for all clouds of a part."""
    fits = plan.scouts[0]
    guesses = [targets.guess_loss(fit) for fit in fits]
    return float(np.average(guesses, weights=[len(fit.validation) for fit in fits]))


def _out_of_fold(branches: Sequence[_Branch], plan: Plan, probabilities: bool) -> np.ndarray | None:
    """Return what the scouts predict for the clouds they hold out, if every cloud is held out.

    For the clouds of a fold, decay and epoch are those of the smallest loss over all other clouds,
    so that the loss of a cloud takes no part in the choice. (Its label does in one way: networks
    that hold out other clouds, whose losses count, are trained on it.)
    """
    if not plan.holds_out_all():
        return None
    epochs = [
        (losses, outputs)
        for branch in branches
        for losses, outputs in zip(branch.losses, branch.outputs, strict=True)
    ]
    N = len(plan.clouds)
    held_out = [plan.folds[division] == fold for division, fold in plan.places]
    count = np.sum(held_out, axis=0)
    pooled = np.zeros((len(epochs), N))
    for e, (losses, _) in enumerate(epochs):
        for own, values in zip(held_out, losses, strict=True):
            pooled[e, own] += values / count[own]
    result = np.zeros((N, epochs[0][1][0].shape[1]))
    choices = [cross_fitted_choice(pooled, folds).by_fold for folds in plan.folds]
    for part, (division, fold) in enumerate(plan.places):
        outputs = torch.from_numpy(epochs[choices[division][fold]][1][part]).double()
        predicted = outputs.softmax(-1) if probabilities else outputs
        result[held_out[part]] += predicted.numpy()
    result /= count[:, None]
    return result
