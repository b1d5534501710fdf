# The one list of public names: read by type checkers, and by lazy_loader at run time.

from .catalogue import (
    about as about,
    entry as entry,
    find as find,
    load as load,
    names as names,
    register as register,
)
from .entries import TaskEntry as TaskEntry
from .files import read as read, write as write
from .task import Task as Task
