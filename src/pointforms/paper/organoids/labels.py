"""Labels of the response tasks, from treated conditions and their matched controls.

Every score is a difference of means of asinh(x / 5) to the vehicle of the same patient, culture,
cell type and plate. Controls are used for labels, never as inputs.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from pointforms.paper.organoids.conditions import Condition
from pointforms.paper.organoids.schema import FIBROBLAST, TUMOUR, module

TOP = 0.3  # share of the conditions, those of the highest scores, that are labelled 1
STRICT_DEATH, STRICT_INDEX = 0.05, 0.02


@dataclass(frozen=True)
class ResponseLabels:
    """Labels of treated conditions.

    Attributes
    ----------
    score : dict of Condition to float
        The number behind each label.
    label : dict of Condition to int
        0 or 1.
    strict : dict of Condition to int
        The auxiliary label of tumor-selective; empty for the other tasks.
    without_control : tuple of Condition
        Treated conditions that were left out because what they are compared with is missing.
    """

    score: dict[Condition, float]
    label: dict[Condition, int]
    strict: dict[Condition, int]
    without_control: tuple[Condition, ...]


class Means:
    """Means of the markers of conditions, averaged over modules of markers."""

    def __init__(self, markers: tuple[str, ...], mean: Mapping[Condition, np.ndarray]) -> None:
        self.places = {name: i for i, name in enumerate(markers)}
        self.mean = mean

    def level(self, condition: Condition, name: str) -> float:
        """Return the mean over the markers of a module."""
        return float(np.mean([self.mean[condition][self.places[m]] for m in module(name)]))

    def change(self, condition: Condition, name: str) -> float:
        """Return the change of a module from the matched control to the treated condition."""
        return self.level(condition, name) - self.level(condition.control(), name)

    def has(self, *conditions: Condition) -> bool:
        """Whether all conditions and their controls are known."""
        return all(c in self.mean and c.control() in self.mean for c in conditions)


def tumor_selective(means: Means) -> ResponseLabels:
    """Label by TI = Δ(tumour death) - max(Δ(fibroblast death), 0) > 0, in the co-culture.

    The strict label needs Δ(tumour death) ≥ 0.05 and TI ≥ 0.02.
    """
    score, strict, left = {}, {}, []
    for tumour in _treated(means, "PDOF"):
        fibroblast = tumour._replace(cell_type=FIBROBLAST)
        if not means.has(tumour, fibroblast):
            left.append(tumour)
            continue
        death = means.change(tumour, "apoptosis")
        index = death - max(means.change(fibroblast, "apoptosis"), 0.0)
        score[tumour] = index
        strict[tumour] = int(death >= STRICT_DEATH and index >= STRICT_INDEX)
    return ResponseLabels(score, {c: int(s > 0) for c, s in score.items()}, strict, tuple(left))


def functional_perturbation(means: Means) -> ResponseLabels:
    """Label by apoptosis + DNA damage - cell cycle (EFP), in organoids alone."""
    signs = {"apoptosis": 1, "dna_damage": 1, "cell_cycle": -1}
    treated = _treated(means, "PDO")
    kept = [c for c in treated if means.has(c)]
    changes = {name: [means.change(c, name) for c in kept] for name in signs}
    return _top(treated, kept, changes, signs)


def fibroblast_reprogramming(means: Means) -> ResponseLabels:
    """Label by what the co-culture adds to a treatment's effect on the tumour cells (CAF).

    The score is -epithelial + mesenchymal + survival - cell cycle, each the change in co-culture
    less that in monoculture.
    """
    signs = {"epithelial": -1, "mesenchymal": 1, "survival": 1, "cell_cycle": -1}
    treated = _treated(means, "PDOF")
    alone = {c: c._replace(culture="PDO") for c in treated}
    kept = [c for c in treated if means.has(c, alone[c])]
    changes = {
        name: [means.change(c, name) - means.change(alone[c], name) for c in kept] for name in signs
    }
    return _top(treated, kept, changes, signs)


def _treated(means: Means, culture: str) -> list[Condition]:
    """Return the treated conditions of tumour cells in a culture."""
    cells = [c for c in means.mean if c.culture == culture and c.cell_type == TUMOUR]
    return [c for c in cells if not c.is_control]


def _top(
    treated: list[Condition],
    kept: list[Condition],
    changes: dict[str, list[float]],
    signs: dict[str, int],
) -> ResponseLabels:
    """Add up robustly scaled changes, and label the top 30 % with 1."""
    total = np.zeros(len(kept))
    for name, sign in signs.items():
        total += sign * robust_scores(np.array(changes[name]))
    # ties go to the first condition, so that the number of labels 1 is exact
    order = sorted(range(len(kept)), key=lambda i: (-total[i], kept[i]))
    top = set(order[: round(TOP * len(kept))])
    left = tuple(c for c in treated if c not in set(kept))
    return ResponseLabels(
        {c: float(total[i]) for i, c in enumerate(kept)},
        {c: int(i in top) for i, c in enumerate(kept)},
        {},
        left,
    )


def robust_scores(values: np.ndarray) -> np.ndarray:
    """Return (x - median) / (1.4826 MAD); zeros for values that do not vary."""
    if not len(values):
        return values
    centred = values - np.median(values)
    spread = 1.4826 * np.median(np.abs(centred))
    scaled: np.ndarray = centred / spread if spread > 0 else np.zeros_like(centred)
    return scaled


RESPONSES = {
    "tumor-selective": tumor_selective,
    "efp": functional_perturbation,
    "caf": fibroblast_reprogramming,
}
