"""Measured claims, each runnable: `python -m benchmarks.NAME`. Ratios of one run count; machines are noisy."""
