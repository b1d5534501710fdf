from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from typer.testing import CliRunner

import pointforms
from pointforms.cli.app import app
from pointforms.clouds import Clouds
from pointforms.io import save_npz

run = CliRunner().invoke


def test_version_and_help():
    assert pointforms.__version__ in run(app, ["--version"]).stdout
    assert "inspect" in run(app, ["--help"]).stdout


@pytest.mark.slow  # it trains and explains: more than a minute
def test_demo_prints_and_draws(tmp_path, monkeypatch):
    monkeypatch.setenv("COLUMNS", "200")
    result = run(app, ["demo", "--out", str(tmp_path / "out")])
    assert result.exit_code == 0, result.output
    assert "dimension (estimated)  2" in result.stdout
    assert "AUROC" in result.stdout
    for name in ("torus.png", "circles-vs-lines.png"):
        picture = tmp_path / "out" / name
        assert str(picture) in result.stdout
        assert picture.read_bytes().startswith(b"\x89PNG")
    page = tmp_path / "out" / "report.html"
    assert str(page) in result.stdout
    assert "NPF (selected, of 2)" in page.read_text("utf-8")


def test_inspect_lists_clouds(tmp_path, rng):
    t = rng.uniform(0, 2 * np.pi, 400)
    frame = pd.DataFrame(
        {"ring": ["left", "right"] * 200, "x": np.cos(t), "y": np.sin(t), "z": 0.0}
    )
    frame.to_parquet(tmp_path / "rings.parquet")
    result = run(app, ["inspect", str(tmp_path / "rings.parquet"), "--cloud", "ring"])
    assert result.exit_code == 0, result.output
    for text in ("left", "right", "200", "2 clouds of 200 points in R^3", "features: x, y, z"):
        assert text in result.stdout
    chosen = run(
        app,
        ["inspect", str(tmp_path / "rings.parquet"), "--cloud", "ring", "--features", "x, y"],
    )
    assert "R^2" in chosen.stdout
    frame.assign(ring=["left"] * 399 + ["one"]).to_parquet(tmp_path / "few.parquet")
    few = run(app, ["inspect", str(tmp_path / "few.parquet"), "--cloud", "ring"])
    assert few.exit_code == 0
    assert "1 clouds have fewer than 2 points" in few.stdout


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["absent.parquet", "--cloud", "ring"], "no file 'absent.parquet'"),
        (["absent.parquet"], "--cloud NAME"),
        (["absent.npz"], "no file 'absent.npz'"),
        (["clouds.npz", "--neighbors", "many"], "neighbors='many'"),
    ],
)
def test_inspect_explains_itself(arguments, message, tmp_path, monkeypatch, rng):
    monkeypatch.chdir(tmp_path)
    save_npz(Clouds.from_list([rng.normal(size=(20, 2))]), "clouds.npz")
    result = run(app, ["inspect", *arguments])
    assert result.exit_code == 2
    assert message in result.stderr
    assert "Traceback" not in result.output


def test_ids_are_text_not_markup(tmp_path, rng):
    clouds = Clouds.from_list([rng.normal(size=(20, 2)) for _ in range(2)], ids=["[a]", "b[/x]"])
    save_npz(clouds, tmp_path / "odd.npz")
    result = run(app, ["inspect", str(tmp_path / "odd.npz")])
    assert result.exit_code == 0, result.output
    assert "[a]" in result.stdout
    assert "b[/x]" in result.stdout


def test_demo_into_a_file_is_explained(tmp_path):
    (tmp_path / "file").write_text("")
    result = run(app, ["demo", "--out", str(tmp_path / "file")])
    assert result.exit_code == 2
    assert "npf demo:" in result.stderr


def test_installed_command(tmp_path):
    npf = Path(sys.executable).with_name("npf")
    result = subprocess.run([npf, "--version"], capture_output=True, text=True, check=True)
    assert result.stdout.strip() == f"pointforms {pointforms.__version__}"


def test_importing_changes_no_threads():
    code = (
        "import torch; before = torch.get_num_threads(); import pointforms; "
        "assert torch.get_num_threads() == before; import sys; "
        "assert not {'matplotlib', 'anndata', 'faiss'} & set(sys.modules)"
    )
    subprocess.run([sys.executable, "-c", code], check=True, env=os.environ | {"PYTHONPATH": ""})


def test_public_names():
    contract = {
        "PAPER_SETTINGS", "carre_du_champ", "comparison_matrix", "gram_field", "gram_fields",
        "inner", "inner_global", "laplacian", "PointFormClassifier", "PointFormRegressor",
        "PointFormTransformer", "load", "tasks",
    }  # fmt: skip
    assert contract <= set(pointforms.__all__)
    for name in pointforms.__all__:
        assert hasattr(pointforms, name)


def test_tasks_are_listed_and_shown():
    listed = run(app, ["tasks"])
    assert listed.exit_code == 0
    for name in pointforms.tasks.names():
        assert name in listed.output
    shown = run(app, ["tasks", "show", "density-shift", "--clouds", "40"])
    assert "40 of 256 points" in shown.output
    assert "nuisance" in shown.output


def test_a_task_is_written_shown_and_drawn_from_its_file(tmp_path):
    table = tmp_path / "quick.parquet"
    sizes = ["--clouds", "40", "--points", "8"]
    written = run(app, ["tasks", "write", "rna-velocity-quick", str(table), *sizes])
    assert written.exit_code == 0, written.output
    shown = run(app, ["tasks", "show", str(table)])
    assert "base (20), perturbed (20)" in shown.output
    drawn = run(app, ["tasks", "draw", str(table), "colocated", "--out", str(tmp_path / "sheets")])
    assert drawn.exit_code == 0, drawn.output
    assert sorted(p.name for p in (tmp_path / "sheets").iterdir()) == ["colocated.png", "quick.png"]
    assert all(p.stat().st_size > 10_000 for p in (tmp_path / "sheets").iterdir())


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["show", "squares"], "no task 'squares': expected one of 'circles-vs-lines'"),
        (["show", "absent.parquet"], "no file 'absent.parquet'"),
        (["show", "absent.parquet", "--clouds", "9"], "not for files"),
        (["write", "colocated", "out.txt"], "'out.txt': expected"),
    ],
)
def test_wrong_tasks_are_explained(arguments, message):
    result = run(app, ["tasks", *arguments])
    assert result.exit_code == 2
    assert message in result.output


def test_models_are_listed_with_their_parameters():
    listed = run(app, ["models", "--features", "45", "--classes", "7"])
    assert listed.exit_code == 0, listed.output
    for shown in ("npf-tri-1", "GraphTransformer", "173 063", "23 815", "logistic-regression"):
        assert shown in listed.output
