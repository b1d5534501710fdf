"""Progress bars on standard error."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager


@contextmanager
def track(
    total: int, description: str, show: bool = True, unit: str = ""
) -> Iterator[Callable[[int], None]]:
    """Yield a function that advances a progress bar by a number of steps.

    Parameters
    ----------
    total : int
        Number of steps.
    description : str
        Text before the bar.
    show : bool, default True
        False shows nothing.
    unit : str, default ""
        What a step is called, in the plural. With a unit the bar shows steps per minute, and if
        standard error is not a terminal, a line is printed every minute instead. The speed does
        not count the steps of the first call, which may have been done before.

    Yields
    ------
    callable
        Takes the number of steps to advance.

    Examples
    --------
    >>> with track(3, "Clouds", show=False) as advance:
    ...     for _ in range(3):
    ...         advance(1)
    """
    if not show or total == 0:
        yield lambda steps: None
        return
    from rich.console import Console
    from rich.progress import (
        BarColumn,
        MofNCompleteColumn,
        Progress,
        ProgressColumn,
        Task,
        TextColumn,
        TimeElapsedColumn,
        TimeRemainingColumn,
    )
    from rich.text import Text

    class Rate(ProgressColumn):
        def render(self, task: Task) -> Text:
            return Text(f"{60 * task.speed:.3g} {unit}/min" if task.speed else "")

    # standard output is for results
    console = Console(stderr=True)
    if unit and not console.is_terminal:
        yield _Lines(total, description, unit).advance
        return
    columns: list[ProgressColumn] = [
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
    ]
    if unit:
        columns += [Rate(), TimeElapsedColumn()]
    with Progress(*columns, TimeRemainingColumn(), console=console) as bar:
        task = bar.add_task(description, total=total)
        yield lambda steps: bar.advance(task, steps)


class _Lines:
    """Progress for a log file: at most one line per minute, and one at the end."""

    def __init__(self, total: int, description: str, unit: str) -> None:
        self.total, self.description, self.unit = total, description, unit
        self.done, self.start = 0, time.monotonic()
        self.said = self.start
        self.before: int | None = None

    def advance(self, steps: int) -> None:
        self.done += steps
        if self.before is None:
            self.before = self.done
        now = time.monotonic()
        if not steps or (now - self.said < 60 and self.done < self.total):
            return
        self.said, minutes = now, (now - self.start) / 60
        said = f"{self.description}: {self.done} of {self.total} {self.unit} in {minutes:.1f} min"
        if self.before < self.done < self.total:
            speed = (self.done - self.before) / max(minutes, 1e-9)
            left = (self.total - self.done) / speed
            said += f", {speed:.3g} per minute, about {left:.1f} min left"
        print(said, file=sys.stderr, flush=True)
