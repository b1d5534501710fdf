"""A progress bar on request."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager


@contextmanager
def track(
    total: int, description: str, show: bool = True, unit: str = ""
) -> Iterator[Callable[[int], None]]:
    """Yield a function that advances a progress bar by so many steps, or does nothing.

    With a `unit` the bar says how many a minute there are; where standard error is no terminal,
    a line a minute says so. The speed counts from the first call on: steps of that call may have
    been there before.
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

    # to standard error: standard output belongs to results
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
    """Progress for a file: at most a line a minute, and one at the end."""

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
            said += f", {speed:.3g} a minute, about {left:.1f} min left"
        print(said, file=sys.stderr, flush=True)
