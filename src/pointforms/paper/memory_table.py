"""Memory of Gram fields: dense tensors of the k-th Gram field against factors.

The dense k-th Gram field of a cloud of n points in R^D has the shape (n, C(D, k), C(D, k)), in
single precision 4 n C(D, k)² bytes. A factor has n D r numbers whatever k is. The paper's table of
the former calls GiB "GB", and 1000 GiB "TB".
"""

from __future__ import annotations

import io
import json
import os
import subprocess
import sys
from collections import Counter
from collections.abc import Sequence
from math import comb
from typing import Any, NamedTuple

import numpy as np
import torch
from torch import Tensor

from pointforms.geometry.field import GramField
from pointforms.geometry.gram import gram_field
from pointforms.models.registry import COMPARED_GEOMETRY
from pointforms.nn.field_store import FieldStore
from pointforms.nn.point_forms import CoefficientKind, PointForms
from pointforms.nn.prepared_forms import compound_fits
from pointforms.support.formatting import binary_size, thousands
from pointforms.support.peak_memory import can_reset, memory, peak, reset_peak
from pointforms.support.table import Column, Table

DEGREES = (0, 1, 2, 3)
# Number of forms of the comparison matrix whose peak is measured.
_FORMS = 8


class PointRange(NamedTuple):
    """Numbers of points in the smallest, the median and the largest cloud of a task."""

    least: int
    median: float
    most: int

    def number(self) -> float:
        """Return the number by which it is sorted."""
        return self.median

    def parts(self, key: str) -> dict[str, float]:
        """Return the numbers by their names in CSV."""
        return {f"{key}_{name}": value for name, value in self._asdict().items()}


def dense_bytes(points: int, features: int, degree: int) -> int:
    """Return the bytes of the dense k-th Gram field of n points: 4 n C(D, k)².

    >>> [round(dense_bytes(128, 50, k) / 2**30, 2) for k in (2, 3)]
    [0.72, 183.18]
    """
    return 4 * points * comb(features, degree) ** 2


def memory_rows(
    name: str, clouds: Sequence[Any], degrees: Sequence[int] = DEGREES, measure: bool = True
) -> list[dict[str, Any]]:
    """Return the memory of the Gram fields of clouds, in bytes and single precision.

    Each row has

    - `task`, `features` (D), `clouds`, `points`, `degree` (k) and `basis`, which is C(D, k)
    - `dense_cloud` and `dense_total`, the dense tensor of the largest cloud, and those of all
    - `field_cloud` and `field_total`, everything a GramField keeps, measured; the same for every k
    - `store_total`, what training holds: points, factors and measure, and for this degree the
      compound factors or weighted Gram matrices that it prepares where they are small
    - `peak`, the growth of the process while it builds forms with dense coefficients, their network
      included, and computes their comparison matrix on the largest cloud; None where it was not
      measured or cannot be, and for k > D
    - `peak_wedge`, the same for wedge coefficients; also None below degree 2, where they are dense
    - `forms`, the number of forms of that comparison matrix

    Parameters
    ----------
    name : str
        The name of the task or file of the clouds.
    clouds : sequence of array, each of shape (n_i, D)
        The clouds.
    degrees : sequence of int, default (0, 1, 2, 3)
    measure : bool, default True
        Measure the peaks, in a process of its own (Linux only).

    Returns
    -------
    list of dict
        One per degree.
    """
    sizes = np.array([len(cloud) for cloud in clouds])
    features, total = clouds[0].shape[1], int(sizes.sum())
    # a field's shapes follow from the size of its cloud: one cloud of each size is enough
    examples = {len(cloud): cloud for cloud in clouds}
    fields = {n: _field(cloud) for n, cloud in examples.items()}
    kept = {n: _tensor_bytes(field) for n, field in fields.items()}
    most = int(sizes.max())
    width = max(field.factor.shape[-1] for field in fields.values())
    peaks = _measured(examples[most], degrees) if measure else {}
    return [
        {
            "task": name,
            "features": features,
            "clouds": len(clouds),
            "points": PointRange(int(sizes.min()), float(np.median(sizes)), most),
            "degree": k,
            "basis": comb(features, k),
            "dense_cloud": dense_bytes(most, features, k),
            "dense_total": dense_bytes(total, features, k),
            "field_cloud": kept[most],
            "field_total": sum(kept[n] * count for n, count in Counter(sizes.tolist()).items()),
            "store_total": total * _stored(fields[most], width, k, total),
            "peak": peaks.get(f"dense {k}"),
            "peak_wedge": peaks.get(f"wedge {k}"),
            "forms": _FORMS,
        }
        for k in degrees
    ]


def memory_table(rows: Sequence[dict[str, Any]]) -> Table:
    """Return the memory of Gram fields as a table, of one task or of several."""
    brief = [
        "Single precision. Per cloud: the largest one. Dense: the tensor of 4 n C(D, k)² bytes of "
        "the paper's table, whose GB are GiB and whose TB are 1000 GiB.",
        "Field: what a GramField keeps, whatever k.",
    ]
    notes = [
        *brief,
        "Points: fewest / median / most. Training: the field and what is prepared for speed where "
        "it is small, compound factors or the Gram matrices themselves.",
    ]
    if any(row["peak"] is not None for row in rows):
        notes.append(
            f"Peak: growth of a process that builds {_FORMS} learned forms, with the network of "
            "their coefficients, and computes their comparison matrix on the largest cloud, "
            "forward only; with dense or with wedge coefficients."
        )
    return Table("Memory of Gram fields", _COLUMNS, rows, notes, brief=brief)


def _show_points(points: PointRange) -> str:
    if points.least == points.most:
        return str(points.least)
    return f"{points.least} / {points.median:g} / {points.most}"


def _show_dense(count: int) -> str:
    """Show zero for forms that do not exist, k > D."""
    return binary_size(count) if count else "0"


def _show_peak(count: int) -> str:
    """Show no digits below a MiB: the kernel counts pages, some of them late."""
    return "< 1 MiB" if count < 2**20 else binary_size(count)


_COLUMNS = (
    Column("task", "task", left=True, wide=True),
    Column("features", "D"),
    Column("clouds", "clouds", wide=True),
    Column("points", "points", _show_points, wide=True),
    Column("degree", "k"),
    Column("basis", "C(D, k)", thousands),
    Column("dense_cloud", "dense, per cloud", _show_dense),
    Column("dense_total", "dense, all", _show_dense),
    Column("field_cloud", "field, per cloud", binary_size),
    Column("field_total", "field, all", binary_size),
    Column("store_total", "training, all", binary_size, wide=True),
    Column("peak", "peak", _show_peak, wide=True),
    Column("peak_wedge", "peak, wedge", _show_peak, wide=True),
)


def _field(cloud: np.ndarray) -> GramField:
    # neighbours and D set the width r of the factor
    return gram_field(np.asarray(cloud, dtype=np.float32), **COMPARED_GEOMETRY)


def _tensor_bytes(holder: object) -> int:
    return sum(v.numel() * v.element_size() for v in vars(holder).values() if isinstance(v, Tensor))


def _stored(field: GramField, width: int, degree: int, points: int) -> int:
    """Bytes per point in a FieldStore of `points` points, from one of a single cloud."""
    fits = compound_fits(field.points.shape[1], width, degree, points)
    store = FieldStore([field], degrees=(degree,) if fits else ())
    geometry = store.numbers() if store.pairs is None else store.pairs.numbers
    numbers = store.points.shape[1] + 1 + geometry  # with the weight
    return numbers * store.points.element_size()


def _measured(cloud: np.ndarray, degrees: Sequence[int]) -> dict[str, int]:
    """Peaks by kind and degree, measured in a new process; empty where that is impossible."""
    if not can_reset():
        return {}
    file = io.BytesIO()
    np.save(file, np.asarray(cloud, dtype=np.float32))
    # return freed memory at once, so that no measurement reuses what an earlier one left
    settings = {"MALLOC_MMAP_THRESHOLD_": "65536", "MALLOC_TRIM_THRESHOLD_": "65536"}
    program = f"import {__name__} as m; m._measure_here()"
    done = subprocess.run(
        [sys.executable, "-c", program, *map(str, degrees)],
        input=file.getvalue(),
        stdout=subprocess.PIPE,
        env={**os.environ, **settings},
        check=True,
    )
    peaks: dict[str, int] = json.loads(done.stdout)
    return peaks


def _measure_here() -> None:
    """Print peaks of this process: what the new process runs."""
    torch.set_num_threads(1)
    cloud = np.load(io.BytesIO(sys.stdin.buffer.read()))
    store = FieldStore([_field(cloud)])
    peaks = {}
    for k in (k for k in map(int, sys.argv[1:]) if k <= cloud.shape[1]):
        kinds: list[CoefficientKind] = ["dense", "wedge"] if k >= 2 else ["dense"]
        for kind in kinds:
            _compare(store, k, 1, kind)  # load code and index tables, which are not counted
            before = memory("VmRSS") or 0
            reset_peak()
            _compare(store, k, _FORMS, kind)
            peaks[f"{kind} {k}"] = max(0, peak() - before)
    print(json.dumps(peaks))


def _compare(store: FieldStore, degree: int, forms: int, kind: CoefficientKind) -> None:
    batch = store.gather(torch.tensor([0]))
    layer = PointForms(batch.points.shape[-1], degree, forms, kind)
    with torch.no_grad():
        layer(batch, batch.points)
