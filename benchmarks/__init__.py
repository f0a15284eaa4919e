"""Benchmarks: `purser bench NAME`. Each has a correctness gate. Compare ratios within one run: machines are noisy.

A benchmark is a module with `run(data: Path | None) -> Outcome`; `data` is a folder as described in
`purser.benchmarks.data`. `run` may also take `seconds`, `streams` or `model`, to shorten or vary the benchmark.
"""

NAMES = (
    "context", "edge", "gate", "holds", "http", "ledger", "memory", "proxy", "redact", "scale", "summaries", "tasks",
    "tokens", "turn", "windows",
)  # fmt: skip
"""Names of all benchmarks."""

ALIASES = {"door": "proxy"}
"""Other names of them."""
