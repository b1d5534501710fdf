"""What reproduces the paper states the geometry that it was computed with, and needs no default."""

from __future__ import annotations

import ast
import inspect
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import pointforms as pf
from pointforms.bench import read_csv
from pointforms.bench.records import Row
from pointforms.estimators.common_geometry import CommonGeometry
from pointforms.estimators.point_form_estimator import PointFormEstimator
from pointforms.models.options import default
from pointforms.models.registry import COMPARED_GEOMETRY

ROOT = Path(__file__).parents[2]
PACKAGE = ROOT / "src" / "pointforms"
GEOMETRY = {
    "GramSettings", "gram_field", "gram_fields", "laplacian", "carre_du_champ",
    "PointFormClassifier", "PointFormRegressor", "PointFormTransformer",
}  # fmt: skip
# The demo shows what a user gets without options.
FOLLOWS_THE_DEFAULT = {
    ("paper/demo.py", "circles", "PointFormClassifier"),
    ("paper/demo.py", "torus", "gram_field"),
}
PUBLISHED = [
    record.row
    for study in ("synthetic", "pdo")
    for record in read_csv(ROOT / "docs" / "results" / f"{study}-fits.csv")
]


@pytest.fixture(params=["auto", 7])
def other_default(request, monkeypatch):
    """Another default number of neighbours in the estimators."""
    init = inspect.unwrap(PointFormEstimator.__init__)
    monkeypatch.setitem(init.__kwdefaults__, "neighbors", request.param)
    assert pf.PointFormClassifier().neighbors == request.param
    return request.param


def neighbor_counts(model: str) -> set[object]:
    parameters = pf.models.make(model).get_params()  # of estimators inside it too
    return {value for name, value in parameters.items() if name.split("__")[-1] == "neighbors"}


def unstated(file: Path) -> set[tuple[str, str, str]]:
    """Calls of a file that leave the number of neighbours to its default: file, function, name."""
    found = set()
    for outer in ast.walk(ast.parse(file.read_text("utf-8"))):
        if not isinstance(outer, ast.FunctionDef):
            continue
        for call in (node for node in ast.walk(outer) if isinstance(node, ast.Call)):
            name = getattr(call.func, "id", getattr(call.func, "attr", ""))
            given = {keyword.arg or ast.unparse(keyword.value) for keyword in call.keywords}
            stated = "COMPARED_GEOMETRY" in given or {"neighbors", "dimension"} <= given
            if name in GEOMETRY and not stated:
                found.add((file.relative_to(PACKAGE).as_posix(), outer.name, name))
    return found


def test_the_geometry_of_comparisons():
    assert COMPARED_GEOMETRY == {"neighbors": 32, "dimension": "local-pca"}
    assert not COMPARED_GEOMETRY.keys() & pf.PAPER_SETTINGS.keys()


def test_no_code_of_the_paper_relies_on_the_default():
    files = [
        file for room in ("paper", "models", "bench") for file in (PACKAGE / room).rglob("*.py")
    ]
    assert set().union(*map(unstated, files)) == FOLLOWS_THE_DEFAULT


# Models that show what a user gets without options.
DEFAULT_MODELS = {"npf-members", "cloud-classifier"}


def test_no_model_of_a_comparison_follows_the_default(other_default):
    compared = [name for name in pf.models.names() if name not in DEFAULT_MODELS]
    with_fields = [name for name in compared if name.startswith("npf-")]
    with_fields += ["hodge", "random-forms"]
    for name in with_fields:
        assert neighbor_counts(name) == {32}
        assert default(name, "neighbors") == 32
    assert not any(other_default in neighbor_counts(name) for name in compared)


def test_the_published_rows_are_rows_of_this_version_whatever_the_default(other_default):
    assert {"npf-tri-1", "hodge", "random-forms"} <= {row.model for row in PUBLISHED}
    for row in set(PUBLISHED):
        assert replace(row, settings=None) == row


def test_a_row_with_another_number_of_neighbors_is_another_row(other_default):
    for model in ("npf-tri-1", "hodge", "random-forms"):
        counts = (32, 16, "auto")
        assert len({Row("colocated", model, {"neighbors": k}).digest for k in counts}) == 3


@pytest.mark.parametrize(
    ("name", "dimension"),
    [
        ("circles-vs-lines", 1),
        ("colocated", 1),
        ("density-check", 1),
        ("density-shift", 1),
        ("singlecell", 13),
        ("rna-velocity", 1),
    ],
)
def test_the_dimension_of_the_published_rows(name, dimension):
    """Another estimate would give the rows another meaning."""
    task = pf.tasks.load(name)
    common = CommonGeometry(task.clouds, pf.GramSettings(**COMPARED_GEOMETRY))
    for fold in np.unique(task.folds):
        choice = common.choose(np.flatnonzero(task.folds != fold).tolist())
        assert (choice.neighbors, choice.dimension) == (32, dimension)
