from __future__ import annotations

import numpy as np
import pytest

from pointforms.io import read_fcs
from pointforms.preprocessing import Impute


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
    with pytest.raises(FileNotFoundError, match="no folder or file"):
        read_fcs(tmp_path / "absent")
    (tmp_path / "broken.fcs").write_bytes(b"FCS3.1 but no more")
    with pytest.raises(ValueError, match=r"broken\.fcs cannot be read as FCS"):
        read_fcs(tmp_path)
    (tmp_path / "broken.fcs").write_text("CD3,CD4\n1,2\n")
    with pytest.raises(ValueError, match=r"broken\.fcs is not an FCS file: it does not begin"):
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


def moved_offset(content: bytes, where: str, by: int = 1) -> bytes:
    """Return a file whose header, text, or both place the last byte of the data elsewhere."""
    end = int(content[34:42])
    if where in ("header", "both"):
        content = content[:34] + f"{end + by:>8}".encode() + content[42:]
    if where in ("text", "both"):
        start, stop = int(content[10:18]), int(content[18:26]) + 1
        text = content[start:stop]
        place = text.lower().index(b"$enddata") + len(b"$enddata") + 1
        old = text[place : text.index(text[:1], place)]
        assert int(old) == end
        new = str(end + by).encode().zfill(len(old))
        text = text[:place] + new + text[place + len(old) :]
        content = content[:start] + text + content[stop:]
    return content


@pytest.mark.parametrize("where", ["header", "text", "both"])
def test_the_end_of_the_data_may_be_off_by_one(rng, tmp_path, where):
    import flowio

    values = rng.normal(size=(30, 3))
    write_fcs(tmp_path / "a.fcs", values, ["A", "B", "C"])
    content = moved_offset((tmp_path / "a.fcs").read_bytes(), where)
    (tmp_path / "a.fcs").write_bytes(content)
    with pytest.raises(Exception, match=r"off by 1|discrepancy"):
        flowio.FlowData(str(tmp_path / "a.fcs"))
    clouds = read_fcs(tmp_path)
    np.testing.assert_array_equal(clouds[0].numpy(), values.astype(np.float32))


def test_data_of_another_length_than_declared_are_refused(rng, tmp_path):
    write_fcs(tmp_path / "a.fcs", rng.normal(size=(30, 3)), ["A", "B", "C"])
    content = (tmp_path / "a.fcs").read_bytes()
    (tmp_path / "a.fcs").write_bytes(moved_offset(content, "both", by=-4))
    with pytest.raises(ValueError, match=r"declares 30 events of 3 channels and has 89 values"):
        read_fcs(tmp_path)


SHORT = ["FSC-A", "SSC-W", "B515-A", "R660-A", "Ce140Di", "Event_length", "Time", "G560-A"]
LONG = ["", "", "CD3", "CD4", "140Ce_Bead", "", "", "CD4"]


def test_channels_are_named_and_left_out(rng, tmp_path):
    values = rng.normal(size=(5, 8)).astype(np.float32)
    write_fcs(tmp_path / "a.fcs", values, SHORT, LONG)
    every = read_fcs(tmp_path)
    # two channels have the marker CD4, which names neither
    assert every.feature_names == (*SHORT[:2], "CD3", "R660-A", "140Ce_Bead", *SHORT[5:])
    assert read_fcs(tmp_path, names="channel").feature_names == tuple(SHORT)
    markers = read_fcs(tmp_path, leave_out="technical")
    assert markers.feature_names == ("CD3", "R660-A", "G560-A")
    np.testing.assert_array_equal(markers[0].numpy(), values[:, [2, 3, 7]])
    some = read_fcs(tmp_path, leave_out=["scatter", "time"])
    assert some.feature_names == ("CD3", "R660-A", "140Ce_Bead", "Event_length", "G560-A")
    with pytest.raises(ValueError, match=r"leave_out=\['bead'\]: expected"):
        read_fcs(tmp_path, leave_out=["bead"])
    with pytest.raises(ValueError, match="names='pns': expected one of 'marker', 'channel'"):
        read_fcs(tmp_path, names="pns")


def test_compensation(rng, tmp_path):
    import flowio

    true = rng.uniform(10, 100, size=(20, 3))
    matrix = np.array([[1, 0.2], [0.05, 1]])
    seen = true.copy()
    seen[:, [2, 0]] = true[:, [2, 0]] @ matrix
    spill = "2,C,A,1,0.2,0.05,1"
    with (tmp_path / "a.fcs").open("wb") as file:
        flowio.create_fcs(
            file, seen.ravel().tolist(), ["A", "B", "C"], metadata_dict={"spillover": spill}
        )
    np.testing.assert_allclose(read_fcs(tmp_path)[0].numpy(), seen, rtol=1e-6)
    np.testing.assert_allclose(read_fcs(tmp_path, compensate=True)[0].numpy(), true, rtol=1e-5)
    write_fcs(tmp_path / "b.fcs", seen, ["A", "B", "C"])
    with pytest.raises(ValueError, match=r"b\.fcs stores no compensation matrix"):
        read_fcs(tmp_path, compensate=True)


def test_files_and_lists_of_files(rng, tmp_path):
    for folder in ("one", "two"):
        (tmp_path / folder).mkdir()
        write_fcs(tmp_path / folder / "tube.fcs", rng.normal(size=(4, 2)), ["A", "B"])
    files = [tmp_path / "two" / "tube.fcs", str(tmp_path / "one" / "tube.fcs")]
    assert read_fcs(files[0]).ids == ("tube",)
    assert read_fcs(files).ids == ("two/tube", "one/tube")
    with pytest.raises(ValueError, match="source is empty"):
        read_fcs([])
    with pytest.raises(FileNotFoundError, match="no file"):
        read_fcs([tmp_path / "absent.fcs"])


def test_channels_that_some_files_lack(rng, tmp_path):
    values = rng.normal(size=(4, 2)).astype(np.float32)
    write_fcs(tmp_path / "a.fcs", values, ["A", "B"])
    write_fcs(tmp_path / "b.fcs", values, ["C", "A"])
    clouds = read_fcs(tmp_path, absent="nan")
    assert clouds.feature_names == ("A", "B", "C")
    nan = np.full(4, np.nan)
    np.testing.assert_array_equal(
        clouds[1].numpy(), np.column_stack([values[:, 1], nan, values[:, 0]])
    )
    filled = Impute("neighbors", neighbors=1).fit_transform(clouds)
    np.testing.assert_array_equal(filled[1][:, 0].numpy(), values[:, 1])
    assert bool(filled.points.isfinite().all())
    assert read_fcs(tmp_path, ["B", "A"], absent="nan").feature_names == ("B", "A")
    with pytest.raises(ValueError, match="no file has a channel 'D'"):
        read_fcs(tmp_path, ["A", "D"], absent="nan")
