"""What a run prints and counts: the seed of everything random, and in CI every skip as a failure."""

import os
import random
from typing import Any

import pytest

SEED = "PURSER_TEST_SEED"


@pytest.hookimpl(tryfirst=True)
def pytest_configure() -> None:
    """Draws the seed of the run, which its workers inherit."""
    os.environ[SEED] = os.environ.get(SEED) or str(random.SystemRandom().randrange(2**32))


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item: pytest.Item, call: pytest.CallInfo[None]) -> Any:
    report = yield
    if report.failed and (seed := getattr(item, "funcargs", {}).get("seed")) is not None:
        report.sections.append(("seed", f"{SEED}={seed}"))
    return _failed_if_skipped_in_ci(report)


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    terminalreporter.write_line(f"{SEED}={os.environ[SEED]} draws the same random values again")


@pytest.hookimpl(wrapper=True)
def pytest_make_collect_report(collector: pytest.Collector) -> Any:
    return _failed_if_skipped_in_ci((yield))


def _failed_if_skipped_in_ci(report: Any) -> Any:
    if report.skipped and not hasattr(report, "wasxfail") and os.environ.get("CI") == "true":
        reason = report.longrepr[2] if isinstance(report.longrepr, tuple) else report.longrepr
        report.outcome = "failed"
        report.longrepr = f"skipped, which fails in CI: {reason}"
    return report


@pytest.fixture
def seed() -> int:
    """Seed of everything random in the test; PURSER_TEST_SEED replays the one that a run prints."""
    return int(os.environ[SEED])
