"""Explained variation, rearrangements of labels, and p values."""

from __future__ import annotations

import numpy as np
import pytest

from pointforms.explain.permutation import (
    orthonormal_columns,
    p_values,
    rearrangements,
    variance_explained,
)


def test_explained_is_the_share_of_variation_between_classes(rng) -> None:
    v, y = rng.normal(size=(30, 4, 5)), rng.permutation(np.arange(30) % 3)
    found = variance_explained(v, orthonormal_columns(np.eye(3)[y])[None])[0]
    centre = v.mean(0)
    between = sum((y == c).sum() * ((v[y == c].mean(0) - centre) ** 2).sum(-1) for c in range(3))
    np.testing.assert_allclose(found, between / ((v - centre) ** 2).sum((0, 2)))
    split = v + 100.0 * y[:, None, None]
    assert variance_explained(split, orthonormal_columns(np.eye(3)[y])[None]).min() > 0.99


def test_explained_by_a_number_is_r_squared(rng) -> None:
    t = rng.normal(size=20)
    v = rng.normal(size=(20, 3, 1))
    found = variance_explained(v, orthonormal_columns(t[:, None])[None])[0]
    expected = [np.corrcoef(t, v[:, i, 0])[0, 1] ** 2 for i in range(3)]
    np.testing.assert_allclose(found, expected)


def test_many_designs_are_each_on_its_own(rng, monkeypatch) -> None:
    from pointforms.explain import permutation

    v = rng.normal(size=(12, 3, 2))
    designs = orthonormal_columns(
        np.stack([np.eye(2)[rng.permutation(np.arange(12) % 2)] for _ in range(9)])
    )
    whole = variance_explained(v, designs)
    monkeypatch.setattr(permutation, "_WORKING_SET", 30)
    np.testing.assert_allclose(variance_explained(v, designs), whole)
    np.testing.assert_allclose(variance_explained(v, designs[4:5])[0], whole[4])


def test_what_never_varies_is_not_explained() -> None:
    y = np.eye(2)[np.arange(6) % 2]
    assert (variance_explained(np.ones((6, 2, 3)), orthonormal_columns(y)[None]) == 0).all()


def test_groups_of_one_label_exchange_it_as_wholes(rng) -> None:
    groups = np.repeat(np.arange(8), [1, 2, 3, 4, 1, 2, 3, 4])
    y = np.eye(2)[np.repeat(np.arange(8) % 2, [1, 2, 3, 4, 1, 2, 3, 4])]
    places = rearrangements(y, groups, 50, rng)
    for row in places:
        labels = y[row].argmax(1)
        assert all(len(set(labels[groups == g])) == 1 for g in range(8))
        of_groups = [labels[groups == g][0] for g in range(8)]
        assert sum(of_groups) == 4
    assert len({tuple(y[row].argmax(1)) for row in places}) > 10


def test_groups_of_several_labels_exchange_them_inside(rng) -> None:
    groups, y = np.repeat(np.arange(10), 2), np.eye(2)[np.tile([0, 1], 10)]
    places = rearrangements(y, groups, 50, rng)
    assert (groups[places] == groups).all()
    assert len({tuple(row) for row in places}) > 40


def test_p_values_hold_their_level_for_the_whole_family(rng) -> None:
    """Of null statistics that hang together, the smallest p is ≤ α in α of the cases."""
    smallest = []
    for _ in range(400):
        v = rng.normal(size=(20, 6, 2)) + rng.normal(size=(20, 1, 1))
        y = np.eye(2)[np.arange(20) % 2]
        places = np.concatenate([np.arange(20)[None], rearrangements(y, None, 99, rng)])
        share = variance_explained(v, orthonormal_columns(y[places]))
        smallest.append(p_values(share[0], share[1:]).min())
    for level in (0.05, 0.2, 0.5):
        rate = np.mean(np.array(smallest) <= level)
        # three deviations of 400 draws
        assert abs(rate - level) < 3 * (level * (1 - level) / 400) ** 0.5


def test_where_nothing_can_be_rearranged_p_is_one(rng) -> None:
    y = np.eye(2)[[0, 0, 1, 1]]
    places = np.tile(np.arange(4), (21, 1))
    share = variance_explained(rng.normal(size=(4, 2, 1)), orthonormal_columns(y[places]))
    assert p_values(share[0], share[1:]) == pytest.approx(np.ones(2))
