from __future__ import annotations

import os
from pathlib import Path

import pytest

from pointforms.support.files import atomic, check_output, write_text


def names(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.rglob("*"))


def test_a_file_replaces_the_old_one(tmp_path):
    target = tmp_path / "result.txt"
    target.write_text("old")
    with atomic(target) as partial:
        partial.write_text("new")
        assert target.read_text() == "old"  # until the block ends
        assert partial.parent == target.parent
        assert partial.suffix == target.suffix
    assert target.read_text() == "new"
    assert names(tmp_path) == ["result.txt"]


def test_parent_folders_are_created(tmp_path):
    with atomic(str(tmp_path / "a" / "b" / "result.txt")) as partial:
        partial.write_text("new")
    assert names(tmp_path) == ["a", "b", "result.txt"]


def test_a_folder_replaces_the_old_one(tmp_path):
    target = tmp_path / "model"
    target.mkdir()
    (target / "content.txt").write_text("old")
    with atomic(target) as partial:
        partial.mkdir()
        (partial / "content.txt").write_text("new")
        assert (target / "content.txt").read_text() == "old"
    assert names(tmp_path) == ["content.txt", "model"]
    assert (target / "content.txt").read_text() == "new"


def test_other_files_of_a_folder_stay(tmp_path):
    target = tmp_path / "task"
    (target / "figures").mkdir(parents=True)
    (target / "figures" / "one.svg").write_text("mine")
    (target / "notes.txt").write_text("mine")
    (target / "link").symlink_to("nowhere")
    with atomic(target) as partial:
        partial.mkdir()
        (partial / "new.txt").write_text("new")
    assert names(tmp_path) == ["figures", "link", "new.txt", "notes.txt", "one.svg", "task"]
    assert (target / "notes.txt").read_text() == "mine"
    assert (target / "figures" / "one.svg").read_text() == "mine"
    assert (target / "link").is_symlink()


@pytest.mark.parametrize("kind", ["file", "folder"])
@pytest.mark.parametrize("existed", [False, True])
def test_a_failure_leaves_what_was_there(tmp_path, kind, existed):
    target = tmp_path / "result"
    if existed and kind == "file":
        target.write_text("old")
    elif existed:
        target.mkdir()
        (target / "old.txt").write_text("old")
    before = names(tmp_path)

    def interrupted() -> None:
        with atomic(target) as partial:
            if kind == "folder":
                partial.mkdir()
                (partial / "half.txt").write_text("half")
            else:
                partial.write_text("half")
            raise RuntimeError("interrupted")

    with pytest.raises(RuntimeError, match="interrupted"):
        interrupted()
    assert names(tmp_path) == before
    if existed:
        old = target if kind == "file" else target / "old.txt"
        assert old.read_text() == "old"


def test_a_failed_move_leaves_nothing_behind(tmp_path, monkeypatch):
    def full(*_: object) -> None:
        raise OSError("no space left")

    monkeypatch.setattr(os, "replace", full)
    with pytest.raises(OSError, match="no space left"):
        write_text(tmp_path / "result.txt", "text")
    assert names(tmp_path) == []


def test_a_folder_does_not_replace_a_file(tmp_path):
    (tmp_path / "model").write_text("old")

    def write_folder() -> None:
        with atomic(tmp_path / "model") as partial:
            partial.mkdir()

    with pytest.raises(OSError, match="model"):
        write_folder()
    assert (tmp_path / "model").read_text() == "old"
    assert names(tmp_path) == ["model"]


def test_a_folder_that_cannot_be_replaced_stays(tmp_path, monkeypatch):
    target = tmp_path / "model"
    target.mkdir()
    (target / "old.txt").write_text("old")
    move = os.replace

    def full(source: Path, place: Path) -> None:
        if Path(place) == target and not Path(source).name.endswith("-old"):
            raise OSError("no space left")
        move(source, place)

    monkeypatch.setattr(os, "replace", full)

    def write_folder() -> None:
        with atomic(target) as partial:
            partial.mkdir()

    with pytest.raises(OSError, match="no space left"):
        write_folder()
    assert names(tmp_path) == ["model", "old.txt"]


def test_an_old_folder_that_cannot_return_is_named(tmp_path, monkeypatch):
    target = tmp_path / "model"
    target.mkdir()
    (target / "old.txt").write_text("old")
    move = os.replace

    def full(source: Path, place: Path) -> None:
        if Path(place) == target:
            raise OSError("no space left")
        move(source, place)

    monkeypatch.setattr(os, "replace", full)

    def write_folder() -> None:
        with atomic(target) as partial:
            partial.mkdir()

    with pytest.raises(OSError, match=r"no space left.*its old content is in '.*-old'"):
        write_folder()
    [kept] = tmp_path.iterdir()
    assert (kept / "old.txt").read_text() == "old"


def test_writing_nothing_is_an_error(tmp_path):
    (tmp_path / "result.txt").write_text("old")
    with pytest.raises(FileNotFoundError), atomic(tmp_path / "result.txt"):
        pass
    assert (tmp_path / "result.txt").read_text() == "old"


def test_nested_writes_do_not_meet(tmp_path):
    with atomic(tmp_path / "result.txt") as first, atomic(tmp_path / "result.txt") as second:
        assert first != second
        first.write_text("first")
        second.write_text("second")
    assert (tmp_path / "result.txt").read_text() == "first"  # the block that ended last
    assert names(tmp_path) == ["result.txt"]


def test_text_is_utf8_with_unix_line_endings(tmp_path):
    write_text(tmp_path / "text.txt", "ρ² ≥ 0\nε\n")
    assert (tmp_path / "text.txt").read_bytes() == "ρ² ≥ 0\nε\n".encode()


def test_outputs_are_checked(tmp_path):
    source = tmp_path / "source.csv"
    source.write_text("a")
    check_output(tmp_path / "new.csv", source)
    with pytest.raises(ValueError, match="is a folder: expected a file"):
        check_output(tmp_path, source)
    with pytest.raises(ValueError, match=r"source\.csv' is read by this command"):
        check_output(tmp_path / "." / "source.csv", source)


def test_a_link_to_a_folder_stays_a_link(tmp_path):
    (tmp_path / "real").mkdir()
    (tmp_path / "link").symlink_to("real")
    with atomic(tmp_path / "link") as partial:
        partial.mkdir()
        (partial / "new").touch()
    assert (tmp_path / "link").is_symlink()
    assert [path.name for path in (tmp_path / "real").iterdir()] == ["new"]
    assert sorted(path.name for path in tmp_path.iterdir()) == ["link", "real"]


def test_errors_name_the_file_that_was_asked_for(tmp_path):
    with (
        pytest.raises(FileNotFoundError, match=r"answer\.txt") as caught,
        atomic(tmp_path / "answer.txt"),
    ):
        pass
    assert ".part-" not in str(caught.value)
