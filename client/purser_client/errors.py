"""Errors of the client. Each says in its text what can be done about it.

PurserError
├── Unanswered          no answer arrived, after all retries: nothing is known about the request
│   └── TimedOut        within the time-out
├── Unreadable          something answered that is no gateway, or not this version of one
├── Problem             the gateway answered with an RFC 9457 problem
│   ├── InvalidRequest      422: the request is not valid
│   │   ├── UnknownPrice        the model has no price
│   │   └── MoneyNeeded         the path limits money: send nano_usd or model
│   ├── Unauthenticated     401: the key is missing, wrong or has ended
│   ├── Forbidden           403: the key does not allow it
│   ├── NotFound            404: there is no such object
│   ├── Conflict            409, 410: the state or another payload forbids it
│   │   ├── KeyReused           the key is bound to another payload
│   │   └── HoldClosed          the hold has ended
│   ├── TooManyRequests     429, after all retries
│   └── Unavailable         5xx, after all retries: nothing is admitted
├── NotAdmitted         the budget does not admit a call
│   ├── BudgetRefused       it is refused
│   ├── ApprovalNeeded      a person has to approve it first
│   └── BudgetBusy          open calls of others hold what is left
├── CallEnded           the call of this key has ended before: use another key
├── CannotHold          an adapter cannot hold a call of this kind
├── NotStarted          a call is settled that was not started
└── UnknownUsage        a reply has no usage that could be settled
"""

from collections.abc import Mapping

from pydantic import ValidationError

from purser_client.types import HoldView, RefusalView, StepView
from purser_client.types import Problem as ProblemView


class PurserError(Exception):
    """Base class of all errors of this package."""


class Unanswered(PurserError):
    """No answer arrived, after all retries."""


class TimedOut(Unanswered):
    """No answer arrived within the time-out, after all retries."""


class Unreadable(PurserError):
    """The answer is none of a gateway, or of another version."""


class Problem(PurserError):
    """The gateway answered with a problem."""

    def __init__(self, problem: ProblemView) -> None:
        super().__init__(f"{problem.detail.rstrip('.')}. {problem.remedy}" if problem.remedy else problem.detail)
        self.problem = problem
        """All fields of the problem."""

    @property
    def status(self) -> int:
        """Status of the answer."""
        return self.problem.status

    @property
    def remedy(self) -> str:
        """What can be done about it."""
        return self.problem.remedy or ""

    def __reduce__(self) -> tuple[type["Problem"], tuple[ProblemView]]:
        return type(self), (self.problem,)


class InvalidRequest(Problem):
    """The request is not valid."""


class UnknownPrice(InvalidRequest):
    """The model has no price."""


class MoneyNeeded(InvalidRequest):
    """The path limits money, and neither the amount nor the model says how much."""


class Unauthenticated(Problem):
    """The key is missing, wrong, or has ended."""


class Forbidden(Problem):
    """The key does not allow this."""


class NotFound(Problem):
    """There is no such object."""


class Conflict(Problem):
    """The state of the object, or another payload under the same name, does not allow this."""


class KeyReused(Conflict):
    """The key is bound to another payload."""


class HoldClosed(Conflict):
    """The hold has ended."""


class TooManyRequests(Problem):
    """The key sends too many requests."""


class Unavailable(Problem):
    """The gateway or what it needs is away. Nothing was admitted."""


class NotAdmitted(PurserError):
    """The budget does not admit a call."""

    def __init__(self, answer: HoldView | StepView) -> None:
        super().__init__(_reason(answer))
        self.answer = answer
        """The verdict, with those of all scopes."""

    @property
    def refusal(self) -> RefusalView | None:
        """The figures of the scope that did not admit; `None` if it may admit later by itself."""
        return self.answer.refusal

    @property
    def remedy(self) -> str:
        """What can be done about it."""
        return self.answer.remedy

    def __reduce__(self) -> tuple[type["NotAdmitted"], tuple[HoldView | StepView]]:
        return type(self), (self.answer,)


class BudgetRefused(NotAdmitted):
    """The budget refuses the call. Asking again helps only once the budget has changed or renewed."""


class ApprovalNeeded(NotAdmitted):
    """A person has to approve the call. Once they have, the same key is admitted."""

    @property
    def approval_id(self) -> str:
        """The request that waits for a decision; empty for a further attempt of an admitted call."""
        return self.answer.approval_id if isinstance(self.answer, HoldView) else ""


class BudgetBusy(NotAdmitted):
    """Open calls of others hold what is left. The call fits once they have ended."""

    @property
    def retry_after_ms(self) -> int:
        """Milliseconds after which to ask again."""
        return self.answer.retry_after_ms or 1_000  # an older gateway leaves it out of the answer to a step


class CallEnded(PurserError):
    """The call of this key has ended before."""


class CannotHold(PurserError):
    """An adapter cannot hold a call of this kind."""


class NotStarted(PurserError):
    """A call is settled that was not started."""


class UnknownUsage(PurserError):
    """A reply has no usage that could be settled."""


def problem_of(status: int, body: bytes) -> Problem | Unanswered | Unreadable:
    """The error for an answer that is no success."""
    try:
        problem = ProblemView.model_validate_json(body)
    except ValidationError:
        if status in _BETWEEN:
            return Unanswered(f"status {status} from a server in between: check that the gateway behind it runs")
        return Unreadable(f"status {status} without a problem: check that the address is that of a Purser gateway")
    return _class_of(status, problem)(problem)


def invalid(detail: str, remedy: str, field: str | None = None) -> InvalidRequest:
    """The error for a request that the client does not send, as the gateway would answer it."""
    title = "The request is not valid"
    return InvalidRequest(
        ProblemView(
            type="urn:purser:invalid-request", title=title, status=422, detail=detail, remedy=remedy, field=field
        )
    )


def not_admitted(answer: HoldView | StepView) -> NotAdmitted:
    """The error for a verdict that admits nothing."""
    return _VERDICTS.get(answer.verdict, NotAdmitted)(answer)


def _class_of(status: int, problem: ProblemView) -> type[Problem]:
    slug = problem.type.removeprefix("urn:purser:")
    return _SLUGS.get(slug) or _STATUSES.get(status) or (Unavailable if status >= 500 else Problem)


def _reason(answer: HoldView | StepView) -> str:
    figures = "" if answer.refusal is None else answer.refusal.text
    decisive = next((one.scope for one in answer.scopes if one.verdict == answer.verdict), "the path")
    return f"{answer.verdict}: {figures or decisive} {answer.remedy}".strip()


_BETWEEN = frozenset((502, 503, 504))
"""Statuses with which a load balancer says that it has no answer; those of the gateway itself come with a problem."""
_VERDICTS: Mapping[str, type[NotAdmitted]] = {"refuse": BudgetRefused, "ask": ApprovalNeeded, "wait": BudgetBusy}
_SLUGS: Mapping[str, type[Problem]] = {
    "unknown-price": UnknownPrice,
    "money-needed": MoneyNeeded,
    "key-reused": KeyReused,
    "hold-closed": HoldClosed,
}
_STATUSES: Mapping[int, type[Problem]] = {
    401: Unauthenticated,
    403: Forbidden,
    404: NotFound,
    409: Conflict,
    410: Conflict,
    413: InvalidRequest,
    415: InvalidRequest,
    422: InvalidRequest,
    429: TooManyRequests,
}
