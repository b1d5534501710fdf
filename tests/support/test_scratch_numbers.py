from __future__ import annotations

import errno
import pickle
import re
import shutil
import tempfile

import numpy as np
import pytest
import torch

from pointforms.support.peak_memory import memory
from pointforms.support.scratch_numbers import ScratchNumbers


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    return tmp_path


class TestScratchNumbers:
    def test_what_was_appended_is_read(self, folder, dtype):
        numbers = ScratchNumbers(dtype)
        parts = [torch.randn(3, 5, dtype=dtype), torch.randn(7, dtype=dtype).double()]
        starts = [numbers.append(part) for part in parts]
        for start, part in zip(starts, parts, strict=True):
            assert torch.equal(numbers.read(start, part.numel()), part.flatten().to(dtype))

    def test_numbers_can_be_appended_after_reading(self, folder):
        numbers = ScratchNumbers(torch.float32)
        numbers.append(torch.tensor([1.0]))
        first = numbers.read(0, 1)
        assert numbers.append(torch.tensor([2.0])) == 1
        assert numbers.read(0, 2).tolist() == [1.0, 2.0]
        assert first.tolist() == [1.0]

    def test_released_numbers_are_no_memory_and_can_be_read_again(self, folder):
        numbers = ScratchNumbers(torch.float64)
        numbers.append(torch.arange(1 << 22, dtype=torch.float64))
        total = float(numbers.read(0, 1 << 22).sum())
        read = memory("VmRSS") or 0
        numbers.release()
        released = memory("VmRSS") or 0
        if read:  # there is no such figure without /proc
            assert read - released > 0.9 * (1 << 25)
        assert float(numbers.read(0, 1 << 22).sum()) == total

    def test_no_file_is_seen(self, folder):
        numbers = ScratchNumbers(torch.float64)
        numbers.append(torch.ones(1000))
        numbers.read(0, 1000)
        assert list(folder.iterdir()) == []

    @pytest.mark.parametrize("count", [0, 1000])
    def test_a_copy_has_a_file_of_its_own(self, folder, count):
        numbers = ScratchNumbers(torch.float64)
        if count:
            numbers.append(torch.arange(float(count)))
        copied = pickle.loads(pickle.dumps(numbers))
        assert copied.append(torch.tensor([0.5])) == count
        assert copied.read(0, count + 1).tolist() == [*np.arange(float(count)), 0.5]
        assert numbers.append(torch.tensor([7.0])) == count


class TestErrors:
    def test_a_folder_that_cannot_be_written(self, tmp_path, monkeypatch):
        monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "missing"))
        message = f"cannot be written to {re.escape(str(tmp_path / 'missing'))}.*TMPDIR"
        with pytest.raises(OSError, match=message) as error:
            ScratchNumbers(torch.float32)
        assert error.value.errno == errno.ENOENT

    def test_too_little_room_is_noticed_at_once(self, folder, monkeypatch):
        usage = shutil.disk_usage(folder)._replace(free=10**9)
        monkeypatch.setattr(shutil, "disk_usage", lambda _: usage)
        with pytest.raises(OSError, match=r"of 4.0 GB cannot be written .*\(1.0 GB are free\)"):
            ScratchNumbers(torch.float32, expected=10**9)

    def test_a_disk_that_fills_up(self, folder):
        resource = pytest.importorskip("resource")
        numbers = ScratchNumbers(torch.float64)
        numbers.append(torch.ones(100))
        limits = resource.getrlimit(resource.RLIMIT_FSIZE)
        resource.setrlimit(resource.RLIMIT_FSIZE, (4096, limits[1]))
        try:
            with pytest.raises(OSError, match=r"cannot be written .*TMPDIR") as error:
                numbers.append(torch.ones(10_000))
        finally:
            resource.setrlimit(resource.RLIMIT_FSIZE, limits)
        assert error.value.errno == errno.EFBIG
        assert torch.equal(numbers.read(0, 100), torch.ones(100, dtype=torch.float64))
