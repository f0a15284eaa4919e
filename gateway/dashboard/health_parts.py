"""Health: what is shown, as markup."""

from collections.abc import Mapping, Sequence
from datetime import datetime

from markupsafe import Markup

from gateway.audits import AuditRun, Audits, Progress
from gateway.dashboard.markup import NOTHING, address, ago, exact, join, link, moment, plural, scope_name, tag, tokens
from gateway.dashboard.work_words import button, cell, definition, figure, lasting, row, section, table, took, words
from gateway.figures import Answered
from gateway.postgres.standing import Faults, OpenHold, OpenHolds, Waiting
from gateway.setup import Setting
from gateway.workers import Queue

_AWAY = tag("does not answer", "bad")
OLD_S = 600
"""An open hold of this age is worth a look."""
MOST_DIFFERENCES = 50


def readiness(answers: Mapping[str, bool], looked_at: datetime) -> Markup:
    """What `/readyz` looks at."""
    good = all(answers.values())
    parts = join(
        Markup('<li data-key="{}">{} {}</li>').format(name, name, tag("answers", "good") if up else _AWAY)
        for name, up in answers.items()
    )
    head = tag("ready", "good") if good else tag("not ready", "bad")
    remedy = NOTHING if good else Markup('<p class="note">“purser doctor” tells what to do about it.</p>')
    return section(
        "Readiness",
        join((Markup('<p class="big">{}</p><ul class="checks">{}</ul>').format(head, parts), remedy)),
        note=join(("Looked at ", moment(looked_at, "second"))),
    )


def holds(found: OpenHolds, oldest: Sequence[OpenHold], faults: Faults, now: datetime) -> Markup:
    """Open holds, and what went wrong with holds lately."""
    age = "—" if found.oldest is None else took(found.oldest, now)
    figures = (
        _figure("Open", exact(found.holds)),
        _figure("Held", Markup("{} tokens").format(tokens(found.tokens))),
        _figure("Oldest", age, "warn" if found.oldest and (now - found.oldest).total_seconds() > OLD_S else ""),
        _figure("Past their lease", exact(found.overdue), "warn" if found.overdue else ""),
        _figure("Expired, 24 h", _entries(faults.expired, "expire"), "bad" if faults.expired else ""),
        _figure("Late reports, 24 h", _entries(faults.late, "late"), "warn" if faults.late else ""),
        _figure("Presumed, 24 h", _entries(faults.presumed, "presumed"), "bad" if faults.presumed else ""),
    )
    body = Markup('<dl class="tiles">{}</dl>').format(join(figures))
    if not oldest:
        return section("Holds", join((body, Markup('<p class="note">No hold is open.</p>'))))
    rows = (
        row(
            f"h{one.hold_id}",
            f"#{one.hold_id}",
            cell(join((scope_name(scope) for scope in one.path), " › ")),
            cell(one.model or "—"),
            figure(exact(one.attempts)),
            figure(tokens(one.tokens)),
            figure(took(one.created_at, now)),
            cell(_lease(one, now)),
        )
        for one in oldest
    )
    listed = table("Oldest open holds", ("Hold", "Path", "Model", "#Attempts", "#Held", "#Age", "Lease"), rows)
    return section("Holds", join((body, listed)))


def _lease(one: OpenHold, now: datetime) -> Markup:
    if one.expires_at < now:
        return tag("over", "warn")
    return Markup("ends in {}").format(lasting((one.expires_at - now).total_seconds()))


def _entries(count: int, kind: str) -> Markup | str:
    return link(address("/ledger", kind=kind), exact(count)) if count else "0"


def _figure(name: str, value: Markup | str, tone: str = "") -> Markup:
    return Markup('<div class="tile {}"><dt>{}</dt><dd class="num">{}</dd></div>').format(tone, name, value)


def workers(found: Sequence[Queue], task_queue: str) -> Markup:
    """Who works on the task queue, and what waits there."""
    tiles = join(
        join((
            _figure(f"Workers for {queue.kind}", exact(len(queue.pollers)), "" if queue.pollers else "bad"),
            _figure(f"{queue.kind.capitalize()} waiting", exact(queue.backlog), "warn" if queue.backlog > 100 else ""),
            _figure("Longest", lasting(queue.backlog_age.total_seconds()) if queue.backlog else "—"),
        ))
        for queue in found
    )  # fmt: skip
    rows = (
        row(f"{queue.kind} {poller.identity}", poller.identity, cell(queue.kind), cell(ago(poller.seen_at)))
        for queue in found
        for poller in queue.pollers
    )
    none = not any(queue.pollers for queue in found)
    told = "No worker polls this queue: tasks stand still. Start one with “purser worker”."
    listed = (
        Markup('<p class="fault" role="alert">{}</p>').format(told)
        if none
        else table("Workers", ("Worker", "Asks for", "Last seen"), rows)
    )
    shown = join((Markup('<dl class="tiles">{}</dl>').format(tiles), listed))
    return section("Workers", shown, note=f"Task queue “{task_queue}”")


def workers_away() -> Markup:
    """Temporal does not answer."""
    return section("Workers", Markup('<p class="fault" role="alert">Temporal does not answer. Trying again …</p>'))


def queues(outbox: Waiting, deliveries: Waiting, now: datetime) -> Markup:
    """What waits to be sent."""
    tiles = join((*_waiting("To workflows", outbox, now), *_waiting("To webhooks", deliveries, now)))
    return section("Queues", Markup('<dl class="tiles">{}</dl>').format(tiles))


def _waiting(name: str, found: Waiting, now: datetime) -> tuple[Markup, ...]:
    if not found.waiting or found.oldest is None:
        return (_figure(name, "0"),)
    return (
        _figure(name, exact(found.waiting), "warn"),
        _figure("Oldest", took(found.oldest, now)),
        _figure("Most tries", exact(found.tries)),
    )


def audit(audits: Audits, tenant: str, *, may: bool) -> Markup:
    """The audit that runs, or the last one."""
    if audits.progress is not None:
        body = _running(audits.progress)
    elif audits.last is None:
        body = Markup('<p class="note">No audit was run since this gateway began.</p>')
    else:
        body = _done(audits.last, tenant)
    acts = NOTHING
    if may:
        act = button("audit", "Run the audit", css="btn")
        acts = act if audits.progress is None else Markup('<button class="btn" disabled>Running …</button>')
    return Markup(
        '<section class="card"><div class="head"><h2>Audit</h2>{}</div>'
        '<p class="note">Recomputes every balance from the entries. It stops nobody and may take minutes.</p>'
        "{}</section>"
    ).format(acts, body)


def _running(progress: Progress) -> Markup:
    share = progress.done * 100 // progress.of if progress.of else 0
    return Markup(
        '<div class="running" role="status"><progress value="{}" max="100" aria-label="Audit"></progress>'
        "<p>{} of {} checks done{}, began {}</p></div>"
    ).format(
        share,
        exact(progress.done),
        exact(progress.of),
        f", now {words(progress.check)}" if progress.check else "",
        moment(progress.began_at, "second"),
    )


def _done(run: AuditRun, tenant: str) -> Markup:
    when = join(("at ", moment(run.ended_at, "second"), f", {lasting(run.seconds)}"))
    if run.found is None:
        return Markup("<p>{} {}: {}</p>").format(tag("failed", "bad"), when, words(run.error))
    count = len(run.found.differences)
    if run.found.ok:
        verdict = tag("everything agrees", "good")
    else:
        verdict = tag(f"{exact(count)} {plural(count, 'difference')}", "bad")
    # Who asked, and how much there is, may be another tenant's: an audit looks at all of them.
    checked = ", ".join(words(name) for name in run.found.checked)
    told = Markup('<p>{} {}</p><p class="note">Checked {}.</p>').format(verdict, when, checked)
    return join((told, _differences(run.found.differences, tenant)))


def _differences(found: Sequence[Mapping[str, object]], tenant: str) -> Markup:
    """What differs. Whose it is not known to be ours is told without figures."""
    if not found:
        return NOTHING
    rows = (
        row(f"d{index}", words(str(one["check"])), cell(str(one["what"])), cell(_figures(one, tenant), "wide"))
        for index, one in enumerate(found[:MOST_DIFFERENCES])
    )
    rest = NOTHING
    if len(found) > MOST_DIFFERENCES:
        rest = Markup('<p class="note">“purser audit” lists all of them.</p>')
    return join((table("Differences", ("Check", "What", "Figures"), rows), rest))


def _figures(one: Mapping[str, object], tenant: str) -> str:
    if one.get("tenant") != tenant:
        return "“purser audit” tells which"
    return ", ".join(f"{words(name)} {value}" for name, value in one.items() if name not in ("check", "what", "tenant"))


def gateway(found: Answered, versions: Mapping[str, str], revision: str | None, needed: str) -> Markup:
    """What this gateway has answered, and what it runs with."""
    tiles = [_figure("Requests answered", exact(found.requests))]
    tiles += [
        _figure(name, exact(count), "bad" if name == "5xx" and count else "") for name, count in found.by_class.items()
    ]
    tiles += [
        _figure("Half within", "—" if found.p50_s is None else lasting(found.p50_s)),
        _figure("95 % within", "—" if found.p95_s is None else lasting(found.p95_s)),
    ]
    schema = join((revision or "none", Markup(" {}").format(
        tag("as needed", "good") if revision == needed else tag(f"this code needs {needed}", "warn"))))  # fmt: skip
    facts = [definition(name, text) for name, text in versions.items()]
    return section(
        "This gateway",
        Markup('<dl class="tiles">{}</dl><dl class="facts">{}{}</dl>').format(
            join(tiles), definition("schema", schema), join(facts)
        ),
        note="Counted by this process since it began.",
    )


def settings(found: Sequence[Setting]) -> Markup:
    """Settings in force, those that somebody set first."""
    own = [one for one in found if one.source != "default"]
    usual = [one for one in found if one.source == "default"]
    shown = _settings(own) if own else Markup('<p class="note">Everything is as it comes.</p>')
    return section(
        "Settings",
        Markup("{}<details class='more'><summary>{} as they come</summary>{}</details>").format(
            shown, f"{len(usual)} {plural(len(usual), 'setting')}", _settings(usual)
        ),
        note="Without secrets: of those only whether they are set.",
    )


def _settings(found: Sequence[Setting]) -> Markup:
    rows = (row(one.name, one.name, cell(one.value, "value"), cell(one.source)) for one in found)
    return table("Settings", ("Setting", "Value", "From"), rows)
