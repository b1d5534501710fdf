"""The publisher's file as it is downloaded: a zip archive with a pickle of pandas 1."""

from __future__ import annotations

import io
import os
import pickle
import pickletools
import zipfile

import numpy as np
import pandas as pd
import pytest
from pyarrow import parquet
from tests.helpers.organoids import write_pandas1_pickle

from pointforms.paper.organoids.pickled_frame import PickledArray, ScratchBytes
from pointforms.paper.organoids.schema import schema
from pointforms.paper.organoids.trusted_pickle import convert_pickle, find_pickle


@pytest.fixture(scope="module")
def frame(small):
    """A table with a date that is a number, as the published one has."""
    frame = parquet.read_table(small).slice(0, 300).to_pandas()
    frame["Date"] = [20220328 if i % 3 else date for i, date in enumerate(frame["Date"])]
    return frame


def pickled(frame, **options):
    file = io.BytesIO()
    write_pandas1_pickle(frame, file, **options)
    return file.getvalue()


def archive(path, **members):
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as file:
        for name, content in members.items():
            file.writestr(name.replace("__SLASH__", "/"), content)
    return path


def assert_same(path, frame):
    table = parquet.read_table(path)
    assert tuple(table.column_names) == schema().columns
    for name in table.column_names:
        if name in schema().metadata and name != "Batch":
            assert table[name].to_pylist() == [str(value) for value in frame[name]]
        else:
            np.testing.assert_array_equal(table[name].to_numpy(), frame[name].to_numpy())


def test_the_download_is_converted_as_it_is(frame, tmp_path):
    content = pickled(frame)
    referred = {argument for _, argument, _ in pickletools.genops(content)}
    assert {"pandas.core.indexes.numeric", "Int64Index", "numpy.core.multiarray"} <= referred
    path = tmp_path / "Metadata_PDO_CAF_screening.zip"
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as file:
        file.writestr("Metadata_final_paper", content)
        file.writestr("__MACOSX/._Metadata_final_paper", b"a resource fork")
        file.writestr(".DS_Store", b"a folder's view")
    assert find_pickle(path).member == "Metadata_final_paper"
    assert find_pickle(path).size == len(content)
    read = []
    assert convert_pickle(path, tmp_path / "cells.parquet", True, read.append) == 300
    assert sum(read) == len(content)
    assert_same(tmp_path / "cells.parquet", frame)
    assert sorted(os.listdir(tmp_path)) == ["Metadata_PDO_CAF_screening.zip", "cells.parquet"]


@pytest.mark.parametrize("before_1_3", [True, False])
@pytest.mark.parametrize("protocol", [4, 5])
def test_all_pickles_of_pandas_1_are_read(frame, tmp_path, monkeypatch, protocol, before_1_3):
    # arrays of 300 rows are large here, and the table is written in three parts
    monkeypatch.setattr("pointforms.paper.organoids.pickled_frame._LARGE", 1000)
    monkeypatch.setattr("pointforms.paper.organoids.trusted_pickle._GROUP", 128)
    (tmp_path / "cells").write_bytes(pickled(frame, protocol=protocol, before_1_3=before_1_3))
    assert convert_pickle(tmp_path / "cells", tmp_path / "cells.parquet", trusted=True) == 300
    assert_same(tmp_path / "cells.parquet", frame)


def test_pickles_of_this_pandas_are_read(frame, tmp_path):
    frame.to_pickle(tmp_path / "cells.pkl")
    convert_pickle(tmp_path / "cells.pkl", tmp_path / "cells.parquet", trusted=True)
    assert_same(tmp_path / "cells.parquet", frame)


def test_pickles_are_read_only_if_trusted(frame, tmp_path):
    (tmp_path / "cells").write_bytes(pickled(frame))
    with pytest.raises(ValueError, match="can run code when it is read: --trust-pickle"):
        convert_pickle(tmp_path / "cells", tmp_path / "out.parquet")
    assert os.listdir(tmp_path) == ["cells"]


class Harmful:
    def __reduce__(self):
        return os.mkdir, ("harm",)


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (pickle.dumps(Harmful()), r"refers to (posix|nt)\.mkdir"),
        (
            pickle.dumps(pd.DataFrame({"a": pd.Categorical(["x"])})),
            "refers to pandas.*NDArrayBacked",
        ),
        (pickle.dumps([1, 2]), "it holds a list"),
        (pickle.dumps(pd.DataFrame({"CK18": [1.0]})), "missing: Date"),
        (
            pickle.dumps(pd.DataFrame({"a": np.arange(2).astype("datetime64[s]")})),
            "it refers to pandas|expected numbers",
        ),
        (b"pHH3,RFP\n1,2\n", "no table of cells: it is not a pickle"),
        (pickle.PROTO + b"\x04hello", r"no table of cells: it is damaged \("),
        (b"", "it breaks off"),
    ],
    ids=["code", "categories", "list", "columns", "dates", "text", "damaged", "empty"],
)
def test_other_pickles_are_refused(content, words, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "cells").write_bytes(content)
    with pytest.raises(ValueError, match=words):
        convert_pickle("cells", "out.parquet", trusted=True)
    assert os.listdir(tmp_path) == ["cells"]


def test_half_a_download_is_refused(frame, tmp_path):
    content = pickled(frame)
    (tmp_path / "cells").write_bytes(content[: len(content) // 2])
    with pytest.raises(ValueError, match=r"cells' holds no table of cells"):
        convert_pickle(tmp_path / "cells", tmp_path / "out.parquet", trusted=True)
    archive(tmp_path / "two.zip", a=content, b=content)
    with pytest.raises(ValueError, match=r"two\.zip' has 2 files \(a, b\): expected one"):
        find_pickle(tmp_path / "two.zip")
    archive(tmp_path / "named.zip", Metadata_final_paper=content, readme=b"text")
    assert find_pickle(tmp_path / "named.zip").member == "Metadata_final_paper"
    archive(tmp_path / "none.zip")
    with pytest.raises(ValueError, match="is an empty archive"):
        find_pickle(tmp_path / "none.zip")
    with pytest.raises(FileNotFoundError, match="no file"):
        find_pickle(tmp_path / "nothing.zip")


def test_a_full_disk_is_told_before_the_start(frame, tmp_path, monkeypatch):
    (tmp_path / "cells").write_bytes(pickled(frame))
    usage = type("Usage", (), {"free": 10})
    monkeypatch.setattr("shutil.disk_usage", lambda folder: usage)
    with pytest.raises(ValueError, match="scratch space"):
        convert_pickle(tmp_path / "cells", tmp_path / "out.parquet", trusted=True)


def test_bytes_never_become_python_objects(tmp_path):
    with open(tmp_path / "scratch", "w+b") as file:
        file.write(b"\1" * 64)
        file.flush()
        for content in (b"\1" * 64, ScratchBytes(file, 0)):
            assert PickledArray(content, np.dtype("i8"), (2, 4)).numbers().shape == (2, 4)
            with pytest.raises(ValueError, match="values of type object"):
                PickledArray(content, np.dtype(object), (2, 4)).numbers()
