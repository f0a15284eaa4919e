"""The ledger: what is shown of its entries, as markup."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any, Self

from markupsafe import Markup

from budget.decisions import Amount
from budget.entries import Entry, EntryKind, Figures
from budget.errors import InvalidScope
from budget.postgres.holds import StoredHold
from budget.scopes import Kind, Scope
from budget.usage_reports import By
from gateway.dashboard.act import sentence
from gateway.dashboard.markup import NOTHING, address, dollars, empty, exact, join, link, moment, money, scope_name, tag
from gateway.dashboard.work_words import button, by, cell, definition, figure, row, state, table, took, words
from gateway.postgres.standing import HoldAttempt

PAGE = 50
_TONES: Mapping[EntryKind, str] = {
    EntryKind.SETTLE: "good",
    EntryKind.HOLD: "busy",
    EntryKind.TOP_UP: "busy",
    EntryKind.OVERRUN: "bad",
    EntryKind.PRESUMED: "bad",
    EntryKind.EXPIRE: "bad",
    EntryKind.LATE: "warn",
    EntryKind.CORRECTION: "warn",
    EntryKind.GRANT: "good",
}


@dataclass(frozen=True, slots=True)
class Wanted:
    """Which entries a page shows, and what its usage is added up by."""

    scope: Scope | None = None
    kind: EntryKind | None = None
    task: str | None = None
    since: datetime | None = None
    until: datetime | None = None
    cursor: str | None = None
    by: By = By.MODEL
    faults: tuple[str, ...] = ()
    """What of the address could not be read."""
    typed: str = ""
    """A scope that could not be read, to be corrected where it was typed."""

    @classmethod
    def read(cls, **given: str) -> Self:
        """From the address of the page: what cannot be read is told and left out."""
        faults: list[str] = []
        scope, task = _scope(given["scope"].strip(), faults), _task(given["task"].strip(), faults)
        since, until = (_time(given[name], name, faults) for name in ("since", "until"))
        if since and until and until < since:
            faults.append("The time until which entries are shown is before the time from which they are.")
            until = None
        cursor = given["cursor"]
        return cls(
            scope=scope,
            kind=EntryKind(given["kind"]) if given["kind"] in tuple(EntryKind) else None,
            task=task,
            since=since,
            until=until,
            cursor=cursor if cursor.isascii() and cursor.isdecimal() and len(cursor) < 19 else None,
            by=By(given["by"]) if given["by"] in tuple(By) else By.MODEL,
            faults=tuple(faults),
            typed="" if scope else given["scope"].strip().replace("\0", "")[:300],
        )

    @property
    def within(self) -> tuple[Scope, ...]:
        """The scopes that entries and usage are of."""
        task = Scope(Kind.TASK, self.task) if self.task else None
        return tuple(dict.fromkeys(scope for scope in (self.scope, task) if scope))

    @property
    def filters(self) -> dict[str, Any]:
        """As `Entries.list` takes them."""
        return {name: getattr(self, name) for name in ("scope", "kind", "task", "since", "until", "cursor")}

    def href(self, path: str = "/ledger", **more: str | None) -> str:
        """An address with the same filters, from the newest entry."""
        given: dict[str, str | None] = {
            "scope": str(self.scope) if self.scope else None,
            "kind": str(self.kind) if self.kind else None,
            "task": self.task,
            "from": _written(self.since) if self.since else None,
            "to": _written(self.until) if self.until else None,
            "by": None if self.by is By.MODEL else str(self.by),
        }
        return address(path, **(given | more))

    @property
    def is_filtered(self) -> bool:
        """Whether anything narrows the entries."""
        return any((self.scope, self.kind, self.task, self.since, self.until))


def _scope(text: str, faults: list[str]) -> Scope | None:
    try:
        return Scope.parse(text) if text else None
    except InvalidScope as error:
        faults.append(sentence(str(error)))
        return None


def _task(text: str, faults: list[str]) -> str | None:
    try:
        return Scope(Kind.TASK, text).id if text else None
    except InvalidScope as error:
        faults.append(sentence(str(error)))
        return None


def _time(text: str, name: str, faults: list[str]) -> datetime | None:
    if not text.strip():
        return None
    try:
        at = datetime.fromisoformat(text.strip())
        return at.astimezone(UTC) if at.tzinfo else at.replace(tzinfo=UTC)
    except (ValueError, OverflowError):
        faults.append(f"The time {'from' if name == 'since' else 'to'} is none: write 2026-11-20T18:00.")
        return None


def _written(at: datetime) -> str:
    return at.strftime("%Y-%m-%dT%H:%M:%SZ")


def filters(wanted: Wanted) -> Markup:
    """What narrows the entries."""
    kinds = join(
        Markup('<option value="{}"{}>{}</option>').format(
            kind, Markup(" selected") if kind is wanted.kind else NOTHING, words(kind)
        )
        for kind in EntryKind
    )
    hidden = Markup('<input type="hidden" name="by" value="{}">').format(wanted.by)
    clear = link("/ledger", "Clear", "btn") if wanted.is_filtered else NOTHING
    fields = (
        _field("scope", "Scope", wanted.scope or wanted.typed, placeholder="session:s1", maxlength="300"),
        _field("task", "Task", wanted.task or "", placeholder="any", maxlength="128"),
        Markup(
            '<div><label for="f-kind">Kind</label><select id="f-kind" name="kind"><option value="">any</option>{}'
            "</select></div>"
        ).format(kinds),
        _field("from", "From", _minute(wanted.since), type="datetime-local", data_utc=""),
        _field("to", "To", _minute(wanted.until), type="datetime-local", data_utc=""),
    )
    return Markup(
        '<form method="get" action="/ledger" class="card filter-form" aria-label="Filters">{}{}{}'
        '<div class="acts"><button type="submit" class="btn main-act">Show</button>{}</div></form>'
    ).format(_faults(wanted), hidden, join(fields), clear)


def _field(name: str, label: str, value: object, **attributes: str) -> Markup:
    more = join(Markup(' {}="{}"').format(key.replace("_", "-"), text) for key, text in attributes.items())
    return Markup(
        '<div><label for="f-{}">{}</label><input id="f-{}" name="{}" value="{}" autocomplete="off"{}></div>'
    ).format(name, label, name, name, value, more)


def _minute(at: datetime | None) -> str:
    return at.strftime("%Y-%m-%dT%H:%M") if at else ""


def _faults(wanted: Wanted) -> Markup:
    if not wanted.faults:
        return NOTHING
    return Markup('<p class="fault" role="alert">{}</p>').format(" ".join(wanted.faults))


def listing(entries: Sequence[Entry], following: str | None, wanted: Wanted, opened: "Opened | None") -> Markup:
    """The entries of one page, one of their holds opened in place."""
    head = Markup('<div class="head"><h2>Entries</h2><a class="btn" href="{}" download>Export CSV</a></div>').format(
        wanted.href("/v1/ledger", format="csv", by=None)
    )
    if not entries:
        return Markup('<section class="card">{}{}</section>').format(head, _nothing(wanted))
    columns = ("When", "Scope", "Kind", "#Spent", "#Held", "#Other", "#Spent after", "#Held after", "#Limit", "Hold")
    rows = []
    for one in entries:
        is_open = opened is not None and opened.entry_id == one.entry_id
        rows.append(_row(one, is_open=is_open))
        if is_open and opened is not None:
            rows.append(_opened_row(opened, len(columns)))
    pager = []
    if wanted.cursor is not None:
        pager.append(link(wanted.href(), "Newest", "btn"))
    if following is not None:
        pager.append(link(wanted.href(cursor=following), "Older", "btn"))
    pages = Markup('<nav class="pager" aria-label="Older and newer">{}</nav>').format(join(pager)) if pager else NOTHING
    return Markup('<section class="card">{}{}{}</section>').format(
        head, table("Entries", columns, rows, "entries"), pages
    )


def _row(one: Entry, *, is_open: bool) -> Markup:
    hold: Markup | str = "—"
    if one.hold_id is not None:
        label = f"Hold {one.hold_id} of entry {one.entry_id}"
        hold = button("hold", f"#{one.hold_id}", label=label, opened=is_open, hold=one.hold_id, entry=one.entry_id)
    limit = "none" if one.limit_tokens is None and one.limit_nano_usd is None else _limit(one)
    return row(
        f"e{one.entry_id}",
        moment(one.at, "second"),
        cell(join((link(address("/ledger", scope=str(one.scope)), scope_name(one.scope)), by(_window(one))))),
        cell(join((tag(words(one.kind), _TONES.get(one.kind, "")), by(_behind(one))))),
        figure(moved(one.moved.spent)),
        figure(moved(one.moved.held)),
        figure(_other(one.moved)),
        figure(join((exact(one.after.spent.tokens), by(_cents(one.after.spent.nano_usd))))),
        figure(exact(one.after.held.tokens)),
        figure(limit),
        cell(hold),
        css="opened" if is_open else "",
    )


def _window(one: Entry) -> Markup | str:
    return "" if one.window_start is None else join(("window of ", moment(one.window_start)))


def _behind(one: Entry) -> str:
    """The attempt, or the grant or person, behind an entry."""
    if one.attempt is not None:
        return f"attempt {one.attempt}"
    return one.ref or ""


def _limit(one: Entry) -> Markup:
    shown = "—" if one.limit_tokens is None else exact(one.limit_tokens)
    granted = f"+ {exact(one.after.granted.tokens)} granted" if one.after.granted.tokens else ""
    return join((shown, by(granted), by("" if one.limit_nano_usd is None else dollars(one.limit_nano_usd))))


def moved(amount: Amount) -> Markup:
    """What an entry added or took, with its sign."""
    if not amount.tokens and not amount.nano_usd:
        return Markup('<span class="muted">0</span>')
    sign = "+" if amount.tokens > 0 or (not amount.tokens and amount.nano_usd > 0) else ""
    css = "up" if sign else "down"
    return join((
        Markup('<span class="{}">{}{}</span>').format(css, sign if amount.tokens else "", exact(amount.tokens)),
        by(_cents(amount.nano_usd)),
    ))  # fmt: skip


def _cents(nano_usd: int) -> str:
    return dollars(nano_usd) if nano_usd else ""


def _other(figures: Figures) -> Markup:
    """Grants and overrun."""
    parts = [
        join((moved(amount), by(name)))
        for name, amount in (("granted", figures.granted), ("overrun", figures.overrun))
        if amount.tokens or amount.nano_usd
    ]
    return join(parts) if parts else Markup('<span class="muted">—</span>')


@dataclass(frozen=True, slots=True)
class Opened:
    """A hold that is shown below its entry."""

    entry_id: int
    hold: StoredHold
    attempts: tuple[HoldAttempt, ...]


def _opened_row(opened: Opened, columns: int) -> Markup:
    hold = opened.hold
    path = join(
        (link(address("/ledger", scope=str(scope)), scope_name(scope)) for scope in hold.path.scopes),
        ' <span class="then" aria-hidden="true">›</span> ',
    )
    task = next((scope for scope in hold.path.scopes if scope.kind is Kind.TASK), None)
    facts = (
        definition("State", state(hold.state)),
        definition("Path", path),
        definition("Task", link(address(f"/tasks/{task.id}"), task.id) if task else NOTHING),
        definition("Model", hold.model or ""),
        definition("Held now", f"{exact(hold.amount.tokens)} tokens" if hold.amount.tokens else ""),
        definition("Charged", join((f"{exact(hold.charged.tokens)} tokens, ", money(hold.charged.nano_usd)))),
        definition("Held at", moment(hold.created_at, "second")),
        definition("Ended", moment(hold.ended_at, "second") if hold.ended_at else NOTHING),
        definition(
            "Lease ends", moment(hold.expires_at, "second") if hold.expires_at and not hold.ended_at else NOTHING
        ),
        definition("Key", Markup("<code>{}</code>").format(hold.key)),
    )
    return Markup(
        '<tr data-key="h{}" class="opened"><td colspan="{}"><div class="hold" role="region" aria-label="Hold {}">'
        '<dl class="facts">{}</dl>{}</div></td></tr>'
    ).format(opened.entry_id, columns, hold.hold_id, join(facts), _attempts(opened.attempts))


def _attempts(found: Sequence[HoldAttempt]) -> Markup:
    if not found:
        return Markup('<p class="note">No attempt was started under this hold.</p>')
    rows = (
        row(
            f"a{one.attempt}",
            f"attempt {one.attempt}",
            cell(join((state(one.state), Markup(" {}").format(tag("late", "warn")) if one.late else NOTHING))),
            figure(exact(one.tokens)),
            figure(money(one.nano_usd)),
            figure(exact(one.overrun_tokens) if one.overrun_tokens else "—"),
            cell(_usage(one.usage)),
            cell(moment(one.started_at, "second")),
            figure(took(one.started_at, one.reported_at) if one.reported_at else "—"),
        )
        for one in found
    )
    columns = ("Attempt", "State", "#Tokens", "#Cost", "#Overrun", "Usage", "Started", "#Took")
    return table("Attempts", columns, rows)


def _usage(usage: Mapping[str, Any] | None) -> str:
    """What was reported, class by class."""
    told = {
        name: count for name, count in (usage or {}).items() if isinstance(count, int) and count is not True and count
    }
    return ", ".join(f"{words(name)} {exact(count)}" for name, count in told.items()) or "—"


def _nothing(wanted: Wanted) -> Markup:
    if wanted.is_filtered:
        return empty("No entry matches these filters", link("/ledger", "Show all entries"))
    if wanted.cursor is not None:
        return empty("No older entries", link("/ledger", "Back to the newest"))
    return empty("The ledger is empty", "The first hold writes the first entries.")
