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
from dataclasses import asdict, dataclass
from math import comb
from typing import Any

import numpy as np
import torch
from rich.table import Table as RichTable
from torch import Tensor

from pointforms.bench.sheets import (
    Sheet,
    binary_size,
    make_sheet,
    markdown,
    rich_table,
    thousands,
)
from pointforms.geometry.field import GramField
from pointforms.geometry.gram import gram_field
from pointforms.nn.point_forms import CoefficientKind, PointForms
from pointforms.nn.stores import FieldStore, compound_fits
from pointforms.support.peak_memory import can_reset, memory, peak, reset_peak
from pointforms.tasks.task import Task

DEGREES = (0, 1, 2, 3)


@dataclass(frozen=True)
class MemoryRow:
    """The memory of one task's Gram fields at one degree, in bytes and single precision.

    Attributes
    ----------
    task : str
    features, clouds : D, and how many
    points : fewest, median and most of a cloud
    degree, basis : k and C(D, k)
    dense_cloud, dense_total : the dense tensor of the largest cloud, and of all
    field_cloud, field_total : everything a GramField keeps, measured; the same for every k
    store_total : what training holds: points, factors and measure, and for this degree the
        compound factors or weighted Gram matrices that it prepares where they are small
    forms : l, of the comparison matrix below
    peak : growth of the process while it builds l forms with dense coefficients, their network
        included, and computes their comparison matrix on the largest cloud
    peak_wedge : the same for wedge coefficients; None below degree 2, where they are the same
        Peaks are None where they were not measured or cannot be, and for k > D.
    """

    task: str
    features: int
    clouds: int
    points: tuple[int, float, int]
    degree: int
    basis: int
    dense_cloud: int
    dense_total: int
    field_cloud: int
    field_total: int
    store_total: int
    forms: int = 8
    peak: int | None = None
    peak_wedge: int | None = None


def dense_bytes(points: int, features: int, degree: int) -> int:
    """4 n C(D, k)².

    >>> [round(dense_bytes(128, 50, k) / 2**30, 2) for k in (2, 3)]
    [0.72, 183.18]
    """
    return 4 * points * comb(features, degree) ** 2


def memory_rows(
    task: Task,
    degrees: Sequence[int] = DEGREES,
    neighbors: int = 32,
    forms: int = 8,
    measure: bool = True,
) -> list[MemoryRow]:
    """The memory of a task's Gram fields, one row a degree.

    Parameters
    ----------
    neighbors : of the Gram fields; with D it sets the factor's width r
    forms : l, of the comparison matrix whose peak is measured
    measure : measure the peaks, in a process of its own (Linux)
    """
    sizes = task.sizes
    features, total = task.clouds[0].shape[1], int(sizes.sum())
    # a field's shapes follow from the size of its cloud: one cloud of each size is enough
    examples = {len(cloud): cloud for cloud in task.clouds}
    fields = {n: _field(cloud, neighbors) for n, cloud in examples.items()}
    kept = {n: _tensor_bytes(field) for n, field in fields.items()}
    most = int(sizes.max())
    width = max(field.factor.shape[-1] for field in fields.values())
    peaks = _measured(examples[most], degrees, neighbors, forms) if measure else {}
    return [
        MemoryRow(
            task=task.name,
            features=features,
            clouds=len(task),
            points=(int(sizes.min()), float(np.median(sizes)), most),
            degree=k,
            basis=comb(features, k),
            dense_cloud=dense_bytes(most, features, k),
            dense_total=dense_bytes(total, features, k),
            field_cloud=kept[most],
            field_total=sum(kept[n] * count for n, count in Counter(sizes.tolist()).items()),
            store_total=total * _stored(fields[most], width, k, total),
            forms=forms,
            peak=peaks.get(f"dense {k}"),
            peak_wedge=peaks.get(f"wedge {k}"),
        )
        for k in degrees
    ]


def memory_view(rows: Sequence[MemoryRow]) -> RichTable:
    """For the terminal."""
    return rich_table(memory_sheet(rows))


def memory_markdown(rows: Sequence[MemoryRow]) -> str:
    """As a GitHub table."""
    return markdown(memory_sheet(rows))


def memory_sheet(rows: Sequence[MemoryRow]) -> Sheet:
    """As a sheet, of one task's rows or of several."""
    columns = {
        "task": [row.task for row in rows],
        "D": [str(row.features) for row in rows],
        "clouds": [str(row.clouds) for row in rows],
        "points": [_points(row.points) for row in rows],
        "k": [str(row.degree) for row in rows],
        "C(D, k)": [thousands(row.basis) for row in rows],
        "dense, a cloud": [_size(row.dense_cloud) for row in rows],
        "dense, all": [_size(row.dense_total) for row in rows],
        "field, a cloud": [binary_size(row.field_cloud) for row in rows],
        "field, all": [binary_size(row.field_total) for row in rows],
        "training, all": [binary_size(row.store_total) for row in rows],
        "peak": [_peak(row.peak) for row in rows],
        "peak, wedge": [_peak(row.peak_wedge) for row in rows],
    }
    notes = [
        "Single precision; a cloud is the largest one; points are fewest / median / most. Dense is "
        "the tensor 4 n C(D, k)² of the paper's table, whose GB are GiB and whose TB are 1000 GiB.",
        "Field is what a GramField keeps, whatever k. Training adds what it prepares for speed "
        "where that is small: compound factors, or the Gram matrices themselves.",
    ]
    if any(row.peak is not None for row in rows):
        notes.append(
            f"Peak is the growth of a process that builds {rows[0].forms} learned forms, with the "
            "network of their coefficients, and computes their comparison matrix on the largest "
            "cloud, forward only; dense coefficients, or wedge."
        )
    return make_sheet("Memory of Gram fields", columns, notes, [_data(row) for row in rows])


def _data(row: MemoryRow) -> dict[str, Any]:
    least, median, most = row.points
    found = asdict(row) | {"points_least": least, "points_median": median, "points_most": most}
    del found["points"]
    return found


def _points(points: tuple[int, float, int]) -> str:
    low, median, high = points
    return str(low) if low == high else f"{low} / {median:g} / {high}"


def _size(count: int) -> str:
    """Zero is a form that does not exist, k > D."""
    return binary_size(count) if count else "0"


def _peak(count: int | None) -> str:
    """The kernel counts pages, some of them late: less than a MiB is not told apart."""
    return "" if count is None else "< 1 MiB" if count < 2**20 else binary_size(count)


def _field(cloud: np.ndarray, neighbors: int) -> GramField:
    return gram_field(np.asarray(cloud, dtype=np.float32), neighbors=neighbors)


def _tensor_bytes(holder: object) -> int:
    return sum(v.numel() * v.element_size() for v in vars(holder).values() if isinstance(v, Tensor))


def _stored(field: GramField, width: int, degree: int, points: int) -> int:
    """Bytes a point of a FieldStore of so many points, from one of a single cloud."""
    fits = compound_fits(field.points.shape[1], width, degree, points)
    store = FieldStore([field], degrees=(degree,) if fits else ())
    held = [store.points, store.weights, store.factor]
    held += [*store.compounds.values(), *store.metrics.values()]
    return sum(tensor[0].numel() * tensor.element_size() for tensor in held)


def _measured(
    cloud: np.ndarray, degrees: Sequence[int], neighbors: int, forms: int
) -> dict[str, int]:
    """Peaks by kind and degree, measured in a new process; nothing where that is impossible."""
    if not can_reset():
        return {}
    file = io.BytesIO()
    np.save(file, np.asarray(cloud, dtype=np.float32))
    asked = json.dumps({"degrees": list(degrees), "neighbors": neighbors, "forms": forms})
    # freed memory goes back at once, so that no measurement lives on what an earlier one left
    settings = {"MALLOC_MMAP_THRESHOLD_": "65536", "MALLOC_TRIM_THRESHOLD_": "65536"}
    program = f"import {__name__} as m; m._measure_here()"
    done = subprocess.run(
        [sys.executable, "-c", program, asked],
        input=file.getvalue(),
        stdout=subprocess.PIPE,
        env={**os.environ, **settings},
        check=True,
    )
    found: dict[str, int] = json.loads(done.stdout)
    return found


def _measure_here() -> None:
    """What the new process runs: peaks of this process, printed."""
    asked: dict[str, Any] = json.loads(sys.argv[1])
    torch.set_num_threads(1)
    cloud = np.load(io.BytesIO(sys.stdin.buffer.read()))
    store = FieldStore([_field(cloud, asked["neighbors"])])
    found = {}
    for k in (k for k in asked["degrees"] if k <= cloud.shape[1]):
        kinds: list[CoefficientKind] = ["dense", "wedge"] if k >= 2 else ["dense"]
        for kind in kinds:
            _compare(store, k, 1, kind)  # loads code and index tables, which are not counted
            before = memory("VmRSS") or 0
            reset_peak()
            _compare(store, k, asked["forms"], kind)
            found[f"{kind} {k}"] = max(0, peak() - before)
    print(json.dumps(found))


def _compare(store: FieldStore, degree: int, forms: int, kind: CoefficientKind) -> None:
    batch = store.gather(torch.tensor([0]))
    layer = PointForms(batch.points.shape[-1], degree, forms, kind)
    with torch.no_grad():
        layer(batch, batch.points)
