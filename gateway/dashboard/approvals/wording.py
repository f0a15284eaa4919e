"""Texts and figures of approval requests."""

from collections.abc import Sequence
from datetime import datetime

from purser.budget.approval_rules import Outcome, judge
from purser.budget.approvals import ApprovalRequest, ApprovalState, Choice, DecisionRequest, Identity, Waiter
from purser.budget.errors import DecisionRefused, InvalidRequest
from purser.budget.gate import NOTHING, Amount
from purser.budget.reports.finish import Finish
from purser.budget.reports.forecast import Basis, Forecast
from purser.budget.reports.views import BudgetView
from purser.budget.windows import Window, rolling_length
from purser.gateway.access.roles import Permission, Principal, Role
from purser.gateway.dashboard.components import Bar, bar
from purser.gateway.dashboard.formats import amount, dollars, exact, plural
from purser.gateway.dashboard.policies import SOURCES, two_people


def wanted(request: ApprovalRequest) -> Amount:
    """The sum of what all waiting calls ask for."""
    return request.waiting if request.state is ApprovalState.PENDING else NOTHING


def needed(request: ApprovalRequest) -> Amount:
    """The shortage of a pending request; for a closed one what was granted or, if nothing was, asked."""
    if request.state is ApprovalState.PENDING:
        return request.shortage
    return request.given if request.given != Amount() else request.asked


def who(waiters: Sequence[Waiter]) -> str:
    """Who asks, in a few words: `planner of t-1, for sam`."""
    if not waiters:
        return "no one is waiting any more"
    agents = sorted({waiter.agent_id for waiter in waiters if waiter.agent_id})
    tasks = sorted({waiter.task_id for waiter in waiters if waiter.task_id})
    people = sorted({waiter.submitter for waiter in waiters if waiter.submitter})
    who = agents[0] if len(agents) == 1 else f"{len(waiters)} {plural(len(waiters), 'call')}"
    of = f" of {tasks[0]}" if len(tasks) == 1 else f" of {len(tasks)} tasks" if tasks else ""
    return f"{who}{of}" + (f", for {', '.join(people[:2])}{' …' if len(people) > 2 else ''}" if people else "")


def bars(request: ApprovalRequest) -> list[Bar]:
    """Bars of tokens, and of money where it is limited."""
    spent, held, granted, asked = request.spent, request.held, request.granted, wanted(request)
    shown = []
    if request.limit_tokens is not None or request.limit_nano_usd is None:
        shown.append(bar(spent.tokens, held.tokens, request.limit_tokens, granted.tokens, asked.tokens))
    if (most := request.limit_nano_usd) is not None:
        nano = (spent.nano_usd, held.nano_usd, most, granted.nano_usd, asked.nano_usd)
        shown.append(bar(*nano, unit="nano-dollars"))
    return shown


def usage(request: ApprovalRequest, budget: BudgetView) -> str:
    """What the scope may use and has used: a sentence without its subject, the scope."""
    limits, taken = [], []
    if request.limit_tokens is not None:
        extra = f" and {exact(request.granted.tokens)} granted" if request.granted.tokens else ""
        limits.append(f"{exact(request.limit_tokens)} tokens{extra}")
        taken.append(f"{exact(request.spent.tokens)} spent, {exact(request.held.tokens)} held")
    if request.limit_nano_usd is not None:
        extra = f" and {dollars(request.granted.nano_usd)} granted" if request.granted.nano_usd else ""
        limits.append(f"{dollars(request.limit_nano_usd)}{extra}")
        taken.append(f"{dollars(request.spent.nano_usd)} spent, {dollars(request.held.nano_usd)} held")
    if not limits:
        return "has no limit any more."
    window = "" if budget.window_start is None else f" this {budget.policy.window}"
    return f"may use {' and '.join(limits)}{window}; {'; '.join(taken)}."


def own_end(budget: BudgetView) -> str:
    """Until when a grant lasts that has no time of its own."""
    window = budget.policy.window
    if window == Window.LIFETIME:
        return "it is used up"
    return f"{window} from now" if rolling_length(window) else f"the {window} ends"


def legend(request: ApprovalRequest) -> list[tuple[str, str]]:
    """What the colours of the bars mean, with the figures."""
    parts = [("spent", request.spent), ("held", request.held), ("granted", request.granted), ("asked", wanted(request))]
    return [(name, _figures(request, value)) for name, value in parts if value != Amount() or name == "spent"]


def _figures(request: ApprovalRequest, value: Amount) -> str:
    """An amount in the units that are limited."""
    with_tokens = request.limit_tokens is not None or request.limit_nano_usd is None
    figures = [exact(value.tokens)] if with_tokens else []
    figures += [dollars(value.nano_usd)] if request.limit_nano_usd is not None else []
    return " · ".join(figures)


def limit(request: ApprovalRequest) -> str:
    """The limit in figures."""
    if request.limit_tokens is None and request.limit_nano_usd is None:
        return "none"
    return _figures(request, Amount(request.limit_tokens or 0, request.limit_nano_usd or 0))


def known_rate(forecast: Forecast | None) -> Forecast | None:
    """The forecast if it has a rate; `None` if there is too little history."""
    if forecast is None or forecast.basis is Basis.TOO_SHORT or not forecast.tokens_per_hour:
        return None
    return forecast


def lasts(request: ApprovalRequest, rate: Forecast | None) -> str:
    """How long the missing tokens would last at that rate."""
    if rate is None or not rate.tokens_per_hour or not request.shortage.tokens:
        return ""
    minutes = request.shortage.tokens * 60 // rate.tokens_per_hour
    if not minutes:
        return "a minute"
    return f"{minutes} min" if minutes < 120 else f"{minutes // 60} h"


def finish(found: Finish | None) -> str:
    """What the waiting tasks may still spend until they end."""
    if found is None:
        return "unknown: no turn of the waiting tasks has a reply yet"
    low, high = amount(found.low), amount(found.high)
    between = low if low == high else f"{low} to {high}"
    return f"{between} more until the waiting tasks end, by {found.turns} {plural(found.turns, 'turn')} so far"


def people(request: ApprovalRequest) -> str:
    """Who may decide, in words."""
    rules = request.rules
    text = f"one of the roles {', '.join(rules.roles)}" if rules.roles else "no one"
    if request.escalated_at is not None:
        text += ", or a deputy, because the request is escalated"
    elif rules.escalate_s is not None:
        text += f", or a deputy from {rules.escalate_s // 60} min before the deadline on"
    text += ", but not the submitter of the task" if rules.not_submitter else ""
    return text + (f"; {above}" if (above := two_people(rules)) else "")


def source(request: ApprovalRequest, budget: BudgetView) -> str:
    """The source of the limit that is short, or the sources of both limits if each is, or neither by now."""
    short = request.shortage if request.state is ApprovalState.PENDING else request.asked
    amounts = {"limit_tokens": short.tokens, "limit_nano_usd": short.nano_usd}
    names = [name for name, missing in amounts.items() if missing] or amounts
    found = dict.fromkeys(budget.sources.get(name, "default") for name in names)
    return " and ".join(SOURCES.get(one, one) for one in found)


def expiry(at_deadline: Outcome | None) -> str:
    """The outcome if no one decides by the deadline."""
    return "granted" if at_deadline is not None and at_deadline.state is ApprovalState.APPROVED else "denied"


def outcome(request: ApprovalRequest, caller: Principal) -> tuple[str, datetime | None]:
    """How a closed request ended, and when: the sentence goes on with the time, or is complete without one."""
    if request.state is ApprovalState.WITHDRAWN or not request.decisions:
        return "The budget suffices, no one waits any more, or the scope asks no one: nothing is left to decide.", None
    last, given = request.decisions[-1], amount(request.given)
    if last.identity is Identity.SWEEPER:
        did = f"granted {given}" if request.given != NOTHING else "denied"
        return f"No one decided in time, so it was {did}", last.at
    who = "You" if last.approver == caller.name else last.approver
    return f"{who} {f'approved {given}' if last.choice is Choice.APPROVE else 'denied this'}", last.at


def too_late(request: ApprovalRequest, caller: Principal, now: datetime) -> str:
    """Why a decision about a closed request changed nothing."""
    text, at = outcome(request, caller)
    if at is None:
        return f"Too late: {text}"
    seconds = max(0, round((now - at).total_seconds()))
    return f"Too late: {text} {seconds} s ago. Your decision changed nothing."


def barred(
    request: ApprovalRequest,
    caller: Principal,
    now: datetime,
    choice: Choice = Choice.DENY,
    alone: Amount = NOTHING,
) -> str:
    """Why the rules bar a caller, who has granted `alone` in this window, from deciding; empty if they do not."""
    if not caller.may(Permission.DECIDE):
        return f"Your role {caller.role} may look at requests but not decide them."
    try:
        judge(request, DecisionRequest(request.approval_id, "?", choice), caller.approver, now, alone=alone)
    except DecisionRefused as error:
        return {
            "role": "A deputy may decide only once the request is escalated."
            if caller.role is Role.DEPUTY
            else f"This request takes one of the roles {', '.join(request.rules.roles)}; yours is {caller.role}.",
            "submitter": "You submitted a task that waits here: another person has to decide.",
            "same_person": "Your approval is recorded; another person has to approve too.",
        }.get(error.reason, str(error))
    except InvalidRequest:
        pass  # the shortage may not be granted; another amount may
    return ""
