"""Where fuzzed inputs may write, and the closing table of a fuzz run."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from typing import Any

import pytest
from tests.fuzz.judge import Verdict, tally
from tests.fuzz.profiles import fuzzing


@pytest.fixture(scope="module", autouse=True)
def _scratch_folder(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """Work in an empty folder: a word that lands in an option such as `cache` names a folder."""
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(tmp_path_factory.mktemp("fuzz"))
        yield


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
