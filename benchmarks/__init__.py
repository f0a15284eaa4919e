"""Measured claims: `purser bench NAME`. Each has a gate of correctness; ratios of one run count, machines are noisy.

A benchmark is a module with `run(data: Path | None) -> Outcome`; `data` is a folder as `purser.benchmarks.data` reads
it. One that can be shortened or varied takes `seconds` or `streams` as well.
"""

NAMES = ("context", "edge", "http", "ledger", "memory", "redact", "tokens", "windows")
"""All benchmarks."""
