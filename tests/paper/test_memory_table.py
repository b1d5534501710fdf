import io
import os
from math import comb

import numpy as np
import pytest
from rich.console import Console

from pointforms.geometry import gram_field
from pointforms.paper.memory_table import dense_bytes, memory_rows, memory_table
from pointforms.support.formatting import binary_size
from pointforms.tasks.task import Task

LINUX = os.access("/proc/self/clear_refs", os.W_OK)


def make_task(sizes, D, name="made"):
    rng = np.random.default_rng(0)
    clouds = [rng.normal(size=(n, D)) for n in sizes]
    labels = np.arange(len(sizes)) % 2
    names = tuple(f"x{i}" for i in range(D))
    return Task(name, clouds, labels, np.arange(len(sizes)), names, ("a", "b"))


# The paper's table, to the printed digit: clouds, points, D, degree, a cloud, all clouds.
# What it calls MB, GB and TB are MiB, GiB and 1000 GiB.
PAPER = [
    (320, 128, 50, 1, None, (2**30, "0.38")),
    (320, 128, 50, 2, (2**30, "0.72"), (2**30, "228.98")),
    (320, 128, 50, 3, (2**30, "183.18"), (1000 * 2**30, "58.62")),
    (240, 256, 12, 3, None, (2**30, "11.08")),
    (240, 256, 12, 2, None, (2**30, "1.00")),
    (1, 128, 45, 2, (2**30, "0.47"), None),
    (1, 128, 45, 3, (2**30, "96.01"), None),
    (1, 128, 44, 2, (2**30, "0.43"), None),
    (1, 128, 44, 3, (2**30, "83.64"), None),
    (1, 40, 50, 3, (2**30, "57.24"), None),
    (1, 15, 24, 3, (2**30, "0.23"), None),
]


@pytest.mark.parametrize(("clouds", "points", "D", "degree", "cloud", "everything"), PAPER)
def test_dense_figures_are_the_papers(clouds, points, D, degree, cloud, everything):
    for count, printed in ((points, cloud), (clouds * points, everything)):
        if printed is not None:
            unit, digits = printed
            assert f"{dense_bytes(count, D, degree) / unit:.2f}" == digits


def test_units_are_binary():
    assert binary_size(dense_bytes(128, 50, 2)) == "0.72 GiB"
    assert binary_size(dense_bytes(128, 50, 3)) == "183.18 GiB"
    assert binary_size(320 * dense_bytes(128, 50, 3)) == "57.24 TiB"


@pytest.fixture(scope="module")
def ragged():
    return make_task([10, 40, 24, 40, 10, 10, 17, 33], D=12)


def test_what_is_kept_is_the_sum_over_all_fields(ragged):
    rows = memory_rows("ragged", ragged.clouds, measure=False)
    kept = []
    for cloud in ragged.clouds:
        field = gram_field(cloud.astype(np.float32), neighbors=32)
        n, D, r = field.factor.shape
        # factor, points, three numbers a point (density, scale, discarded trace), and maybe pairs
        pairs = 0 if field.pairs is None else n
        kept.append(4 * n * (D * r + D + 3 + pairs))
    for row in rows:
        assert row["field_cloud"] == max(kept)
        assert row["field_total"] == sum(kept)
        assert row["basis"] == comb(12, row["degree"])
        assert row["dense_total"] == sum(
            dense_bytes(len(c), 12, row["degree"]) for c in ragged.clouds
        )
        assert row["points"] == (10, 20.5, 40)
        assert row["peak"] is row["peak_wedge"] is None


def test_what_training_prepares_is_counted(ragged):
    by_degree = {row["degree"]: row for row in memory_rows("ragged", ragged.clouds, measure=False)}
    plain = by_degree[0]["store_total"]
    # D = r = 12: for k = 1 the weighted Gram matrices themselves; for more it is faster without
    assert by_degree[1]["store_total"] == plain + by_degree[1]["dense_total"]
    assert by_degree[2]["store_total"] == by_degree[3]["store_total"] == plain


def test_views_and_forms_that_do_not_exist():
    rows = memory_rows("a|b", make_task([20] * 4, D=2).clouds, measure=False)
    assert rows[3]["basis"] == rows[3]["dense_total"] == 0
    shown = memory_table(rows).markdown()
    assert "| a\\|b | 2 | 4 | 20 | 3 | 0 | 0 | 0 |" in shown
    assert "GiB" in shown
    assert "peak" not in shown
    console = Console(width=300, file=io.StringIO())
    console.print(memory_table(rows).terminal(wide=True))
    assert "a|b" in console.file.getvalue()
    narrow = Console(width=80, file=io.StringIO())
    narrow.print(memory_table(rows).terminal())
    assert max(map(len, narrow.file.getvalue().splitlines())) <= 80
    header, first = memory_table(rows).csv().splitlines()[:2]
    assert header.startswith("task,features,clouds,points_least,points_median,points_most,degree")
    assert first.startswith("a|b,2,4,20,20.0,20,0,1,")


@pytest.mark.slow
@pytest.mark.skipif(not LINUX, reason="the kernel's highest mark is read")
def test_peak_is_measured_and_far_below_the_dense_tensor():
    rows = memory_rows("wide", make_task([128] * 4, D=50).clouds)
    two, three = rows[2], rows[3]
    assert rows[0]["peak_wedge"] is rows[1]["peak_wedge"] is None
    # forms with dense coefficients need at least their coefficients, and no dense tensor
    assert 4 * 128 * 8 * comb(50, 2) < two["peak"] < two["dense_cloud"] / 10
    # the network's last map alone is 64 × 8 C(50, 3) numbers
    assert 4 * 64 * 8 * comb(50, 3) < three["peak"] < three["dense_cloud"] / 1000
    assert 0 < three["peak_wedge"] < three["peak"] / 10
    assert "peak, wedge" in memory_table(rows).markdown()


@pytest.mark.skipif(not LINUX, reason="the kernel's highest mark is read")
def test_peak_of_degrees_that_exist():
    rows = memory_rows("flat", make_task([64] * 4, D=2).clouds, degrees=(1, 3))
    assert rows[0]["peak"] < 4 << 20
    assert rows[1]["peak"] is None
