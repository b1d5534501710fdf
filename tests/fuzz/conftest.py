"""The closing table of a fuzz run."""

from __future__ import annotations

from collections import Counter
from typing import Any

from tests.fuzz.judge import Verdict, tally
from tests.fuzz.profiles import fuzzing


def pytest_terminal_summary(terminalreporter: Any) -> None:
    """Print how many inputs of each family ended how, after `make fuzz`."""
    if not fuzzing() or not tally:
        return
    terminalreporter.section("fuzzed inputs")
    heads = ["inputs", *Verdict]
    width = max(map(len, (*tally, "family")))
    terminalreporter.write_line("  ".join([f"{'family':{width}}", *heads]))
    for family, counts in (*sorted(tally.items()), ("all", sum(tally.values(), Counter()))):
        numbers = [counts.total(), *(counts[verdict] for verdict in Verdict)]
        cells = [f"{number:{len(head)}}" for number, head in zip(numbers, heads, strict=True)]
        terminalreporter.write_line("  ".join([f"{family:{width}}", *cells]))
