"""The outcome of a task in one sentence, whichever side it favours."""

from __future__ import annotations

from dataclasses import dataclass
from math import isfinite
from typing import Literal

from pointforms.bench.lines import Line
from pointforms.bench.page.grids import DIFFERENCE
from pointforms.bench.sheets import Sheet
from pointforms.bench.tables import OURS, ResultTable

Kind = Literal["behind", "level", "ahead", "untested", "alone"]

LABELS: dict[Kind, str] = {
    "behind": "baseline better",
    "level": "not told apart",
    "ahead": "NPF better",
    "untested": "not tested",
    "alone": "nothing to compare",
}


@dataclass(frozen=True)
class Headline:
    """NPF (selected) against the best baseline of a task.

    Attributes
    ----------
    kind : what the test says
    ours, baseline : AUROC and its interval, as tables have them; empty where there is none
    baseline_name : the baseline with the largest mean difference among those that were tested, or
        among all if none was
    difference : of that baseline to ours, with interval and adjusted p
    sentence : in words
    """

    kind: Kind
    ours: str
    baseline_name: str
    baseline: str
    difference: str
    sentence: str

    @property
    def label(self) -> str:
        return LABELS[self.kind]


def headline(result: ResultTable, sheet: Sheet) -> Headline:
    """The outcome of a table.

    The best baseline is found on the test clouds, which favours it; NPF (selected) is not.
    """
    if result.reference is None:
        return Headline("alone", "", "", "", "", f"There is no {OURS} on this task.")
    ours = _text(result, sheet, result.reference, "AUROC")
    compared = [line for line in result.baselines if isfinite(line.comparison.difference)]
    if not compared:
        return Headline("alone", ours, "", "", "", "No baseline has fits in common with it.")
    tested = [line for line in compared if isfinite(line.p)]
    best = max(tested or compared, key=lambda line: line.comparison.difference)
    difference = _text(result, sheet, best, DIFFERENCE)
    kind, sentence = _told(result, tested, best, difference)
    untested = [line for line in compared if line not in tested and line is not best]
    higher = [line for line in untested if round(line.comparison.difference, 3) > 0]
    if higher:
        each = (f"{line.name} {_text(result, sheet, line, DIFFERENCE)}" for line in higher)
        sentence += f" Higher in the mean, on too few common fits for a test: {'; '.join(each)}."
    baseline = _text(result, sheet, best, "AUROC")
    return Headline(kind, ours, best.name, baseline, difference, sentence)


def _told(result: ResultTable, tested: list[Line], best: Line, difference: str) -> tuple[Kind, str]:
    gap = round(best.comparison.difference, 3)
    if not tested:
        side = "higher" if gap > 0 else "lower" if gap < 0 else "equal"
        pairs = best.comparison.pairs
        common = f"{pairs} common fit{'s' * (pairs != 1)}"
        return "untested", f"Too few fits for a test; {best.name} is {side} on {common}."
    ahead = [line for line in tested if line.significant and line.comparison.difference > 0]
    if ahead:
        ahead.sort(key=lambda line: -line.comparison.difference)
        others = [line.name for line in ahead if line is not best]
        also = f" So do {', '.join(others)}." if others else ""
        if best not in ahead:  # largest in the mean, but too uncertain
            return "behind", f"Significantly better than {OURS}: {', '.join(others)}."
        return "behind", f"{best.name} beats {OURS}: {difference}.{also}"
    level = [line for line in tested if not line.significant]
    if not level:
        return "ahead", (
            f"{OURS} is significantly ahead of all {len(tested)} tested baselines; the closest is "
            f"{best.name}: {difference}."
        )
    behind = [line.name for line in tested if line.significant]
    many = f"{len(level)} baselines; the best is " if len(level) > 1 else ""
    sentence = f"Not told apart from {many}{best.name}: {difference}."
    if behind:
        whom = ", ".join(behind) if len(behind) <= 3 else f"{len(behind)} others"
        sentence += f" Significantly ahead of {whom}."
    return "level", sentence


def _text(result: ResultTable, sheet: Sheet, line: Line, heading: str) -> str:
    """A line's cell, where the column is there."""
    if heading not in sheet.headings:
        return ""
    text = str(sheet.rows[result.lines.index(line)][sheet.headings.index(heading)])
    return text.removesuffix(" ↑").removesuffix(" ↓")  # sentences say it in words
