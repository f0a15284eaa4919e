"""RFC 9457 problems: how the API reports errors.

A verdict is never a problem. `detail` names the offending part, `remedy` says what to do; neither repeats a body or a
secret.
"""

import asyncio
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from http import HTTPStatus
from typing import Any

from fastapi.exceptions import RequestValidationError
from fastapi.responses import JSONResponse
from starlette.exceptions import HTTPException

from purser.activities.errors import InvalidTask, TaskConflict, TaskNotFound
from purser.budget import errors as budget
from purser.context import errors as context
from purser.gateway import errors as gateway
from purser.wire.problems import Problem

MEDIA_TYPE = "application/problem+json"
RETRY_AFTER_MS = 1_000


class SentProblem(Problem):
    """A problem that the gateway sends."""

    def response(self) -> JSONResponse:
        """The response, as `application/problem+json`."""
        return JSONResponse(self.body(), self.status, self.headers(), media_type=MEDIA_TYPE)

    def body(self) -> dict[str, Any]:
        """The fields that apply."""
        return self.model_dump(exclude_none=True)

    def headers(self) -> dict[str, str]:
        """Additional headers of the response."""
        headers = {}
        if self.retry_after_ms is not None:
            headers["Retry-After"] = str(-(-self.retry_after_ms // 1_000))
        if self.status == HTTPStatus.UNAUTHORIZED:
            headers["WWW-Authenticate"] = "Bearer"
        return headers


@dataclass(frozen=True, slots=True)
class _Kind:
    slug: str
    status: int
    title: str
    remedy: str
    retry_after_ms: int | None = None


_INVALID = _Kind("invalid-request", 422, "The request is not valid", "Correct what the detail names.")
_KINDS: Mapping[type[Exception], _Kind] = {
    budget.InvalidRequest: _INVALID,
    budget.UnknownPrice: _Kind(
        "unknown-price", 422, "The model has no price", "Send nano_usd, or add the model to the price file."
    ),
    budget.BeyondCounting: _Kind(
        "beyond-counting", 422, "A balance cannot count that much more", "Correct the amount, or use other scopes."
    ),
    budget.NotFound: _Kind("not-found", 404, "There is no such object", "Check the id and the tenant of the key."),
    budget.KeyReused: _Kind("key-reused", 409, "The key is bound to another payload", "Use a new key for a new call."),
    budget.Conflict: _Kind(
        "conflict", 409, "The name is bound to something else", "Repeat the first payload, or use a new id."
    ),
    budget.AttemptConflict: _Kind(
        "conflict",
        409,
        "The attempt cannot start or has reported",
        "Start the attempt that the detail names, or ask without `start` to see the hold. A report is final.",
    ),
    budget.HoldClosed: _Kind("hold-closed", 409, "The hold has ended", "Hold again under another key."),
    budget.LedgerUnavailable: _Kind(
        "ledger-unavailable",
        503,
        "The ledger is unavailable",
        "Send the same request again; it counts once.",
        RETRY_AFTER_MS,
    ),
    gateway.OutcomeUnknown: _Kind(
        "ledger-unavailable",
        503,
        "The ledger did not answer",
        "It may have arrived: look at what it changes, for an extension at GET /v1/holds/{hold_id}, before you send it "
        "again. A request with an Idempotency-Key can be repeated.",
    ),
    InvalidTask: _Kind("invalid-task", 422, "The task file is not valid", "Correct the places that the detail names."),
    TaskConflict: _Kind("task-conflict", 409, "The task id is bound to another task", "Use a new task_id."),
    TaskNotFound: _Kind("not-found", 404, "There is no such task", "Check the id and the tenant of the key."),
    context.InvalidMessage: _Kind("invalid-message", 422, "A message is not valid", "Correct what the detail names."),
    context.InvalidPreferences: _INVALID,
    context.InvalidSettings: _INVALID,
    context.WindowTooSmall: _Kind(
        "window-too-small", 422, "The window is too small", "Raise the budget, or shorten what the detail names."
    ),
    context.MessageNotFound: _Kind("not-found", 404, "There is no such message", "Check session and number."),
    context.SessionNotFound: _Kind("not-found", 404, "There is no such session", "Append its first message."),
    context.SessionDeleted: _Kind("session-deleted", 410, "The session was deleted", "Use a new session id."),
    context.SessionBusy: _Kind(
        "session-busy", 409, "The session is in use", "Wait for what the detail names, or cancel it.", RETRY_AFTER_MS
    ),
    context.OriginReused: _Kind("key-reused", 409, "The key is bound to other messages", "Use a new key."),
    context.OtherUser: _Kind("other-user", 409, "The session is another user's", "Use a session of this user."),
    context.PinsTooLarge: _Kind(
        "pins-too-large", 409, "The pins would take too much", "End a pin that is not needed any more."
    ),
    gateway.CompressionFailed: _Kind(
        "compression-failed", 503, "The compression failed", "Send the same request again.", RETRY_AFTER_MS
    ),
    gateway.Unauthenticated: _Kind(
        "unauthenticated", 401, "A key is needed", "Send a live key as `Authorization: Bearer …`."
    ),
    gateway.KeyEnded: _Kind("key-ended", 401, "The key has expired", "Use a new key."),
    gateway.ForgedRequest: _Kind(
        "forged-request", 403, "The request may be forged", "Reload the page and try there, or send a key instead."
    ),
    gateway.FeatureOff: _Kind(
        "forbidden", 403, "The feature is off", "Turn on the setting that the detail names, or ask without the feature."
    ),
    gateway.Forbidden: _Kind("forbidden", 403, "The key does not allow this", "Use a key with the right role."),
    budget.MoneyNeeded: _Kind("money-needed", 422, "The path limits money", "Send nano_usd or model."),
    gateway.UnknownKey: _Kind("not-found", 404, "There is no such key", "GET /v1/keys lists the ids."),
    gateway.AlreadyMade: _Kind(
        "already-made", 409, "This was made before", "Revoke what the detail names, and make another with a new key."
    ),
    gateway.KeyNameTaken: _Kind("key-name-taken", 409, "The name is taken", "Choose another, or revoke the key."),
    gateway.TargetRefused: _Kind(
        "target-refused", 422, "This webhook address is not allowed", "Use an address below one of webhook_targets."
    ),
    gateway.SecretsKeyMissing: _Kind(
        "secrets-key-missing", 503, "No secret can be stored", "Set PURSER_SECRETS_KEY for every gateway."
    ),
    gateway.SecretUnreadable: _Kind(
        "secret-unreadable", 503, "A secret cannot be read", "Add the key that encrypted it to PURSER_SECRETS_KEY."
    ),
    gateway.TaskEnded: _Kind("task-ended", 409, "The task has ended", "Submit a new task."),
    gateway.GatewayStopping: _Kind("stopping", 503, "Stopping", "Send the request to another gateway.", RETRY_AFTER_MS),
    gateway.TemporalUnavailable: _Kind(
        "temporal-unavailable", 503, "Temporal is unavailable", "Send the same request again.", RETRY_AFTER_MS
    ),
}
_FIGURES = ("state", "scope", "limit", "spent", "held", "requested")
"""Fields of a problem that some errors know."""


def problem_of(error: BaseException) -> SentProblem | None:
    """The problem for an error of a package or for a request that was cancelled; `None` for an unexpected error."""
    match error:
        case asyncio.CancelledError():
            # The server does that to what has not ended within its time to stop.
            return problem_of(gateway.GatewayStopping("the gateway stopped before it had answered"))
        case budget.DecisionRefused():
            closed = error.reason == "closed"
            return _problem(
                "decision-refused",
                HTTPStatus.CONFLICT if closed else HTTPStatus.FORBIDDEN,
                "The decision is refused",
                str(error),
                remedy="GET /v1/approvals/{approval_id} shows how it ended."
                if closed
                else "Let somebody decide whom the rule named by `reason` allows.",
                reason=error.reason,
            )
        case gateway.BodyRefused():
            remedy = "Send less, or JSON that is not compressed."
            return _problem("body-refused", error.status, "The body is refused", str(error), remedy=remedy)
        case gateway.TooManyRequests():
            return _problem(
                "too-many-requests",
                HTTPStatus.TOO_MANY_REQUESTS,
                "Too many requests",
                str(error),
                remedy="Send the same request again after retry_after_ms, and fewer of them.",
                retryable=True,
                retry_after_ms=error.retry_after_ms,
            )
    kind = next((_KINDS[base] for base in type(error).__mro__ if base in _KINDS), None)
    if kind is None:
        return None
    return _problem(
        kind.slug,
        kind.status,
        kind.title,
        str(error),
        remedy=kind.remedy,
        retryable=kind.retry_after_ms is not None,
        retry_after_ms=kind.retry_after_ms,
        **{name: getattr(error, name, None) for name in _FIGURES},
    )


def fault() -> SentProblem:
    """The problem for an unexpected error. The log has its type and place; the caller gets no details."""
    return _problem(
        "internal",
        500,
        "The gateway failed",
        "The request failed because of an internal error.",
        remedy="Send the same request again; if it fails again, the log of the gateway says where.",
        retryable=True,
    )


def not_ready(missing: Iterable[str]) -> SentProblem:
    """The problem of `/readyz` while a dependency is unavailable."""
    return _problem(
        "not-ready",
        503,
        "Not ready",
        f"missing: {', '.join(missing)}",
        remedy="`purser doctor` shows what to do about it.",
        retryable=True,
        retry_after_ms=RETRY_AFTER_MS,
    )


def from_validation(error: RequestValidationError) -> SentProblem:
    """The problem for an invalid body or parameter. Values are not repeated: they may be private text."""
    details = error.errors()
    return _invalid("; ".join(f"{_place(detail)} {_complaint(detail)}" for detail in details[:8]), _place(details[0]))


def from_http(error: HTTPException, asked: str) -> SentProblem:
    """The problem for an error of the router: no such path, no such method, an unreadable body.

    Args:
        error: the error.
        asked: method and path of the request.
    """
    if error.status_code == HTTPStatus.BAD_REQUEST:
        # The parser failed without a place: nested too deeply, or a number too long.
        return _invalid("body is not readable as JSON: nest less, and write shorter numbers", "body")
    phrase = HTTPStatus(error.status_code).phrase
    remedy = "/openapi.json lists the paths, and the methods of each."
    detail = f"{asked[:200]} is no endpoint"
    return _problem(phrase.lower().replace(" ", "-"), error.status_code, phrase, detail, remedy=remedy)


def _invalid(detail: str, field: str) -> SentProblem:
    remedy = "Correct the named fields; /openapi.json shows what each accepts."
    return _problem("invalid-request", 422, "The request is not valid", detail, field=field, remedy=remedy)


def _problem(slug: str, status: int, title: str, detail: str, **more: Any) -> SentProblem:
    return SentProblem(type=f"urn:purser:{slug}", title=title, status=int(status), detail=detail, **more)


def _place(detail: Mapping[str, Any]) -> str:
    location: tuple[str | int, ...] = detail["loc"]
    if detail["type"] == "json_invalid":
        return str(location[0])
    parts = location[1:] if len(location) > 1 and location[0] in ("body", "query", "path") else location
    return ".".join(str(part)[:80] for part in parts)


def _complaint(detail: Mapping[str, Any]) -> str:
    match detail["type"]:
        case "missing":
            return "is missing: add it"
        case "extra_forbidden":
            return "is not known: remove it or correct its name"
        case "unknown_query":
            return f"is no parameter of this endpoint, which {detail['msg']}"
        case "json_invalid":
            return f"stops being JSON at character {detail['loc'][-1]}"
    message = str(detail["msg"]).removeprefix("Value error, ")
    return f"is not valid: {message[0].lower()}{message[1:]}"
