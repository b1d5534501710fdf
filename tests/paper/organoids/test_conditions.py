"""One pass over the table."""

from __future__ import annotations

import numpy as np

from pointforms.paper.organoids.conditions import Condition, gather
from pointforms.paper.organoids.schema import schema
from pointforms.paper.organoids.table import CellBlock, CellTable


def blocks_of(points, codes, size):
    values = [str(i) for i in range(4)]
    fixed = {name: (np.zeros(size, dtype=int), ["a"]) for name in schema().metadata}
    for start in range(0, len(points), size):
        part = codes[start : start + size]
        metadata = {k: (v[0][: len(part)], v[1]) for k, v in fixed.items()}
        yield CellBlock(start, metadata | {"Patient": (part, values)}, points[start : start + size])


def test_what_is_kept_does_not_depend_on_the_parts(rng):
    points, codes = rng.lognormal(size=(500, 3)), rng.integers(0, 4, 500)
    points[7, 1], points[8, 2] = np.nan, np.inf
    found = [
        gather(blocks_of(points, codes, size), ("x", "y", "z"), most=20) for size in (500, 64, 7)
    ]
    one = found[0]
    assert (one.read, one.dropped) == (500, 2)
    finite = np.isfinite(points).all(1)
    for condition in one.count:
        own = finite & (codes == int(condition.patient))
        assert one.count[condition] == own.sum()
        transformed = np.arcsinh(points[own] / 5)
        np.testing.assert_allclose(one.mean[condition], transformed.mean(0))
        assert len(one.cells[condition]) == 20
        rows = one.rows[condition]
        assert set(rows) <= set(np.flatnonzero(own))
        np.testing.assert_allclose(one.cells[condition], np.arcsinh(points[rows] / 5), rtol=1e-6)
        for other in found[1:]:
            np.testing.assert_array_equal(other.rows[condition], rows)
            np.testing.assert_array_equal(other.cells[condition], one.cells[condition])
            np.testing.assert_allclose(other.mean[condition], one.mean[condition])


def test_a_marker_may_be_missing(rng):
    points, codes = rng.lognormal(size=(300, 3)), rng.integers(0, 4, 300)
    points[codes == 2, 2] = np.nan
    points[0] = np.nan
    codes[0] = 1
    dropping = gather(blocks_of(points.copy(), codes, 64), ("x", "y", "z"), 20)
    keeping = gather(blocks_of(points.copy(), codes, 64), ("x", "y", "z"), 20, may_lack="z")
    lacking = int((codes == 2).sum())
    assert (dropping.dropped, keeping.dropped) == (lacking + 1, 1)
    assert dropping.plates == keeping.plates
    assert keeping.plates["2", "a"] == (lacking, lacking)
    assert keeping.plates["1", "a"] == ((codes == 1).sum(), 1)
    assert {c.patient for c in dropping.count} == {"0", "1", "3"}
    for condition, cells in keeping.cells.items():
        assert np.isfinite(cells[:, :2]).all()
        assert np.isnan(cells[:, 2]).all() == (condition.patient == "2")


def test_replicates_are_pooled_or_kept(small):
    table = CellTable(small)
    pooled = gather(table.blocks(), table.markers, 5)
    kept = gather(table.blocks(), table.markers, 5, replicates=True)
    assert len(pooled.count) == 1081  # with the fibroblasts in a well of organoids alone
    assert len(kept.count) == 3347
    one = Condition("5", "PDO", "PDOs", "SLV", "DMSO", "0")
    assert pooled.count[one] == sum(
        n for c, n in kept.count.items() if c._replace(replicate="") == one
    )
