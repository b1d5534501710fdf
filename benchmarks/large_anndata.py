"""Peak memory of reading clouds from a large .h5ad file, by its path and as a backed AnnData.

The file has 2 million cells of 200 patients, sparse counts of 2 000 genes and 50 components, 400 MB
of which are read. It is written to a temporary folder in blocks, and deleted afterwards.
"""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.memory import peak_megabytes
from benchmarks.tables import Results

_CELLS, _GENES, _COMPONENTS, _PATIENTS = 2_000_000, 2_000, 50, 200
_COUNTS = 5  # genes per cell that are not 0
_BLOCK = 50_000
_REACH = 1500.0

_READ = """
import pointforms as pf
cells = {data}
clouds = pf.read_anndata(cells, cloud="patient", {options})
assert len(clouds) == {patients} and clouds.points.shape == ({cells}, {features})
"""
_BACKED = 'import anndata; cells = anndata.read_h5ad({path!r}, backed="r")\n'


def write(path: Path) -> None:
    """Write the cells as anndata would, without ever holding them in memory."""
    import h5py

    rng = np.random.default_rng(0)
    with h5py.File(path, "w") as file:
        _encode(file, "anndata", "0.1.0")
        _write_obs(file, rng)
        _write_names(file, "var", "gene", _GENES)
        obsm = file.create_group("obsm")
        _encode(obsm, "dict", "0.1.0")
        shape = (_CELLS, _COMPONENTS)
        components = obsm.create_dataset("X_pca", shape, dtype=np.float32)
        _encode(components, "array", "0.2.0")
        X = file.create_group("X")
        _encode(X, "csr_matrix", "0.1.0")
        X.attrs["shape"] = np.array([_CELLS, _GENES])
        X.create_dataset("indptr", data=np.arange(0, _CELLS * _COUNTS + 1, _COUNTS))
        counts = X.create_dataset("data", (_CELLS * _COUNTS,), dtype=np.float32)
        genes = X.create_dataset("indices", (_CELLS * _COUNTS,), dtype=np.int32)
        for start in range(0, _CELLS, _BLOCK):
            stop = min(start + _BLOCK, _CELLS)
            components[start:stop] = rng.standard_normal((stop - start, _COMPONENTS), np.float32)
            own = slice(start * _COUNTS, stop * _COUNTS)
            counts[own] = 1.0
            first = rng.integers(0, _GENES // _COUNTS, (stop - start, 1))
            genes[own] = (first + np.arange(_COUNTS) * (_GENES // _COUNTS)).ravel()


def _write_obs(file: Any, rng: np.random.Generator) -> None:
    obs = _write_names(file, "obs", "cell", _CELLS)
    obs.attrs["column-order"] = ["patient"]
    patient = obs.create_group("patient")
    _encode(patient, "categorical", "0.2.0")
    patient.attrs["ordered"] = False
    names = patient.create_dataset("categories", data=[f"p{i:03}" for i in range(_PATIENTS)])
    _encode(names, "string-array", "0.2.0")
    codes = rng.integers(0, _PATIENTS, _CELLS).astype(np.int16)  # cells of patients are mixed
    _encode(patient.create_dataset("codes", data=codes), "array", "0.2.0")


def _write_names(file: Any, name: str, prefix: str, count: int) -> Any:
    import h5py

    table = file.create_group(name)
    _encode(table, "dataframe", "0.2.0")
    table.attrs["_index"] = "_index"
    table.attrs["column-order"] = np.array([], dtype=h5py.string_dtype())
    index = table.create_dataset("_index", (count,), dtype=h5py.string_dtype())
    _encode(index, "string-array", "0.2.0")
    for start in range(0, count, _BLOCK):
        stop = min(start + _BLOCK, count)
        index[start:stop] = [f"{prefix}{i}" for i in range(start, stop)]
    return table


def _encode(element: Any, kind: str, version: str) -> None:
    element.attrs["encoding-type"], element.attrs["encoding-version"] = kind, version


def main() -> list[str]:
    """Print the table and return the figures that missed their bounds."""
    results = Results("Memory: clouds of 2 million cells on disk")
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "cells.h5ad"
        write(path)
        results.note("the file", "MB", f"{path.stat().st_size / 1e6:.0f}")
        name = str(path)
        results.note("import", "MB", f"{peak_megabytes('import anndata, torch'):.0f}")
        results.note("open backed", "MB", f"{peak_megabytes(_BACKED.format(path=name)):.0f}")
        components = {"options": 'use_rep="X_pca"', "features": _COMPONENTS}
        genes = {"options": 'features=["gene0", "gene1", "gene2"]', "features": 3}
        for case, chosen in (("50 components", components), ("3 genes of X", genes)):
            for way, before, data in (
                ("path", "", repr(name)),
                ("backed", _BACKED.format(path=name), "cells"),
            ):
                program = before + _READ.format(
                    data=data, patients=_PATIENTS, cells=_CELLS, **chosen
                )
                results.add(f"{case}, {way}", "MB", peak_megabytes(program), _REACH)
    results.print()
    return results.missed


if __name__ == "__main__":
    raise SystemExit(1 if main() else 0)
