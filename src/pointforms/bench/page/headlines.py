"""The outcome of a task in one sentence, whichever side it favours."""

from __future__ import annotations

from dataclasses import dataclass
from math import isfinite
from typing import Literal

from pointforms.bench.comparison import OURS, Comparison, ModelResult
from pointforms.support.formatting import estimate, tested_difference

Kind = Literal["behind", "level", "ahead", "untested", "alone"]

_LABELS: dict[Kind, str] = {
    "level": "no significant difference",
    "untested": "not tested",
    "alone": "nothing to compare",
}


@dataclass(frozen=True)
class Headline:
    """The reference of a task against the best of the models that are compared with it.

    Attributes
    ----------
    kind : {"behind", "level", "ahead", "untested", "alone"}
        What the test says.
    sentence : str
        The outcome in words.
    scores : tuple of pairs (name, AUROC)
        The reference, and the model with the largest mean difference among those that were
        tested, or among all if none was tested; as far as they are known.
    reference : str
        What the reference is called.
    """

    kind: Kind
    sentence: str
    scores: tuple[tuple[str, str], ...] = ()
    reference: str = OURS

    @property
    def label(self) -> str:
        """The outcome in a few words."""
        ours = self.reference == OURS
        if self.kind == "behind":
            return "baseline better" if ours else "another model better"
        if self.kind == "ahead":
            return "NPF better" if ours else f"{self.reference} better"
        return _LABELS[self.kind]


def headline(comparison: Comparison) -> Headline:
    """Return the outcome of a comparison.

    The best of the compared models is found on the test clouds, which favours it; NPF (selected)
    is not.
    """
    first, title = comparison.reference, comparison.reference_title
    if first is None:
        return Headline("alone", f"There is no {title} on this task.", reference=title)
    compared = [model for model in comparison.compared if isfinite(model.difference.mean)]
    if not compared:
        sentence = f"No {comparison.noun} has fits in common with it."
        return Headline("alone", sentence, _scores({title: first}), title)
    tested = [model for model in compared if isfinite(model.p)]
    best = max(tested or compared, key=lambda model: model.difference.mean)
    kind, sentence = _outcome(comparison, tested, best)
    higher = [
        f"{model.name} {tested_difference(model.difference)}"
        for model in compared
        if model not in tested and model is not best and round(model.difference.mean, 3) > 0
    ]
    if higher:
        sentence += f" Higher in the mean, on too few common fits for a test: {'; '.join(higher)}."
    return Headline(kind, sentence, _scores({title: first, best.name: best}), title)


def _scores(models: dict[str, ModelResult]) -> tuple[tuple[str, str], ...]:
    scores = {name: model.summary("auroc") for name, model in models.items()}
    return tuple((name, estimate(score)) for name, score in scores.items() if isfinite(score.mean))


def _outcome(
    comparison: Comparison, tested: list[ModelResult], best: ModelResult
) -> tuple[Kind, str]:
    title, noun = comparison.reference_title, comparison.noun
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
            return "behind", f"Significantly better than {title}: {', '.join(others)}."
        return "behind", f"{best.name} beats {title}: {difference}.{also}"
    level = [model for model in tested if not model.difference.significant]
    if not level:
        return "ahead", (
            f"{title} is significantly ahead of all {len(tested)} tested {noun}s; the closest is "
            f"{best.name}: {difference}."
        )
    behind = [model.name for model in tested if model.difference.significant]
    many = f"{len(level)} {noun}s; the best is " if len(level) > 1 else ""
    sentence = f"No significant difference to {many}{best.name}: {difference}."
    if behind:
        whom = ", ".join(behind) if len(behind) <= 3 else f"{len(behind)} others"
        sentence += f" Significantly ahead of {whom}."
    return "level", sentence
