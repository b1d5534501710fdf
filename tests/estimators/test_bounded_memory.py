"""Fits whose geometry is in a temporary file: the same results, and nothing is left behind."""

from __future__ import annotations

import os
import pickle
import signal
import subprocess
import sys
import tempfile
import weakref

import numpy as np
import pytest
import torch

import pointforms as pf
from pointforms.estimators import network_estimator
from pointforms.geometry import stream
from pointforms.nn import point_numbers
from pointforms.nn.point_numbers import NumbersInFile
from pointforms.support import scratch_numbers

FAST = {
    "epochs": 3, "forms": 4, "hidden": (8,), "batch_size": 8, "random_state": 0, "dimension": 3,
}  # fmt: skip


@pytest.fixture(scope="module")
def clouds():
    rng = np.random.default_rng(0)
    return [
        rng.normal(size=(int(n), 4)) * (1 + i % 2) for i, n in enumerate(rng.integers(6, 40, 40))
    ]


@pytest.fixture
def in_file(monkeypatch, tmp_path):
    """Keep all geometry in files of a folder; return the folder."""
    monkeypatch.setattr(point_numbers, "IN_MEMORY", 0)
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    return tmp_path


def results(estimator, clouds, y):
    """Return everything that a fit gives, as arrays."""
    estimator.fit(clouds, y)
    found = {name: values.numpy() for name, values in estimator.model_.state_dict().items()}
    found["prediction"] = np.asarray(estimator.predict_proba(clouds))
    found["matrices"] = estimator.comparison_matrices(clouds)
    return found


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"degree": (0, 1, 2), "scale": None},
        {"degree": 2, "rank": 2, "points_per_epoch": 10},
        {"members": 3},
        {"coefficients": "wedge", "degree": 2, "dtype": "float64", "frame": "both"},
    ],
    ids=["default", "degrees", "some points", "members", "wedge"],
)
def test_results_are_the_same_to_the_last_digit(options, clouds, monkeypatch, tmp_path):
    y = np.arange(len(clouds)) % 2
    expected = results(pf.PointFormClassifier(**FAST, **options), clouds, y)
    monkeypatch.setattr(point_numbers, "IN_MEMORY", 0)
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    written = []
    monkeypatch.setattr(NumbersInFile, "finish", lambda self: written.append(self))
    found = results(pf.PointFormClassifier(**FAST, **options), clouds, y)
    assert written
    assert list(tmp_path.iterdir()) == []
    for name, values in expected.items():
        np.testing.assert_array_equal(found[name], values, err_msg=name)


def test_explanations_are_the_same_to_the_last_digit(clouds, monkeypatch):
    y = np.arange(len(clouds)) % 2
    model = pf.PointFormClassifier(**FAST).fit(clouds[:20], y[:20])
    found = []
    for limit in (point_numbers.IN_MEMORY, 0):
        monkeypatch.setattr(point_numbers, "IN_MEMORY", limit)
        rows = model.explain(clouds[20:32], y[20:32], pairs=None, new=True, repeats=1).rows
        found.append([(row.feature, row.kind, row.importance, row.p_value) for row in rows])
    assert found[0] == found[1]


def test_fields_and_clouds_give_the_same_fit(clouds, in_file):
    y = np.arange(len(clouds)) % 2
    given = {"neighbors": 8, "scale": None}
    one, other = (pf.PointFormClassifier(**FAST, **given) for _ in range(2))
    one.fit(clouds, y)
    other.fit(other.prepare(clouds), y)
    np.testing.assert_array_equal(one.predict_proba(clouds), other.predict_proba(clouds))


def test_threads_fill_a_store_in_the_same_way(clouds, in_file):
    y = np.arange(len(clouds)) % 2
    one, other = (pf.PointFormClassifier(**FAST, n_jobs=jobs).fit(clouds, y) for jobs in (None, 3))
    np.testing.assert_array_equal(one.predict_proba(clouds), other.predict_proba(clouds))


def test_a_fit_keeps_one_group_of_fields(rng, monkeypatch):
    """While a group is computed, no field of those before is alive."""
    alive: list[weakref.ref] = []
    counts = []
    real = stream._fields_of_batch

    def counting(clouds, settings):
        counts.append(sum(ref() is not None for ref in alive))
        fields = real(clouds, settings)
        alive.extend(weakref.ref(field.factor) for field in fields)
        return fields

    monkeypatch.setattr(stream, "_fields_of_batch", counting)
    clouds = [rng.normal(size=(n, 3)) for n in (20, 21, 22, 23)]
    pf.PointFormClassifier(**FAST).fit(clouds, [0, 1, 0, 1])
    assert len(counts) == 4
    assert max(counts) == 0


def test_a_fitted_estimator_holds_no_file(clouds, in_file, tmp_path_factory):
    y = np.arange(len(clouds)) % 2
    model = pf.PointFormClassifier(**FAST).fit(clouds, y)
    assert b"NumbersInFile" not in pickle.dumps(model)
    folder = tmp_path_factory.mktemp("model")
    model.save(folder)
    np.testing.assert_array_equal(
        pf.load(folder).predict_proba(clouds), model.predict_proba(clouds)
    )


def test_an_error_leaves_no_file(clouds, in_file, monkeypatch):
    def broken(*args, **options):
        raise RuntimeError("broken")

    monkeypatch.setattr(network_estimator, "train", broken)
    with pytest.raises(RuntimeError, match="broken"):
        pf.PointFormClassifier(**FAST).fit(clouds, np.arange(len(clouds)) % 2)
    assert list(in_file.iterdir()) == []


def test_a_full_disk_is_named(clouds, in_file, monkeypatch):
    usage = scratch_numbers.shutil.disk_usage(in_file)._replace(free=0)
    monkeypatch.setattr(scratch_numbers.shutil, "disk_usage", lambda _: usage)
    with pytest.raises(OSError, match=r"temporary file of .* cannot be written to .*TMPDIR"):
        pf.PointFormClassifier(**FAST).fit(clouds, np.arange(len(clouds)) % 2)


KILLED = """
import os, signal
import numpy as np, pointforms as pf
from pointforms.nn import point_numbers
from pointforms.nn.point_numbers import NumbersInFile

point_numbers.IN_MEMORY = 0
rng = np.random.default_rng(0)
fields = pf.gram_fields([rng.normal(size=(20, 3)) for _ in range(4)], dimension=2)
store = pf.nn.FieldStore(fields)
assert isinstance(store.factor, NumbersInFile)
os.kill(os.getpid(), signal.SIGKILL)
"""


@pytest.mark.skipif(os.name != "posix", reason="there are no such signals")
def test_a_killed_process_leaves_no_file(tmp_path):
    done = subprocess.run(
        [sys.executable, "-c", KILLED], env={**os.environ, "TMPDIR": str(tmp_path)}, check=False
    )
    assert done.returncode == -signal.SIGKILL
    assert list(tmp_path.iterdir()) == []


def test_batches_of_a_file_go_to_the_device(clouds, in_file):
    """Tensors on "meta" have shapes and no values."""
    fields = pf.gram_fields(clouds, neighbors=8, dimension=2)
    batch = pf.nn.FieldStore(fields, device="meta").gather(torch.tensor([3, 0]))
    assert {part.device.type for part in (batch.points, batch.factor, batch.weights)} == {"meta"}
