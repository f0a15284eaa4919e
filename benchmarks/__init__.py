"""Benchmarks: `purser bench NAME`. Each has a correctness gate. Compare ratios within one run: machines are noisy.

A benchmark is a module with `run(data: Path | None) -> Outcome`; `data` is a folder as described in
`purser.benchmarks.data`. `run` may also take `seconds` or `streams`, to shorten or vary the benchmark.
"""

NAMES = ("context", "edge", "http", "ledger", "memory", "redact", "tokens", "windows")
"""Names of all benchmarks."""
