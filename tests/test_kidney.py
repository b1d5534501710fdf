"""Kidney patients as a task, from small files of the form of the published one."""

from __future__ import annotations

import os

import numpy as np
import pytest
from benchmarks.kidney import main
from tests.helpers.commands import EngineInProcess, ok

import pointforms as pf
from pointforms.bench.manifest import read_manifest
from pointforms.support.files import file_digest
from pointforms.tasks.entries import KIDNEY
from pointforms.tasks.files import read
from pointforms.tasks.kidney import FEATURES, kidney_task

CLASSES = ("<30", "30-60", ">60")


@pytest.fixture(scope="module")
def glomeruli():
    """Columns of 60 patients, of whom every tenth has few glomeruli."""
    pd = pytest.importorskip("pandas")
    rng = np.random.default_rng(0)
    sizes = [3 if i % 10 == 0 else 8 + i % 5 for i in range(60)]
    patient = np.repeat(np.arange(60), sizes)
    points = rng.normal(size=(len(patient), len(FEATURES))).astype(np.float32)
    table = pd.DataFrame(points, columns=FEATURES)
    table.insert(0, "patient", [f"P{i:03d}" for i in patient])
    table.insert(1, "egfr", np.array(CLASSES)[patient % 3])
    table.insert(2, "cluster", rng.integers(0, 9, len(patient)))
    table.insert(3, "age", 40.0 + patient)
    return table


@pytest.fixture
def table(glomeruli, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    glomeruli.to_parquet("glomeruli.parquet")
    return tmp_path / "glomeruli.parquet"


def test_clouds_are_patients_with_enough_glomeruli(table, glomeruli):
    task = kidney_task(table)
    assert (len(task), task.class_names, task.feature_names) == (36, ("<30", ">60"), FEATURES)
    assert task.sizes.min() == 8
    assert len(set(task.groups.tolist())) == 36
    # the first patient, P000, has three glomeruli; P001 is of another class
    own = glomeruli[glomeruli.patient == "P002"]
    np.testing.assert_array_equal(task.clouds[0], own[list(FEATURES)])
    assert task.class_names[task.labels[0]] == ">60"
    assert len(kidney_task(table, smallest=1)) == 40
    three = kidney_task(table, CLASSES)
    assert (len(three), three.class_names) == (54, ("30-60", "<30", ">60"))


def test_five_stratified_folds_that_the_seed_changes(table):
    first, same, other = (kidney_task(table, seed=seed).folds for seed in (10, 10, 11))
    np.testing.assert_array_equal(first, same)
    assert (first != other).any()
    task = kidney_task(table, seed=10)
    counts = [[((first == f) & (task.labels == c)).sum() for c in (0, 1)] for f in range(5)]
    assert np.ptp(counts, axis=0).max() <= 1


@pytest.mark.parametrize("name", ["kidney-2.parquet", "mine.npz", "mine.csv"])
@pytest.mark.parametrize("classes", [("<30", ">60"), CLASSES])
def test_a_task_file_has_the_folds_of_the_seed_it_is_read_with(table, name, classes):
    assert main([str(table), "--out", name, "--classes", *classes]) == 0
    for seed in (0, 10):
        expected, found = kidney_task(table, classes, seed=seed), read(name, seed=seed)
        assert found.class_names == expected.class_names
        for part in ("labels", "groups", "folds"):
            np.testing.assert_array_equal(getattr(found, part), getattr(expected, part))
        for ours, theirs in zip(found.clouds, expected.clouds, strict=True):
            np.testing.assert_allclose(ours, theirs, rtol=1e-6)


def test_models_are_compared_on_the_file_with_several_seeds(table, monkeypatch, capsys):
    monkeypatch.setattr("pointforms.bench.LocalEngine", EngineInProcess)
    monkeypatch.setenv(KIDNEY, str(table))
    assert main([]) == 0
    assert "<30: 18 patients, >60: 18 patients" in capsys.readouterr().out
    table.with_name("mine.toml").write_text(
        "task_seeds = [10, 11]\nfolds = 2\n"
        '[[sweep]]\ntasks = ["kidney-2.parquet"]\nmodels = ["logistic-regression", "svm"]\n'
    )
    sizes = {row.size for row in read_manifest("mine.toml").rows()}
    assert {(size.title, size.is_real) for size in sizes} == {
        ("kidney-2.parquet (seed 10)", True),
        ("kidney-2.parquet (seed 11)", True),
    }
    assert "8 fits trained" in ok("sweep", "mine.toml", "--store", "mine.db")
    printed = ok("table", "mine.db", "--reference", "svm", "--format", "markdown")
    assert "### kidney-2.parquet (seed 11)" in printed
    assert "### Across 1 task\n" in printed


def test_the_published_file_has_other_names_for_its_columns(table, glomeruli):
    anndata = pytest.importorskip("anndata")
    names = {"patient": "sampleID", "egfr": "status", "cluster": "Cell_type", "age": "Age"}
    obs = glomeruli[list(names)].rename(columns=names)
    obs.index = obs.index.astype(str)
    data = anndata.AnnData(glomeruli[list(FEATURES)].to_numpy(), obs=obs)
    data.var_names = list(FEATURES)
    data.write_h5ad(table.with_name("published.h5ad"))
    found, expected = kidney_task(table.with_name("published.h5ad")), kidney_task(table)
    np.testing.assert_array_equal(found.folds, expected.folds)
    for ours, theirs in zip(found.clouds, expected.clouds, strict=True):
        np.testing.assert_array_equal(ours, theirs)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"classes": ("<30", "<60")}, "no class '<60': did you mean"),
        ({"classes": ("<30",)}, "classes=('<30',): expected two or more"),
        ({"smallest": 99}, "smallest=99: no patient of class '<30' has as many"),
    ],
)
def test_mistakes_are_explained(table, options, message):
    with pytest.raises(ValueError) as error:
        kidney_task(table, **options)
    assert message in str(error.value)


def test_the_command_needs_data(table, monkeypatch, capsys):
    monkeypatch.delenv(KIDNEY, raising=False)
    for arguments, message in (([], f"set {KIDNEY}"), (["absent.parquet"], "absent.parquet")):
        with pytest.raises(SystemExit):
            main(arguments)
        assert message in capsys.readouterr().err


@pytest.mark.skipif(KIDNEY not in os.environ, reason=f"{KIDNEY} does not name the data")
def test_the_real_patients():
    task = kidney_task(os.environ[KIDNEY])
    assert np.bincount(task.labels).tolist() == [48, 366]
    assert len(kidney_task(os.environ[KIDNEY], CLASSES)) == 569


def test_the_task_of_the_catalogue_is_read_from_a_file(table, monkeypatch):
    monkeypatch.delenv(KIDNEY, raising=False)
    assert "kidney" not in pf.tasks.names()
    entry = pf.tasks.entry("kidney")
    assert entry.summary() is entry.digest() is None
    with pytest.raises(FileNotFoundError, match=f"download Kidney_IgAN_G.h5ad .* set {KIDNEY}"):
        pf.tasks.load("kidney")
    named, expected = pf.tasks.load("kidney", 3, path=table), kidney_task(table, seed=3)
    np.testing.assert_array_equal(named.folds, expected.folds)
    assert (named.name, named.description) == ("kidney", entry.description)
    monkeypatch.setenv(KIDNEY, str(table))
    assert len(pf.tasks.find("kidney")) == len(expected) == 36
    assert entry.digest() == file_digest(table)
    assert entry.summary()["task"] == "kidney"
    with pytest.raises(ValueError, match="clouds=20: kidney has a fixed size"):
        pf.tasks.load("kidney", clouds=20)
    with pytest.raises(ValueError, match=r"path='a\.csv': colocated is not read from a file"):
        pf.tasks.load("colocated", path="a.csv")
