"""Speed, as ratios of times within one run, because the machine may be shared."""

from __future__ import annotations

import ctypes
import gc
import time
import warnings
from collections.abc import Callable
from math import comb

import numpy as np
import torch
from scipy.spatial import cKDTree

import pointforms as pf
from benchmarks.literal import gram_matrix
from benchmarks.samples import noisy_sphere
from benchmarks.tables import Results
from pointforms.models.registry import COMPARED_GEOMETRY
from pointforms.support.peak_memory import memory, peak, reset_peak


def best(*tasks: Callable[[], object], repeats: int = 5) -> list[float]:
    """Return the shortest time of each task in seconds; their runs alternate."""
    times = [float("inf")] * len(tasks)
    for task in tasks:
        task()
    for _ in range(repeats):
        for i, task in enumerate(tasks):
            start = time.perf_counter()
            task()
            times[i] = min(times[i], time.perf_counter() - start)
    return times


def large_cloud(results: Results) -> None:
    """The field of 100 000 points against the bare search of its neighbours."""
    points = np.random.default_rng(0).normal(size=(100_000, 3))
    points /= np.linalg.norm(points, axis=1, keepdims=True)
    case = "one cloud, 100 000 × 3"
    _against_search(results, case, points, repeats=2)
    cores = torch.get_num_threads()
    tree = cKDTree(points)
    query, field = best(
        lambda: tree.query(points, k=COMPARED_GEOMETRY["neighbors"], workers=cores),
        lambda: pf.gram_field(points, **COMPARED_GEOMETRY),
    )
    results.note(case, "query of 32 neighbours (s)", f"{query:.3f}")
    results.add(case, "the same / query, 32 neighbours, local PCA", field / query, 2.5)


def million_points(results: Results) -> None:
    """The same for a million points; :mod:`benchmarks.memory` has their memory."""
    _against_search(results, "one cloud, 1 000 000 × 10", noisy_sphere(1_000_000, 10), repeats=1)


def _against_search(results: Results, case: str, points: np.ndarray, repeats: int) -> None:
    """Compare the field by default options with a k-d tree of as many neighbours, on one thread."""
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    pf.gram_field(points[:1000])  # which imports what is needed
    ours = search = float("inf")
    for _ in range(repeats):
        start = time.process_time()
        field = pf.gram_field(points)
        between = time.process_time()
        ours = min(ours, between - start)
        k = field.neighbors
        del field
        cKDTree(points).query(points, k=k, workers=1)
        search = min(search, time.process_time() - between)
    torch.set_num_threads(threads)
    results.note(case, f"cKDTree, {k} neighbours (processor s)", f"{search:.3g}")
    results.note(case, "gram_field (processor s)", f"{ours:.3g}")
    results.add(case, "gram_field / search, one thread", ours / search, 1.5)


def small_clouds(results: Results) -> None:
    rng = np.random.default_rng(0)
    clouds = [rng.normal(size=(n, 50)) for n in rng.integers(5, 41, 1000)]
    loop, batched = best(
        lambda: [pf.gram_field(cloud, **COMPARED_GEOMETRY) for cloud in clouds],
        lambda: pf.gram_fields(clouds, **COMPARED_GEOMETRY),
        repeats=3,
    )
    case = "1000 clouds of 5-40 points in R^50"
    results.add(case, "gram_field, ms per cloud", 1e3 * loop / len(clouds), 1.5)
    results.add(case, "loop / gram_fields", loop / batched, 3.0, lower=False)


def medium_clouds(results: Results) -> None:
    warnings.filterwarnings("ignore", "Sparse CSR tensor support is in beta", UserWarning)
    clouds = torch.randn(240, 256, 12, generator=torch.Generator().manual_seed(0)).double()
    sample = clouds[:40]  # the literal implementation is slow: time only some clouds
    ours, literal, by_rows = best(
        lambda: pf.gram_fields(clouds, **COMPARED_GEOMETRY),
        lambda: [gram_matrix(cloud) for cloud in sample],
        lambda: [gram_matrix(cloud, rows=True) for cloud in sample],
        repeats=3,
    )
    share = len(sample) / len(clouds)
    case = "240 clouds of 256 × 12"
    results.note(case, "gram_fields (s)", f"{ours:.3f}")
    results.add(case, "literal reading / ours", literal / share / ours, 10.0, lower=False)
    results.note(case, "the same with L by rows / ours", f"{by_rows / share / ours:.3g}")


def many_functions(results: Results) -> None:
    """Γ of 20 functions at once, all 400 pairs of them, against one function; one thread."""
    rng = np.random.default_rng(0)
    points = rng.normal(size=(2000, 3))
    points /= np.linalg.norm(points, axis=1, keepdims=True)
    functions = rng.normal(size=(2000, 20))
    first, columns = functions[:, 0].copy(), list(functions.T.copy())
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    M = pf.Geometry(points)
    one, many, in_turn = best(
        lambda: M.carre_du_champ(first, first),
        lambda: M.carre_du_champ(functions, functions),
        lambda: [M.carre_du_champ(f, f) for f in columns],
    )
    one_from_points, many_from_points = best(
        lambda: pf.carre_du_champ(first, first, points),
        lambda: pf.carre_du_champ(functions, functions, points),
    )
    torch.set_num_threads(threads)
    case = "Γ of 20 functions, 2000 × 3"
    results.add(case, "20 at once / 1, from points", many_from_points / one_from_points, 3.0)
    results.note(case, "one function on a Geometry (ms)", f"{1e3 * one:.2f}")
    results.note(case, "20 at once / 1, on a Geometry", f"{many / one:.3g}")
    # 20 in turn are the diagonal only: 20 of the 400 products
    results.add(case, "20 at once / 20 in turn, on a Geometry", many / in_turn, 1.0)


def comparison_memory(results: Results) -> None:
    points = torch.randn(128, 50, generator=torch.Generator().manual_seed(0)).double()
    field = pf.gram_field(points, **COMPARED_GEOMETRY)
    for degree in (2, 3):
        C = comb(50, degree)
        weights = torch.randn(50, 8 * C, generator=torch.Generator().manual_seed(1)).double()

        def forms(p: torch.Tensor, weights: torch.Tensor = weights, C: int = C) -> torch.Tensor:
            return torch.tanh(p @ weights).view(len(p), 8, C)

        pf.comparison_matrix(forms, field, degree=degree)  # index tables are computed once
        start = time.perf_counter()
        our_peak = peak_bytes(lambda k=degree, f=forms: pf.comparison_matrix(f, field, degree=k))
        seconds = time.perf_counter() - start
        dense = 128 * C**2 * 8
        case = f"128 × 50, k = {degree}, 8 forms"
        results.note(case, "seconds", f"{seconds:.2f}")
        results.note(case, "peak of ours, MB", f"{our_peak / 1e6:.1f}")
        if degree == 2:
            results.add(case, "dense compound / our peak", dense / our_peak, 50.0, lower=False)
        else:
            results.add(case, "peak of ours, GB", our_peak / 1e9, 2.0)
            results.note(case, "dense compound, GB", f"{dense / 1e9:.0f}")


def peak_bytes(task: Callable[[], object]) -> int:
    """Return how far the resident memory rises during a task (Linux)."""
    gc.collect()
    ctypes.CDLL("libc.so.6").malloc_trim(0)  # freed memory would be reused, uncounted
    reset_peak()
    before = memory("VmRSS")
    task()
    return max(peak() - (before or 0), 1)


def main() -> list[str]:
    """Print the table and return the figures that missed their bounds."""
    results = Results(f"Speed: best of several runs, {torch.get_num_threads()} threads")
    parts = (
        large_cloud,
        million_points,
        small_clouds,
        medium_clouds,
        many_functions,
        comparison_memory,
    )
    for part in parts:
        part(results)
    results.print()
    return results.missed
