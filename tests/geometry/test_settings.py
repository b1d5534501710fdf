"""The options of a Gram field: the same names, order, defaults, types and words everywhere."""

from __future__ import annotations

import inspect
import re
from fractions import Fraction
from typing import get_type_hints

import numpy as np
import pandas as pd
import pytest
import torch

import pointforms as pf
from pointforms.geometry.settings import GramSettings, insert_options

# Functions that take the options, and the defaults in which they differ on purpose.
TAKES_OPTIONS = {
    "gram_field": (pf.gram_field, {}),
    "gram_fields": (pf.gram_fields, {}),
    "laplacian": (pf.laplacian, {"calibrate": False}),
    "carre_du_champ": (pf.carre_du_champ, {}),
    "Geometry": (pf.Geometry.__init__, {}),
    "PointFormClassifier": (pf.PointFormClassifier, {}),
    "PointFormRegressor": (pf.PointFormRegressor, {}),
    "PointFormTransformer": (pf.PointFormTransformer, {}),
}
FIELDS = inspect.signature(GramSettings).parameters
FUNCTIONS = [pf.gram_field, pf.gram_fields, pf.laplacian, pf.carre_du_champ]


@pytest.mark.parametrize(("function", "differs"), TAKES_OPTIONS.values(), ids=TAKES_OPTIONS)
def test_every_signature_has_the_options(function, differs):
    parameters = inspect.signature(function).parameters
    assert [name for name in parameters if name in FIELDS] == list(FIELDS)
    defaults = {name: parameters[name].default for name in FIELDS}
    assert defaults == {name: field.default for name, field in FIELDS.items()} | differs
    types = get_type_hints(function)
    assert {name: types[name] for name in FIELDS} == get_type_hints(GramSettings)


def documented(text: str) -> dict[str, str]:
    """Entries of a docstring: name and what its type slot says."""
    return dict(re.findall(r"^(\w+) : (.*)$", inspect.cleandoc(text), re.MULTILINE))


def test_documented_defaults_are_the_defaults():
    entries = documented(GramSettings.__doc__)
    assert list(entries) == list(FIELDS)
    for name, slot in entries.items():
        shown = repr(FIELDS[name].default).replace("'", '"')
        assert slot.endswith(f", default {shown}"), name


@pytest.mark.parametrize("function", FUNCTIONS)
def test_documentation_is_inserted(function):
    entries = documented(function.__doc__)
    parameters = inspect.signature(function).parameters
    assert set(entries) == set(parameters)
    shared = documented(GramSettings.__doc__)
    own = {"calibrate"} if function is pf.laplacian else set()
    assert {n: entries[n] for n in shared if n not in own} == {
        n: slot for n, slot in shared.items() if n not in own
    }


def test_own_entries_replace_shared_ones():
    text = insert_options("Do.\n\nParameters\n----------\n[options of GramSettings]\nrank : x\n")
    assert list(documented(text)) == [*(n for n in FIELDS if n != "rank"), "rank"]
    assert insert_options("Nothing to insert.") == "Nothing to insert."


@pytest.mark.parametrize("function", FUNCTIONS)
def test_a_misspelt_option_names_the_nearest(function):
    with pytest.raises(TypeError, match=r"'neighbours': did you mean 'neighbors'\?"):
        function(np.eye(3), neighbours=3)
    with pytest.raises(TypeError, match=rf"^{function.__name__}\(\) got an unexpected keyword"):
        function(np.eye(3), zzz=3)


def test_one_set_of_options_serves_all(rng):
    X, f = rng.normal(size=(20, 2)), rng.normal(size=20)
    options = pf.PAPER_SETTINGS | {"neighbors": 9, "rank": 1}
    assert len(pf.gram_field(X, **options)) == len(pf.laplacian(X, **options)) == 20
    assert pf.carre_du_champ(f, f, X, **options).shape == (20,)


def test_settings_are_normalised():
    """1 and 1.0 are one setting, and so are numbers from an array: cache keys depend on it."""
    assert GramSettings(bandwidth=1) == GramSettings(bandwidth=np.float64(1.0))
    assert type(GramSettings(alpha=1).alpha) is float
    assert type(GramSettings(neighbors=np.int64(12)).neighbors) is int


@pytest.mark.parametrize(
    "name", ["neighbors", "bandwidth", "bandwidth_units", "calibrate", "alpha"]
)
@pytest.mark.parametrize("value", [np.array([1, 2]), pd.NA, {}, 1j], ids=repr)
def test_values_that_cannot_be_compared_are_refused_by_name(name, value):
    with pytest.raises((ValueError, TypeError), match=f"^{name}="):
        GramSettings(**{name: value})


def test_any_kind_of_number_is_a_number(rng):
    X = rng.normal(size=(20, 2))
    field = pf.gram_field(X, bandwidth=Fraction(1, 2), bandwidth_units=Fraction(1, 4))
    again = pf.gram_field(X, bandwidth=0.5, bandwidth_units=0.25)
    assert field.settings == again.settings
    assert torch.equal(field.factor, again.factor)
    with pytest.raises(ValueError, match=r"^alpha=10*: expected a finite number"):
        GramSettings(alpha=10**400)
