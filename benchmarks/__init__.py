"""Benchmarks of accuracy, speed, memory and scaling; each prints a table of figures with bounds."""
