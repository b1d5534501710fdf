from __future__ import annotations

import os
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest
import torch

import pointforms as pf
import pointforms.geometry.stream as stream_module

SETTINGS = {"neighbors": 12, "spectrum": "projector"}


@pytest.fixture
def clouds(rng) -> list[np.ndarray]:
    return [rng.normal(size=(n, 4)) for n in (10, 30, 30, 55)]


@pytest.fixture
def computed(monkeypatch) -> list[int]:
    """Sizes of the batches that are really computed."""
    counts: list[int] = []
    real = stream_module._fields_of_batch

    def counting(points, settings):
        counts.append(len(points))
        return real(points, settings)

    monkeypatch.setattr(stream_module, "_fields_of_batch", counting)
    return counts


def files(folder: Path) -> list[Path]:
    return sorted(folder.glob("*/*.gram"))


def assert_same(first, second) -> None:
    for a, b in zip(first, second, strict=True):
        assert torch.equal(a.factor, b.factor)
        assert torch.equal(a.log_density, b.log_density)
        assert torch.equal(a.scale, b.scale)
        assert torch.equal(a.discarded_trace, b.discarded_trace)
        assert torch.equal(a.points, b.points)
        assert (a.dimension, a.bandwidth, a.neighbors) == (b.dimension, b.bandwidth, b.neighbors)
        assert a.settings == b.settings


def test_the_second_call_reads(clouds, computed, tmp_path):
    first = pf.gram_fields(clouds, cache=tmp_path / "fields", **SETTINGS)
    assert sum(computed) == 4
    second = pf.gram_fields(clouds, cache=str(tmp_path / "fields"), **SETTINGS)
    assert sum(computed) == 4
    assert_same(first, second)
    assert_same(first, pf.gram_fields(clouds, **SETTINGS))


def test_keys_are_content_and_settings(clouds, computed, tmp_path):
    pf.gram_fields(clouds, cache=tmp_path, **SETTINGS)
    pf.gram_fields([c.copy() for c in reversed(clouds)], cache=tmp_path, **SETTINGS)
    assert sum(computed) == 4
    changed = [c.copy() for c in clouds]
    changed[1][3, 2] += 1e-12
    pf.gram_fields(changed, cache=tmp_path, **SETTINGS)
    assert sum(computed) == 5
    pf.gram_fields(clouds[:1], cache=tmp_path, **(SETTINGS | {"neighbors": 11}))
    pf.gram_fields([clouds[0].astype(np.float32)], cache=tmp_path, **SETTINGS)
    pf.gram_fields([clouds[1].reshape(15, 8)], cache=tmp_path, **SETTINGS)  # same bytes
    assert sum(computed) == 8


@pytest.mark.parametrize("damage", ["truncate", "flip", "empty", "foreign"])
def test_damaged_files_are_computed_again(clouds, computed, tmp_path, damage):
    first = pf.gram_fields(clouds, cache=tmp_path, **SETTINGS)
    for path in files(tmp_path):
        content = bytearray(path.read_bytes())
        if damage == "flip":
            content[len(content) // 2] ^= 1
        path.write_bytes(
            {"truncate": content[:-40], "flip": content, "empty": b"", "foreign": b"x" * 100}[
                damage
            ]
        )
    again = pf.gram_fields(clouds, cache=tmp_path, **SETTINGS)
    assert sum(computed) == 8
    assert_same(first, again)
    pf.gram_fields(clouds, cache=tmp_path, **SETTINGS)
    assert sum(computed) == 8  # and stored again


def test_a_whole_file_of_another_kind_is_not_trusted(clouds, computed, tmp_path):
    from safetensors.torch import save

    from pointforms.geometry.cache import _digest

    pf.gram_fields(clouds, cache=tmp_path, **SETTINGS)
    body = save({"factor": torch.zeros(2)})
    for path in files(tmp_path):
        path.write_bytes(body + _digest(body))
    pf.gram_fields(clouds, cache=tmp_path, **SETTINGS)
    assert sum(computed) == 8


def test_a_failed_write_leaves_nothing(clouds, tmp_path, monkeypatch):
    def full(*_):
        raise OSError("no space left")

    monkeypatch.setattr(os, "replace", full)
    with pytest.raises(OSError, match="no space left"):
        pf.gram_fields(clouds, cache=tmp_path, **SETTINGS)
    assert [p for p in tmp_path.rglob("*") if p.is_file()] == []


def test_leftovers_of_killed_processes_are_removed(clouds, tmp_path):
    pf.gram_fields(clouds, cache=tmp_path, **SETTINGS)
    folder = files(tmp_path)[0].parent
    yesterday = time.time() - 2 * 24 * 3600
    leftovers = [folder / f"{prefix}-{age}" for prefix in (".part", ".partial") for age in "ab"]
    for path in leftovers:
        path.write_bytes(b"half")
        if path.name.endswith("a"):
            os.utime(path, (yesterday, yesterday))
    pf.gram_fields(clouds, cache=tmp_path, **SETTINGS)
    # the process of a young one may still be writing
    assert [path.name for path in leftovers if path.exists()] == [".part-b", ".partial-b"]


def test_a_file_in_the_way_is_named(clouds, tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(ValueError, match="a file is in the way"):
        pf.gram_fields(clouds, cache=tmp_path / "file")
    with pytest.raises(ValueError, match="a file is in the way"):
        pf.gram_fields(clouds, cache=tmp_path / "file" / "below")


def test_numpy_settings_have_the_same_key(clouds, computed, tmp_path):
    pf.gram_fields(clouds, cache=tmp_path, neighbors=12, bandwidth=1)
    pf.gram_fields(clouds, cache=tmp_path, neighbors=np.int64(12), bandwidth=np.float64(1.0))
    assert sum(computed) == 4


_WORKER = """
import sys, numpy as np, pointforms as pf
rng = np.random.default_rng(0)
clouds = [rng.normal(size=(60, 5)) for _ in range(int(sys.argv[2]))]
print("ready", flush=True)
fields = pf.gram_fields(clouds, neighbors=32, dimension=5, cache=sys.argv[1])
total = sum(float(f.factor.sum()) for f in fields)
print(f"{total:.12e}")
"""


def test_two_processes_share_a_folder(tmp_path):
    command = [sys.executable, "-c", _WORKER, str(tmp_path), "150"]
    workers = [subprocess.Popen(command, stdout=subprocess.PIPE, text=True) for _ in range(2)]
    totals = {worker.communicate(timeout=120)[0].split()[-1] for worker in workers}
    assert [worker.returncode for worker in workers] == [0, 0]
    assert len(totals) == 1
    assert len(files(tmp_path)) == 150
    assert list(tmp_path.rglob(".part*")) == []


@pytest.mark.slow
def test_a_killed_process_leaves_only_whole_files(tmp_path):
    import time

    command = [sys.executable, "-c", _WORKER, str(tmp_path), "4000"]
    worker = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    assert worker.stdout is not None
    worker.stdout.readline()
    while not files(tmp_path):
        time.sleep(0.01)
    worker.kill()
    worker.wait()
    worker.stdout.close()
    stored = files(tmp_path)
    assert 0 < len(stored) < 4000
    rng = np.random.default_rng(0)
    clouds = [rng.normal(size=(60, 5)) for _ in range(len(stored))]
    from pointforms.clouds import as_clouds
    from pointforms.geometry import GramSettings
    from pointforms.geometry.cache import FieldCache

    cache = FieldCache(tmp_path)
    settings = GramSettings(neighbors=32, dimension=5)
    loaded = [cache.load(cloud, settings) for cloud in as_clouds(clouds)]
    assert any(field is not None for field in loaded)
    for field, cloud in zip(loaded, clouds, strict=True):
        if field is not None:
            [again] = pf.gram_fields([cloud], neighbors=32, dimension=5)
            assert torch.equal(field.factor, again.factor)


def test_fields_of_version_0_1_0_are_computed_again(tmp_path):
    """It had other values where points are tied, so that its keys must not be used."""
    pf.gram_fields([np.arange(12.0).reshape(6, 2) ** 2], cache=tmp_path, neighbors=4)
    [file] = files(tmp_path)
    assert file.name != "3a20397119845b5cbcfe95c4ba33c004cdff4369.gram"
