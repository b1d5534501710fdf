"""The training loop, for one fit or for many that train together.

Fits of one shape (folds × seeds × learning rates) train together: their parameters are stacked,
and each step is one vectorised call. The initial parameters, the order of batches and the updates
of a fit depend on its own seed only, so that it gives the same result together and alone. Members
of one ensemble share their batches, so that a step gathers the clouds and their geometry once.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Sequence

from torch import Tensor, nn

from pointforms.estimators.allocator import keep_freed_memory
from pointforms.estimators.fits import Fit, Fitted, Loss, Schedule, Store
from pointforms.estimators.training_run import Run
from pointforms.support.progress import track

# Most numbers in the factors of one step of fits that train together. With more of them, the step
# no longer fits in the processor's cache.
_TOGETHER = 1 << 21


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
    run = Run(make_model, store, targets, loss, fits, schedule)
    best_loss = [float("inf")] * len(fits)
    best_state: list[dict[str, Tensor]] = [{} for _ in fits]
    fitted = [Fitted(model, 0) for model in run.models]
    for epoch in range(schedule.epochs):
        means = run.train_epoch()
        scores = [float(one.mean()) for one in run.losses(run.outputs())]
        going = []
        for place, i in enumerate(run.running):
            fitted[i].history.append({"train": means[place], "validation": scores[place]})
            if scores[place] < best_loss[i]:
                best_loss[i], fitted[i].best_epoch = scores[place], epoch
                best_state[i] = run.state(place)
            training = [losses["train"] for losses in fitted[i].history]
            if not schedule.ends(training, fitted[i].best_epoch):
                going.append(place)
        advance(len(run.running))
        if len(going) < len(run.running):
            advance((len(run.running) - len(going)) * (schedule.epochs - epoch - 1))
            run.keep(going)
        if not going or schedule.is_over():
            break
    for fit, one, state in zip(fits, fitted, best_state, strict=True):
        finish(one.model, state, fit)
    return fitted


def finish(model: nn.Module, state: dict[str, Tensor], fit: Fit) -> None:
    """Give a model the parameters that were kept, or raise an error if no epoch had any."""
    if not state:
        raise diverged(fit)
    model.load_state_dict(state)
    model.eval()


def diverged(fit: Fit) -> ValueError:
    """Return the error of a fit whose loss was never finite."""
    return ValueError(
        f"training diverged: the loss was never finite (learning_rate={fit.learning_rate}, "
        f"weight_decay={fit.weight_decay}, seed={fit.seed}). Lower the learning rate, or "
        "look for clouds and features with extreme values"
    )
