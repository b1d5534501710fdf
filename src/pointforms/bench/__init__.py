"""Comparisons of models: a manifest of rows, fits that survive in a store, tables of them."""
