"""Logs of a process."""

import logging
from collections.abc import Iterator
from typing import Literal

import pytest
import structlog
from temporalio import activity
from temporalio.exceptions import ApplicationError

from purser.compose.settings import Settings
from purser.compose.telemetry.logging import configure_logging
from purser.context.redaction import patterns


@pytest.fixture
def root() -> Iterator[logging.Logger]:
    """The root logger, restored afterwards."""
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


@pytest.mark.parametrize("log_format", ["console", "json"])
def test_personal_data_in_a_log_line_is_redacted(
    root: logging.Logger, capsys: pytest.CaptureFixture[str], log_format: Literal["console", "json"]
) -> None:
    configure_logging(Settings(log_format=log_format, redaction_patterns={"EMPLOYEE": "E[0-9]{6}"}))
    try:
        raise ValueError("cannot send to jane@example.com")
    except ValueError:
        logging.getLogger("purser").exception("failed for %s", "4111 1111 1111 1111")
    structlog.get_logger("purser").warning(
        "密码：Abc12345", password="swordfish", by=["E123456"], error=OSError("a@x.org")
    )
    shown = capsys.readouterr().err
    for value in ("jane@example.com", "4111 1111", "Abc12345", "swordfish", "E123456", "a@x.org"):
        assert value not in shown
    for placeholder in ("[EMAIL_1]", "[CARD_1]", "[SECRET_1]", "[EMPLOYEE_1]"):
        assert placeholder in shown


def test_addresses_of_services_are_shown_and_those_of_people_are_not(
    root: logging.Logger, capsys: pytest.CaptureFixture[str]
) -> None:
    configure_logging(Settings())
    logging.getLogger("purser").warning("127.0.0.1:7233 and 10.1.2.3:5432 do not answer 203.0.113.7")
    shown = capsys.readouterr().err
    assert "127.0.0.1:7233 and 10.1.2.3:5432 do not answer [IP_1]" in shown


def test_a_line_that_cannot_be_redacted_is_withheld(
    root: logging.Logger, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(patterns, "TIMEOUT_S", 0.1)
    configure_logging(Settings(redaction_patterns={"SLOW": "(x+x+)+y"}))
    logging.getLogger("purser").warning("what the customer said: %s", "x" * 5_000)
    (line,) = capsys.readouterr().err.splitlines()
    assert "a line was withheld: the detector SLOW failed" in line
    assert "purser" in line
    assert "customer" not in line
    assert "xx" not in line
