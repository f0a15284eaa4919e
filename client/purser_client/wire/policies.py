"""Bodies and answers of `/v1/policies`."""

from typing import Annotated, Any

from pydantic import Field

from .base import Body, View
from .enums import PolicyAction
from .fields import Time
from .limits import MAX_POLICIES

Policies = Annotated[dict[str, dict[str, Any] | None], Field(max_length=MAX_POLICIES)]


class PoliciesBody(Body):
    """Policies to store, and what to do with those that they do not name."""

    policies: Policies
    """Fields by name: of one scope (`session:s1`), or of all scopes that a template matches (`session:*`). The fields
    are those of `PUT /v1/budgets/{scope}`, and `limit_usd` in dollars as text; one that is left out is cleared. `null`
    removes the policy."""
    prune: bool = False
    """Also removes every policy that `policies` does not name."""
    dry_run: bool = False
    """Returns the changes and makes none."""


class PoliciesView(View):
    """All stored policies and templates."""

    policies: dict[str, dict[str, Any]]
    """The fields that each sets, by the scope or the pattern."""


class PolicyChangeView(View):
    """The effect on one policy."""

    name: str
    """The scope or the pattern."""
    action: PolicyAction
    before: dict[str, Any] | None
    """`null`: none was stored."""
    after: dict[str, Any] | None
    """`null`: none is stored any more."""


class AppliedView(View):
    """The changes, by name; none if everything was stored like this already."""

    changes: list[PolicyChangeView]
    applied: bool
    """Whether they were made: not with `dry_run`."""


class ReplayBody(Body):
    """Policies to replay the ledger's history under."""

    policies: Policies
    """As for `PUT /v1/policies`. A policy that is not named stays as it is stored; `null` leaves it out."""
    since: Time
    """Begin of the replay, at most 400 days ago. What was spent before it counts."""


class ReplayLineView(View):
    """What the policies would have done with the calls of the history."""

    refused: int
    """Calls that would have been refused."""
    asked: int
    """Calls that would have needed an approval."""
    waited: int
    """Calls that would have waited for open holds."""
    tasks_stopped: int
    """Tasks with a call that would have been refused or needed an approval."""
    delayed: int
    """Calls that would have been delayed."""
    delay_ms: int
    """Total of the delays in milliseconds."""
    saved_tokens: int
    """What the calls that would have been refused or needed an approval were charged."""
    saved_nano_usd: int
    eased: int
    """Calls that would have taken a step of a ladder."""
    eased_tokens: int
    """What they would have been charged less, as far as the ledger tells: a cheaper model uses as many tokens."""
    eased_nano_usd: int


class ReplayStepView(View):
    """What one step of the ladder of a scope would have done. A call with steps of several scopes counts on each."""

    step: int
    """Its number, from 1."""
    ratio: float
    calls: int
    """Calls that would have taken it, with the steps below that it leaves open."""
    unknown: int
    """Further calls that reach it, of which the ledger knows no model or no usage by kind of tokens: they are replayed
    as they were."""
    saved_tokens: int
    """What the calls that take it would have been charged less."""
    saved_nano_usd: int


class ReplayScopeView(ReplayLineView):
    """What the policy of one scope would have done. Of several that stop a call, the decisive one counts."""

    scope: str
    ladder: list[ReplayStepView]
    """The steps of its ladder that calls reach."""


class ReplayView(View):
    """The history under other policies."""

    calls: int
    """Calls that were replayed."""
    total: ReplayLineView
    scopes: list[ReplayScopeView]
    """The scopes that would have held up calls or had them take steps, those that save most first; at most 1,000."""
    not_known: list[str]
    """What the ledger cannot tell."""
