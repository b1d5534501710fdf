"""The examples run, and print and draw what they promise."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

EXAMPLES = Path(__file__).parents[1] / "examples"


def run(name: str, out: Path) -> str:
    result = subprocess.run(
        [sys.executable, str(EXAMPLES / f"{name}.py"), "--out", str(out)],
        cwd=out, capture_output=True, text=True, timeout=600,
        env=os.environ | {"OMP_NUM_THREADS": "1", "PYTHONIOENCODING": "utf-8"},
    )  # fmt: skip
    assert result.returncode == 0, result.stderr
    return result.stdout


def is_picture(path: Path) -> bool:
    return path.read_bytes().startswith(b"\x89PNG") and path.stat().st_size > 10_000


@pytest.mark.slow
def test_circles_against_lines(tmp_path):
    printed = run("circles_against_lines", tmp_path)
    auroc = re.search(r"AUROC over 3 grouped folds: ([\d.]+)", printed)
    assert auroc
    assert float(auroc[1]) > 0.9  # positions alone give 0.73
    spans = [float(x) for x in re.findall(r"span of the learned forms: ([\d.]+)", printed)]
    assert len(spans) == 2
    assert min(spans) > 0.8
    assert is_picture(tmp_path / "circles-vs-lines-forms.png")


@pytest.mark.slow
def test_patients_from_a_table(tmp_path):
    printed = run("patients_from_a_table", tmp_path)
    assert "SIMULATED" in printed
    assert "80 samples of 40 patients" in printed
    stage, response = printed.split("response (SIMULATED)")
    means = [
        {name: float(x) for name, x in re.findall(r"  (\S.*?)\s+AUROC ([\d.]+)", part)}
        for part in (stage, response)
    ]
    # both models find the shifted mean; only the point-forms find what is in the geometry alone
    assert min(means[0].values()) > 0.7
    assert means[1]["point-forms"] > 0.85
    assert means[1]["logistic regression"] < 0.75
    assert (tmp_path / "simulated-cells.parquet").read_bytes().startswith(b"PAR1")


@pytest.mark.slow
def test_which_features(tmp_path):
    printed = run("which_features", tmp_path)
    found = re.search(r"^found \(p < 0.05\): (.*)$", printed, re.M)[1]
    assert set(found.split(", ")) == {"g3", "g7", "g3 × g7"}
    assert "most different basis form: g3 ∧ g7" in printed
    assert is_picture(tmp_path / "which-features.png")


@pytest.mark.slow
def test_compare_with_patpy(tmp_path):
    pytest.importorskip("patpy")
    printed = run("compare_with_patpy", tmp_path)
    assert "SIMULATED" in printed
    lines = re.findall(r"^(\w+) +([\d. ]+)$", printed, re.M)
    scores = {name: [float(x) for x in values.split()] for name, values in lines}
    # pseudobulk sees the mean, composition the types; only the point-forms see the shape as well
    assert scores["Pseudobulk"][1] > 0.9
    assert scores["CellGroupComposition"][0] > 0.9
    assert scores["PointFormRepresentation"][2] > 0.9
    assert max(scores["Pseudobulk"][2], scores["CellGroupComposition"][2]) < 0.6
    assert is_picture(tmp_path / "patients-by-forms.png")


@pytest.mark.parametrize("path", sorted(EXAMPLES.glob("*.py")), ids=lambda p: p.stem)
def test_examples_are_short_and_describe_their_options(path):
    assert len(path.read_text("utf-8").splitlines()) < 60
    result = subprocess.run(
        [sys.executable, str(path), "--help"], capture_output=True, text=True, check=True
    )
    assert "--out" in result.stdout
