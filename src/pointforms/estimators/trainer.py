"""The training loop, for one fit or for many that train together.

Fits of one shape (folds × seeds × learning rates) train together: their parameters are stacked,
and each step is one vectorised call. The initial parameters, the order of batches and the updates
of a fit depend on its own seed only, so that it gives the same result together and alone.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

import numpy as np
import torch
from torch import Tensor, nn
from torch.func import functional_call

from pointforms.estimators.allocator import keep_freed_memory
from pointforms.estimators.stacking import AdamW, Stack
from pointforms.support.progress import track

# Most numbers in the factors of one step of fits that train together. With more of them, the step
# no longer fits in the processor's cache.
_TOGETHER = 1 << 21


@dataclass(frozen=True)
class Fit:
    """What distinguishes one fit from another of its shape.

    Attributes
    ----------
    train : ndarray of int
        Indices of the clouds to train on.
    validation : ndarray of int
        Indices of the clouds that choose the epoch.
    seed : int
        Seed of the initial parameters and of the batches.
    learning_rate : float, default 0.003
        Initial learning rate.
    weight_decay : float, default 0.001
        Weight decay.
    weights : ndarray or None, default None
        Weight of each cloud of `train` in the training loss, of which only the ratios matter; None
        weighs all equally. The validation loss has no weights, so that it compares fits with
        different ones.
    """

    train: np.ndarray
    validation: np.ndarray
    seed: int
    learning_rate: float = 3e-3
    weight_decay: float = 1e-3
    weights: np.ndarray | None = None


@dataclass(frozen=True)
class Schedule:
    """What all fits share.

    Attributes
    ----------
    epochs : int, default 60
        Largest number of passes over the training clouds.
    batch_size : int, default 32
        Largest number of clouds per step; the clouds of an epoch are shared out evenly.
    patience : int, default 20
        Stop after this many epochs without a better validation loss.
    points : int or None, default None
        Number of random points of each cloud that an epoch uses; None uses all.
    """

    epochs: int = 60
    batch_size: int = 32
    patience: int = 20
    points: int | None = None

    def steps(self, fit: Fit) -> int:
        """Return the number of steps of an epoch."""
        return -(-len(fit.train) // self.batch_size)


@dataclass
class Fitted:
    """A trained model.

    Attributes
    ----------
    model : nn.Module
        The model, with the parameters of its best epoch.
    best_epoch : int
        That epoch.
    history : list of dict
        Losses of each epoch: "train", the weighted loss that the steps of the epoch minimised, and
        "validation", the mean loss of the validation clouds after it, without weights.
    guess : float, default nan
        The validation loss of a prediction that is the same for all clouds, learned from the
        training labels alone.
    """

    model: nn.Module
    best_epoch: int
    history: list[dict[str, float]] = field(default_factory=list)
    guess: float = np.nan


class Store(Protocol):
    """Clouds as tensors on one device, from which batches are gathered."""

    sizes: Tensor  # number of points of each cloud
    stackable: bool  # whether batches of several fits can be stacked

    @property
    def features(self) -> int:
        """Number of features of the clouds, D."""

    def gather(self, index: Tensor, rows: Tensor | None = None) -> Any:
        """Gather a batch of the clouds of index (..., B), or of some of their points.

        A batch that can be stacked is a tuple of tensors, which torch.func can map over.
        """

    def numbers(self) -> int:
        """Return how many numbers a batch holds per point."""


Loss = Callable[[Tensor, Tensor], Tensor]  # (B, outputs), (B, ...) -> (B,)


def train(
    make_model: Callable[[Fit], nn.Module],
    store: Store,
    targets: Tensor,
    loss: Loss,
    fits: Sequence[Fit],
    schedule: Schedule,
    *,
    together: bool | None = None,
    progress: bool = False,
) -> list[Fitted]:
    """Train every fit; each keeps the parameters of its best epoch on its validation part.

    Parameters
    ----------
    make_model : callable
        Makes the untrained model of a fit, from its seed and training clouds.
    store : Store
        All clouds, to which fits refer by index.
    targets : Tensor, shape (N, ...)
        What to predict for each of them.
    loss : callable
        Maps outputs (B, outputs) and targets (B, ...) to the loss of each cloud, (B,).
    fits : sequence of Fit
        The fits.
    schedule : Schedule
        What they share.
    together : bool or None, default None
        Whether fits of one shape are stacked; None decides by their size.
    progress : bool, default False
        Show a progress bar.

    Returns
    -------
    list of Fitted
        One per fit, in order.
    """
    groups: dict[int, list[int]] = defaultdict(list)
    for i, fit in enumerate(fits):
        groups[schedule.steps(fit)].append(i)
    done: list[Fitted | None] = [None] * len(fits)
    total = len(fits) * schedule.epochs
    with keep_freed_memory(), track(total, "training", progress) as advance:
        for members in groups.values():
            size = _stack_size(store, schedule, together)
            for start in range(0, len(members), size):
                part = members[start : start + size]
                trained = _train_stack(
                    make_model, store, targets, loss, [fits[i] for i in part], schedule, advance
                )
                for i, fitted in zip(part, trained, strict=True):
                    done[i] = fitted
    return [fitted for fitted in done if fitted is not None]


def _stack_size(store: Store, schedule: Schedule, together: bool | None) -> int:
    if not store.stackable:
        return 1
    if together is not None:
        return 1_000_000 if together else 1
    n = min(int(store.sizes.max()), schedule.points or int(store.sizes.max()))
    clouds = min(schedule.batch_size, len(store.sizes))
    return max(1, _TOGETHER // (clouds * n * store.numbers()))


def _train_stack(
    make_model: Callable[[Fit], nn.Module],
    store: Store,
    targets: Tensor,
    loss: Loss,
    fits: Sequence[Fit],
    schedule: Schedule,
    advance: Callable[[int], None],
) -> list[Fitted]:
    models = [make_model(fit) for fit in fits]
    for model in models:
        model.train()
    stack = Stack(models)
    optimizer = AdamW(
        stack.params, [fit.learning_rate for fit in fits], [fit.weight_decay for fit in fits]
    )
    shuffles = [np.random.default_rng([fit.seed, 7]) for fit in fits]
    running = list(range(len(fits)))
    best_loss = [float("inf")] * len(fits)
    best_state: list[dict[str, Tensor]] = [{} for _ in fits]
    fitted = [Fitted(model, 0) for model in models]
    template = stack.template
    steps = schedule.steps(fits[0])
    width = max(-(-len(fit.train) // steps) for fit in fits)

    def batch_loss(
        params: Any, buffers: Any, batch: Any, y: Tensor, counts: Tensor, weights: Tensor
    ) -> Tensor:
        out = functional_call(template, (params, buffers), (batch, counts))
        return (weights * loss(out, y)).sum() / counts.sum()

    def evaluate(params: Any, buffers: Any, batch: Any) -> Tensor:
        outputs: Tensor = functional_call(template, (params, buffers), (batch,))
        return outputs

    for epoch in range(schedule.epochs):
        template.train()
        # the learning rate falls along a cosine, from its initial value to 0
        factor = 0.5 * (1 + np.cos(np.pi * epoch / schedule.epochs))
        orders = [_batches(fits[i], steps, width, shuffles[i]) for i in running]
        total = torch.zeros(len(running), device=store.sizes.device)
        for step in zip(*orders, strict=True):
            index, *floats = (torch.from_numpy(np.stack(part)) for part in zip(*step, strict=True))
            like = next(iter(stack.params.values()))
            counts, weights = (part.to(targets.device, like.dtype) for part in floats)
            rngs = [shuffles[i] for i in running]
            rows = _some_rows(store, index, floats[0], schedule.points, rngs)
            index = index.to(store.sizes.device)
            if stack.single:
                index, counts, weights = index[0], counts[0], weights[0]
                rows = None if rows is None else rows[0]
            batch = store.gather(index, rows)
            grads, value = stack.gradients(batch_loss, batch, targets[index], counts, weights)
            optimizer.step(stack.params, grads, float(factor))
            total = total + value.detach()
        template.eval()
        scores = _validation_losses(
            stack, evaluate, store, targets, loss, [fits[i] for i in running]
        )
        going = []
        means = (total / steps).tolist()
        for place, i in enumerate(running):
            fitted[i].history.append({"train": means[place], "validation": scores[place]})
            if scores[place] < best_loss[i]:
                best_loss[i], fitted[i].best_epoch = scores[place], epoch
                best_state[i] = {k: v[place].clone() for k, v in stack.state().items()}
            if epoch - fitted[i].best_epoch < schedule.patience:
                going.append(place)
        advance(len(running))
        if len(going) < len(running):
            advance((len(running) - len(going)) * (schedule.epochs - epoch - 1))
            rows_kept = torch.tensor(going, dtype=torch.long)
            running = [running[place] for place in going]
            if not running:
                break
            stack.keep(rows_kept)
            optimizer.keep(rows_kept)
    for fit, one, state in zip(fits, fitted, best_state, strict=True):
        if not state:
            raise ValueError(
                f"training diverged: the loss was never finite (learning_rate={fit.learning_rate}, "
                f"weight_decay={fit.weight_decay}, seed={fit.seed}). Lower the learning rate, or "
                "look for clouds and features with extreme values"
            )
        one.model.load_state_dict(state)
        one.model.eval()
    return fitted


def _batches(
    fit: Fit, steps: int, width: int, rng: np.random.Generator
) -> list[tuple[np.ndarray, np.ndarray, np.ndarray]]:
    """Return a shuffled epoch in batches: clouds, which of them count, and their weights.

    The sizes of batches differ by one at most, so that none is too small to learn from. All are
    filled up to one width with clouds that do not count. Weights are relative to their mean over
    all training clouds, not over a batch: so the expected gradient of a batch is that of the
    weighted mean Σ w l / Σ w over all of them.
    """
    batches = []
    for part in np.array_split(rng.permutation(len(fit.train)), steps):
        filled = np.resize(part, width)
        counts = (np.arange(width) < len(part)).astype(np.float64)
        weights = counts
        if fit.weights is not None:
            weights = counts * (fit.weights / fit.weights.mean())[filled]
        batches.append((fit.train[filled], counts, weights))
    return batches


def _some_rows(
    store: Store,
    index: Tensor,
    counts: Tensor,
    points: int | None,
    rngs: list[np.random.Generator],
) -> Tensor | None:
    """Draw `points` random points of each larger cloud: (E, B, points), or None for all.

    Clouds that do not count get their first points, so that how many of them fill up a batch does
    not change what is drawn later.
    """
    if points is None or int(store.sizes.max()) <= points:
        return None
    chosen = np.empty((*index.shape, points), dtype=np.int64)
    sizes, real = store.sizes.cpu().numpy(), counts.numpy() > 0
    for e, rng in enumerate(rngs):
        for b, cloud in enumerate(index[e].tolist()):
            draw = sizes[cloud] > points and real[e, b]
            chosen[e, b] = rng.permutation(sizes[cloud])[:points] if draw else np.arange(points)
    return torch.from_numpy(chosen).to(store.sizes.device)


def _validation_losses(
    stack: Stack,
    evaluate: Callable[..., Tensor],
    store: Store,
    targets: Tensor,
    loss: Loss,
    fits: Sequence[Fit],
) -> list[float]:
    """Return the mean loss of each fit on its validation part."""
    longest = max(len(fit.validation) for fit in fits)
    filled = np.stack([np.resize(fit.validation, longest) for fit in fits])
    counts = np.stack([np.arange(longest) < len(fit.validation) for fit in fits])
    totals = np.zeros(len(fits))
    for start in range(0, longest, 64):
        index = torch.from_numpy(filled[:, start : start + 64]).to(store.sizes.device)
        batch = store.gather(index[0] if stack.single else index)
        with torch.no_grad():
            out = stack.call(evaluate, batch)
            each = loss(out.flatten(0, 1), targets[index].flatten(0, 1)).view(index.shape)
        totals += (each.double().cpu().numpy() * counts[:, start : start + 64]).sum(1)
    return [float(mean) for mean in totals / counts.sum(1)]
