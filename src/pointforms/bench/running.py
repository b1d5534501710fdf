"""A run: an engine trains the units of a manifest that a store does not have yet."""

from __future__ import annotations

import threading
import time
from collections import deque
from collections.abc import Callable, Generator, Iterator, Sequence
from contextlib import closing, contextmanager, suppress
from dataclasses import dataclass
from functools import cache
from multiprocessing import current_process
from pathlib import Path
from typing import NamedTuple, Protocol

from pointforms.bench.fitting import takes_beside
from pointforms.bench.local_engine import Finished
from pointforms.bench.moved_files import changed_files, fits_without_paths
from pointforms.bench.records import Size, Unit
from pointforms.bench.run_log import log_unit, logged
from pointforms.bench.store import Store
from pointforms.bench.store_file import StoreError
from pointforms.io.file_summary import FileSummary
from pointforms.tasks.catalogue import names

_BEAT = 10.0  # seconds between signs of life
_PAUSE = 1.0  # seconds between looks at the units that other runs hold


class Engine(Protocol):
    """What trains units: processes of this machine, or a cluster."""

    name: str
    workers: int

    def run(self, take: Callable[[], Unit | None]) -> Iterator[Finished]:
        """Train the units that `take` returns until it returns None; yield each when finished."""


@dataclass
class Outcome:
    """What a run did.

    Attributes
    ----------
    trained : int
        Number of fits that it trained.
    failed : int
        Number of those that failed.
    already_stored : int
        Number of fits that were in the store, or that other runs trained meanwhile.
    seconds : float
        Wall time.
    """

    trained: int = 0
    failed: int = 0
    already_stored: int = 0
    seconds: float = 0.0


def run(
    units: Sequence[Unit],
    store: Store,
    engine: Engine,
    title: str = "",
    retry: bool = False,
    advance: Callable[[int], None] | None = None,
) -> Outcome:
    """Train the fits that are missing in a store.

    The run waits for units that another run has claimed, and takes them over if that run dies.
    Tasks that are files are read first, so that nothing is claimed if one of them is wrong. Fits of
    a file count wherever it was when they were stored, those of its former content do not.

    Parameters
    ----------
    units : sequence of Unit
        What to train, such as :meth:`Manifest.units`.
    store : Store
        Where finished fits are kept.
    engine : Engine
        What trains them: a :class:`LocalEngine` or a :class:`RayEngine`.
    title : str, default ""
        The title of the run in the store.
    retry : bool, default False
        Whether to train fits again that failed before.
    advance : callable, optional
        Is called with the number of fits that have become available, first with that of the fits
        that are already in the store.

    Returns
    -------
    Outcome

    Raises
    ------
    ValueError, FileNotFoundError
        If a task cannot be read, or has no such fold.
    RuntimeError, ChildProcessError
        If a script calls this without `if __name__ == "__main__":`, in the processes that it
        starts and in itself.

    Examples
    --------
    >>> import tempfile
    >>> import pointforms.bench as bench
    >>> manifest = bench.read_manifest("synthetic-quick")
    >>> folder = tempfile.mkdtemp()
    >>> with bench.Store(f"{folder}/results.db") as store:
    ...     outcome = bench.run(manifest.units()[:0], store, bench.LocalEngine(2))
    >>> outcome.trained
    0
    """
    if getattr(current_process(), "_inheriting", False):  # it would wait for itself
        raise RuntimeError(
            "`run` was called while a training process imports the script that started it: call it "
            "under `if __name__ == '__main__':`"
        )
    outcome, start = Outcome(), time.monotonic()
    advance = advance or (lambda fits: None)
    stored = fits_without_paths(store.keys(failed=not retry))
    left = [u for u in units if not fits_without_paths(u.keys) <= stored]
    check_tasks(left)
    number = store.begin(title, engine.name, engine.workers)
    with logged(store.path) as log, _heart(store, number, engine):
        log.info(
            "run %d: %s, %d fits, %s engine, %d workers",
            number, title, sum(len(unit.fits) for unit in units), engine.name, engine.workers,
        )  # fmt: skip
        for note in changed_files([unit.row for unit in units], store.keys()):
            log.info(note)
        queue = _Queue(left, store, number, retry, outcome, advance)
        stopped = False
        try:
            queue.skip(sum(len(u.fits) for u in units) - sum(len(u.fits) for u in left))
            while True:
                # closed, so that its processes end before the run does
                with closing(_trained(engine, queue)) as trained:
                    for unit, records in trained:
                        new = store.finish(number, records)
                        outcome.trained += new
                        outcome.failed += new if records[0].error else 0  # units fail whole
                        advance(new)
                        log_unit(log, unit, records)
                if not queue.waits():
                    break
                time.sleep(_PAUSE)
        except BaseException as error:
            log.info("run %d: stopped by %r", number, error)
            stopped = True
            raise
        finally:
            store.end(number, stopped)
            outcome.seconds = time.monotonic() - start
            log.info(
                "run %d: %d fits in %.1f s, %d failed, %d already in the store",
                number, outcome.trained, outcome.seconds, outcome.failed, outcome.already_stored,
            )  # fmt: skip
    return outcome


def check_tasks(units: Sequence[Unit]) -> None:
    """Read the tasks of units that are files or were prepared on disk.

    Parameters
    ----------
    units : sequence of Unit
        What will be trained.

    Raises
    ------
    ValueError, FileNotFoundError
        If a task cannot be read, or has no such fold.

    Examples
    --------
    >>> from pointforms.bench import Row
    >>> check_tasks([Unit(Row("absent.csv", "mlp"), ((0, 0),))])
    Traceback (most recent call last):
    FileNotFoundError: no file 'absent.csv'
    """
    made = set(names())  # from their name and seed: nothing can be wrong with them
    wanted: dict[Size, set[int]] = {}
    models: dict[Size, set[str]] = {}
    for unit in units:
        if unit.row.task not in made:
            size = unit.row.size
            wanted.setdefault(size, set()).update(fold for fold, _ in unit.fits)
            models.setdefault(size, set()).add(unit.row.model)
    for size, folds in wanted.items():
        found = checked_task(size)
        if not folds <= found.folds:
            count = len(found.folds)  # they are numbered from 0
            raise ValueError(
                f"{Path(size.task).name} has {count} folds, and no fold "
                f"{min(folds - found.folds)}: "
                f"`--folds {count}`, or `folds = {count}` in a manifest, uses those it has"
            )
        for model in sorted(models[size]) if found.beside else ():
            if not takes_beside(model):
                raise ValueError(
                    f"{model} reads clouds only, no {' and '.join(found.beside)}: leave out this "
                    "model, or these columns"
                )


class CheckedTask(NamedTuple):
    """What a run has to know of a task that is a file, or was prepared.

    Attributes
    ----------
    folds : frozenset of int
        Its folds.
    beside : tuple of str
        What clouds have beside their points: "covariates", "batch".
    summary : FileSummary or None
        What was understood of the file.
    """

    folds: frozenset[int]
    beside: tuple[str, ...]
    summary: FileSummary | None


@cache  # a digest of the content is part of the key
def checked_task(size: Size) -> CheckedTask:
    """Read a task, or raise an error if it cannot be used in a comparison of classifiers."""
    name = Path(size.task).name
    try:
        task = size.load()
    except (ValueError, TypeError) as error:
        raise ValueError(str(error) if name in str(error) else f"{name}: {error}") from None
    if task.regression:
        raise ValueError(
            f"{name}: the label holds numbers, and comparisons are of classifiers: `npf fit` fits "
            "a regressor, --task classification makes every value a class"
        )
    beside = ("covariates",) * (task.covariates is not None) + ("batch",) * (task.batch is not None)
    return CheckedTask(frozenset(task.folds.tolist()), beside, task.summary)


class _Queue:
    """Units in order, claimed when they are taken; those that other runs hold come again later.

    A unit with a missing fit is trained as a whole, so that its result is that of any other run.
    """

    def __init__(
        self,
        units: Sequence[Unit],
        store: Store,
        run: int,
        retry: bool,
        outcome: Outcome,
        advance: Callable[[int], None],
    ) -> None:
        self.units, self.others = deque(units), deque[Unit]()
        self.store, self.run, self.retry = store, run, retry
        self.outcome, self.advance = outcome, advance

    def skip(self, fits: int) -> None:
        """Count fits that are in the store."""
        self.outcome.already_stored += fits
        self.advance(fits)

    def take(self) -> Unit | None:
        while self.units:
            unit = self.units.popleft()
            claim = self.store.claim(self.run, unit, self.retry)
            if claim == "busy":
                self.others.append(unit)
                continue
            missing = 0 if isinstance(claim, str) else len(claim.fits)
            self.skip(len(unit.fits) - missing)
            if missing:
                return unit
        return None

    def waits(self) -> bool:
        """Whether units of other runs are left. They are then looked at again."""
        self.units, self.others = self.others, deque()
        return bool(self.units)


def _trained(engine: Engine, queue: _Queue) -> Generator[Finished, None, None]:
    yield from engine.run(queue.take)


@contextmanager
def _heart(store: Store, run: int, engine: Engine) -> Iterator[None]:
    """Give signs of life while the run goes on."""
    stop = threading.Event()

    def beat() -> None:
        while not stop.wait(_BEAT):
            with suppress(StoreError):  # locked; the next sign may get through
                store.beat(run, engine.workers)  # nodes may have joined

    thread = threading.Thread(target=beat, daemon=True)
    thread.start()
    try:
        yield
    finally:
        stop.set()
        thread.join()
