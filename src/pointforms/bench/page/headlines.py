"""The outcome of a task in one sentence, whichever side it favours."""

from __future__ import annotations

from dataclasses import dataclass, field
from math import isfinite
from typing import Literal

from pointforms.bench.comparison import OURS, Comparison, ModelResult
from pointforms.support.formatting import estimate, tested_difference
from pointforms.support.statistics import Difference, Estimate

Kind = Literal["behind", "level", "ahead", "untested", "alone"]

LABELS: dict[Kind, str] = {
    "behind": "baseline better",
    "level": "no significant difference",
    "ahead": "NPF better",
    "untested": "not tested",
    "alone": "nothing to compare",
}


@dataclass(frozen=True)
class Headline:
    """NPF (selected) against the best baseline of a task.

    Attributes
    ----------
    kind : {"behind", "level", "ahead", "untested", "alone"}
        What the test says.
    sentence : str
        The outcome in words.
    ours : Estimate
        AUROC of NPF (selected); NaN without it.
    baseline_name : str
        The baseline with the largest mean difference among those that were tested, or among all
        if none was tested. Empty without a baseline.
    baseline : Estimate
        AUROC of that baseline.
    difference : Difference
        That baseline minus NPF (selected).
    """

    kind: Kind
    sentence: str
    ours: Estimate = field(default_factory=Estimate)
    baseline_name: str = ""
    baseline: Estimate = field(default_factory=Estimate)
    difference: Difference = field(default_factory=Difference)

    @property
    def label(self) -> str:
        """The outcome in two or three words."""
        return LABELS[self.kind]

    @property
    def scores(self) -> list[tuple[str, str]]:
        """The two models and their AUROC, as far as they are known."""
        both = ((OURS, self.ours), (self.baseline_name, self.baseline))
        return [(name, estimate(value)) for name, value in both if isfinite(value.mean)]


def headline(comparison: Comparison) -> Headline:
    """Return the outcome of a comparison.

    The best baseline is found on the test clouds, which favours it; NPF (selected) is not.
    """
    if comparison.selected is None:
        return Headline("alone", f"There is no {OURS} on this task.")
    ours = comparison.selected.summary("auroc")
    compared = [model for model in comparison.baselines if isfinite(model.difference.mean)]
    if not compared:
        return Headline("alone", "No baseline has fits in common with it.", ours)
    tested = [model for model in compared if isfinite(model.p)]
    best = max(tested or compared, key=lambda model: model.difference.mean)
    kind, sentence = _outcome(tested, best)
    higher = [
        f"{model.name} {tested_difference(model.difference)}"
        for model in compared
        if model not in tested and model is not best and round(model.difference.mean, 3) > 0
    ]
    if higher:
        sentence += f" Higher in the mean, on too few common fits for a test: {'; '.join(higher)}."
    return Headline(kind, sentence, ours, best.name, best.summary("auroc"), best.difference)


def _outcome(tested: list[ModelResult], best: ModelResult) -> tuple[Kind, str]:
    gap = round(best.difference.mean, 3)
    if not tested:
        side = "higher" if gap > 0 else "lower" if gap < 0 else "equal"
        common = f"{best.test.pairs} common fit{'s' * (best.test.pairs != 1)}"
        return "untested", f"Too few fits for a test; {best.name} is {side} on {common}."
    difference = tested_difference(best.difference)
    ahead = [m for m in tested if m.difference.significant and m.difference.mean > 0]
    if ahead:
        ahead.sort(key=lambda model: -model.difference.mean)
        others = [model.name for model in ahead if model is not best]
        also = f" So do {', '.join(others)}." if others else ""
        if best not in ahead:  # largest in the mean, but too uncertain
            return "behind", f"Significantly better than {OURS}: {', '.join(others)}."
        return "behind", f"{best.name} beats {OURS}: {difference}.{also}"
    level = [model for model in tested if not model.difference.significant]
    if not level:
        return "ahead", (
            f"{OURS} is significantly ahead of all {len(tested)} tested baselines; the closest is "
            f"{best.name}: {difference}."
        )
    behind = [model.name for model in tested if model.difference.significant]
    many = f"{len(level)} baselines; the best is " if len(level) > 1 else ""
    sentence = f"No significant difference to {many}{best.name}: {difference}."
    if behind:
        whom = ", ".join(behind) if len(behind) <= 3 else f"{len(behind)} others"
        sentence += f" Significantly ahead of {whom}."
    return "level", sentence
