"""Small tools that every room uses: files, progress, tables, statistics."""
