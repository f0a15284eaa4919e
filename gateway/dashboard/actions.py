"""What a person reads when something that they asked for was not done."""

import structlog
from pydantic import ValidationError

from purser.budget.errors import LedgerUnavailable
from purser.gateway.dashboard.formats import sentence
from purser.gateway.http.problems import problem_of

_log = structlog.get_logger(__name__)


class Refused(Exception):
    """What a person asked for was not done. The message is for that person."""


def explain(error: Exception) -> str:
    """What went wrong and what helps, for the person who acted. A fault of ours is logged."""
    if isinstance(error, Refused):
        return str(error)
    if isinstance(error, LedgerUnavailable):
        return "The ledger did not answer. Try again: what it has recorded it does not do twice."
    if isinstance(error, ValidationError):
        return sentence(error.errors()[0]["msg"])
    problem = problem_of(error)
    if problem is None:
        _log.error("an action of a page failed", exc_info=error)
        return "It did not work, and the gateway's log says why."
    return f"{sentence(problem.detail)} {problem.remedy or ''}".strip()
