"""Problems for the OpenAPI document: one response per status, with an example."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from fastapi.exceptions import RequestValidationError

from purser.budget.errors import KeyReused, LedgerUnavailable, NotFound
from purser.context.errors import SessionDeleted
from purser.gateway import errors as gateway
from purser.gateway.http.problems import SentProblem, fault, from_validation, problem_of
from purser.wire.problems import Problem

SCHEMA: Mapping[str, Any] = Problem.model_json_schema()


@dataclass(frozen=True, slots=True)
class Status:
    """Description and example of a status."""

    description: str
    example: Mapping[str, Any]


def _status(description: str, error: Exception) -> Status:
    problem = problem_of(error)
    assert problem is not None
    return _shown(description, problem)


def _shown(description: str, problem: SentProblem) -> Status:
    return Status(description, problem.body())


_TOO_SMALL = RequestValidationError(
    [{"type": "greater_than_equal", "loc": ("body", "tokens"), "msg": "Input should be greater than or equal to 1"}]
)


STATUSES: Mapping[int | str, Status] = {
    401: _status("No live key came with the request.", gateway.Unauthenticated("no live key came with the request")),
    403: _status(
        "The key's role or tenant does not allow it, or the rules of an approval do not.",
        gateway.Forbidden("role 'agent' may not set budgets: use a key of admin"),
    ),
    404: _status("This tenant has no such object.", NotFound("hold '17' does not exist: use the hold_id of an ask")),
    409: _status(
        "A key or id is bound to something else, or what it names has ended.",
        KeyReused("key 'call-1' is bound to another payload: use a new key for a new call"),
    ),
    410: _status("The session was deleted.", SessionDeleted("session 's1' was deleted: use a new id")),
    413: _status(
        "The body is too large.", gateway.BodyRefused("the body is larger than 65536 bytes: send less", status=413)
    ),
    415: _status(
        "The body is of another media type, or compressed.",
        gateway.BodyRefused("content type 'text/plain' is not accepted: send application/json", status=415),
    ),
    422: _shown("The request is not valid; `detail` names what.", from_validation(_TOO_SMALL)),
    429: _status("Too many requests in a second.", gateway.TooManyRequests("more than 100 requests a second", 400)),
    503: _status(
        "The ledger or Temporal is unavailable. What may have arrived counts once, also if it is sent again, unless "
        "`retryable` is false.",
        LedgerUnavailable("the ledger did not answer, so nothing is admitted; send the same request again"),
    ),
    "default": _shown("A problem as defined by RFC 9457.", fault()),
}
