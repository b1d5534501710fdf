"""The `npf` command: one file per command."""
