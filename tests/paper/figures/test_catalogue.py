"""The figures of the paper by name."""

from __future__ import annotations

import numpy as np
import pytest
from typer.testing import CliRunner

import pointforms as pf
from pointforms.cli.app import app
from pointforms.paper.figures import catalogue as paper
from pointforms.tasks import rna

run = CliRunner().invoke


def test_the_regimes_that_are_drawn_are_those_of_the_task():
    task = pf.tasks.load("rna-velocity-quick", seed=3)
    base, other = rna.regimes(12, np.random.default_rng([3, 2]))
    states = np.concatenate([c for c, y in zip(task.clouds, task.labels, strict=True) if y == 0])
    found = np.exp(np.log(states.clip(1e-3)).mean(0))
    expected = np.concatenate(base.steady_state())
    assert np.corrcoef(np.log(found), np.log(expected))[0, 1] > 0.95
    assert 0 < (base.alpha != other.alpha).sum() < 6


@pytest.mark.slow
def test_every_figure_of_the_paper_is_drawn(tmp_path):
    result = run(app, ["figures", "--quick", "--out", str(tmp_path)])
    assert result.exit_code == 0, result.output
    assert sorted(p.name for p in tmp_path.iterdir()) == sorted(f"{n}.svg" for n in paper.FIGURES)
