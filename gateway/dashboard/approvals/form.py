"""The form of a decision: suggested amounts, parsing of the input, and when it asks for confirmation."""

import json
import uuid
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime

from markupsafe import Markup

from purser.budget.approval_rules import in_common
from purser.budget.approvals import ApprovalRequest, ApprovalState, Choice
from purser.budget.gate import Amount
from purser.budget.money import typed_dollars
from purser.budget.previews import Effect
from purser.gateway.access.roles import Principal
from purser.gateway.approvals.details import ApprovalDetails
from purser.gateway.dashboard import amounts
from purser.gateway.dashboard.actions import Refused
from purser.gateway.dashboard.approvals.wording import barred, outcome, own_end
from purser.gateway.dashboard.components import render
from purser.gateway.dashboard.formats import exact, plural
from purser.gateway.dashboard.region import Act
from purser.wire.approvals import DecisionBody
from purser.wire.limits import MAX_NOTE, MAX_TICKET_URL

_TIMES = (
    ("30", "30 minutes from now"),
    ("60", "1 hour from now"),
    ("240", "4 hours from now"),
    ("1440", "24 hours from now"),
    ("at", "a time …"),
)


@dataclass(frozen=True, slots=True)
class Reason:
    """A reason that the form asks for and a recorded decision shows."""

    name: str
    """Field of `DecisionBody` and `PastDecision`."""
    label: str
    max_chars: int
    link: str = ""
    """Text of the link, if the reason is a web address; empty: the reason itself is shown."""


REASONS = (
    Reason("note", "Note, for the record", MAX_NOTE),
    Reason("ticket_url", "Ticket, a web address", MAX_TICKET_URL, link="Ticket"),
)


@dataclass(frozen=True, slots=True)
class Draft:
    """A decision to be recorded; its id makes repeated clicks idempotent."""

    choice: Choice
    amount: Amount = field(default_factory=Amount)
    until: datetime | None = None
    reasons: Mapping[str, str] = field(default_factory=dict)
    """By name of `REASONS`; those left empty are missing."""
    decision_id: str = field(default_factory=lambda: f"page-{uuid.uuid4()}")

    def body(self) -> DecisionBody:
        """The decision as the body of the API request.

        Raises:
            Refused: an approval without an amount, which would grant whatever is missing by the time it arrives.
        """
        if self.choice is Choice.APPROVE and self.amount == Amount():
            raise Refused("Nothing was missing any more: there is nothing to grant.")
        fields = {
            "decision_id": self.decision_id,
            "decision": self.choice,
            "grant_tokens": self.amount.tokens or None,
            "grant_nano_usd": self.amount.nano_usd or None,
            "until": self.until and self.until.isoformat(),
        }
        return DecisionBody.model_validate(fields | dict(self.reasons))


def read(act: Act, choice: Choice, now: datetime) -> Draft:
    """Parses the form.

    Raises:
        Refused: a field is not an amount, or not a time in the future.
    """
    typed = {reason.name: act.fields.get(reason.name, "").replace("\r\n", "\n").strip() for reason in REASONS}
    reasons = {name: text for name, text in typed.items() if text}
    if choice is Choice.DENY:
        return Draft(choice, reasons=reasons)
    tokens = amounts.count(act.fields.get("tokens", ""), "Tokens")
    nano = amounts.nano_usd(act.fields.get("dollars", ""), "Dollars")
    if not tokens and not nano:
        raise Refused("Enter an amount to grant, or deny.")
    until = amounts.end(act.fields.get("until", ""), act.fields.get("at", ""), now)
    return Draft(choice, Amount(tokens or 0, nano or 0), until, reasons)


def is_large(details: ApprovalDetails, given: Amount) -> bool:
    """Whether a grant exceeds both the offered amount and the limit itself, and so may be a typing error."""
    request, offered = details.request, details.without_delay
    return given.tokens > max(offered.tokens, request.limit_tokens or 0) or given.nano_usd > max(
        offered.nano_usd, request.limit_nano_usd or 0
    )


def previewed(details: ApprovalDetails, fields: Mapping[str, str], now: datetime) -> Effect | None:
    """The effect of the amount in the form; `None` while it is not an amount.

    Args:
        details: the request with its details.
        fields: fields of the form; empty before anything was typed or asked.
        now: the current time.
    """
    amount = details.suggested
    if fields:
        try:
            amount = read(Act("preview", fields={**fields, "until": ""}), Choice.APPROVE, now).amount
        except Refused:
            return None
    return details.effect(in_common(amount, details.request.agreed(now)) if details.needs_two(amount) else amount)


def form(
    details: ApprovalDetails,
    caller: Principal,
    typed: Mapping[str, str],
    armed: Draft | None,
    problem: str,
    effect: Effect | None,
    now: datetime,
) -> Markup:
    """The form under a pending request, or the outcome of a closed one.

    Args:
        details: the request with its details.
        caller: the signed-in caller.
        typed: fields of the form; empty before anything was typed or asked.
        armed: a decision that waits for confirmation.
        problem: why the last attempt failed.
        effect: effect of the amount in the form, if it is one.
        now: the current time.
    """
    request = details.request
    if request.state is not ApprovalState.PENDING:
        text, at = outcome(request, caller)
        return render("approvals/outcome.html", state=request.state, text=text, at=at)
    bar_to_all = barred(request, caller, now)
    exactly, easily, agreed = request.shortage, details.without_delay, request.agreed(now)
    # Other scopes of a path may still delay the call, whatever this one is granted.
    eased = "Less delay" if details.effect(easily).delay_ms else "Without delay"
    chips = (("Exact shortage", exactly), (eased, easily)) if exactly != easily else ()
    # The second person has to enter an amount in the units to which the first one agreed.
    offered = _fields(request, details.suggested, *(past.amount for past in agreed))
    return render(
        "approvals/form.html",
        request=request,
        needs_two=details.needs_two(exactly),
        alone=details.alone if not request.needs_two(exactly) else None,
        agreed=agreed,
        problem=problem,
        barred=bar_to_all,
        barred_from_approval=bar_to_all or barred(request, caller, now, Choice.APPROVE, details.alone),
        # A form in use keeps its amounts, which the effect and the question name, although more is missing by now.
        offered={name: typed.get(name, "") for name in offered} if typed else offered,
        ends=(("", own_end(details.budget)), *_TIMES),
        reasons=REASONS,
        chips=[(label, offered, json.dumps(_fields(request, offered))) for label, offered in chips],
        armed=armed,
        is_large=armed is not None and is_large(details, armed.amount),
        effect=effect,
        calls_after=_calls_after(effect),
    )


def _fields(request: ApprovalRequest, offered: Amount, *agreed: Amount) -> dict[str, str]:
    """An amount as fields of the form: the units that are limited or offered, or to which someone agreed."""
    fields = {}
    if request.limit_tokens is not None or any(one.tokens for one in (offered, *agreed)):
        fields["tokens"] = exact(offered.tokens) if offered.tokens else ""
    if request.limit_nano_usd is not None or any(one.nano_usd for one in (offered, *agreed)):
        fields["dollars"] = typed_dollars(offered.nano_usd) if offered.nano_usd else ""
    return fields


def _calls_after(effect: Effect | None) -> list[tuple[int, str]]:
    """The calls that a grant would not admit: how many, and what becomes of them."""
    if effect is None:
        return []
    found = (
        (effect.asking, "asks again", "ask again"),
        (effect.waiting, "waits for open holds", "wait for open holds"),
        (effect.refused, "is refused", "are refused"),
    )
    return [(count, plural(count, one, many)) for count, one, many in found if count]
