"""Labelled sets of clouds: tasks of the catalogue by name, and users' own files."""

from typing import TYPE_CHECKING

import lazy_loader

from pointforms.tasks.catalogue import about, entry, find, load, names, register

if TYPE_CHECKING:
    from pointforms.tasks.files import read, write
    from pointforms.tasks.task import Task

# Task, read and write need NumPy and scikit-learn, which listing the tasks does not.
__getattr__, _, _ = lazy_loader.attach(
    __name__, submod_attrs={"files": ["read", "write"], "task": ["Task"]}
)

__all__ = ["Task", "about", "entry", "find", "load", "names", "read", "register", "write"]
