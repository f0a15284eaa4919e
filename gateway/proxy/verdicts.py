"""Answers of the proxy to what is not admitted and to what fails: clients repeat no refusal, and give up no wait.

Status codes were chosen by what the libraries of OpenAI and Anthropic, LiteLLM and pydantic-ai do with them: all take
402 as final, and all repeat 429.
"""

import math
from dataclasses import dataclass, field
from http import HTTPStatus
from typing import Any

from purser.activities.errors import ProviderError, ProviderUnavailable
from purser.budget.errors import KeyReused, UnknownPrice
from purser.budget.gate import GateAnswer, Verdict
from purser.budget.refusals import Refusal
from purser.gateway.http.problems import fault, problem_of
from purser.wire.problems import Problem

MOST_RETRY_S = 60
"""Longest delay that an answer asks for: a client that waits longer looks as if it hung."""
_STATUS = {
    "provider_not_allowed": HTTPStatus.NOT_FOUND,
    "bad_model_name": HTTPStatus.NOT_FOUND,
    "request_not_built": HTTPStatus.BAD_REQUEST,
}
_PASSED_ON = set(range(400, 600)) - {HTTPStatus.PROXY_AUTHENTICATION_REQUIRED}
"""Statuses of providers: no server can send others, and 407 is about the proxy of the gateway, not of its client."""
_PROVIDER_REMEDY = {
    "authentication": "configure the key of its provider for the gateway",
    "provider_not_allowed": "name a model of an allowed provider, or set PURSER_ALLOWED_PROVIDERS",
    "bad_model_name": "name a model as LiteLLM does, for example openai/gpt-4o",
    "proxy_refused": "check the address and the user in PURSER_PROVIDER_PROXY",
    "request_not_built": "check its parameters, and that this model takes all of them",
}


class NotAdmitted(Exception):
    """The gate did not admit a call, or not soon enough."""

    def __init__(self, gate: GateAnswer, refusal: Refusal | None, approval_id: str, retry_after_ms: int | None) -> None:
        super().__init__(f"{gate.decisive.scope}: {gate.verdict}")
        self.gate = gate
        self.refusal = refusal
        self.approval_id = approval_id
        self.retry_after_ms = retry_after_ms


class Unsupported(Exception):
    """A request asks for something of its protocol that the proxy does not do."""

    def __init__(self, what: str, remedy: str) -> None:
        super().__init__(f"{what} is not supported: {remedy}.")


@dataclass(frozen=True, slots=True)
class Denial:
    """An answer without a reply of the model, in no dialect yet."""

    status: int
    code: str
    """For programs, such as `budget_exceeded`."""
    message: str
    """For people, with all figures: some clients show nothing else."""
    retries: bool = False
    """Whether the same request may succeed soon."""
    retry_after_ms: int | None = None
    details: dict[str, Any] = field(default_factory=dict)
    """The object `purser` of the error."""
    headers: dict[str, str] = field(default_factory=dict)

    def all_headers(self) -> dict[str, str]:
        """Headers of the answer, those that tell clients whether to repeat it included."""
        found = {"x-should-retry": "true" if self.retries else "false", **self.headers}
        if self.retry_after_ms is not None:
            capped = min(self.retry_after_ms, MOST_RETRY_S * 1_000)
            found |= {"retry-after-ms": str(capped), "retry-after": str(math.ceil(capped / 1_000))}
        return found


def denial_of(error: BaseException, public_url: str) -> Denial:
    """The answer to an error of a call."""
    match error:
        case NotAdmitted():
            return _not_admitted(error, public_url)
        case ProviderError():
            return _failed(error)
        case Unsupported():
            return Denial(400, "unsupported_parameter", str(error))
    problem = problem_of(error) or fault()
    return of_problem(problem, {UnknownPrice: "unknown_price", KeyReused: "idempotency_mismatch"}.get(type(error)))


def of_problem(problem: Problem, code: str | None = None) -> Denial:
    """The answer to a problem. Clients repeat 409, which would fail again."""
    status = HTTPStatus.UNPROCESSABLE_ENTITY if problem.status == HTTPStatus.CONFLICT else problem.status
    code = code or problem.type.rpartition(":")[2].replace("-", "_")
    message = " ".join(filter(None, (_sentence(problem.detail), problem.remedy)))
    headers = {"WWW-Authenticate": "Bearer"} if status == HTTPStatus.UNAUTHORIZED else {}
    return Denial(status, code, message, problem.retryable, problem.retry_after_ms, headers=headers)


def _not_admitted(error: NotAdmitted, public_url: str) -> Denial:
    decisive, headers = error.gate.decisive, {"Purser-Verdict": str(error.gate.verdict)}
    headers["Purser-Scope"] = str(decisive.scope)
    if error.gate.verdict is Verdict.WAIT:
        message = f"Open calls hold what is left of {decisive.scope}. Send the same request again."
        details = {"scope": str(decisive.scope)}
        retry_ms = max(1_000, error.retry_after_ms or 0)
        return Denial(429, "budget_busy", message, True, retry_ms, details, headers)
    details = error.refusal.to_json() if error.refusal else {"scope": str(decisive.scope), "reason": decisive.reason}
    message = f"{error.refusal.text} {error.refusal.remedy}" if error.refusal else f"{decisive.scope} has no room."
    if error.gate.verdict is Verdict.ASK:
        url = f"{public_url}/approvals?id={error.approval_id}"
        details |= {"approval_id": error.approval_id, "approval_url": url}
        headers |= {"Purser-Approval-Url": url}
        return Denial(402, "approval_required", f"{message} {url}", details=details, headers=headers)
    if decisive.reason == "frozen":
        return Denial(403, "scope_frozen", message, details=details, headers=headers)
    return Denial(402, "budget_exceeded", message, details=details, headers=headers)


def _failed(failure: ProviderError) -> Denial:
    """The provider's own status where it sent one. Its text is not repeated, because it may quote the prompt."""
    retries = isinstance(failure, ProviderUnavailable)
    remedy = _PROVIDER_REMEDY.get(failure.reason)
    message = f"The request to the provider failed: {failure.reason}" + (f"; {remedy}." if remedy else ".")
    retry_ms = failure.retry_after_ms if isinstance(failure, ProviderUnavailable) else None
    status = failure.status or 0
    if status not in _PASSED_ON:
        status = _STATUS.get(failure.reason, HTTPStatus.BAD_GATEWAY)
    return Denial(status, f"provider_{failure.reason.removeprefix('provider_')}", message, retries, retry_ms)


def _sentence(text: str) -> str:
    return text if text.endswith((".", "!", "?")) else f"{text}."
