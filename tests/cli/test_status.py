"""`npf status`."""

from __future__ import annotations

import re
import subprocess
import sys

from tests.helpers.commands import ok, refused

from pointforms.bench.store import Store


def test_status_says_what_there_is(filled):
    printed = ok("status", filled)
    assert "4 fits" in printed
    assert re.search(r"1 +Small +ended +local", printed)
    assert "being trained: 0 fits" in printed
    assert "npf-tri-1 {'epochs': 1} fold/seed 1/0: AUROC" in printed
    assert "AUROC" not in ok("status", filled, "--log", "0")


def test_status_does_not_wait_for_heavy_packages(filled):
    code = (
        "import sys\n"
        "from typer.testing import CliRunner\n"
        "from pointforms.cli.app import app\n"
        "result = CliRunner().invoke(app, ['status', sys.argv[1]])\n"
        "assert '4 fits' in result.output, result.output\n"
        "assert not {'torch', 'sklearn', 'scipy', 'pandas'} & set(sys.modules)\n"
    )
    subprocess.run([sys.executable, "-c", code, str(filled)], check=True)


def test_the_log_of_a_run_that_was_killed_while_writing_is_read(folder):
    Store("results.db").close()
    (folder / "results.db.log").write_bytes("2026-01-01 é".encode()[:-1])
    assert "0 fits" in ok("status", "results.db")


def test_an_absent_store_is_explained(folder):
    assert "npf status: no store 'absent.db'" in refused("status", "absent.db")
    assert not list(folder.iterdir())
