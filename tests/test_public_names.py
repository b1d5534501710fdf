"""What `import pointforms as pf` offers, and what it costs."""

from __future__ import annotations

import subprocess
import sys
import types

import pytest

import pointforms as pf

FUNCTIONS = {
    "carre_du_champ",
    "comparison_matrix",
    "gram_field",
    "gram_fields",
    "inner",
    "inner_global",
    "incomplete_clouds",
    "laplacian",
    "load",
    "save",
    "read_anndata",
    "read_fcs",
    "read_npz",
    "read_table",
}
CLASSES = {
    "CloudClassifier",
    "CloudRegressor",
    "Clouds",
    "Geometry",
    "GramField",
    "GramSettings",
    "PointFormClassifier",
    "PointFormRegressor",
    "PointFormTransformer",
}
MODULES = {
    "bench",
    "estimators",
    "explain",
    "exterior",
    "geometry",
    "io",
    "manifolds",
    "models",
    "nn",
    "pl",
    "plot",
    "preprocessing",
    "pp",
    "tasks",
    "tl",
}
HEAVY = ("numpy", "torch", "sklearn", "pandas", "scipy", "matplotlib", "pyarrow")
FIELD = (
    "import numpy as np, pointforms as pf; pf.gram_field(np.random.default_rng(0).normal(size={}))"
)


def test_every_public_name_can_be_used():
    assert set(pf.__all__) >= FUNCTIONS | CLASSES | MODULES | {"PAPER_SETTINGS", "__version__"}
    assert set(dir(pf)) >= set(pf.__all__)
    for name in FUNCTIONS:
        assert callable(getattr(pf, name))
    for name in CLASSES:
        assert isinstance(getattr(pf, name), type)
    for name in MODULES:
        assert isinstance(getattr(pf, name), types.ModuleType)
    for name in pf.__all__:
        assert getattr(pf, name) is not None


def test_a_name_is_the_same_object_wherever_it_is_imported_from():
    from pointforms.clouds import Clouds
    from pointforms.geometry.gram import gram_field

    assert pf.Clouds is Clouds
    assert pf.gram_field is pf.geometry.gram_field is gram_field


@pytest.mark.parametrize("module", ["pointforms", "pointforms.geometry", "pointforms.io"])
def test_a_misspelt_name_is_an_error(module):
    code = f"import {module}\n{module}.gram_feild"
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert run.returncode == 1
    assert "AttributeError" in run.stderr
    assert "gram_feild" in run.stderr


@pytest.mark.parametrize(
    ("code", "loaded"),
    [
        ("import pointforms", []),
        ("import pointforms as pf; pf.__version__; dir(pf)", []),
        ("import pointforms as pf; pf.PAPER_SETTINGS; pf.GramSettings", ["numpy"]),
        ("import pointforms as pf; pf.gram_field", ["numpy", "torch"]),
        (FIELD.format((100, 3)), ["numpy", "torch"]),
        (FIELD.format((600, 20)), ["numpy", "torch"]),
        (FIELD.format((600, 3)), ["numpy", "torch", "scipy"]),  # searched by a tree
    ],
)
def test_heavy_packages_are_imported_only_when_needed(code, loaded):
    code += f"\nimport sys; print(*[name for name in {HEAVY} if name in sys.modules])"
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert run.stdout.split() == loaded
