"""Small tools for every package: files, tables, statistics, progress, error messages."""
