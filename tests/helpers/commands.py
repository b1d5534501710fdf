"""Running `npf` inside a test."""

from __future__ import annotations

from typing import Any

from typer.testing import CliRunner

from pointforms.bench.fitting import failed, fit_unit, prepare
from pointforms.cli.app import app

#: Two models, two folds, one epoch.
MANIFEST = """
title = "Small"
folds = 2
[[sweep]]
tasks = ["circles-vs-lines"]
models = ["npf-tri-1", "mlp"]
clouds = 40
points = 24
[sweep.options]
epochs = 1
"""


def npf(*arguments: object) -> Any:
    """Run a command and return its exit code and output."""
    return CliRunner().invoke(app, [str(argument) for argument in arguments])


def ok(*arguments: object) -> str:
    """Run a command that must succeed, and return what it printed."""
    result = npf(*arguments)
    assert result.exit_code == 0, result.output
    return str(result.stdout)


def refused(*arguments: object) -> str:
    """Run a command that must fail with one line, and return that line."""
    result = npf(*arguments)
    assert result.exit_code == 2, result.output
    assert "Traceback" not in result.output
    return str(result.stderr)


class EngineInProcess:
    """The local engine without other processes; fits of the models in `broken` fail."""

    name = "local"
    broken: tuple[str, ...] = ()

    def __init__(self, workers, devices=()):
        self.workers = len(devices) or workers

    def run(self, take):
        while (unit := take()) is not None:
            if unit.row.model in self.broken:
                yield unit, failed(unit, "Traceback:\nOSError: [broken] pieces")
            else:
                yield unit, fit_unit(unit, prepare(unit))
