"""`python -m pointforms` is the `npf` command."""

from pointforms.cli.app import app

app()
