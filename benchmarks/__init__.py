"""Benchmarks: scripts that measure, print a table and leave their figures in `results/`."""
