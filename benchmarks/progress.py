"""The steps of a benchmark, for a person who waits for its end."""

import logging

log = logging.getLogger("purser.benchmarks")
"""`purser bench` shows its records."""


def log_step(step: str) -> None:
    """Says what is measured, or prepared, from now on."""
    log.info(step)
