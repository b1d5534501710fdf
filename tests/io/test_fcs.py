from __future__ import annotations

import numpy as np
import pytest

from pointforms.io import read_fcs


def write_fcs(
    path, values: np.ndarray, channels: list[str], names: list[str] | None = None
) -> None:
    import flowio

    with path.open("wb") as file:
        flowio.create_fcs(file, values.astype(np.float32).flatten().tolist(), channels, names)


def test_a_folder_has_one_cloud_per_file(rng, tmp_path):
    first, second = rng.normal(size=(6, 3)), rng.normal(size=(4, 3))
    write_fcs(tmp_path / "b.fcs", first, ["Ir191", "Nd142", "Tb159"], ["DNA", "cCasp3", "pS6"])
    write_fcs(
        tmp_path / "c.FCS",
        second[:, [2, 0, 1]],
        ["Tb159", "Ir191", "Nd142"],
        ["pS6", "DNA", "cCasp3"],
    )
    (tmp_path / "notes.txt").write_text("not a cloud")
    clouds = read_fcs(tmp_path)
    assert clouds.ids == ("b", "c")
    assert clouds.feature_names == ("DNA", "cCasp3", "pS6")
    np.testing.assert_allclose(clouds[0].numpy(), first, rtol=1e-6)
    np.testing.assert_allclose(clouds[1].numpy(), second, rtol=1e-6)  # matched by name
    some = read_fcs(tmp_path, channels=["pS6", "Ir191"])
    np.testing.assert_allclose(some[0].numpy(), first[:, [2, 0]], rtol=1e-6)
    with pytest.raises(ValueError, match=r"b\.fcs has no channel 'CD3'"):
        read_fcs(tmp_path, channels=["CD3"])


def test_fcs_folders_must_hold_something(tmp_path):
    with pytest.raises(ValueError, match=r"no \.fcs file"):
        read_fcs(tmp_path)
    with pytest.raises(FileNotFoundError, match="no folder"):
        read_fcs(tmp_path / "absent")
    (tmp_path / "broken.fcs").write_bytes(b"FCS3.1 but no more")
    with pytest.raises(ValueError, match=r"broken\.fcs cannot be read as FCS"):
        read_fcs(tmp_path)


def test_files_larger_than_the_limit_are_not_read(rng, tmp_path):
    for name in "ab":
        write_fcs(tmp_path / f"{name}.fcs", rng.normal(size=(6, 3)), ["A", "B", "C"])
    with pytest.raises(
        ValueError, match=r"a\.fcs' declares arrays of 0\.14 KiB, more than max_byt"
    ):
        read_fcs(tmp_path, max_bytes=100)
    with pytest.raises(ValueError, match=r"b\.fcs' declares arrays of 0\.28 KiB"):  # both files
        read_fcs(tmp_path, max_bytes=200)
    assert len(read_fcs(tmp_path, max_bytes=300)) == 2
