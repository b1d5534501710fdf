"""Run `python -m benchmarks`, or some of them by name.

The names: accuracy defaults speed memory learning prediction tasks scaling planted.
"""

from __future__ import annotations

import sys

from benchmarks import (
    accuracy,
    defaults,
    learning,
    memory,
    planted,
    prediction,
    scaling,
    speed,
    tasks,
)

_ALL = {
    "accuracy": accuracy.main,
    "defaults": defaults.main,
    "speed": speed.main,
    "memory": memory.main,
    "learning": learning.main,
    "prediction": prediction.main,
    "tasks": tasks.main,
    "scaling": scaling.main,
    "planted": planted.main,
}


def main(names: list[str]) -> int:
    if names[:1] == ["planted"]:  # the one with options
        return 1 if planted.main(names[1:]) else 0
    unknown = [name for name in names if name not in _ALL]
    if unknown:
        print(f"unknown benchmark {unknown[0]!r}: expected {', '.join(_ALL)}", file=sys.stderr)
        return 2
    missed = [figure for name in names or list(_ALL) for figure in _ALL[name]()]
    return 1 if missed else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
