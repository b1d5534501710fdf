"""One torch thread for small work, where several would wait for each other longer than they work.

Threads share every operation and wait for each other after it. On small tensors two threads were
measured to save at most a tenth of the time on an idle machine, and to take two to nine times as
long on a busy one, where a thread that is not running holds up the others.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar

import torch
from torch import nn

# With as many multiplications per operation, or more, several threads are worth it.
_WORTH = 100_000_000


# The number of threads outside of all blocks.
_outside: ContextVar[int | None] = ContextVar("threads", default=None)


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
        About how many multiplications the larger operations have: threads wait after each.
    """
    with _threads(1 if multiplications < _WORTH else None):
        yield


@contextmanager
def _threads(count: int | None) -> Iterator[None]:
    """Use a number of threads, or with None as many as outside of all blocks.

    Every Python thread has a number of its own, which is restored. One that uses torch for the
    first time while another is in a block takes the number of that block, and keeps it.
    """
    now = torch.get_num_threads()
    outside = _outside.get() or now
    token = _outside.set(outside)
    number = outside if count is None else count
    if number != now:
        torch.set_num_threads(number)
    try:
        yield
    finally:
        if number != now:
            torch.set_num_threads(now)
        _outside.reset(token)


def multiplications_per_map(model: nn.Module) -> float:
    """Return how many multiplications one linear map of a network has per point, on average.

    Examples
    --------
    >>> multiplications_per_map(nn.Sequential(nn.Linear(3, 8), nn.ReLU(), nn.Linear(8, 2)))
    20.0
    """
    sizes = [weight.numel() for weight in model.parameters() if weight.ndim > 1]
    return sum(sizes) / max(1, len(sizes))
