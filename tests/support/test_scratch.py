"""Scratch folders: private, gone at the end, and those of the dead are removed by the next."""

from __future__ import annotations

import os
import stat
import subprocess
import sys
import tempfile
from contextlib import suppress

import pytest

from pointforms.support import scratch
from pointforms.support.scratch import remove_abandoned, scratch_folder


@pytest.fixture(autouse=True)
def temporary(tmp_path, monkeypatch):
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    return tmp_path


def test_a_folder_is_private_and_gone_at_the_end(temporary):
    old = os.umask(0)
    try:
        with suppress(ZeroDivisionError), scratch_folder() as one, scratch_folder() as two:
            assert {one, two} == set(temporary.iterdir())
            for folder in (one, two):
                assert stat.S_IMODE(folder.stat().st_mode) == 0o700
                (folder / "inner").mkdir()
                (folder / "inner" / "fields.pt").write_bytes(b"data")
            raise ZeroDivisionError
    finally:
        os.umask(old)
    assert not list(temporary.iterdir())


_LEAVE = """
import os, sys, tempfile
from pointforms.support.scratch import scratch_folder
tempfile.tempdir = sys.argv[1]
with scratch_folder() as folder:
    (folder / "fields.pt").write_bytes(b"data")
    os.kill(os.getpid(), 9)
"""


@pytest.fixture
def abandoned(temporary):
    """The folder of a process that was killed."""
    subprocess.run([sys.executable, "-c", _LEAVE, temporary], check=False)
    (folder,) = temporary.iterdir()
    assert (folder / "fields.pt").exists()
    return folder


def test_what_a_killed_process_left_is_removed_by_the_next(abandoned):
    with scratch_folder("other"):
        assert abandoned.exists()
    with scratch_folder():
        assert not abandoned.exists()


def test_folders_of_living_processes_and_other_machines_stay(temporary, abandoned):
    name, place, _, start, _ = abandoned.name.split("-")
    with scratch_folder() as ours:
        pid, our_start = ours.name.split("-")[2:4]
        stays = [
            ours,
            temporary / f"{name}-{'0' * 8}-{pid}-{start}-0",  # of another machine
            temporary / f"{name}-a1b2c3d4",  # of version 0.1.0, or somebody else's
            temporary / f"{name}-{place}-notes",
        ]
        for folder in stays[1:]:
            folder.mkdir()
        again = temporary / f"{name}-{place}-{pid}-{int(our_start, 16) + 1:x}-0"
        again.mkdir()  # of a process that had our number before us
        remove_abandoned(temporary)
        assert all(folder.is_dir() for folder in stays)
        assert not again.exists()


def test_links_are_not_followed_and_others_keep_their_folders(temporary, abandoned, monkeypatch):
    target = temporary / "precious"
    target.mkdir()
    (target / "data").write_text("keep")
    link = abandoned.with_name(abandoned.name[:-1] + "7")
    link.symlink_to(target)
    remove_abandoned(temporary)
    assert (target / "data").exists()
    assert not abandoned.exists()
    abandoned.mkdir()
    monkeypatch.setattr(os, "geteuid", lambda: os.getuid() + 1)
    remove_abandoned(temporary)
    assert abandoned.exists()


def test_a_zombie_is_dead():
    with subprocess.Popen([sys.executable, "-c", ""], stdin=subprocess.PIPE) as process:
        assert scratch._start(process.pid) is not None
        os.waitid(os.P_PID, process.pid, os.WEXITED | os.WNOWAIT)  # it has ended, not been buried
        assert scratch._start(process.pid) is None
