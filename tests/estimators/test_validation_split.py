from __future__ import annotations

import numpy as np
import pytest

from pointforms.estimators.validation_split import validation_part


class TestValidationPart:
    y = np.repeat([0, 1], 20)

    def test_groups_stay_together_and_classes_in_proportion(self):
        groups = np.tile(np.arange(20), 2)
        train_part, validation = validation_part(self.y, groups, 0.2, 0, stratify=True)
        assert not set(groups[train_part]) & set(groups[validation])
        assert sorted([*train_part, *validation]) == list(range(40))
        assert self.y[validation].mean() == pytest.approx(0.5, abs=0.1)

    def test_without_anything_to_spare_all_is_used(self):
        for fraction, groups in ((0.0, None), (0.2, np.zeros(40))):
            a, b = validation_part(self.y, groups, fraction, 0, stratify=True)
            assert len(a) == len(b) == 40

    def test_numbers(self):
        a, b = validation_part(np.linspace(0, 1, 40), None, 0.25, 0, stratify=False)
        assert len(b) == 10
        assert not set(a) & set(b)
        a, b = validation_part(np.linspace(0, 1, 12), None, 0.99, 0, stratify=False)
        assert (len(a), len(b)) == (1, 11)
