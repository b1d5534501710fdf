from __future__ import annotations

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
    np.savez(tmp_path / "evil.npz", points=np.array([{"a": 1}], dtype=object))
    with pytest.raises(ValueError, match="not an archive of plain arrays"):
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
    with pytest.raises(ValueError, match="no array 'points'"):
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
