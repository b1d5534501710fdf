"""Any cloud has a finite geometry that ignores the order of its points, or is refused."""

from __future__ import annotations

from typing import Any

import numpy as np
import torch
from hypothesis import given
from hypothesis import strategies as st
from tests.fuzz.judge import judge, must
from tests.fuzz.profiles import share
from tests.fuzz.strategies import AWKWARD, clouds

import pointforms as pf
from pointforms.summaries import PooledSummaries

MEASURES = ("uniform", "volume", "volume-normalized")

geometries = st.fixed_dictionaries(
    {},
    optional={
        "neighbors": st.sampled_from((2, 4, 9, "auto")),
        "dimension": st.just(1),
        "bandwidth": st.just("auto"),
        "bandwidth_policy": st.just("fixed"),
        "bandwidth_units": st.just("absolute"),
        "center": st.just("point"),
        "calibrate": st.sampled_from((False, "point")),
        "spectrum": st.just("projector"),
        "rank": st.just(1),
        "search": st.sampled_from(("tree", "brute")),
    },
)


def forms(scale: torch.Tensor) -> Any:
    """Return the basis forms and their products with a bounded function, whatever the scale."""

    def family(points: torch.Tensor) -> torch.Tensor:
        basis = torch.eye(points.shape[1], dtype=points.dtype).expand(len(points), -1, -1)
        return torch.cat([basis, basis * torch.cos(points / scale).unsqueeze(-1)], 1)

    return family


def tolerance(points: torch.Tensor) -> float:
    """Return what rounding may change: points far from 0 have fewer digits to differ by."""
    largest = points.abs().max().clamp_min(torch.finfo(points.dtype).tiny)
    between = torch.pdist(points / largest)  # whose squares do not underflow
    nearest = between[between > 0].min() if (between > 0).any() else between.new_tensor(1.0)
    lost = float(1 / nearest)
    return 1e3 * torch.finfo(points.dtype).eps * max(1.0, lost)


def must_be_semidefinite(matrices: torch.Tensor, name: str) -> None:
    must(torch.isfinite(matrices).all(), f"{name} is not finite")
    scaled = matrices.double() / matrices.abs().max().clamp_min(torch.finfo(matrices.dtype).tiny)
    scaled[scaled.abs() < 1e-200] = 0.0  # LAPACK returns NaN for denormal numbers
    slack = 1e3 * torch.finfo(matrices.dtype).eps
    must(((scaled - scaled.mT).abs() <= slack).all(), f"{name} is not symmetric")
    lowest = torch.linalg.eigvalsh(scaled).min()
    must(
        lowest >= -slack, f"{name} has the negative eigenvalue {float(lowest)} of its largest entry"
    )


@share(0.14)
@given(
    cloud=clouds(), options=geometries, measure=st.sampled_from(MEASURES), seed=st.integers(0, 9)
)
def test_geometry_of_a_cloud(cloud: Any, options: dict[str, Any], measure: str, seed: int) -> None:
    def call() -> Any:
        field = pf.gram_field(cloud, **options)
        G = field.matrix()
        must_be_semidefinite(G, "G")
        family = forms(field.points.abs().max())
        C = pf.comparison_matrix(family, field, measure=measure)
        must_be_semidefinite(C, "C")
        if field.settings.spectrum == "raw" and field.settings.rank is None:
            # the leading directions of a G with equal eigenvalues are any
            order = torch.from_numpy(np.random.default_rng(seed).permutation(len(field)))
            permuted = pf.gram_field(field.points[order], **options)
            change = (pf.comparison_matrix(family, permuted, measure=measure) - C).abs().max()
            bound = tolerance(field.points) * C.abs().max() + torch.finfo(C.dtype).tiny
            must(change <= bound, f"C changes by {change / C.abs().max():.2g} with the order")
        return G, C, field.log_density, field.scale, field.tangents(), field.off_tangent_share()

    judge("clouds", call, ["cloud", "dimension=", "bandwidth", "measure", "neighbors="])


@share(0.03)
@given(cloud=clouds(), symmetric=st.booleans(), dimension=st.sampled_from((None, 1)))
def test_operators_on_a_cloud(cloud: Any, symmetric: bool, dimension: int | None) -> None:
    def call() -> Any:
        L = pf.laplacian(cloud, symmetric=symmetric, dimension=dimension).to_dense()
        rounding = 1e3 * torch.finfo(L.dtype).eps * L.abs().max()
        must((L.sum(1).abs() <= rounding).all(), "L 1 is not 0")
        f = torch.linspace(-1, 1, len(L), dtype=L.dtype)
        gamma = pf.carre_du_champ(f, f, cloud, dimension=dimension)
        must((gamma >= 0).all(), "Γ(f, f) is negative")
        return L, gamma

    judge("clouds", call, ["cloud", "bandwidth"])


@st.composite
def lists_of_clouds(draw: Any) -> tuple[Any, list[str]]:
    """Draw clouds of equal width, of which one may be bad, and what an error may name."""
    kind = draw(st.sampled_from(("one bad",) * 6 + ("three axes", "generator", "dict", "awkward")))
    if kind == "awkward":
        return draw(st.sampled_from(AWKWARD)), ["cloud"]
    rng = np.random.default_rng(draw(st.integers(0, 99)))
    many: Any = [rng.normal(size=(n, 3)) for n in draw(st.lists(st.integers(2, 12), max_size=4))]
    if kind == "three axes":
        return rng.normal(size=(2, 5, 3)), []
    if kind == "generator":
        return (cloud for cloud in many), [] if many else ["cloud"]
    if kind == "dict":
        return dict(enumerate(many)), ["cloud"]
    place = draw(st.integers(0, len(many)))
    many.insert(place, draw(clouds(widths=(3, 3, 2))))
    return many, [f"cloud {place}"]


@share(0.03)
@given(given_clouds=lists_of_clouds(), method=st.sampled_from(("fields", "list", "summaries")))
def test_many_clouds(given_clouds: tuple[Any, list[str]], method: str) -> None:
    many, names = given_clouds

    def call() -> Any:
        if method == "fields":
            return [field.matrix() for field in pf.gram_fields(many, n_jobs=2)]
        if method == "list":
            return pf.Clouds.from_list(many).points
        return PooledSummaries().fit_transform(list(many) if hasattr(many, "__next__") else many)

    judge("clouds", call, names)


@share(0.01)
@given(
    shape=st.tuples(*[st.integers(0, 4)] * 3) | st.tuples(st.integers(0, 3)),
    lengths=st.lists(st.integers(-1, 5) | st.sampled_from(AWKWARD), max_size=4),
    ids=st.none() | st.lists(st.text(max_size=2), max_size=4),
)
def test_padded_clouds(shape: tuple[int, ...], lengths: list[Any], ids: list[str] | None) -> None:
    padded = np.random.default_rng(0).normal(size=shape)
    names = ["cloud", "lengths", "padded", "ids"]
    judge("clouds", lambda: pf.Clouds.from_padded(padded, lengths, ids).points, names)
