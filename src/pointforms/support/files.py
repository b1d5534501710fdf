"""Write files and folders so that they appear complete or not at all."""

from __future__ import annotations

import hashlib
import os
import secrets
import shutil
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

#: How the name of an unfinished file or folder begins; a killed process may leave one behind.
PARTIAL_PREFIX = ".part-"


def file_digest(path: Path) -> str:
    """Return a short hash of a file's bytes."""
    with open(path, "rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()[:16]


def check_output(path: Path, *sources: Path, endings: Sequence[str] = ()) -> None:
    """Raise an error if a file cannot or should not be written, before the work on its content.

    It cannot if it is a folder, or lies in a folder that cannot be written or made, and it should
    not if it is being read or has another ending than it should. Missing folders are no error:
    whatever writes the file creates them. Nothing is created here.

    Parameters
    ----------
    path : Path
        The file that will be written.
    *sources : Path
        Files that are read to produce it.
    endings : sequence of str, default ()
        With what the name of the file may end; anything by default.

    Examples
    --------
    >>> check_output(Path("table.csv"), Path("table.csv"))  # there is no such file to protect
    >>> check_output(Path("."))
    Traceback (most recent call last):
    ValueError: '.' is a folder: expected a file to write
    """
    if path.is_dir():
        raise ValueError(f"{os.fspath(path)!r} is a folder: expected a file to write")
    for source in sources:
        if source.exists() and path.resolve() == source.resolve():
            raise ValueError(f"{os.fspath(path)!r} is read by this command: choose another file")
    if endings and path.suffix.lower() not in endings:
        raise ValueError(f"{os.fspath(path)!r} ends in none of {', '.join(endings)}")
    folder = next(one for one in path.parents if one.exists())
    if not folder.is_dir():
        raise NotADirectoryError(f"{os.fspath(folder)!r} is a file: expected a folder")
    if not os.access(folder, os.W_OK):
        raise PermissionError(f"the folder {os.fspath(folder)!r} cannot be written")


@contextmanager
def atomic(path: str | os.PathLike[str]) -> Iterator[Path]:
    """Yield a temporary path that replaces `path` if the block succeeds.

    The block writes a file or makes a folder at the temporary path, which lies beside `path` and
    has the same suffix. If the block fails, `path` is left as it was; a block that writes nothing
    fails with a FileNotFoundError. Parent folders are created. A link to a folder stays: the folder
    it points to is replaced. Files of an old folder that the new one lacks are kept. A folder takes
    two moves; a process that is killed between them leaves the old one under a name that starts
    with `.part-` and ends in `-old`.

    Parameters
    ----------
    path : path-like
        The file or folder to write.

    Yields
    ------
    Path
        Where to write.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     with atomic(Path(folder) / "answer.txt") as partial:
    ...         _ = partial.write_text("42")
    ...     [file.name for file in Path(folder).iterdir()]
    ['answer.txt']
    """
    target = Path(path)
    if target.is_dir():
        target = target.resolve()
    target.parent.mkdir(parents=True, exist_ok=True)
    partial = target.with_name(f"{PARTIAL_PREFIX}{secrets.token_hex(4)}-{target.name}")
    try:
        yield partial
        if partial.is_dir() and target.is_dir():
            _replace_folder(partial, target)
        else:
            os.replace(partial, target)
    except OSError as error:
        if error.filename is None or Path(error.filename) != partial:
            raise
        raise type(error)(error.errno, error.strerror, os.fspath(path)) from None
    finally:
        if partial.is_dir():
            shutil.rmtree(partial, ignore_errors=True)
        else:
            partial.unlink(missing_ok=True)


def _replace_folder(new: Path, target: Path) -> None:
    """Move the old folder aside first: a folder can only be moved to where there is none."""
    for entry in target.iterdir():  # what the block did not write is somebody else's
        if not os.path.lexists(new / entry.name):
            if entry.is_dir() and not entry.is_symlink():
                shutil.copytree(entry, new / entry.name, symlinks=True)
            else:
                shutil.copy2(entry, new / entry.name, follow_symlinks=False)
    old = new.with_name(f"{new.name}-old")
    os.replace(target, old)
    try:
        os.replace(new, target)
    except OSError as error:
        try:
            os.replace(old, target)
        except OSError:
            raise OSError(
                f"{os.fspath(target)!r} could not be replaced ({error}); "
                f"its old content is in {os.fspath(old)!r}"
            ) from error
        raise
    shutil.rmtree(old, ignore_errors=True)  # the new folder is in place


def write_text(path: str | os.PathLike[str], text: str) -> None:
    """Write UTF-8 text with Unix line endings through :func:`atomic`.

    Parameters
    ----------
    path : path-like
        The file to write. Parent folders are created.
    text : str
        Its whole content.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     write_text(Path(folder) / "new" / "notes.txt", "one line\\n")
    ...     (Path(folder) / "new" / "notes.txt").read_bytes()
    b'one line\\n'
    """
    with atomic(path) as partial:
        partial.write_text(text, encoding="utf-8", newline="\n")
