"""The judge of fuzzed inputs: each one must give a finite result or a clear error, soon."""

from __future__ import annotations

import dataclasses
import resource
import signal
import warnings
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from enum import StrEnum
from pathlib import Path
from typing import Any, NoReturn

import numpy as np
import torch

#: More computing time than this is a hang, and so is waiting six times as long.
SECONDS = 10
#: What one input may allocate, in bytes. All inputs are small, so more is a bomb.
MEMORY = 4 << 30


class Verdict(StrEnum):
    """What became of an input."""

    RESULT = "results"
    CLEAR = "clear errors"
    UNCLEAR = "unclear errors"
    WRONG = "silent wrong values"
    HANG = f"hangs above {SECONDS} s"


#: Verdicts that fail a test.
FAILURES = (Verdict.UNCLEAR, Verdict.WRONG, Verdict.HANG)

#: Number of inputs by family and verdict.
tally: defaultdict[str, Counter[Verdict]] = defaultdict(Counter)


class WrongValueError(Exception):
    """A result breaks a law that it must satisfy."""


class _OutOfTime(BaseException):
    """Not an Exception, so that nothing under test catches it."""


def must(condition: object, law: str) -> None:
    """Raise an error unless a result satisfies a law."""
    if not condition:
        raise WrongValueError(law)


def judge(family: str, call: Callable[[], Any], names: Iterable[str]) -> Any:
    """Call a function, count the verdict, and fail unless it is a result or a clear error.

    Parameters
    ----------
    family : str
        Where the verdict is counted.
    call : callable
        Computes a result from the input, and checks its laws with :func:`must`.
    names : iterable of str
        What a clear error may name, such as the option that was spoiled. Where there is none,
        every error is unclear: the input must be accepted.

    Returns
    -------
    What `call` returned; None after a clear error.
    """
    result = None
    with warnings.catch_warnings(record=True) as noted:
        warnings.simplefilter("always")
        try:
            with _time_limit(), _memory_limit():
                result = call()
            _must_be_finite(result)
            verdict, cause = Verdict.RESULT, None
        except WrongValueError as error:
            verdict, cause = Verdict.WRONG, error
        except _OutOfTime as error:
            verdict, cause = Verdict.HANG, error
        except Exception as error:
            verdict, cause = (Verdict.CLEAR if _is_clear(error, names) else Verdict.UNCLEAR), error
    numeric = [w for w in noted if issubclass(w.category, RuntimeWarning)]
    if numeric and verdict not in FAILURES:
        verdict, cause = Verdict.UNCLEAR, numeric[0].message
    tally[family][verdict] += 1
    if verdict in FAILURES:
        _fail(verdict, cause, names)
    return result


def _fail(verdict: Verdict, cause: Any, names: Iterable[str]) -> NoReturn:
    expected = " or ".join(map(repr, names)) or "no error"
    raise AssertionError(
        f"{verdict}: {type(cause).__name__}: {cause}; expected {expected}"
    ) from cause


def _is_clear(error: Exception, names: Iterable[str]) -> bool:
    """Whether an error has a type that callers expect, and names what was passed.

    Errors of other libraries do not count, although many of their types derive from ValueError.
    """
    expected = (ValueError, TypeError, FileNotFoundError)
    ours = type(error) in expected or (
        isinstance(error, expected) and type(error).__module__.startswith(("pointforms", "sklearn"))
    )
    return ours and any(name in str(error) for name in names)


def _must_be_finite(value: Any) -> None:
    """Raise an error if there is a number in a result that is not finite."""
    if isinstance(value, torch.Tensor):
        value = value.detach().to_dense().cpu().numpy()
    if isinstance(value, np.ndarray | np.generic | float):
        array = np.asarray(value)
        must(array.dtype.kind not in "fc" or np.isfinite(array).all(), f"not finite: {value!r}")
    elif isinstance(value, Mapping):
        _must_be_finite(list(value.values()))
    elif isinstance(value, list | tuple):
        for item in value:
            _must_be_finite(item)
    elif dataclasses.is_dataclass(value):
        _must_be_finite(vars(value))


@contextmanager
def _time_limit() -> Iterator[None]:
    def stop(signum: int, frame: object) -> NoReturn:
        raise _OutOfTime(f"no answer after {SECONDS} s")

    # the first counts computing, so that a busy machine makes no hangs; the other finds deadlocks
    timers = (
        (signal.ITIMER_PROF, signal.SIGPROF, SECONDS),
        (signal.ITIMER_REAL, signal.SIGALRM, 6 * SECONDS),
    )
    previous = [signal.signal(number, stop) for _, number, _ in timers]
    for timer, _, seconds in timers:
        signal.setitimer(timer, seconds)
    try:
        yield
    finally:
        for (timer, number, _), handler in zip(timers, previous, strict=True):
            signal.setitimer(timer, 0)
            signal.signal(number, handler)


@contextmanager
def _memory_limit() -> Iterator[None]:
    """Let allocations beyond the limit fail at once instead of filling the machine."""
    soft, hard = resource.getrlimit(resource.RLIMIT_AS)
    pages = Path("/proc/self/statm")
    if not pages.exists():  # only Linux tells
        yield
        return
    used = int(pages.read_text().split()[0]) * resource.getpagesize()
    resource.setrlimit(resource.RLIMIT_AS, (used + MEMORY, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_AS, (soft, hard))
