"""Japanese vowels: real recordings of nine speakers, each utterance a cloud of frames."""

from __future__ import annotations

import warnings

import numpy as np

from pointforms.support.extras import need
from pointforms.tasks.task import Task, grouped_folds


def japanese_vowels(seed: int) -> Task:
    """640 utterances of 7 to 29 frames in R^12 (cepstral coefficients) by nine speakers.

    Kudo, Toyama and Shimbo, "Multidimensional curve classification using passing-through regions",
    Pattern Recognition Letters 20 (1999), from the `aeon` package. The frames of an
    utterance are shuffled. `split` keeps the data set's own test part of 370 utterances; a fifth of
    the other 270 is for validation.
    """
    need("aeon", "data")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)  # of a dependency, at import
        from aeon.datasets import load_japanese_vowels

    train, train_speakers = load_japanese_vowels(split="train")
    test, test_speakers = load_japanese_vowels(split="test")
    rng = np.random.default_rng([seed, 9])
    clouds = [rng.permutation(np.asarray(series, dtype=np.float64).T) for series in [*train, *test]]
    speakers, labels = np.unique(
        np.concatenate([train_speakers, test_speakers]), return_inverse=True
    )
    utterances = np.arange(len(clouds))
    split = np.full(len(clouds), "test", dtype="<U10")
    inner = utterances[: len(train)]
    validates = grouped_folds(labels[inner], inner, seed) == 0
    split[inner] = np.where(validates, "validation", "train")
    return Task(
        "japanese-vowels",
        clouds,
        labels,
        utterances,
        tuple(f"c{j + 1}" for j in range(clouds[0].shape[1])),
        tuple(f"speaker {name}" for name in speakers),
        seed=seed,
        split=split,
    )
