"""Doing something as a user who may not write everywhere, also in a test that root runs."""

from __future__ import annotations

import os
import traceback
from collections.abc import Callable

NOBODY = 65534


def unprivileged(action: Callable[[], object]) -> None:
    """Call a function in a child process without the rights of root; fail if it fails.

    What the function needs has to be imported before: the child may not be allowed to.
    """
    read, write = os.pipe()
    child = os.fork()
    if child == 0:
        status = 1
        try:
            os.close(read)
            if os.geteuid() == 0:
                os.setgroups([])
                os.setgid(NOBODY)
                os.setuid(NOBODY)
            action()
            status = 0
        except BaseException:
            os.write(write, traceback.format_exc().encode()[-4000:])
        finally:
            os._exit(status)
    os.close(write)
    with open(read, "rb") as pipe:
        message = pipe.read().decode()
    _, status = os.waitpid(child, 0)
    assert status == 0, message
