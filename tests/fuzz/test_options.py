"""Any option of the geometry and the pairings works or is refused by its name."""

from __future__ import annotations

from typing import Any

import numpy as np
import torch
from hypothesis import assume, given
from hypothesis import strategies as st
from tests.fuzz.judge import judge, must
from tests.fuzz.profiles import share
from tests.fuzz.strategies import awkward, changes
from tests.fuzz.test_clouds import MEASURES, forms, must_be_semidefinite

import pointforms as pf

HUGE = (5e-324, 1e-300, 1e-150, 1e-8, 0.1, 3, 1e8, 1e150, 1e300)
OPTIONS: dict[str, tuple[Any, ...]] = {
    "neighbors": (1, 2, 3, 8, 40, 41, 10**6, "auto"),
    "dimension": (0, 1, 2, 3, 4, 60, None),
    "bandwidth": (*HUGE, "auto"),
    "bandwidth_policy": ("variable", "fixed"),
    "bandwidth_units": (*HUGE, "local", "absolute"),
    "alpha": (-1e300, -1e3, -2, 0, 0.5, 1, 1e3, 1e300),
    "beta": (-1e300, -1e3, -10, -1, 0, 5e-324, 0.5),
    "density_neighbors": (1, 2, 8, 40, 10**6, None),
    "center": ("mean", "point"),
    "calibrate": (True, False, "point"),
    "truncation": (True, False),
    "spectrum": ("raw", "projector"),
    "rank": (0, 1, 3, 4, None),
    "search": ("auto", "tree", "brute", "approximate"),
}
PAIRING: dict[str, tuple[Any, ...]] = {
    "degree": (0, 1, 2, 3, 4, 60, 10**6, np.int64(2)),
    "measure": MEASURES,
}


def _clouds() -> dict[str, np.ndarray]:
    rng = np.random.default_rng(0)
    t = np.linspace(0, 2 * np.pi, 40, endpoint=False)
    return {
        "noise": rng.normal(size=(40, 3)),
        "circle": np.c_[np.cos(t), np.sin(t), np.zeros(40)],
        "grid": np.stack(np.unravel_index(np.arange(40), (4, 5, 2)), 1).astype(float),
        "pair": np.array([[0.0, 0, 0], [1, 2, 3]]),
        "far": rng.normal(size=(30, 3)) * 1e100,
        "single": rng.normal(size=(20, 3)).astype(np.float32),
    }


CLOUDS = _clouds()


@share(0.10)
@given(
    name=st.sampled_from(sorted(CLOUDS)),
    options=changes(OPTIONS, most=3),
    function=st.sampled_from(("gram_field", "gram_fields", "laplacian", "carre_du_champ")),
)
def test_options_of_geometry(name: str, options: dict[str, Any], function: str) -> None:
    cloud = CLOUDS[name]

    def call() -> Any:
        if function == "laplacian":
            return pf.laplacian(cloud, **options)
        if function == "carre_du_champ":
            f = np.linspace(0, 1, len(cloud))
            return pf.carre_du_champ(f, f, cloud, **options)
        if function == "gram_fields":
            first, second = pf.gram_fields([cloud, cloud], **options)
            must(torch.equal(first.factor, second.factor), "equal clouds have different fields")
            return first.factor
        field = pf.gram_field(cloud, **options)
        must_be_semidefinite(field.matrix(), "G")
        return field.matrix(), field.log_density, field.scale

    judge("options", call, options)


@share(0.03)
@given(
    name=st.sampled_from(sorted(CLOUDS)),
    options=changes(PAIRING),
    wrong=st.sampled_from((None,) * 6 + ("form", "field", "width", "value", "count")),
    value=awkward,
)
def test_pairings(name: str, options: dict[str, Any], wrong: str | None, value: Any) -> None:
    assume(not (wrong == "form" and callable(value)))  # what a form raises is its caller's matter
    field = pf.gram_field(CLOUDS[name])
    degree = options.get("degree", 1)

    def form(points: torch.Tensor) -> Any:
        width = {0: 1, 3: 1}.get(int(degree) if isinstance(degree, int | np.integer) else 1, 3)
        values = torch.ones(len(points), width + (wrong == "width"), dtype=points.dtype)
        if wrong == "value":
            return value
        return values[:-1] if wrong == "count" else values

    def call() -> Any:
        omega = value if wrong == "form" else form
        on = value if wrong == "field" else field
        C = pf.comparison_matrix(omega, on, **options)
        total = pf.inner_global(omega, omega, on, **options)
        must(torch.isclose(C[0, 0], total), "⟨⟨ω, ω⟩⟩ and C differ")
        return C

    judge("options", call, [*options, *(["form", "field"] if wrong else [])])


@share(0.01)
@given(jobs=awkward, progress=awkward, many=st.booleans())
def test_options_of_many_fields(jobs: Any, progress: Any, many: bool) -> None:
    names = ["n_jobs", "progress"]
    judge(
        "options",
        lambda: [f.factor for f in pf.gram_fields([CLOUDS["pair"]] * (1 + many), n_jobs=jobs)],
        names,
    )


def test_forms_are_bounded() -> None:
    """The battery's own forms stay finite, so that what is not comes from the library."""
    points = torch.tensor([[1e300, -1e300], [0.0, 5e-324]], dtype=torch.float64)
    assert torch.isfinite(forms(points.abs().max())(points)).all()
