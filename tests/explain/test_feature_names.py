"""Names of features: of the clouds, of the estimator and of the table."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.pipeline import make_pipeline

import pointforms as pf

NAMES, TURNED = ["a", "b", "c"], [2, 0, 1]


@pytest.fixture(scope="module")
def data():
    rng = np.random.default_rng(0)
    y = np.arange(24) % 2
    return [rng.normal(size=(10, 3)) + np.array([2.0 * label, 0, 0]) for label in y], y


def turned(clouds):
    """The clouds with their features in another order: c, a, b."""
    return pf.Clouds.from_list([c[:, TURNED] for c in clouds], feature_names=["c", "a", "b"])


def first(table):
    return table.rows[0].feature


@pytest.mark.parametrize("wrap", [lambda model: model, make_pipeline])
def test_given_names_are_those_of_the_clouds_columns(data, wrap):
    clouds, y = data
    model = wrap(pf.CloudClassifier(parts=("linear",), random_state=0))
    model.fit(pf.Clouds.from_list(clouds, feature_names=NAMES), y)
    options = {"pairs": None, "repeats": 2}
    table = pf.explain.importance(model, turned(clouds), y, **options)
    assert (table.feature_names, first(table)) == (("a", "b", "c"), "a")
    called = pf.explain.importance(
        model, turned(clouds), y, feature_names=["C", "A", "B"], **options
    )
    assert (called.feature_names, first(called)) == (("A", "B", "C"), "A")
    # arrays have the order of fit
    bare = pf.explain.importance(model, clouds, y, feature_names=["A", "B", "C"], **options)
    assert first(bare) == "A"


def test_names_are_checked(data):
    clouds, y = data
    model = pf.CloudClassifier(parts=("linear",), random_state=0).fit(clouds, y)
    with pytest.raises(ValueError, match="has 1 names for 3 features"):
        model.explain(clouds, y, feature_names=["a"])
    with pytest.raises(ValueError, match="has 'a' twice"):
        model.explain(clouds, y, feature_names=["a", "a", "b"])


@pytest.mark.parametrize("fitted", [True, False])
def test_clones_know_the_names(data, fitted):
    clouds, y = data
    model = pf.PointFormClassifier(
        forms=2, hidden=(4,), epochs=2, neighbors=6, dimension=2, sees=["a", "b"], random_state=0
    )
    if fitted:
        model.fit(pf.Clouds.from_list(clouds, feature_names=NAMES), y)
    table = pf.explain.importance(
        model, pf.Clouds.from_list(clouds, feature_names=NAMES), y, pairs=None, repeats=1
    )
    assert "refits" in table.models
    assert table.feature_names == ("a", "b", "c")


def test_the_basis_split_names_what_it_measures(data):
    """Features in another order have the same shares, by their names."""
    clouds, y = data
    named = pf.Clouds.from_list(clouds, feature_names=NAMES)
    model = pf.PointFormClassifier(
        forms=2, hidden=(4,), epochs=2, neighbors=6, dimension=2, random_state=0
    ).fit(named, y)
    shares = [
        {form.name: form.share for form in pf.explain.basis_split(model, *given, refits=0).top()}
        for given in [(named, y), (turned(clouds), y), (turned(clouds), y, None, ["c", "a", "b"])]
    ]
    assert set(shares[0]) == set(NAMES)
    assert shares[1] == pytest.approx(shares[0])
    assert shares[2] == pytest.approx(shares[0])


@pytest.mark.parametrize("names", ["abc", 5])
def test_names_are_a_list(data, names):
    clouds, y = data
    model = pf.CloudClassifier(parts=("linear",), random_state=0).fit(clouds, y)
    with pytest.raises(ValueError, match=f"feature_names={names!r}: expected a list"):
        model.explain(clouds, y, feature_names=names)
