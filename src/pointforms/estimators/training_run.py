"""Fits of one shape that train together, one epoch at a time."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from pointforms.estimators.fits import Fit, Loss, Schedule, Store
from pointforms.estimators.stacking import AdamW, Stack
from pointforms.support.threads import multiplications_per_map, threads_for

# Largest number of clouds per batch in evaluation.
_EVALUATED = 64


class Run:
    """Fits of one shape that train together, one epoch at a time.

    Parameters
    ----------
    make_model, store, targets, loss, fits, schedule
        As in :func:`pointforms.estimators.trainer.train`. Either all fits share their batches, or
        none does.

    Attributes
    ----------
    models : list of nn.Module
        One per fit, with its initial parameters.
    running : list of int
        The fits that still train, as indices; results of an epoch are in this order.
    """

    def __init__(
        self,
        make_model: Callable[[Fit], nn.Module],
        store: Store,
        targets: Tensor,
        loss: Loss,
        fits: Sequence[Fit],
        schedule: Schedule,
    ) -> None:
        self.models = [make_model(fit) for fit in fits]
        self.running = list(range(len(fits)))
        self._store, self._targets, self._loss = store, targets, loss
        self._fits, self._schedule = fits, schedule
        for model in self.models:
            model.train()
        self._stack = Stack(self.models)
        self._optimizer = AdamW(
            self._stack.params,
            [fit.learning_rate for fit in fits],
            [fit.weight_decay for fit in fits],
        )
        self._shared = fits[0].batches
        own = [fit.seed for fit in fits] if self._shared is None else [self._shared.seed]
        self._shuffles = [np.random.default_rng([seed, 7]) for seed in own]
        self._steps = schedule.steps(fits[0])
        clouds = [fit.train for fit in fits] if self._shared is None else [self._shared.clouds]
        self._width = max(-(-len(some) // self._steps) for some in clouds)
        self._epoch = 0
        # validation clouds of similar size share a batch, so that little of it is padding
        self._sizes = store.sizes.cpu().numpy()
        self._by_size = [np.argsort(self._sizes[fit.validation], kind="stable") for fit in fits]
        whole = schedule.points is None or int(self._sizes.max()) <= schedule.points
        self._in_parts = store.parts > 1 and whole

    def multiplications(self) -> float:
        """Return about how many multiplications an operation on a batch of all fits has."""
        points = min(float(self._sizes.mean()), self._schedule.points or np.inf)
        each = multiplications_per_map(self.models[0])
        return len(self.running) * self._width * points * each

    def train_epoch(self) -> list[float]:
        """Train every running fit for an epoch, and return the mean losses of its steps."""
        with threads_for(self.multiplications()):
            return self._train_epoch()

    def _train_epoch(self) -> list[float]:
        stack, template = self._stack, self._stack.template
        loss, fits = self._loss, [self._fits[i] for i in self.running]
        template.train()

        def batch_loss(
            model: Any, batch: Any, y: Tensor, weights: Tensor, counts: Tensor | None = None
        ) -> Tensor:
            total = (weights * loss(model(batch, counts), y)).sum()
            return total / (len(y) if counts is None else counts.sum().clamp_min(1))

        # the learning rate falls along a cosine, from its initial value to 0
        factor = 0.5 * (1 + np.cos(np.pi * self._epoch / self._schedule.epochs))
        like = next(iter(stack.params.values()))
        device = self._store.sizes.device
        total = torch.zeros(len(fits), device=device)
        shared = self._shared is not None
        rngs = self._shuffles if shared else [self._shuffles[i] for i in self.running]
        for index, weights, counts in self._batches(fits):
            # which points are drawn does not depend on the fits that share a batch
            real = np.ones_like(index) if counts is None or shared else counts
            numbers = [weights] if counts is None else [weights, counts]
            if self._in_parts:
                index, *numbers = self._ascending(index, *numbers)
            places = torch.from_numpy(index)
            rows = _some_rows(self._store, places, real, self._schedule.points, rngs)
            floats = [torch.from_numpy(part).to(device, like.dtype) for part in numbers]
            if shared or stack.single:
                places, rows = places[0], None if rows is None else rows[0]
            if stack.single:
                floats = [part[0] for part in floats]
            if self._in_parts:
                batch = self._store.gather_parts(places)
            else:
                batch = self._store.gather(places, rows)
            args = (batch, self._targets[places.to(device)], *floats)
            grads, value = stack.gradients(batch_loss, *args, shared=2 if shared else 0)
            self._optimizer.step(stack.params, grads, float(factor))
            total = total + value
        self._epoch += 1
        return [float(mean) for mean in (total / self._steps).tolist()]

    def _batches(
        self, fits: Sequence[Fit]
    ) -> list[tuple[np.ndarray, np.ndarray, np.ndarray | None]]:
        """Return the batches of an epoch: clouds and their weights, and which count, for every fit.

        Fits that share batches have one row of clouds, and count those that they do not hold out.
        Which count is None for a single fit with batches of its own: all do.
        """
        if self._shared is not None:
            pool = Fit(self._shared.clouds, self._shared.clouds, 0)
            weights = np.stack([_weights_in(fit, self._shared.clouds) for fit in fits])
            return [
                (
                    self._shared.clouds[chosen][None],
                    counts * weights[:, chosen],
                    counts * (weights[:, chosen] > 0),
                )
                for chosen, counts in _batches(pool, self._steps, self._width, self._shuffles[0])
            ]
        orders = [
            [
                (fit.train[chosen], counts * _relative(fit.weights, len(fit.train))[chosen], counts)
                for chosen, counts in _batches(fit, self._steps, self._width, self._shuffles[i])
            ]
            for i, fit in zip(self.running, fits, strict=True)
        ]
        if len(fits) == 1:  # no other batch to be as wide as: no need to fill it up
            return [
                (clouds[None, counts > 0], weights[None, counts > 0], None)
                for clouds, weights, counts in orders[0]
            ]
        return [
            tuple(np.stack(part) for part in zip(*step, strict=True))  # type: ignore[misc]
            for step in zip(*orders, strict=True)
        ]

    def _ascending(self, index: np.ndarray, *others: np.ndarray) -> list[np.ndarray]:
        """Return the clouds of batches, and what belongs to each, by the sizes of the clouds."""
        order = np.argsort(self._sizes[index], axis=-1, kind="stable")
        return [
            np.take_along_axis(values, np.broadcast_to(order, values.shape), -1)
            for values in (index, *others)
        ]

    def outputs(self) -> list[Tensor]:
        """Return the outputs of every running fit for its validation clouds, in their order."""
        with threads_for(self.multiplications()):
            return self._outputs()

    def _outputs(self) -> list[Tensor]:
        stack, template = self._stack, self._stack.template
        template.eval()

        def evaluate(model: Any, batch: Any) -> Tensor:
            outputs: Tensor = model(batch)
            return outputs

        fits = [self._fits[i] for i in self.running]
        orders = [self._by_size[i] for i in self.running]
        longest = max(len(order) for order in orders)
        if not longest:
            return [torch.zeros(0, 1) for _ in fits]
        clouds = [
            np.resize(fit.validation[order], longest) if len(order) else np.zeros(longest, int)
            for fit, order in zip(fits, orders, strict=True)
        ]
        parts = []
        gather = self._store.gather_parts if self._store.parts > 1 else self._store.gather
        step = max(_EVALUATED // len(fits), 8)  # batches of a stack are as large as one alone
        for start in range(0, longest, step):
            index = np.stack([one[start : start + step] for one in clouds])
            places = torch.from_numpy(index)
            with torch.no_grad():
                parts.append(stack.call(evaluate, gather(places[0] if stack.single else places)))
        found = torch.cat(parts, 1)
        results = []
        for outputs, order in zip(found, orders, strict=True):
            unsorted = torch.empty_like(outputs[: len(order)])
            unsorted[torch.from_numpy(order).to(found.device)] = outputs[: len(order)]
            results.append(unsorted)
        return results

    def losses(self, outputs: Sequence[Tensor]) -> list[np.ndarray]:
        """Return the loss of every validation cloud, for the outputs of each running fit."""
        losses = []
        for i, found in zip(self.running, outputs, strict=True):
            own = torch.from_numpy(self._fits[i].validation).to(self._targets.device)
            losses.append(self._loss(found, self._targets[own]).double().cpu().numpy())
        return losses

    def state(self, place: int) -> dict[str, Tensor]:
        """Return a copy of the parameters and buffers of a running fit."""
        return {name: values[place].clone() for name, values in self._stack.state().items()}

    def keep(self, places: Sequence[int]) -> None:
        """Continue with some of the running fits only."""
        self.running = [self.running[place] for place in places]
        if self.running:
            rows = torch.tensor(list(places), dtype=torch.long)
            self._stack.keep(rows)
            self._optimizer.keep(rows)


def _batches(
    fit: Fit, steps: int, width: int, rng: np.random.Generator
) -> list[tuple[np.ndarray, np.ndarray]]:
    """Return a shuffled epoch in batches: places in `fit.train`, and which of them count.

    The sizes of batches differ by one at most, so that none is too small to learn from. All are
    filled up to one width with clouds that do not count.
    """
    return [
        (np.resize(part, width), (np.arange(width) < len(part)).astype(np.float64))
        for part in np.array_split(rng.permutation(len(fit.train)), steps)
    ]


def _relative(weights: np.ndarray | None, count: int) -> np.ndarray:
    """Return the weights of training clouds relative to their mean.

    The mean is over all training clouds, not over a batch: so the expected gradient of a batch is
    that of the weighted mean Σ w l / Σ w over all of them.
    """
    return np.ones(count) if weights is None else weights / weights.mean()


def _weights_in(fit: Fit, clouds: np.ndarray) -> np.ndarray:
    """Return the weight in a fit of each of some ascending clouds, 0 if the fit holds it out."""
    weights = np.zeros(len(clouds))
    weights[np.searchsorted(clouds, fit.train)] = _relative(fit.weights, len(fit.train))
    return weights


def _some_rows(
    store: Store,
    index: Tensor,
    counts: np.ndarray,
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
    sizes, real = store.sizes.cpu().numpy(), counts > 0
    for e, rng in enumerate(rngs):
        for b, cloud in enumerate(index[e].tolist()):
            draw = sizes[cloud] > points and real[e, b]
            chosen[e, b] = store.draw(cloud, points, rng) if draw else np.arange(points)
    return torch.from_numpy(chosen).to(store.sizes.device)
