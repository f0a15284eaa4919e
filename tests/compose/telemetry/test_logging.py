"""Logs of a process."""

import json
import logging
import threading
import warnings
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
    """The root logger, restored afterwards with the other ways to the log."""
    root, configured = logging.getLogger(), structlog.get_config()
    handlers, level, hook = root.handlers[:], root.level, threading.excepthook
    yield root
    structlog.configure(**configured)
    root.handlers[:] = handlers
    root.setLevel(level)
    logging.captureWarnings(False)
    threading.excepthook = hook


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


def test_warnings_errors_of_threads_and_all_values_are_one_redacted_line_of_json_each(
    root: logging.Logger, capsys: pytest.CaptureFixture[str]
) -> None:
    configure_logging(Settings(log_format="json"))
    with warnings.catch_warnings():
        warnings.simplefilter("always")
        warnings.warn("jane@example.com is deprecated", stacklevel=1)
    thread = threading.Thread(target=lambda: int("jane@example.com"))
    thread.start()
    thread.join()
    error = OSError("jane@example.com")
    structlog.get_logger("purser").warning("odd values", nan=float("nan"), nested={"inf": [float("inf"), error]})
    shown = capsys.readouterr().err
    assert "jane" not in shown
    warned, failed, odd = (json.loads(line, parse_constant=pytest.fail) for line in shown.splitlines())
    assert (warned["logger"], warned["level"]) == ("py.warnings", "warning")
    assert (failed["level"], "ValueError: invalid literal" in failed["exception"]) == ("error", True)
    assert (odd["nan"], odd["nested"]) == ("nan", {"inf": ["inf", "OSError('[EMAIL_1]')"]})


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
