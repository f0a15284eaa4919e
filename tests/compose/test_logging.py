"""Logs of a process."""

import logging
from collections.abc import Iterator

import pytest
from temporalio import activity
from temporalio.exceptions import ApplicationError

from compose.logging import configure_logging
from compose.settings import Settings


@pytest.fixture
def root() -> Iterator[logging.Logger]:
    """The root logger, as it was again afterwards."""
    root = logging.getLogger()
    handlers, level = root.handlers[:], root.level
    yield root
    root.handlers[:] = handlers
    root.setLevel(level)


def test_an_activity_that_fails_is_one_line_with_the_type_of_its_error(
    root: logging.Logger, capsys: pytest.CaptureFixture[str]
) -> None:
    configure_logging(Settings())
    try:
        raise ApplicationError("secret", type="ProviderUnavailable")
    except ApplicationError:
        activity.logger.warning("Completing activity as failed", exc_info=True)
    (line,) = capsys.readouterr().err.splitlines()
    assert "Completing activity as failed" in line
    assert "ProviderUnavailable" in line
    assert "secret" not in line


def test_a_trace_on_the_console_shows_no_local_variables(
    root: logging.Logger, capsys: pytest.CaptureFixture[str]
) -> None:
    configure_logging(Settings())
    text = "what the customer said".upper()
    try:
        raise ValueError(len(text))
    except ValueError:
        logging.getLogger("purser").exception("failed")
    shown = capsys.readouterr().err
    assert "ValueError: 22" in shown
    assert text not in shown
