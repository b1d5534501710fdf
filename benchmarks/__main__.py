"""Run `python -m benchmarks`, or some of them by name."""

from __future__ import annotations

import sys
from importlib import import_module

_ALL = (
    "accuracy",
    "defaults",
    "speed",
    "memory",
    "large-anndata",
    "landmarks",
    "learning",
    "threads",
    "older-version",
    "prediction",
    "parts",
    "planted",
    "explanation",
    "which-cells",
    "readable",
    "tasks",
    "study",
    "ray-workers",
    "scaling",
)


def main(names: list[str]) -> int:
    unknown = [name for name in names if name not in _ALL]
    if unknown:
        print(f"unknown benchmark {unknown[0]!r}: expected {', '.join(_ALL)}", file=sys.stderr)
        return 2
    missed = []
    for name in names or _ALL:
        benchmark = import_module(f"benchmarks.{name.replace('-', '_')}")
        missed += benchmark.main()
    return 1 if missed else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
