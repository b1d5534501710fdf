"""Names by which a user may ask for tasks of a store."""

from __future__ import annotations

from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path

from pointforms.bench.records import Size, titles
from pointforms.support.suggestions import suggest
from pointforms.tasks.catalogue import data_digest, full_size


def tasks_called(name: str, sizes: Iterable[Size]) -> list[Size]:
    """Return the tasks that have a name.

    A title names one task. A name without a size, or the name or path of a file, stands for all
    sizes of the task, or all ways in which the file was read, unless it is the title of one.

    Parameters
    ----------
    name : str
        What the user wrote.
    sizes : iterable of Size
        The tasks of a store, in their sizes.

    Raises
    ------
    ValueError
        If no task has the name, or several files in different folders.

    Examples
    --------
    >>> sizes = [Size("colocated", clouds=60), Size("data/cells.csv", content="1f")]
    >>> [size.task for size in tasks_called("cells.csv", sizes)]
    ['data/cells.csv']
    >>> tasks_called("cells", sizes)
    Traceback (most recent call last):
    ValueError: no task 'cells' in the store: did you mean 'cells.csv'?
    """
    by_title = {title: size for size, title in titles(sizes).items()}
    if name in by_title:
        return [by_title[name]]
    known = list(by_title.values())
    exact = [size for size in known if size.task == name or _is_file(size, Path(name))]
    if exact:
        return exact
    found = [size for size in known if Path(size.task).name == name]
    if not found:
        expected = suggest(name, by_title)
        raise ValueError(f"no task {name!r} in the store: {expected}")
    if len({size.task for size in found}) > 1:
        listed = ", ".join(repr(title) for title, size in by_title.items() if size in found)
        raise ValueError(f"several tasks are called {name!r}: expected one of {listed}")
    return found


def _is_file(size: Size, path: Path) -> bool:
    """Return whether a task is a file, by its path or, if it moved or was copied, its content."""
    if full_size(size.task) is not None:
        return False
    if Path(size.task).resolve() == path.resolve():
        return True
    with suppress(OSError):  # no file, or a table of samples that is gone
        return data_digest(path, size.read_options().get("samples")) == size.content
    return False
