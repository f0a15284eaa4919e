"""Problems for the OpenAPI document: one response per status, with an example."""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from purser.budget.errors import KeyReused, LedgerUnavailable, NotFound
from purser.gateway import errors as gateway
from purser.gateway.http.problems import problem_of
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
    return Status(description, json.loads(bytes(problem.response().body)))


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
    422: Status(
        "The request is not valid; `detail` names what.",
        {
            "type": "urn:purser:invalid-request",
            "title": "The request is not valid",
            "status": 422,
            "detail": "tokens is not valid: input should be greater than or equal to 1",
            "retryable": False,
            "remedy": "Correct the named fields; /openapi.json shows what each takes.",
            "field": "tokens",
        },
    ),
    429: _status("Too many requests in a second.", gateway.TooManyRequests("more than 100 requests a second", 400)),
    503: _status(
        "The ledger or Temporal is unavailable. What may have arrived counts once, also if it is sent again, unless "
        "`retryable` is false.",
        LedgerUnavailable("the ledger did not answer, so nothing is admitted; send the same request again"),
    ),
    "default": _status("A problem as defined by RFC 9457.", gateway.BodyRefused("the body is not JSON", status=415)),
}
