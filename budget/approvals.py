"""Approvals: requests to let a short scope spend more, and the decisions about them.

A request belongs to one scope in one window; all calls that are short there share it. An approval creates a grant, and
the waiting calls ask the gate again. The rules are in `purser.budget.approval_rules`.
"""

import hashlib
import json
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from typing import Any
from urllib.parse import urlsplit

from purser.budget.actors import Actor
from purser.budget.errors import InvalidRequest
from purser.budget.gate import NOTHING, Amount
from purser.budget.policies.fields import ApprovalRules, check_amount
from purser.budget.scopes import Scope
from purser.wire.enums import ApprovalState as ApprovalState
from purser.wire.enums import Choice as Choice
from purser.wire.enums import Identity as Identity
from purser.wire.limits import MAX_AMOUNT, MAX_DECISION_ID, MAX_NOTE, MAX_TICKET_URL
from purser.wire.storable import is_storable_end

FITS = "fits"
"""State of a ticket when the ask fits by now: ask the gate again."""


@dataclass(frozen=True, slots=True)
class Approver(Actor):
    """The person who decides. Two decisions under one name count as one person's."""

    roles: tuple[str, ...]
    identity: Identity = Identity.KEY


@dataclass(frozen=True, slots=True, kw_only=True)
class Reasons:
    """The reasons given for a decision: checked on arrival, then stored and shown unchanged."""

    note: str | None = None
    ticket_url: str | None = None
    """Where the decision was discussed: an http or https address. Events and the change log include it, but no note."""

    def check(self) -> None:
        """Raises `InvalidRequest` if a field is too long or holds characters that cannot be displayed."""
        if self.note is not None and "\0" in self.note:
            raise InvalidRequest("the note holds a NUL: leave it out")
        if self.note is not None and len(self.note) > MAX_NOTE:
            raise InvalidRequest(f"the note has {len(self.note)} characters: at most {MAX_NOTE} are allowed")
        if self.note is not None and not all(line.isprintable() for line in self.note.split("\n")):
            raise InvalidRequest("the note is not valid: use printable characters and line breaks")
        if self.ticket_url is not None and not _is_web_address(self.ticket_url):
            raise InvalidRequest(
                f"the ticket_url {self.ticket_url[:80]!r} is not valid: use an http or https address without spaces, "
                f"of at most {MAX_TICKET_URL} characters"
            )


@dataclass(frozen=True, slots=True)
class DecisionRequest(Reasons):
    """A decision as the approver sends it."""

    approval_id: str
    decision_id: str
    """Chosen by the sender, unique per tenant: sending the same decision again has no effect."""
    choice: Choice
    grant_tokens: int | None = None
    """Tokens to grant. If this and `grant_nano_usd` are `None`: the shortage at the time of the decision."""
    grant_nano_usd: int | None = None
    """Nano-dollars to grant."""
    until: datetime | None = None
    """End of the grant; `None`: the end of the window."""

    def __post_init__(self) -> None:
        if not 1 <= len(self.decision_id) <= MAX_DECISION_ID or not self.decision_id.isprintable():
            raise InvalidRequest(
                f"decision_id {self.decision_id[:80]!r} is not valid: use 1 to {MAX_DECISION_ID} printable characters"
            )
        for name in ("grant_tokens", "grant_nano_usd"):
            if getattr(self, name) is not None:
                check_amount(getattr(self, name), name, least=1)
        if self.until is not None and self.until.tzinfo is None:
            raise InvalidRequest(f"until {self.until.isoformat()!r} has no time zone: add one, for example a final Z")
        if self.until is not None and not is_storable_end(self.until):
            raise InvalidRequest(
                f"until {self.until.isoformat()!r} is out of range: use an earlier time, or leave it out"
            )
        self.check()
        if self.choice is Choice.DENY and (self.amount is not None or self.until is not None):
            raise InvalidRequest("a denial grants nothing: leave out grant_tokens, grant_nano_usd and until")

    @property
    def amount(self) -> Amount | None:
        """Amount to grant, zero for a unit that is left out; `None` if both are left out."""
        if self.grant_tokens is None and self.grant_nano_usd is None:
            return None
        return Amount(self.grant_tokens or 0, self.grant_nano_usd or 0)

    def digest(self, approver: str) -> bytes:
        """SHA-256 of the decision and its approver: a decision id may only be repeated with the same digest.

        Fields without a value do not count, so that a release with more fields computes the same digest.
        """
        bound = {name: value for name, value in self.to_json().items() if value is not None} | {"approver": approver}
        del bound["decision_id"]
        return hashlib.sha256(json.dumps(bound, sort_keys=True).encode()).digest()

    def to_json(self) -> dict[str, Any]:
        """All fields as JSON values."""
        return asdict(self) | {"until": self.until and self.until.astimezone(UTC).isoformat()}


@dataclass(frozen=True, slots=True)
class PastDecision(Reasons):
    """A recorded decision."""

    decision_id: str
    choice: Choice
    approver: str
    identity: Identity
    grant_tokens: int
    grant_nano_usd: int
    until: datetime | None
    at: datetime

    @property
    def amount(self) -> Amount:
        """Amount to which the decision agreed."""
        return Amount(self.grant_tokens, self.grant_nano_usd)


@dataclass(frozen=True, slots=True)
class Waiter:
    """A hold that waits for a request to be decided."""

    key: str
    task_id: str
    agent_id: str
    submitter: str | None
    """Submitter that the task file names; displayed, and barred from deciding only if `vouched`."""
    ask: Amount
    since: datetime
    submitted_by: str | None = None
    """Name of the key that submitted the task."""
    vouched: bool = False
    """Whether that key may act for others, so that `submitter` is trusted."""
    path: tuple[str, ...] = ()
    """The scopes of the call, outermost first."""


@dataclass(frozen=True, slots=True)
class ApprovalRequest:
    """An approval request with everything that an approver needs in order to decide."""

    approval_id: str
    scope: Scope
    window_start: datetime | None
    """`None` for a lifetime."""
    task_id: str
    """Set if only the limit that this task requested for itself is short: a grant raises that limit and does not affect
    other tasks on the scope. Otherwise empty."""
    state: ApprovalState
    rules: ApprovalRules
    """The policy's rules at the time the request was opened."""
    asked: Amount
    """The shortage when a call last joined or left."""
    given: Amount
    """Amount that the request granted."""
    created_at: datetime
    deadline: datetime
    decided_at: datetime | None
    limit_tokens: int | None
    """The tightest limit that applies to a waiter; `None` if none does."""
    limit_nano_usd: int | None
    spent: Amount
    held: Amount
    granted: Amount
    """Sum of the scope's live grants."""
    current: bool
    """Whether its window is the current one, and its scope still asks people (mode `approval`)."""
    waiters: tuple[Waiter, ...]
    decisions: tuple[PastDecision, ...]
    reminded_at: datetime | None = None
    """When a reminder was sent."""
    escalated_at: datetime | None = None
    """Since when deputies may decide."""
    reserve: Amount = NOTHING
    """The part of the limit that only last calls may use."""
    total_ask: Amount | None = None
    """Total of the waiting asks as read from the database, also where `waiters` were not; `None`: no call waits."""

    @property
    def is_waited_for(self) -> bool:
        """Whether any call waits."""
        return self.total_ask is not None or bool(self.waiters)

    @property
    def waiting(self) -> Amount:
        """Total of the waiting asks."""
        return self.total_ask or sum((waiter.ask for waiter in self.waiters), Amount())

    @property
    def shortage(self) -> Amount:
        """Smallest grant with which every waiting ask fits now; at most the largest amount of a grant."""
        return self.missing(self.waiting) if self.current else NOTHING

    def missing(self, ask: Amount) -> Amount:
        """Smallest grant with which `ask` fits under the tightest limit; at most the largest amount of a grant."""
        taken = self.spent + self.held + self.reserve + ask
        return Amount(
            _missing(self.limit_tokens, self.granted.tokens, taken.tokens),
            _missing(self.limit_nano_usd, self.granted.nano_usd, taken.nano_usd) if ask.nano_usd else 0,
        )

    @property
    def moot(self) -> bool:
        """Whether no call waits, every waiting call fits, or the request is not current."""
        return self.shortage == Amount()

    def ends(self, now: datetime) -> bool:
        """Whether the sweeper has to end the request."""
        return self.state is ApprovalState.PENDING and (self.moot or self.deadline <= now)

    @property
    def submitters(self) -> frozenset[str]:
        """Submitters of the waiting tasks: the keys' names, and submitters named by keys that may act for others.

        Names given by other keys do not count: they could be used to bar an approver.
        """
        named = {waiter.submitter for waiter in self.waiters if waiter.vouched}
        return frozenset(name for name in named | {waiter.submitted_by for waiter in self.waiters} if name)

    def agreed(self, now: datetime) -> tuple[PastDecision, ...]:
        """Approvals in force; where the rules bar submitters, without those of people whose own tasks wait now."""
        barred = self.submitters if self.rules.not_submitter else frozenset[str]()
        return tuple(
            past
            for past in self.decisions
            if past.choice is Choice.APPROVE
            and past.approver not in barred
            and (past.until is None or past.until > now)
        )

    def needs_two(self, amount: Amount, alone: Amount = NOTHING) -> bool:
        """Whether `amount` is more than one person may grant who has granted `alone` in this window already."""
        rules = self.rules
        tokens = (rules.two_people_above_tokens, amount.tokens, alone.tokens)
        nano_usd = (rules.two_people_above_nano_usd, amount.nano_usd, alone.nano_usd)
        return any(most is not None and more and more + given > most for most, more, given in (tokens, nano_usd))

    def decisions_needed(self, now: datetime, alone: Amount = NOTHING) -> int:
        """How many more people have to approve to grant the whole shortage; 0 once the request is closed.

        `alone` is what the next of them has granted in this window already.
        """
        if self.state is not ApprovalState.PENDING:
            return 0
        return 2 - min(1, len(self.agreed(now))) if self.needs_two(self.shortage, alone) else 1


@dataclass(frozen=True, slots=True)
class Ticket:
    """The approval request that an ask waits for, and its state."""

    approval_id: str
    """Empty if the ask fits by now."""
    state: str
    """An `ApprovalState`, or `fits`: ask the gate again."""
    deadline: datetime | None


@dataclass(frozen=True, slots=True)
class Decided:
    """The state of a request after a decision."""

    state: ApprovalState
    decisions_needed: int
    """How many more people have to approve."""


@dataclass(frozen=True, slots=True)
class ApprovalPage:
    """Requests of a tenant, newest first."""

    requests: tuple[ApprovalRequest, ...]
    cursor: str | None
    """Continues the list; `None` at its end."""


def _is_web_address(text: str) -> bool:
    if len(text) > MAX_TICKET_URL or not text.isprintable() or " " in text:
        return False
    try:
        parts = urlsplit(text)
    except ValueError:
        return False
    return parts.scheme in ("http", "https") and bool(parts.hostname)


def _missing(limit: int | None, granted: int, taken: int) -> int:
    if limit is None:
        return 0
    # Where limit + granted is 0 no tokens fit, not even an addition of zero.
    least = 1 if limit + granted == 0 else 0
    return min(max(least, taken - limit - granted), MAX_AMOUNT)
