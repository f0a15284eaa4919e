"""Messages for a person whose action failed or was refused."""

import structlog
from pydantic import ValidationError

from purser.budget.errors import LedgerUnavailable
from purser.gateway.dashboard.formats import sentence
from purser.gateway.http.problems import problem_of

_log = structlog.get_logger(__name__)


class Refused(Exception):
    """An action was refused; the message is for the person who acted."""


def explain(error: Exception) -> str:
    """What went wrong and what helps, for the person who acted. Unexpected errors are logged."""
    if isinstance(error, Refused):
        return str(error)
    if isinstance(error, LedgerUnavailable):
        return "The ledger did not answer. Try again: what is already recorded is not repeated."
    if isinstance(error, ValidationError):
        return sentence(error.errors()[0]["msg"])
    problem = problem_of(error)
    if problem is None:
        _log.error("an action of a dashboard page failed", exc_info=error)
        return "The action failed; the gateway's log says why."
    return f"{sentence(problem.detail)} {problem.remedy or ''}".strip()
