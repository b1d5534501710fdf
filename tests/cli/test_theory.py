"""`npf theory`."""

from __future__ import annotations

import pytest
import typer
from typer.testing import CliRunner

from pointforms.cli.theory import theory


def test_command_explains_a_bad_folder(tmp_path):
    pytest.importorskip("matplotlib")
    taken = tmp_path / "file"
    taken.write_text("not a folder")
    app = typer.Typer()
    app.command()(theory)
    result = CliRunner().invoke(app, ["--out", str(taken), "--quick"])
    assert result.exit_code == 2
    assert "npf theory:" in result.output
