"""Webhook messages: figures for programs and a sentence for people. They never contain text of a conversation."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from fractions import Fraction
from typing import Any
from urllib.parse import quote

from purser.budget.gate import OUTCOMES
from purser.budget.money import dollars
from purser.budget.postgres.approvals.reminders import ESCALATED, REMINDED
from purser.budget.postgres.events.events import Event, EventKind
from purser.budget.reports.views import BudgetView
from purser.budget.scopes import Kind, Scope
from purser.gateway.approvals.links import ApprovalLinks

STATES: Mapping[str, tuple[str, ...]] = {
    EventKind.THRESHOLD: (),
    EventKind.SHADOW: OUTCOMES,
    EventKind.BUDGET: ("changed", "frozen"),
    EventKind.APPROVAL: ("pending", "reminded", "escalated", "approved", "denied", "expired", "withdrawn"),
    EventKind.COMPRESSION: (),
    EventKind.TASK: ("running", "paused", "completed", "partial", "refused", "failed", "cancelled"),
    EventKind.AGENT: (
        "running", "paused", "waiting_approval", "completed", "refused", "failed", "cancelled", "skipped",
    ),
    EventKind.TURN: ("admitted", "settled", "rejected"),
}  # fmt: skip
"""Kinds to which a webhook may subscribe, each as a whole or by state."""
RESTATED = ("joined", "left")
"""Causes of approval events that only update the figures of a request that has been delivered before."""
_EARLY = (REMINDED, ESCALATED)
"""Causes of approval events that webhooks may subscribe to as states."""
FIGURES = ("spent", "held", "granted", "limit")
FIELDS = (
    "type", "position", "at", "tenant", "title", "text", "severity", "scope", "state", "percentage", *FIGURES, "asked",
    "given", "deadline", "resets_at", "approval_id", "task_id", "agent_id", "session_id", "by", "ticket_url", "url",
)  # fmt: skip
"""Fields that every body has, besides its `id`."""
_TROUBLE = ("failed", "refused", "partial")


@dataclass(frozen=True, slots=True)
class WebhookMessage:
    """Title, text and severity of an event."""

    title: str
    text: str
    """One sentence."""
    severity: str
    """`low`, `medium`, `high` or `critical`."""


def state_of(event: Event) -> str | None:
    """The state in an event; `None` for kinds without states."""
    data = event.data
    match event.kind:
        case EventKind.BUDGET:
            return "frozen" if data["fields"].get("frozen", {}).get("after") is True else "changed"
        case EventKind.SHADOW:
            return str(data["outcome"])
        case EventKind.APPROVAL:
            return str(data["cause"] if data.get("cause") in _EARLY else data["state"])
        case EventKind.TASK | EventKind.AGENT:
            return str(data["status"])
        case EventKind.TURN:
            return str(data["step"])
    return None


def is_wanted(event: Event, kinds: tuple[str, ...], least_threshold: float | None) -> bool:
    """Whether an event is delivered to a webhook that subscribes to `kinds`."""
    if event.kind not in kinds and f"{event.kind}.{state_of(event)}" not in kinds:
        return False
    if event.kind == EventKind.APPROVAL:
        return event.data.get("cause") not in RESTATED
    return event.kind != EventKind.THRESHOLD or event.data["threshold"] >= (least_threshold or 0)


def payload(
    event: Event, budget: BudgetView | None, public_url: str, now: datetime, links: ApprovalLinks
) -> dict[str, Any]:
    """Creates the body of a delivery, without its `id`. All fields are present, `null` if they do not apply.

    Args:
        event: the event to deliver.
        budget: budget of its scope, for events about one.
        public_url: address of the dashboard.
        now: time relative to which deadlines are stated.
        links: makes the links to approval requests.
    """
    message, data, state = describe(event, now), event.data, state_of(event)
    figures = _figures(event, budget)
    return _body(
        type=event.kind if state is None else f"{event.kind}.{state}",
        position=event.position,
        at=event.at.isoformat(),
        tenant=event.tenant,
        title=message.title,
        text=message.text,
        severity=message.severity,
        scope=event.scope,
        state=state,
        percentage=_percentage(figures),
        **figures,
        asked=data.get("asked"),
        given=data.get("given"),
        deadline=data.get("deadline"),
        resets_at=budget.window_end.isoformat() if budget and budget.window_end else None,
        approval_id=data.get("approval_id"),
        task_id=data.get("task_id"),
        agent_id=data.get("agent_id"),
        session_id=data.get("session_id"),
        by=data.get("by"),
        ticket_url=(data.get("decision") or {}).get("ticket_url"),
        url=_link(event, links, now) or public_url.rstrip("/") + page_of(event),
    )


def payload_of_test(tenant: str, public_url: str, now: datetime) -> dict[str, Any]:
    """Creates the body of a test, without its `id`: a message about no event."""
    text = "Purser reaches this address."
    return _body(
        type="test", at=now.isoformat(), tenant=tenant, title="Test", text=text, severity="low", url=public_url
    )


def describe(event: Event, now: datetime) -> WebhookMessage:
    """Describes an event for people."""
    if words := _WORDS.get(event.kind):
        return words(event, now)
    return WebhookMessage(event.kind, f"{event.kind} of {_name(event.scope)}.", "low")


def _body(**known: Any) -> dict[str, Any]:
    """A body with all fields, `null` where no value is known."""
    return dict.fromkeys(FIELDS) | known


def _link(event: Event, links: ApprovalLinks, now: datetime) -> str | None:
    """The signed link to an approval request; `None` for other events, or without a key to sign it."""
    if event.kind != EventKind.APPROVAL:
        return None
    deadline = datetime.fromisoformat(event.data["deadline"])
    return links.url(event.tenant, event.data["approval_id"], deadline, now)


def page_of(event: Event) -> str:
    """Path of the dashboard page about an event."""
    data = event.data
    match event.kind:
        case EventKind.APPROVAL:
            return f"/approvals?id={quote(data['approval_id'], safe='')}"
        case EventKind.TASK | EventKind.AGENT | EventKind.TURN:
            return f"/tasks/{quote(data['task_id'], safe='')}"
        case EventKind.COMPRESSION:
            return f"/sessions/{quote(data['session_id'], safe='')}"
    return f"/budgets?scope={quote(event.scope or '', safe='')}"


def _threshold(event: Event, _: datetime) -> WebhookMessage:
    who, data = _name(event.scope), event.data
    percentage = _percentage(_figures(event, None))
    reached = f"{float(data['threshold']) * 100:g} %"
    used = f"{percentage:g} %" if percentage is not None else reached
    ratio = (percentage or 0) / 100
    severity = "critical" if ratio >= 1 else "high" if ratio >= 0.95 else "medium" if ratio >= 0.8 else "low"
    return WebhookMessage(
        f"{_capital(who)}: {used} of its budget used",
        f"{_capital(who)} has reached {reached} of its budget: {_taken(data)}.",
        severity,
    )


_WOULD = {
    "refuse": "refused a call",
    "ask": "asked for an approval",
    "wait": "made a call wait",
    "delay": "delayed a call",
}


def _shadow(event: Event, _: datetime) -> WebhookMessage:
    who, done = _name(event.scope), _WOULD[event.data["outcome"]]
    text = f"The policy of {who} only records. It would have {done} for the first time in its window."
    return WebhookMessage(f"{_capital(who)} would have {done}", text, "low")


def _budget(event: Event, _: datetime) -> WebhookMessage:
    who, data = _name(event.scope), event.data
    frozen = data["fields"].get("frozen", {}).get("after")
    if frozen is not None:
        verb = "froze" if frozen else "unfroze"
        return WebhookMessage(
            f"{_capital(who)} {'frozen' if frozen else 'unfrozen'}", f"{data['by']} {verb} {who}.", "medium"
        )
    fields = ", ".join(sorted(data["fields"]))
    return WebhookMessage(f"Budget of {who} changed", f"{data['by']} changed {fields} of {who}.", "low")


def _approval(event: Event, now: datetime) -> WebhookMessage:
    who, data, task = _name(event.scope), event.data, _waiting(event.data)
    more, given = _addition(data["asked"]), _addition(data["given"])
    by = data.get("by") or "Someone"
    match data["state"]:
        case "pending" if data.get("cause") == "decided":
            needed = data.get("decisions_needed") or 1
            return WebhookMessage(
                f"Approval needed: {who}",
                f"{by} approved {more} for {who}; {needed} more must: {_deadline(data['deadline'], now)}.",
                "high",
            )
        case "pending" if data.get("cause") == REMINDED:
            text = f"No one has decided yet: {who} needs {more}{task}, {_deadline(data['deadline'], now)}."
            return WebhookMessage(f"Reminder, approval needed: {who}", text, "high")
        case "pending" if data.get("cause") == ESCALATED:
            text = f"Deputies may decide now: {who} needs {more}{task}, {_deadline(data['deadline'], now)}."
            return WebhookMessage(f"Escalated, approval needed: {who}", text, "critical")
        case "pending":
            text = f"{_capital(who)} needs {more}{task}: {_deadline(data['deadline'], now)}."
            return WebhookMessage(f"Approval needed: {who}", text, "high")
        case "approved" if data.get("cause") == "expired":
            text = f"No one decided in time: {who} was granted {given}, as its rules say."
            return WebhookMessage(f"Granted without a decision: {who}", text, "high")
        case "approved":
            return WebhookMessage(f"Approved: {who}", f"{by} granted {who} {given}.", "low")
        case "denied":
            return WebhookMessage(f"Denied: {who}", f"{by} denied {who} {more}.", "medium")
        case "expired":
            text = f"No one decided in time: {who} did not get {more}."
            return WebhookMessage(f"Approval expired: {who}", text, "high")
    return WebhookMessage(f"No approval needed any more: {who}", f"{_capital(who)} no longer waits for {more}.", "low")


def _waiting(data: Mapping[str, Any]) -> str:
    """For whose calls an approval is needed, after "needs …"; empty for callers without a task."""
    waiting = data.get("waiting") or []
    names = [f"agent {one['agent_id']} of task {one['task_id']}" for one in waiting if one["agent_id"]]
    names += [f"task {one['task_id']}" for one in waiting if not one["agent_id"]]
    return f" for {', '.join(names)}" if names else ""


def _compression(event: Event, _: datetime) -> WebhookMessage:
    data = event.data
    shrunk = f"{data['tokens_before']:,} to {data['tokens_after']:,} tokens"
    who = _name(event.scope)
    return WebhookMessage(f"{_capital(who)} compressed", f"{_capital(who)} was compressed from {shrunk}.", "low")


def _progress(event: Event, _: datetime) -> WebhookMessage:
    data, state = event.data, str(state_of(event)).replace("_", " ")
    who = f"task {data['task_id']}"
    if event.kind != EventKind.TASK:
        who = f"agent {data['agent_id']} of {who}"
    if event.kind == EventKind.TURN:
        who = f"turn {data['turn']} of {who}"
    reason = f" ({data['reason']})" if data.get("reason") else ""
    severity = "medium" if state in _TROUBLE else "low"
    return WebhookMessage(f"{_capital(who)}: {state}", f"{_capital(who)} is {state}{reason}.", severity)


_WORDS: Mapping[str, Callable[[Event, datetime], WebhookMessage]] = {
    EventKind.THRESHOLD: _threshold,
    EventKind.SHADOW: _shadow,
    EventKind.BUDGET: _budget,
    EventKind.APPROVAL: _approval,
    EventKind.COMPRESSION: _compression,
    EventKind.TASK: _progress,
    EventKind.AGENT: _progress,
    EventKind.TURN: _progress,
}


def _figures(event: Event, budget: BudgetView | None) -> dict[str, Any]:
    """Spent, held, granted and limit: from the event if it has them, else from the current budget."""
    if event.kind == EventKind.THRESHOLD:
        return {name: event.data.get(name) for name in FIGURES}
    if budget is None:
        return dict.fromkeys(FIGURES)
    moved = {name: getattr(budget, name).to_json() for name in ("spent", "held", "granted")}
    limit = {"tokens": budget.policy.limit_tokens, "nano_usd": budget.policy.limit_nano_usd}
    return moved | {"limit": limit}


def _percentage(figures: Mapping[str, Any]) -> float | None:
    """(spent + held) / (limit + granted), the larger of tokens and money, to one decimal."""
    ratios = []
    for unit in ("tokens", "nano_usd"):
        spent, held, granted, limit = ((figures[name] or {}).get(unit) for name in FIGURES)
        if limit is not None and limit + (granted or 0) > 0:
            ratios.append(Fraction((spent or 0) + (held or 0), limit + (granted or 0)))
    return float(round(max(ratios) * 100, 1)) if ratios else None


def _taken(data: Mapping[str, Any]) -> str:
    parts = []
    for unit, shown, suffix in (("tokens", "{:,}".format, " tokens"), ("nano_usd", dollars, "")):
        spent, held, granted, limit = (data[name][unit] for name in FIGURES)
        if limit is not None:
            parts.append(f"{shown(spent + held)} of {shown(limit + granted)}{suffix} spent or held")
    return " and ".join(parts) or "no limit any more"


def _addition(amount: Mapping[str, int]) -> str:
    tokens, nano = amount["tokens"] or 0, amount["nano_usd"] or 0
    parts = [f"{tokens:,} more tokens"] if tokens or not nano else []
    return " and ".join([*parts, *([f"{dollars(nano)} more"] if nano else [])])


def _deadline(text: str, now: datetime) -> str:
    at = datetime.fromisoformat(text).astimezone(UTC)
    minutes = round((at - now).total_seconds() / 60)
    away = f"in {minutes} min" if minutes < 120 else f"in {round(minutes / 60)} h"
    return f"deadline {away if minutes >= 1 else 'now'} ({at:%H:%M} UTC)"


def _name(scope: str | None) -> str:
    """A scope in words: `session s1`, `agent a of task t1`."""
    if scope is None:
        return "nothing in particular"
    parsed = Scope.stored(scope)
    if parsed.kind is Kind.AGENT:
        task, _, agent = parsed.id.partition("/")
        return f"agent {agent} of task {task}"
    return f"{parsed.kind} {parsed.id}"


def _capital(words: str) -> str:
    return words[:1].upper() + words[1:]
