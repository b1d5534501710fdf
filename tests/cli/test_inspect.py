"""`npf inspect`."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from tests.helpers.commands import npf, ok, refused

from pointforms.clouds import Clouds
from pointforms.io import save_npz


def test_inspect_lists_clouds(tmp_path, rng):
    t = rng.uniform(0, 2 * np.pi, 400)
    frame = pd.DataFrame(
        {"ring": ["left", "right"] * 200, "x": np.cos(t), "y": np.sin(t), "z": 0.0}
    )
    frame.to_parquet(tmp_path / "rings.parquet")
    printed = ok("inspect", tmp_path / "rings.parquet", "--cloud", "ring")
    for text in ("left", "right", "200", "2 clouds of 200 points in R^3", "3: x, y, z"):
        assert text in printed
    chosen = ok("inspect", tmp_path / "rings.parquet", "--cloud", "ring", "--features", "x, y")
    assert "R^2" in chosen
    few = ok("inspect", tmp_path / "rings.parquet", "--cloud", "ring", "--most", "1")
    assert "right" not in few
    assert "… and 1 more" in few
    frame.assign(ring=["left"] * 399 + ["one"]).to_parquet(tmp_path / "few.parquet")
    few = ok("inspect", tmp_path / "few.parquet", "--cloud", "ring")
    assert "1 cloud dropped: fewer than 2 points (one)" in few


def test_clouds_are_measured_in_the_units_of_the_estimators(tmp_path, rng):
    # a thin tube along x: a curve in raw units, a solid body when every feature counts the same
    points = rng.normal(size=(300, 3)) * [1000.0, 1.0, 1.0]
    save_npz(Clouds.from_list([points]), tmp_path / "tube.npz")
    save_npz(Clouds.from_list([points / points.std(0)]), tmp_path / "scaled.npz")

    def row(file, *options):
        printed = ok("inspect", tmp_path / file, *options)
        return printed.splitlines()[-1].split(), printed

    scaled, printed = row("tube.npz")
    assert "standard: every feature is divided by its standard deviation" in printed
    assert scaled == row("scaled.npz", "--scale", "none")[0]
    raw, printed = row("tube.npz", "--scale", "none")
    assert raw != scaled
    assert "none: features have the units of the file" in printed
    assert "'none'" in npf("inspect", tmp_path / "tube.npz", "--scale", "raw").output


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["absent.parquet", "--cloud", "ring"], "no file 'absent.parquet'"),
        (["table.csv"], "--cloud NAME"),
        (["absent.npz"], "no file 'absent.npz'"),
        (["clouds.npz", "--neighbors", "many"], "neighbors='many'"),
    ],
)
def test_mistakes_are_explained(arguments, message, tmp_path, monkeypatch, rng):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "table.csv").write_text("ring,x\na,1\na,2\n")
    save_npz(Clouds.from_list([rng.normal(size=(20, 2))]), "clouds.npz")
    assert message in refused("inspect", *arguments)


def test_ids_are_text_not_markup(tmp_path, rng):
    clouds = Clouds.from_list([rng.normal(size=(20, 2)) for _ in range(2)], ids=["[a]", "b[/x]"])
    save_npz(clouds, tmp_path / "odd.npz")
    printed = ok("inspect", tmp_path / "odd.npz")
    assert "[a]" in printed
    assert "b[/x]" in printed
