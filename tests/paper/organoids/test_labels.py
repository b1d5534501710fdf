"""Labels of the response tasks, against numbers worked out by hand."""

from __future__ import annotations

import numpy as np
import pytest

from pointforms.paper.organoids.conditions import Condition
from pointforms.paper.organoids.labels import (
    Means,
    fibroblast_reprogramming,
    functional_perturbation,
    robust_scores,
    tumor_selective,
)
from pointforms.paper.organoids.schema import module

MODULES = ("apoptosis", "dna_damage", "cell_cycle", "epithelial", "mesenchymal", "survival")
MARKERS = tuple(marker for name in MODULES for marker in module(name))


def levels(**modules):
    """Means of markers: every marker of a module has the module's level."""
    return np.array([modules.get(name, 0.0) for name in MODULES for _ in module(name)])


def condition(culture, cell_type, treatment, concentration="1", patient="5", plate="SLV"):
    return Condition(patient, culture, cell_type, plate, treatment, concentration)


def test_tumor_selective_by_hand():
    """TI = Δ tumour death - max(Δ fibroblast death, 0), co-culture, matched vehicle."""
    mean = {
        condition("PDOF", "PDOs", "DMSO", "0"): levels(apoptosis=1.0),
        condition("PDOF", "Fibs", "DMSO", "0"): levels(apoptosis=2.0),
        # tumour +0.5, fibroblasts +0.3: TI 0.2
        condition("PDOF", "PDOs", "S", "1"): levels(apoptosis=1.5),
        condition("PDOF", "Fibs", "S", "1"): levels(apoptosis=2.3),
        # tumour +0.5, fibroblasts -1, which is no merit: TI 0.5
        condition("PDOF", "PDOs", "S", "2"): levels(apoptosis=1.5),
        condition("PDOF", "Fibs", "S", "2"): levels(apoptosis=1.0),
        # tumour +0.03, fibroblasts 0: TI 0.03, but too little death for the strict label
        condition("PDOF", "PDOs", "L", "1"): levels(apoptosis=1.03),
        condition("PDOF", "Fibs", "L", "1"): levels(apoptosis=2.0),
        # tumour +0.5, fibroblasts +0.6: TI -0.1
        condition("PDOF", "PDOs", "V", "1"): levels(apoptosis=1.5),
        condition("PDOF", "Fibs", "V", "1"): levels(apoptosis=2.6),
        # no fibroblasts to compare with
        condition("PDOF", "PDOs", "VS", "2"): levels(apoptosis=1.5),
        # a plate whose vehicle is missing
        condition("PDOF", "PDOs", "F", "1", plate="CSF"): levels(apoptosis=9.0),
        condition("PDOF", "Fibs", "F", "1", plate="CSF"): levels(apoptosis=1.0),
        # monoculture says nothing here
        condition("PDO", "PDOs", "S", "1"): levels(apoptosis=9.0),
    }
    found = tumor_selective(Means(MARKERS, mean))
    told = {(c.treatment, c.concentration): c for c in found.label}
    assert {key: found.score[c] for key, c in told.items()} == pytest.approx(
        {("S", "1"): 0.2, ("S", "2"): 0.5, ("L", "1"): 0.03, ("V", "1"): -0.1}
    )
    assert [found.label[told[k]] for k in (("S", "1"), ("S", "2"), ("L", "1"), ("V", "1"))] == [
        1, 1, 1, 0,
    ]  # fmt: skip
    assert [found.strict[told[k]] for k in (("S", "1"), ("S", "2"), ("L", "1"), ("V", "1"))] == [
        1, 1, 0, 0,
    ]  # fmt: skip
    assert {c.treatment for c in found.without_control} == {"VS", "F"}


def test_functional_perturbation_by_hand():
    """Sums of robustly scaled changes, of ten conditions the top three."""
    mean = {condition("PDO", "PDOs", "DMSO", "0"): levels(apoptosis=1, dna_damage=1, cell_cycle=1)}
    changes = np.arange(10.0)  # median 4.5, MAD 2.5
    for i, change in enumerate(changes):
        mean[condition("PDO", "PDOs", "S", str(i))] = levels(
            apoptosis=1 + change, dna_damage=1 + 2 * change, cell_cycle=1 - 3 * change
        )
    found = functional_perturbation(Means(MARKERS, mean))
    # every module gives (x - 4.5) / (1.4826 · 2.5), cell cycle with both signs turned
    expected = 3 * (changes - 4.5) / (1.4826 * 2.5)
    scores = {int(c.concentration): s for c, s in found.score.items()}
    np.testing.assert_allclose([scores[i] for i in range(10)], expected)
    labels = {int(c.concentration): label for c, label in found.label.items()}
    assert [labels[i] for i in range(10)] == [0] * 7 + [1] * 3


def test_reprogramming_is_what_the_fibroblasts_add():
    mean = {}
    for culture in ("PDO", "PDOF"):
        mean[condition(culture, "PDOs", "DMSO", "0")] = levels(epithelial=2.0, survival=1.0)
        for i in range(10):
            together = i if culture == "PDOF" else 0
            mean[condition(culture, "PDOs", "S", str(i))] = levels(
                epithelial=2 - 0.1 * i - 0.2 * together,  # the drug's own part cancels
                survival=1 + 0.3 * together,
                mesenchymal=0.1 * i,
            )
    found = fibroblast_reprogramming(Means(MARKERS, mean))
    scale = 1.4826 * 2.5
    expected = 2 * (np.arange(10) - 4.5) / scale  # epithelial and survival; mesenchymal cancels
    scores = {int(c.concentration): s for c, s in found.score.items()}
    np.testing.assert_allclose([scores[i] for i in range(10)], expected)
    assert all(c.culture == "PDOF" for c in found.label)
    assert sum(found.label.values()) == 3
    del mean[condition("PDO", "PDOs", "S", "4")]
    again = fibroblast_reprogramming(Means(MARKERS, mean))
    assert [c.concentration for c in again.without_control] == ["4"]


def test_robust_scaling():
    np.testing.assert_allclose(
        robust_scores(np.array([1.0, 2, 3, 4, 100])), np.array([-2, -1, 0, 1, 97]) / 1.4826
    )
    np.testing.assert_array_equal(robust_scores(np.ones(4)), np.zeros(4))


def test_unknown_plate():
    with pytest.raises(ValueError, match="plate 'X' has no known vehicle"):
        condition("PDO", "PDOs", "S", plate="X").control()
