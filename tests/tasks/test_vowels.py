from __future__ import annotations

import numpy as np
import pytest

import pointforms as pf


def test_japanese_vowels_keep_their_own_split():
    task = pf.tasks.load("japanese-vowels")
    assert np.sum(task.split == "test") == 370
    assert np.sum(task.split == "validation") == pytest.approx(54, abs=9)
    train = task.labels[task.split != "test"]
    np.testing.assert_array_equal(np.bincount(train), 30)  # utterances of each speaker
