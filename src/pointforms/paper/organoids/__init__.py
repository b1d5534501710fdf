"""The organoid pipeline: from a table of millions of cells to labelled tasks."""
