"""Approval requests in words and bars."""

from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, datetime

from markupsafe import Markup

from activities.postgres.purposes import Purpose
from budget.approval_rules import judge
from budget.approvals import (
    Actor,
    ApprovalRequest,
    ApprovalState,
    Choice,
    DecisionRequest,
    Identity,
    PastDecision,
    Waiter,
)
from budget.decisions import Amount
from budget.errors import DecisionRefused
from budget.forecast import Basis, Forecast
from budget.policies import OnExpiry
from budget.views import BudgetView
from gateway.dashboard.markup import (
    NOTHING,
    address,
    ago,
    amount,
    bar,
    dollars,
    empty,
    exact,
    join,
    left,
    link,
    moment,
    plural,
    scope_name,
    short,
    table,
    tag,
)
from gateway.dashboard.work_words import long_text
from gateway.roles import Permission, Principal

TONES = {
    ApprovalState.PENDING: "warn",
    ApprovalState.APPROVED: "good",
    ApprovalState.DENIED: "bad",
    ApprovalState.EXPIRED: "bad",
    ApprovalState.WITHDRAWN: "",
}
SHOWN_PURPOSES = 3
"""Of calls that wait for one request."""
SOURCES = {"stored": "a stored policy", "request": "the task", "default": "the default"}
"""Where a field of a policy comes from, in words; others go by their own names."""
BASES = {
    Basis.HOUR: "in the last hour",
    Basis.DAY: "in the last day",
    Basis.SINCE_FIRST: "since its first call",
    Basis.TOO_SHORT: "",
}
_IDENTITIES = {
    Identity.KEY: "signed in",
    Identity.ASSERTED: "a name that was not checked",
    Identity.SWEEPER: "nobody decided in time",
}


def bars(request: ApprovalRequest) -> Markup:
    """Tokens, and money where it is limited."""
    asked = wanted(request)
    shown = [bar(request.spent.tokens, request.held.tokens, request.limit_tokens, request.granted.tokens, asked.tokens)]
    if request.limit_nano_usd is not None:
        shown.append(
            bar(
                request.spent.nano_usd,
                request.held.nano_usd,
                request.limit_nano_usd,
                request.granted.nano_usd,
                asked.nano_usd,
                words="nano-dollars",
            )
        )
    if request.limit_tokens is None and len(shown) > 1:
        shown = shown[1:]
    return join(shown)


def wanted(request: ApprovalRequest) -> Amount:
    """What all who wait ask for together."""
    if request.state is not ApprovalState.PENDING:
        return Amount()
    return sum((waiter.ask for waiter in request.waiters), Amount())


def missing(request: ApprovalRequest) -> Amount:
    """What a grant has to add; for a closed request what it had to."""
    return request.shortage if request.state is ApprovalState.PENDING else request.asked


def row(request: ApprovalRequest, *, chosen: bool, caller: Principal, now: datetime) -> Markup:
    """One line of the list."""
    pending = request.state is ApprovalState.PENDING
    when = left(request.deadline) if pending else ago(request.decided_at or request.created_at)
    marks = [] if pending else [tag(request.state, TONES[request.state])]
    if pending and request.agreed and request.needs_two(request.shortage):
        marks.append(tag("1 of 2", "busy"))
    if pending and caller.may(Permission.DECIDE) and (reason := barred(request, caller, now)):
        marks.append(Markup('<span class="tag" title="{}">not yours</span>').format(reason))
    return Markup(
        '<li data-key="{}"><button type="button" class="request" data-act="select" data-id="{}"{}>'
        '<span class="row-when">{}</span><span class="row-what">{}<span class="row-who">{}</span></span>'
        '<span class="row-need"><b>{}</b>{}</span><span class="row-bar">{}</span></button></li>'
    ).format(
        request.approval_id,
        request.approval_id,
        Markup(' aria-current="true"') if chosen else NOTHING,
        when,
        scope_name(request.scope),
        who(request.waiters),
        amount(missing(request) if pending else request.given if request.given != Amount() else request.asked),
        join(marks, " "),
        bars(request),
    )


def who(waiters: Sequence[Waiter]) -> str:
    """Who asks, in a few words: `planner of t-1, for sam`."""
    if not waiters:
        return "nobody waits any more"
    agents = sorted({waiter.agent_id for waiter in waiters if waiter.agent_id})
    tasks = sorted({waiter.task_id for waiter in waiters if waiter.task_id})
    people = sorted({waiter.submitter for waiter in waiters if waiter.submitter})
    who = agents[0] if len(agents) == 1 else f"{len(waiters)} {plural(len(waiters), 'call')}"
    of = f" of {tasks[0]}" if len(tasks) == 1 else f" of {len(tasks)} tasks" if tasks else ""
    return f"{who}{of}" + (f", for {', '.join(people[:2])}{' …' if len(people) > 2 else ''}" if people else "")


def sentence(request: ApprovalRequest, budget: BudgetView) -> Markup:
    """Why somebody has to decide."""
    limits, taken = [], []
    if request.limit_tokens is not None:
        extra = f" and {exact(request.granted.tokens)} granted" if request.granted.tokens else ""
        limits.append(f"{exact(request.limit_tokens)} tokens{extra}")
        taken.append(f"{exact(request.spent.tokens)} spent, {exact(request.held.tokens)} held")
    if request.limit_nano_usd is not None:
        extra = f" and {dollars(request.granted.nano_usd)} granted" if request.granted.nano_usd else ""
        limits.append(f"{dollars(request.limit_nano_usd)}{extra}")
        taken.append(f"{dollars(request.spent.nano_usd)} spent, {dollars(request.held.nano_usd)} held")
    window = "" if budget.window_start is None else f" this {budget.policy.window}"
    limit = " and ".join(limits) or "no limit any more"
    told = f"{{}} may use {limit}{window}; {'; '.join(taken)}. " if taken else f"{{}} has {limit}. "
    ask = wanted(request)
    if request.task_id:
        told += f"Only task {request.task_id} asked for this limit, and a grant raises it for that task alone. "
    if request.state is ApprovalState.PENDING:
        calls = len(request.waiters)
        told += f"{calls} {plural(calls, 'call')} {plural(calls, 'waits', 'wait')} for {{}}: {{}} are missing."
        return Markup(told).format(scope_name(request.scope), amount(ask), amount(request.shortage))
    return Markup(told + "{} were missing.").format(scope_name(request.scope), amount(request.asked))


def legend(request: ApprovalRequest) -> Markup:
    """What the colours of the bars mean, with the figures."""
    asked = wanted(request)
    parts = [("spent", request.spent), ("held", request.held), ("granted", request.granted), ("asked", asked)]
    with_tokens = request.limit_tokens is not None or request.limit_nano_usd is None
    shown = []
    for name, value in parts:
        if value == Amount() and name != "spent":
            continue
        figures = [exact(value.tokens)] if with_tokens else []
        figures += [dollars(value.nano_usd)] if request.limit_nano_usd is not None else []
        shown.append(
            Markup('<span><i class="key {}"></i>{} <b class="num">{}</b></span>').format(
                name, name, " · ".join(figures)
            )
        )
    limits = [exact(request.limit_tokens)] if request.limit_tokens is not None else []
    limits += [dollars(request.limit_nano_usd)] if request.limit_nano_usd is not None else []
    shown.append(Markup('<span>limit <b class="num">{}</b></span>').format(" · ".join(limits) or "none"))
    return Markup('<p class="legend">{}</p>').format(join(shown))


def forecast_line(request: ApprovalRequest, forecast: Forecast | None) -> Markup:
    """How fast the scope spends, and how long what is missing would last."""
    if forecast is None or forecast.basis is Basis.TOO_SHORT or not forecast.tokens_per_hour:
        return Markup('<dd class="muted">too little history for a forecast</dd>')
    rate = Markup('<b class="num">{}</b> tokens per hour {}').format(
        short(forecast.tokens_per_hour), BASES[forecast.basis]
    )
    lasts = NOTHING
    if request.state is ApprovalState.PENDING and request.shortage.tokens:
        minutes = request.shortage.tokens * 60 // forecast.tokens_per_hour
        span = f"{minutes} min" if minutes < 120 else f"{minutes // 60} h"
        lasts = Markup("; the {} that are missing last about {}").format(
            short(request.shortage.tokens), span if minutes else "a minute"
        )
    return Markup("<dd>{}{}</dd>").format(rate, lasts)


def facts(request: ApprovalRequest, budget: BudgetView, forecast: Forecast | None) -> Markup:
    """What else a person wants to know."""
    rules = request.rules
    people = f"one of the roles {', '.join(rules.roles)}" if rules.roles else "nobody"
    people += ", but not who submitted the task" if rules.not_submitter else ""
    if rules.two_people_above_tokens is not None:
        people += f"; two people above {exact(rules.two_people_above_tokens)} tokens"
    expiry = "granted" if rules.on_expiry is OnExpiry.GRANT else "denied"
    source = budget.sources.get("limit_tokens" if request.limit_tokens is not None else "limit_nano_usd", "default")
    if request.state is ApprovalState.PENDING:
        ending = Markup("{}, at {}; then it is {}").format(left(request.deadline), moment(request.deadline), expiry)
    else:
        ending = moment(request.decided_at or request.deadline)
    return Markup(
        '<dl class="about"><dt>{}</dt><dd>{}</dd><dt>Asked</dt><dd>{} <span class="muted">({})</span></dd>'
        "<dt>Limit</dt><dd>{}, mode {}, set by {}</dd><dt>Burn rate</dt>{}<dt>Who may decide</dt><dd>{}</dd></dl>"
    ).format(
        "Time left" if request.state is ApprovalState.PENDING else "Ended",
        ending,
        moment(request.created_at),
        ago(request.created_at),
        budget.policy.window,
        budget.policy.mode,
        SOURCES.get(source, source),
        forecast_line(request, forecast),
        people,
    )


def waiting(request: ApprovalRequest, workflow_link: Callable[[str, str], Markup]) -> Markup:
    """The calls that wait, with the way to their tasks."""
    if not request.waiters:
        return NOTHING
    rows = [_waiter(waiter, workflow_link) for waiter in request.waiters[:20]]
    more = len(request.waiters) - len(rows)
    rest = Markup('<p class="muted">and {} more</p>').format(more) if more > 0 else NOTHING
    heads = Markup('<th>Task</th><th>Agent</th><th>Submitted for</th><th class="num">Asks for</th><th>Since</th>')
    title = "Who waits" if request.state is ApprovalState.PENDING else "Who waited"
    return Markup("<h3>{}</h3>{}{}").format(title, table(title, heads, rows), rest)


def _waiter(waiter: Waiter, workflow_link: Callable[[str, str], Markup]) -> Markup:
    task: Markup | str = "a caller over HTTP"
    if waiter.task_id:
        task = link(address(f"/tasks/{waiter.task_id}"), waiter.task_id)
        if waiter.agent_id:
            task = join([task, workflow_link(waiter.task_id, "Temporal")], " ")
    return Markup('<tr><td>{}</td><td>{}</td><td>{}</td><td class="num">{}</td><td>{}</td></tr>').format(
        task, waiter.agent_id or "—", waiter.submitter or "—", amount(waiter.ask), ago(waiter.since)
    )


def purposes(request: ApprovalRequest, known: Mapping[str, Purpose]) -> Markup:
    """What the calls are for, in the words of their tasks: shown as text."""
    shown = [
        Markup('<div class="purpose" data-key="{}">{}</div>').format(waiter.key, _purpose(waiter, purpose))
        for waiter in request.waiters
        if (purpose := known.get(waiter.key)) is not None
    ]
    return Markup("<h3>What for</h3>{}").format(join(shown[:SHOWN_PURPOSES])) if shown else NOTHING


def _purpose(waiter: Waiter, purpose: Purpose) -> Markup:
    last = purpose.last
    texts = (
        ("Task", purpose.input),
        (f"Agent {waiter.agent_id}", purpose.instructions),
        (f"Last input, {last.role}" if last else "", last.text if last else ""),
    )
    return join(
        Markup('<div class="label">{}</div>{}').format(name, long_text(text, lines=2)) for name, text in texts if text
    )


def decisions(request: ApprovalRequest) -> Markup:
    """What was decided so far."""
    if not request.decisions:
        return NOTHING
    return Markup('<h3>Decisions</h3><ul class="decisions">{}</ul>').format(
        join(_decision(decision) for decision in request.decisions)
    )


def _decision(decision: PastDecision) -> Markup:
    approved = decision.choice is Choice.APPROVE
    what = Markup("approved {}").format(amount(decision.amount)) if approved else Markup("denied")
    until = Markup(", until {}").format(moment(decision.until)) if decision.until else NOTHING
    note = Markup("<blockquote>{}</blockquote>").format(decision.note) if decision.note else NOTHING
    asserted = decision.identity is Identity.ASSERTED
    return Markup("<li><b>{}</b> {}{} <span class='muted'>{}</span> {}{}</li>").format(
        decision.approver,
        what,
        until,
        ago(decision.at),
        tag(_IDENTITIES[decision.identity], "warn" if asserted else ""),
        note,
    )


def outcome(request: ApprovalRequest, caller: Principal) -> Markup:
    """What became of a request that is closed."""
    last = request.decisions[-1] if request.decisions else None
    if request.state is ApprovalState.WITHDRAWN or last is None:
        text = Markup("Nothing is short any more, or nobody waits any more: there is nothing left to decide.")
    elif last.identity is Identity.SWEEPER:
        done = Markup("granted {}").format(amount(request.given)) if request.given != Amount() else Markup("denied")
        text = Markup("Nobody decided in time, so it was {} {}.").format(done, ago(last.at))
    else:
        name = "You" if last.approver == caller.name else last.approver
        done = Markup("approved {}").format(amount(request.given))
        text = Markup("{} {} {}.").format(name, done if last.choice is Choice.APPROVE else "denied this", ago(last.at))
    return Markup('<p class="outcome {}" role="status">{} {}</p>').format(
        TONES[request.state], tag(request.state, TONES[request.state]), text
    )


def barred(request: ApprovalRequest, caller: Principal, now: datetime, choice: Choice = Choice.DENY) -> str:
    """Why the rules keep a caller from deciding, in words; empty if they do not."""
    if not caller.may(Permission.DECIDE):
        return f"Your role {caller.role} looks, it does not decide."
    try:
        judge(request, DecisionRequest(request.approval_id, "?", choice), Actor(caller.name, (str(caller.role),)), now)
    except DecisionRefused as error:
        return {
            "role": f"This request takes one of the roles {', '.join(request.rules.roles)}; yours is {caller.role}.",
            "submitter": "You submitted a task that waits here: another person has to decide.",
            "same_person": "Your approval is recorded; another person has to approve too.",
        }.get(error.reason, str(error))
    return ""


def nothing_pending() -> Markup:
    """The good news."""
    return empty(
        "Nothing waits for you", "When a task runs short of a budget in mode approval, it appears here at once."
    )


def now_utc() -> datetime:
    """This moment."""
    return datetime.now(UTC)
