"""Models of one shape that train together, as one set of parameters, and their optimiser."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import torch
from torch import Tensor, nn
from torch.func import functional_call, stack_module_state, vmap
from torch.optim.adamw import adamw


class Stack:
    """Models of one shape as one set of parameters with a leading dimension E.

    A single model is called as it is: it is the `template`, whose parameters and buffers are then
    views of the stacked ones.
    """

    def __init__(self, models: list[nn.Module]) -> None:
        self.template = models[0]
        params, buffers = stack_module_state(models)  # type: ignore[arg-type]
        self.params = {name: p.detach() for name, p in params.items()}
        self.buffers = {name: b.detach() for name, b in buffers.items()}
        self.single = len(models) == 1
        self._lend()

    def _lend(self) -> None:
        """Give a single model the stacked numbers, so that it sees and makes changes of them."""
        if self.single:
            for own, stacked in (
                (self.template.named_parameters(), self.params),
                (self.template.named_buffers(), self.buffers),
            ):
                for name, values in own:
                    values.data = stacked[name][0]
            self._own = list(self.template.parameters())

    def call(self, function: Callable[..., Tensor], *args: Any, shared: int = 0) -> Tensor:
        """Evaluate function(model, *args) for every model: (E, ...).

        Arguments have a leading dimension for the models, unless there is only one model. The first
        `shared` of them have none: all models get the same.
        """
        if self.single:  # faster, and free of the limits of vmap
            return function(self.template, *args).unsqueeze(0)

        def of_one(params: Any, buffers: Any, *own: Any) -> Tensor:
            def model(*inputs: Any) -> Any:
                return functional_call(self.template, (params, buffers), inputs)

            return function(model, *own)

        dims = (0, 0, *[None if i < shared else 0 for i in range(len(args))])
        return vmap(of_one, in_dims=dims)(self.params, self.buffers, *args)  # type: ignore

    def gradients(
        self, function: Callable[..., Tensor], *args: Any, shared: int = 0
    ) -> tuple[dict[str, Tensor], Tensor]:
        """Return the gradients of function(model, *args), and its values (E,)."""
        if self.single:
            value = function(self.template, *args)
            grads = tuple(g.unsqueeze(0) for g in torch.autograd.grad(value, self._own))
            return dict(zip(self.params, grads, strict=True)), value.detach().unsqueeze(0)
        # no value depends on the parameters of another model: the sum has the gradient of each
        self.params = {name: p.requires_grad_() for name, p in self.params.items()}
        values = self.call(function, *args, shared=shared)
        grads = torch.autograd.grad(values.sum(), list(self.params.values()))
        self.params = {name: p.detach() for name, p in self.params.items()}
        return dict(zip(self.params, grads, strict=True)), values.detach()

    def keep(self, rows: Tensor) -> None:
        """Continue with some of the models only."""
        self.params = {name: p[rows] for name, p in self.params.items()}
        self.buffers = {name: b[rows] for name, b in self.buffers.items()}
        self.single = len(rows) == 1
        self._lend()

    def state(self) -> dict[str, Tensor]:
        """Return parameters and buffers."""
        return {**self.params, **self.buffers}


class AdamW:
    """AdamW on stacked parameters, with one learning rate and one decay per model.

    Only matrices decay. Biases and gains are few, and set the level of the outputs: under a strong
    decay of these, a classifier could not even predict that classes have different frequencies.
    """

    def __init__(
        self, params: dict[str, Tensor], rates: Sequence[float], decays: Sequence[float]
    ) -> None:
        like = next(iter(params.values()))
        self.rate = like.new_tensor(rates)
        self.decay = like.new_tensor(decays)
        self.moments = {
            name: (torch.zeros_like(p), torch.zeros_like(p)) for name, p in params.items()
        }
        self.steps = 0
        # moments, steps, rate and decay of the parameters of a single model
        self._state_of_one: tuple[Any, ...] | None = None

    def step(self, params: dict[str, Tensor], grads: dict[str, Tensor], factor: float) -> None:
        """Update the parameters, at `factor` times their learning rates."""
        self.steps += 1
        if len(self.rate) == 1 and self.rate.device.type == "cpu":
            self._step_of_one(params, grads, factor)
            return
        unbias1, unbias2 = 1 - 0.9**self.steps, 1 - 0.999**self.steps
        for name, p in params.items():
            m, v = self.moments[name]
            m.lerp_(grads[name], 0.1)
            v.lerp_(grads[name].square(), 0.001)
            rate = (factor * self.rate).view(-1, *([1] * (p.ndim - 1)))
            update = (m / unbias1) / ((v / unbias2).sqrt_().add_(1e-8))
            if p.ndim > 2:  # the first dimension is that of the models
                update += self.decay.view_as(rate) * p
            p -= rate * update

    def _step_of_one(
        self, params: dict[str, Tensor], grads: dict[str, Tensor], factor: float
    ) -> None:
        """Update the parameters of one model by torch's fused step, after matrices have decayed.

        On the CPU only: elsewhere, reading its rate would wait for the device.
        """
        if self._state_of_one is None:
            first, second = map(list, zip(*self.moments.values(), strict=True))
            steps = [torch.tensor(float(self.steps - 1)) for _ in first]
            self._state_of_one = first, second, steps, float(self.rate), float(self.decay)
        first, second, steps, rate, decay = self._state_of_one
        for p in params.values():
            if p.ndim > 2 and decay:
                p.mul_(1 - factor * rate * decay)
        adamw(
            list(params.values()),
            # the fused step reads numbers in the order of memory, whatever their strides
            [grads[name].contiguous() for name in params],
            first,
            second,
            [],
            steps,  # which it counts on
            fused=True,
            amsgrad=False,
            beta1=0.9,
            beta2=0.999,
            lr=factor * rate,
            weight_decay=0.0,
            eps=1e-8,
            maximize=False,
        )

    def keep(self, rows: Tensor) -> None:
        """Continue with some of the models only."""
        self.rate, self.decay = self.rate[rows], self.decay[rows]
        self.moments = {name: (m[rows], v[rows]) for name, (m, v) in self.moments.items()}
        self._state_of_one = None
