"""Benchmarks of accuracy, speed and scaling; each prints a table of figures with bounds."""
