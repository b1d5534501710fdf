from __future__ import annotations

import io
import tracemalloc
import zipfile

import numpy as np
import pytest

from pointforms.clouds import Clouds
from pointforms.io import read_annotated_npz, read_npz, save_npz


def test_npz_round_trip(rng, tmp_path):
    clouds = Clouds.from_list([rng.normal(size=(n, 2)) for n in (3, 5)], ["a", "b"], ["x", "y"])
    save_npz(clouds, tmp_path / "clouds.npz")
    again = read_npz(tmp_path / "clouds.npz")
    assert again.ids == clouds.ids
    assert again.feature_names == clouds.feature_names
    np.testing.assert_array_equal(again.points.numpy(), clouds.points.numpy())
    np.testing.assert_array_equal(again.offsets.numpy(), clouds.offsets.numpy())


def test_npz_never_unpickles(tmp_path):
    evil = np.array([{"a": 1}], dtype=object)
    np.savez(tmp_path / "evil.npz", points=evil, offsets=np.array([0, 1]))
    with pytest.raises(ValueError, match=r"not an archive of plain arrays: .* Python objects"):
        read_npz(tmp_path / "evil.npz")
    np.savez(tmp_path / "short.npz", points=np.eye(3), offsets=np.array([0, 2]))
    with pytest.raises(ValueError, match="do not rise from 0 to 3"):
        read_npz(tmp_path / "short.npz")
    (tmp_path / "empty.npz").write_bytes(b"")
    with pytest.raises(ValueError, match=r"empty\.npz"):
        read_npz(tmp_path / "empty.npz")
    with pytest.raises(ValueError, match=r"ends in \.npz"):
        save_npz(Clouds.from_list([np.eye(2)]), tmp_path / "clouds")
    np.savez(tmp_path / "other.npz", values=np.eye(3))
    with pytest.raises(ValueError, match="no array 'points', but 'values': expected an archive"):
        read_npz(tmp_path / "other.npz")


def test_annotations_are_stored_beside_the_clouds(rng, tmp_path):
    clouds = Clouds.from_list([rng.normal(size=(n, 2)) for n in (3, 5)])
    save_npz(clouds, tmp_path / "clouds.npz", {"label": np.array(["a", "b"])})
    values = read_annotated_npz(tmp_path / "clouds.npz", ["label"], ["absent"])[1]
    assert {name: value.tolist() for name, value in values.items()} == {"label": ["a", "b"]}
    save_npz(clouds, tmp_path / "clouds.npz", {"label": np.array(["a"])})
    with pytest.raises(ValueError, match=r"'label' of .* has shape"):
        read_annotated_npz(tmp_path / "clouds.npz", ["label"])


def test_a_failed_write_leaves_the_old_file(rng, tmp_path, monkeypatch):
    clouds = Clouds.from_list([rng.normal(size=(3, 2))])
    save_npz(clouds, tmp_path / "new folder" / "clouds.npz")

    def full(*_, **__):
        raise OSError("no space left")

    monkeypatch.setattr(np, "savez_compressed", full)
    with pytest.raises(OSError, match="no space left"):
        save_npz(clouds, tmp_path / "new folder" / "clouds.npz")
    assert [p.name for p in (tmp_path / "new folder").iterdir()] == ["clouds.npz"]
    assert len(read_npz(tmp_path / "new folder" / "clouds.npz")) == 1


def test_only_what_is_asked_for_is_read(tmp_path):
    """Other arrays may be huge, or hold objects: 16 MiB in 16 KiB here."""
    more = {"bomb": np.zeros(2**21), "objects": np.array([None])}
    np.savez_compressed(tmp_path / "clouds.npz", points=np.eye(4, 2), offsets=[0, 2, 4], **more)
    tracemalloc.start()
    try:
        assert len(read_npz(tmp_path / "clouds.npz", max_bytes=200)) == 2
        assert tracemalloc.get_traced_memory()[1] < 2**22
    finally:
        tracemalloc.stop()


def test_arrays_larger_than_the_limit_are_not_read(tmp_path, monkeypatch):
    file = tmp_path / "clouds.npz"
    points, offsets = np.zeros((2**19, 2)), np.array([0, 2**19])
    np.savez_compressed(file, points=points, offsets=offsets, label=["a"])
    message = r"clouds\.npz' declares arrays of 8\.00 MiB, more than max_bytes=10000 \(9\.77 KiB"
    tracemalloc.start()
    try:
        with pytest.raises(ValueError, match=message):
            read_npz(file, max_bytes=10**4)
        with pytest.raises(ValueError, match=message):
            read_annotated_npz(file, ["label"], max_bytes=10**4)
        monkeypatch.setenv("POINTFORMS_MAX_BYTES", "10000")
        with pytest.raises(ValueError, match=message):
            read_npz(file)
        assert tracemalloc.get_traced_memory()[1] < 2**20
    finally:
        tracemalloc.stop()
    assert len(read_npz(file, max_bytes=2**27)) == 1
    monkeypatch.setenv("POINTFORMS_MAX_BYTES", "much")
    with pytest.raises(ValueError, match="POINTFORMS_MAX_BYTES='much': expected a number"):
        read_npz(file)


def written(path, shape: tuple[int, ...], content: bytes, declared: int | None = None) -> None:
    """An archive whose array of points declares another shape, or size, than it has."""
    np.savez(path, offsets=np.array([0, 2]))
    header = io.BytesIO()
    np.lib.format.write_array_header_1_0(
        header, {"descr": "<f8", "fortran_order": False, "shape": shape}
    )
    with zipfile.ZipFile(path, "a", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("points.npy", header.getvalue() + content)
        if declared is not None:
            archive.getinfo("points.npy").file_size = declared


@pytest.mark.parametrize(
    ("shape", "declared", "message"),
    [
        ((10**12, 3), None, "declares 24000000000000 bytes, which it cannot hold"),
        ((2, 3), None, "declares 48 bytes, which it cannot hold"),
        ((2**27, 1), 2**30 + 128, "declares 1073741824 bytes, which it cannot hold"),
        ((2, 2), 100, "Bad CRC-32"),
        ((-2, 2), None, "negative dimensions"),
    ],
)
def test_lies_about_sizes_are_found(shape, declared, message, tmp_path):
    written(tmp_path / "clouds.npz", shape, np.eye(2).tobytes(), declared)
    with pytest.raises(ValueError, match=rf"clouds\.npz' is not an archive of plain.*{message}"):
        read_npz(tmp_path / "clouds.npz")


def test_damage_is_an_error_that_names_the_file(rng, tmp_path):
    np.savez_compressed(tmp_path / "good.npz", points=rng.normal(size=(9, 2)), offsets=[0, 4, 9])
    content = (tmp_path / "good.npz").read_bytes()
    for place in rng.integers(0, len(content), 60):
        damaged = bytearray(content)
        damaged[place] ^= 1 << rng.integers(8)
        (tmp_path / "bad.npz").write_bytes(damaged)
        try:
            read_npz(tmp_path / "bad.npz")
        except ValueError as error:
            assert "bad.npz" in str(error)  # noqa: PT017
