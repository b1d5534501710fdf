"""Files that are whole or not there, and settings that are left as they were."""

from __future__ import annotations

import os

import matplotlib
import numpy as np
import pytest
from matplotlib._pylab_helpers import Gcf
from matplotlib.figure import Figure

from pointforms import plot
from pointforms.plot import style


@pytest.mark.parametrize(
    ("suffix", "start"), [(".pdf", b"%PDF"), (".svg", b"<?xml"), (".png", b"\x89PNG")]
)
def test_pictures_are_written_in_every_format_and_the_same_each_time(tmp_path, suffix, start, rng):
    C = rng.normal(size=(10, 2, 2))
    for name in ("one", "two"):
        plot.comparison_pca(C, path=tmp_path / "new" / f"{name}{suffix}")
    one, two = ((tmp_path / "new" / f"{name}{suffix}").read_bytes() for name in ("one", "two"))
    assert one.startswith(start)
    assert one == two
    assert len(list((tmp_path / "new").iterdir())) == 2


def test_what_fails_leaves_what_was_there(tmp_path, monkeypatch):
    figure = Figure()
    style.save(figure, tmp_path / "a.png")
    before = (tmp_path / "a.png").read_bytes()
    real = Figure.savefig

    def broken(self, target, *args, **kwargs):
        real(self, target, *args, **kwargs)
        if str(target).endswith(".pdf"):
            raise OSError("the disk is full")

    monkeypatch.setattr(Figure, "savefig", broken)
    figure.text(0.5, 0.5, "other")
    with pytest.raises(OSError, match="full"):
        style.save(figure, tmp_path / "a.png", tmp_path / "a.pdf")
    assert (tmp_path / "a.png").read_bytes() == before
    assert os.listdir(tmp_path) == ["a.png"]


def test_a_picture_needs_a_pictures_ending(tmp_path):
    with pytest.raises(ValueError, match=r"expected \.pdf, \.png, \.svg"):
        plot.comparison_pca(np.zeros((3, 2, 2)), path=tmp_path / "a.gif")
    assert not list(tmp_path.iterdir())


def test_drawing_changes_no_settings_and_leaves_no_figure_open(rng):
    def settings():
        return {k: matplotlib.rcParams[k] for k in matplotlib.rcParams if k != "backend"}

    before, open_before = settings(), Gcf.get_all_fig_managers()
    plot.comparison_pca(rng.normal(size=(5, 2, 2)))
    with pytest.raises(ValueError):
        plot.comparison_pca(np.zeros((1, 2, 2)))
    assert settings() == before
    assert Gcf.get_all_fig_managers() == open_before
