"""`npf figures`."""

from __future__ import annotations

from typer.testing import CliRunner

from pointforms.cli.app import app

run = CliRunner().invoke


def test_the_command_lists_draws_and_refuses(tmp_path, monkeypatch):
    monkeypatch.setenv("COLUMNS", "200")
    listed = run(app, ["figures", "--list"])
    assert listed.exit_code == 0
    for name in ("gram-field", "restricted-forms", "density", "circles-vs-lines", "rna-regimes"):
        assert name in listed.stdout
    out = tmp_path / "out"
    made = run(app, ["figures", "gram-field", "--quick", "--out", str(out), "--format", "pdf"])
    assert made.exit_code == 0, made.output
    assert (out / "gram-field.pdf").read_bytes().startswith(b"%PDF")
    assert str(out / "gram-field.pdf") in made.stdout
    for arguments, message in (
        (["gram-field", "circle-vs-lines"], "did you mean 'circles-vs-lines'?"),
        (["density", "--format", "gif"], "expected .pdf, .png, .svg"),
    ):
        refused = run(app, ["figures", *arguments, "--out", str(tmp_path / "no")])
        assert refused.exit_code == 2
        assert message in refused.output
        assert not (tmp_path / "no").exists()
