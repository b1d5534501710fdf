"""Fits as CSV: there and back, whole or not at all, and mistakes with their line."""

from __future__ import annotations

import os
from math import isnan

import pytest

from pointforms.bench import fits_csv
from pointforms.bench.fits_csv import read_csv, write_csv
from pointforms.bench.records import Record, Row, Unit
from pointforms.bench.running import run
from pointforms.bench.store import Store

ROW = Row("circles-vs-lines", "npf-tri-1", {"hidden": [8, 8], "learning_rate": 1e-3}, clouds=40)
PLAIN = Row('data/odd, "name".csv', "svm", task_seed=3, content="0123456789012345")
FITS = [
    Record(
        ROW,
        0,
        1,
        0.123456789,
        0.5,
        1e-7,
        2.0,
        32,
        8,
        1234,
        0.25,
        1 << 33,
        12,
        version="1.0",
        brier=0.375,
    ),
    Record(PLAIN, 4, 2**31 - 1, auroc=1.0, accuracy=1 / 3),
    Record(PLAIN, 1, 0),  # a test fold of one class has no AUROC
]
HEADER = "task,model,options,fold,seed,auroc\n"
LONG = "task,model,fold,seed,auroc,seconds,test_size,log_loss,clouds\na,mlp,0,0,,{},{},{},{}\n"


@pytest.fixture
def path(tmp_path):
    return tmp_path / "fits.csv"


def numbers(record):
    names = ("auroc", "accuracy", "log_loss", "brier", "validation_loss", "seconds")
    return [getattr(record, name) for name in names]


def test_fits_come_back(path):
    assert write_csv(iter(FITS), path) == 3
    found = read_csv(path)
    for ours, theirs in zip(found, FITS, strict=True):
        assert ours.row == theirs.row
        for name in ("fold", "seed", "train_size", "test_size", "parameters", "memory", "epochs"):
            assert getattr(ours, name) == getattr(theirs, name), name
        assert numbers(ours) == pytest.approx(numbers(theirs), rel=1e-5, nan_ok=True)
        assert ours.version == theirs.version
        assert ours.probabilities is None
    assert isnan(found[2].auroc)
    write_csv(found, path.with_name("again.csv"))
    assert path.read_bytes() == path.with_name("again.csv").read_bytes()


def test_failed_fits_stay_at_home(path):
    assert write_csv([FITS[0], Record(ROW, 0, 0, error="broken")], path) == 1
    assert [(r.fold, r.seed) for r in read_csv(path)] == [(0, 1)]
    assert write_csv([], path) == 0
    assert read_csv(path) == []


def test_a_file_appears_whole_or_not_at_all(path):
    write_csv(FITS[:1], path)
    before = path.read_bytes()

    def breaking():
        yield FITS[1]
        assert path.read_bytes() == before  # while it is written
        raise RuntimeError

    with pytest.raises(RuntimeError):
        write_csv(breaking(), path)
    assert path.read_bytes() == before
    assert os.listdir(path.parent) == ["fits.csv"]


def test_columns_may_be_fewer_or_more_and_spreadsheets_leave_a_mark(path):
    path.write_text("\ufeffseed,note,task,auroc,model,fold\r\n1,x,colocated,0.9,mlp,0\r\n", "utf-8")
    (found,) = read_csv(path)
    assert (found.row, found.fold, found.seed, found.auroc) == (Row("colocated", "mlp"), 0, 1, 0.9)


def test_a_file_of_version_0_2_0_has_no_brier_score(path):
    """Its header as that version wrote it."""
    path.write_text(
        "task,model,options,clouds,points,task_seed,content,settings,fold,seed,train_size,"
        "test_size,parameters,memory,epochs,auroc,accuracy,log_loss,validation_loss,seconds,"
        "version\ncolocated,mlp,,40,,0,,0123abcd,1,0,32,8,,,,0.75,0.5,0.625,0.5,1.5,0.2.0\n"
    )
    (found,) = read_csv(path)
    assert (found.auroc, found.log_loss, found.seconds) == (0.75, 0.625, 1.5)
    assert isnan(found.brier)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "no column 'task'"),
        ("task,model,seed,auroc\n", "no column 'fold'"),
        (HEADER + "a,mlp,,0,0,0.5\na,mlp,,0,one,0.5\n", "line 3: seed is 'one': expected a whole"),
        (HEADER + "a,mlp,,0.5,0,0.5\n", "line 2: fold is '0.5': expected a whole number"),
        (HEADER + "a,mlp,,0,0,high\n", "line 2: auroc is 'high': expected a number"),
        (HEADER + "a,mlp,,0,0,nan\n", "line 2: auroc is 'nan': expected a number, or nothing"),
        (HEADER + "a,mlp,,0,0,-5\n", "line 2: auroc=-5.0: expected a finite number from 0 to 1"),
        (HEADER + "a,mlp,,0,0,1e999\n", "line 2: auroc=inf: expected a finite number from 0 to 1"),
        (HEADER + "a,mlp,,99,0,0.5\n", "line 2: fold=99: expected a whole number from 0 to 4"),
        (HEADER + "a,mlp,,-1,0,0.5\n", "line 2: fold=-1: expected"),
        (HEADER + "a,mlp,,0,-3,0.5\n", "line 2: seed=-3: expected a whole number from 0 to 2147"),
        (HEADER + "a,mlp,,0,0,0.5\n" * 2, "line 3: fold 0, seed 0 occurs twice"),
        (HEADER + "a,mlp,,0,0,0.5\na,mlp,,1,0,2\n", "line 3: auroc=2.0: expected"),
        (LONG.format("-1", 0, "", ""), "line 2: seconds=-1.0: expected a finite number of at"),
        (LONG.format("inf", 0, "", ""), "line 2: seconds=inf: expected a finite number"),
        (LONG.format("", -4, "", ""), "line 2: test_size=-4: expected a whole number of at least"),
        (LONG.format("", 2**63, "", ""), "line 2: test_size=9223372036854775808: expected"),
        (LONG.format("", 0, "-1", ""), "line 2: log_loss=-1.0: expected a finite number of at"),
        (LONG.format("", 0, "", "0"), "line 2: clouds=0: expected a whole number of at least 1"),
        (HEADER + "a,mlp,,,0,0.5\n", "line 2: no fold"),
        (HEADER + ",mlp,,0,0,0.5\n", "line 2: no task"),
        (HEADER + "a,mlp,{epochs: 3},0,0,0.5\n", "line 2: options are '{epochs: 3}': not JSON"),
        (HEADER + f"a,mlp,{'[' * 100_000},0,0,0.5\n", "line 2: options are '[[[["),
        (HEADER + "a,mlp,[3],0,0,0.5\n", "line 2: options are '[3]': expected a JSON object"),
        (HEADER + 'a,mlp,"{""alpha"":NaN}",0,0,0.5\n', "line 2: options are"),
        (HEADER + "a,mlp,,0,0,0.5\na,mlp,,1", "line 3: expected 6 fields"),
        (HEADER + "a,mlp,,0,0,0.5,7\n", "line 2: expected 6 fields"),
        (HEADER + 'a,mlp,,0,0,0.5\na,mlp,"{""epochs', "line 3: not CSV"),
        (HEADER + 'a,mlp,"{}"x,0,0,0.5\n', "line 2: not CSV"),
    ],
)
def test_mistakes_have_their_line(path, text, message):
    path.write_text(text, "utf-8")
    with pytest.raises(ValueError) as error:
        read_csv(path)
    assert message in str(error.value)
    assert str(error.value).startswith(str(path))


@pytest.mark.parametrize("content", [b"\x89PNG\r\n\x1a\n\xff\xfe", b"\0" * 100, bytes(range(128))])
def test_what_is_no_csv_is_refused(path, content):
    path.write_bytes(content)
    with pytest.raises(ValueError) as error:
        read_csv(path)
    assert str(error.value).startswith(str(path))


def test_after_an_import_nothing_is_left_to_do(path, tmp_path):
    units = [Unit(ROW, ((0, 0), (0, 1))), Unit(PLAIN, ((1, 0),))]
    fits = [Record(unit.row, *fit, auroc=0.5) for unit in units for fit in unit.fits]
    write_csv(fits, path)

    class Engine:
        name, workers = "here", 1

        def run(self, take):
            assert take() is None
            yield from ()

    with Store(tmp_path / "results.db") as store:
        assert store.finish(None, read_csv(path)) == 3
        assert store.finish(None, read_csv(path)) == 0
        outcome = run(units, store, Engine())
        assert (outcome.trained, outcome.already_stored) == (0, 3)


def test_every_field_but_predictions_and_errors_is_a_column():
    known = {*Record.__dataclass_fields__, *Row.__dataclass_fields__} - {"row"}
    assert set(fits_csv._COLUMNS) == known - {"probabilities", "error"}
