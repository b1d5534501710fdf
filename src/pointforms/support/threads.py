"""One torch thread for small work, where several would wait for each other longer than they work.

Threads share every operation and wait for each other after it. On small tensors two threads were
measured to save at most a tenth of the time on an idle machine, and to take five to thirty times as
long on a busy one, where a thread that is not running holds up the others.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar

import torch
from torch import nn

# With as many multiplications per step, or more, several threads are worth it.
_WORTH = 120_000_000


# The number of threads before the first block that changed it.
_before: ContextVar[int | None] = ContextVar("threads", default=None)


@contextmanager
def one_thread() -> Iterator[None]:
    """Use one torch thread inside a `with` block, except for what `threads_for` finds large.

    Examples
    --------
    >>> before = torch.get_num_threads()
    >>> with one_thread():
    ...     torch.get_num_threads()
    1
    >>> torch.get_num_threads() == before
    True
    """
    with _threads(1):
        yield


@contextmanager
def threads_for(multiplications: float) -> Iterator[None]:
    """Use one torch thread inside a `with` block if the work of a step is small, or else all.

    Parameters
    ----------
    multiplications : float
        About how many multiplications a step has: what is computed between two reads of a result.
    """
    small = multiplications < _WORTH
    with _threads(1 if small else _before.get() or torch.get_num_threads()):
        yield


@contextmanager
def _threads(count: int) -> Iterator[None]:
    now = torch.get_num_threads()
    token = _before.set(_before.get() or now)
    if count != now:  # in a thread of its own, torch sets the number for this thread only
        torch.set_num_threads(count)
    try:
        yield
    finally:
        if count != now:
            torch.set_num_threads(now)
        _before.reset(token)


def multiplications_per_point(model: nn.Module) -> int:
    """Return how many multiplications the linear maps of a network have for one point, about.

    Examples
    --------
    >>> multiplications_per_point(nn.Sequential(nn.Linear(3, 8), nn.ReLU(), nn.Linear(8, 2)))
    40
    """
    return sum(weight.numel() for weight in model.parameters() if weight.ndim > 1)
