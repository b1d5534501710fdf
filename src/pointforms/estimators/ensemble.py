"""Train the networks of one ensemble together, and choose decay and epoch on what they hold out."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from math import ceil, sqrt

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

    Decay and epoch are those of the smallest mean loss over all held-out clouds. That loss varies
    less than the one of a single validation part, by the root of the number of parts, and needs
    less patience by as much.

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
    parts = len(plan.places)
    patience = ceil(schedule.patience / sqrt(parts))
    groups = [scouts + (plan.kept[d] if plan.kept else []) for d, scouts in enumerate(plan.scouts)]
    fits = [fit for group in groups for fit in group]
    decay_of = [d for d, group in enumerate(groups) for _ in group]
    size = stack_size(store, schedule)
    runs: list[tuple[list[int], Run]] = []
    by_steps: dict[int, list[int]] = defaultdict(list)
    for i, fit in enumerate(fits):
        by_steps[schedule.steps(fit)].append(i)
    for same in by_steps.values():
        for start in range(0, len(same), size):
            some = same[start : start + size]
            run = Run(make_model, store, y, targets.loss, [fits[i] for i in some], schedule)
            runs.append((some, run))
    models = {i: model for some, run in runs for i, model in zip(some, run.models, strict=True)}
    # what is kept: the scouts themselves, unless others are trained on all clouds
    keepers = [
        [i for i, d in enumerate(decay_of) if d == own and (i not in _scouts(groups, plan, own))]
        if plan.kept
        else [i for i, d in enumerate(decay_of) if d == own]
        for own in range(len(groups))
    ]
    curves = [_Curve() for _ in groups]
    with keep_freed_memory(), track(len(fits) * schedule.epochs, "training", progress) as advance:
        for epoch in range(schedule.epochs):
            trained: dict[int, float] = {}
            outputs: dict[int, Tensor] = {}
            losses: dict[int, np.ndarray] = {}
            for some, run in runs:
                if not run.running:
                    continue
                places = [some[i] for i in run.running]
                trained |= dict(zip(places, run.train_epoch(), strict=True))
                found = run.outputs()
                outputs |= dict(zip(places, found, strict=True))
                losses |= dict(zip(places, run.losses(found), strict=True))
            for d, curve in enumerate(curves):
                if curve.ended:
                    continue
                scouts = _scouts(groups, plan, d)
                curve.add(
                    [trained[i] for i in scouts],
                    [losses[i] for i in scouts],
                    [outputs[i].float().cpu().numpy() for i in scouts],
                )
                if curve.best_epoch == epoch and curve.best < np.inf:
                    curve.states = [
                        run.state(run.running.index(some.index(i)))
                        for i in keepers[d]
                        for some, run in runs
                        if i in some
                    ]
                curve.ended = epoch - curve.best_epoch >= patience
            advance(len(trained))
            running = [d for d, curve in enumerate(curves) if not curve.ended]
            if not running or schedule.is_over():
                break
            for some, run in runs:
                going = [p for p, i in enumerate(run.running) if decay_of[some[i]] in running]
                if len(going) < len(run.running):
                    advance((len(run.running) - len(going)) * (schedule.epochs - epoch - 1))
                    run.keep(going)
    best = min(range(len(curves)), key=lambda d: curves[d].best)
    curve = curves[best]
    kept = [models[i] for i in keepers[best]]
    for i, (place, model) in enumerate(zip(keepers[best], kept, strict=True)):
        finish(model, curve.states[i] if curve.states else {}, fits[place])
        if plan.kept:  # no held-out cloud has shown whether it is sound
            _check_outputs(model, store, fits[place])
    model = kept[0] if len(kept) == 1 else AverageNetwork(kept, targets.probabilities)
    history = [
        {"train": train, "validation": held_out}
        for train, held_out in zip(curve.training, curve.pooled, strict=True)
    ]
    return Ensemble(
        model.eval(),
        curve.best_epoch,
        history,
        guess=_guess_loss(targets, plan),
        stopped=curve.ended,
        out_of_fold=_out_of_fold(curves, plan, targets.probabilities),
        decay=fits[keepers[best][0]].weight_decay,
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


def _scouts(groups: Sequence[Sequence[Fit]], plan: Plan, decay: int) -> list[int]:
    """Return the places of the scouts of a decay among all fits."""
    start = sum(len(group) for group in groups[:decay])
    return list(range(start, start + len(plan.places)))


class _Curve:
    """Losses of the scouts of one decay, epoch by epoch."""

    def __init__(self) -> None:
        self.training: list[float] = []
        self.pooled: list[float] = []
        self.losses: list[list[np.ndarray]] = []
        self.outputs: list[list[np.ndarray]] = []
        self.best, self.best_epoch = np.inf, 0
        self.states: list[dict[str, Tensor]] = []
        self.ended = False

    def add(
        self, training: list[float], losses: list[np.ndarray], outputs: list[np.ndarray]
    ) -> None:
        """Add an epoch."""
        self.training.append(float(np.mean(training)))
        self.pooled.append(float(np.concatenate(losses).mean()))
        self.losses.append(losses)
        self.outputs.append(outputs)
        if self.pooled[-1] < self.best:
            self.best, self.best_epoch = self.pooled[-1], len(self.pooled) - 1


def _guess_loss(targets: Targets, plan: Plan) -> float:
    """Return the mean loss over held-out clouds of one prediction for all clouds of a part."""
    fits = plan.scouts[0]
    guesses = [targets.guess_loss(fit) for fit in fits]
    return float(np.average(guesses, weights=[len(fit.validation) for fit in fits]))


def _out_of_fold(curves: Sequence[_Curve], plan: Plan, probabilities: bool) -> np.ndarray | None:
    """Return what the scouts predict for the clouds they hold out, if every cloud is held out.

    For the clouds of a fold, decay and epoch are those of the smallest loss over all other clouds,
    so that the loss of a cloud takes no part in the choice. (Its label does in one way: networks
    that hold out other clouds, whose losses count, are trained on it.)
    """
    if not plan.holds_out_all():
        return None
    epochs = [
        (losses, outputs)
        for curve in curves
        for losses, outputs in zip(curve.losses, curve.outputs, strict=True)
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
