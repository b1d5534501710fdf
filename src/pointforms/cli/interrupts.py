"""Requests to end: SIGTERM ends a command in the same order as Ctrl-C."""

from __future__ import annotations

import signal
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager

# Seconds in which a repeated SIGTERM does not disturb the tidying up after the first: `timeout`,
# for one, sends it to the process and then to its group.
_REPEATED = 10.0


class Terminated(KeyboardInterrupt):
    """Somebody has sent SIGTERM."""


@contextmanager
def sigterm_interrupts() -> Iterator[None]:
    """Raise :class:`Terminated` on SIGTERM inside the block, as Ctrl-C raises KeyboardInterrupt.

    A process that was started to ignore SIGTERM goes on ignoring it. Only the main thread of a
    process can do this; in another thread the block runs as it is.

    Examples
    --------
    >>> import os, signal
    >>> with sigterm_interrupts():
    ...     try:
    ...         os.kill(os.getpid(), signal.SIGTERM)
    ...     except KeyboardInterrupt as error:
    ...         print(type(error).__name__)
    Terminated
    """
    in_main_thread = threading.current_thread() is threading.main_thread()
    before = signal.getsignal(signal.SIGTERM)
    if not in_main_thread or before is None or before == signal.SIG_IGN:
        yield
        return
    last = -_REPEATED

    def interrupt(*_: object) -> None:
        nonlocal last
        now = time.monotonic()
        if now - last >= _REPEATED:
            last = now
            raise Terminated

    signal.signal(signal.SIGTERM, interrupt)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)


def exit_status(interrupt: KeyboardInterrupt) -> int:
    """Return the status with which a shell reports the end of a process by this signal."""
    number = signal.SIGTERM if isinstance(interrupt, Terminated) else signal.SIGINT
    return 128 + number
