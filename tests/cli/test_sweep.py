"""`npf sweep`."""

from __future__ import annotations

import os

import pytest
from tests.helpers.commands import MANIFEST, EngineInProcess, npf, ok, refused


def test_sweep_trains_once_and_prints_a_table(folder):
    (folder / "small.toml").write_text(MANIFEST)
    first = ok("sweep", "small.toml")
    assert "4 fits trained" in first
    assert "0 failed, 0 already in the store" in first
    assert str(folder / "results.db") in first
    for shown in ("circles-vs-lines", "NPF (selected)", "MLP"):
        assert shown in first
    assert "0 fits trained" in ok("sweep", "small.toml", "--workers", "2", "--devices", "cpu,cpu")
    assert sorted(os.listdir()) == ["results.db", "results.db.log", "small.toml"]


def test_failed_fits_are_reported_and_tried_again(folder, monkeypatch):
    (folder / "small.toml").write_text(MANIFEST)
    with monkeypatch.context() as patch:
        patch.setattr(EngineInProcess, "broken", ("mlp",))
        result = npf("sweep", "small.toml")
    assert result.exit_code == 1
    assert "4 fits trained" in result.stdout
    assert "2 failed" in result.stdout
    said = (
        "2 fits failed (2 of mlp on circles-vs-lines (40 clouds, 24 points)), the first with "
        "OSError: [broken] pieces; `--retry-failed` tries them again, "
        "`npf status results.db --errors` shows the errors"
    )
    assert result.stderr.splitlines()[-1] == said
    assert "Traceback" not in result.output
    status = ok("status", "results.db")
    assert "failed 2 times: OSError: [broken] pieces" in status
    assert "--retry-failed" in status
    assert "failed 2 times: Traceback:\nOSError" in ok("status", "results.db", "--errors")
    again = npf("sweep", "small.toml")  # nothing to do, but not without a word
    assert (again.exit_code, again.stderr.splitlines()[-1]) == (1, said)
    assert "0 fits trained" in again.stdout
    assert "2 fits trained" in ok("sweep", "small.toml", "--retry-failed")
    assert "0 fits trained" in ok("sweep", "small.toml", "--retry")  # the name in version 0.1.0


def test_fits_of_another_version_are_announced(folder, monkeypatch):
    (folder / "small.toml").write_text(MANIFEST)
    with monkeypatch.context() as patch:
        patch.setattr("pointforms.bench.fitting.__version__", "0.1.0")
        ok("sweep", "small.toml")
    assert "4 of these fits come from version 0.1.0: this version" in ok("sweep", "small.toml")


def test_failed_fits_of_other_rows_are_not_of_this_sweep(folder, monkeypatch):
    (folder / "small.toml").write_text(MANIFEST)
    monkeypatch.setattr(EngineInProcess, "broken", ("mlp",))
    assert npf("sweep", "small.toml").exit_code == 1
    (folder / "small.toml").write_text(MANIFEST.replace('"npf-tri-1", "mlp"', '"npf-tri-1"'))
    assert "0 fits trained" in ok("sweep", "small.toml")


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("npf-tri-1", "npf-try-1", ": sweep[0].models[0]: no model 'npf-try-1': did you mean 'npf"),
        ("vs-lines", "vs-line", ": sweep[0].tasks[0]: no task 'circles-vs-line': did you mean"),
        ("epochs = 1", "epoch = 1", ": sweep[0].options.epoch: npf-tri-1 has no option 'epoch': "),
        ("epochs = 1", "epochs = 'many'", ': sweep[0].options.epochs: epochs = "many": expected a'),
        ("folds = 2", "fold = 2", ": fold: not a valid key: did you mean 'folds'?"),
        ("folds = 2", "folds = ", ", line 3: not TOML"),
    ],
)
@pytest.mark.parametrize("name", ["sweep", "plan"])
def test_a_wrong_manifest_is_explained_and_makes_no_store(folder, name, old, new, message):
    (folder / "small.toml").write_text(MANIFEST.replace(old, new))
    assert f"npf {name}: small.toml{message}" in refused(name, "small.toml")
    assert os.listdir() == ["small.toml"]


@pytest.mark.usefixtures("folder")
def test_an_unknown_manifest_is_explained():
    message = refused("sweep", "synthetik")
    assert "npf sweep: no manifest 'synthetik': did you mean 'synthetic'?" in message
