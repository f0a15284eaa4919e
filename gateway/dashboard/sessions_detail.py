"""One session: what is shown, as markup. Texts are those of others: they are text here and nothing else."""

from collections.abc import Sequence

from markupsafe import Markup

from context.pins import Pin
from context.postgres.overviews import Thread
from context.postgres.sessions import Session
from context.postgres.summaries import StoredSummary
from gateway.dashboard.markup import NOTHING, address, bar, empty, exact, join, link, moment, plural, tokens
from gateway.dashboard.work_words import (
    button,
    by,
    cell,
    definition,
    figure,
    long_text,
    pane,
    row,
    section,
    table,
    words,
)
from gateway.session_views import FactView

MOST_FACTS = 200
"""In one list."""


def header(session: Session, threads: Sequence[Thread]) -> Markup:
    """What the session is."""
    whole = sum(one.tokens for one in threads)
    facts = (
        definition("User", session.user_id or ""),
        definition("Began", moment(session.created_at)),
        definition("Messages", exact(sum(one.messages for one in threads))),
        definition("Stored", Markup("{} tokens").format(tokens(whole))),
        definition("Tasks", link(address("/tasks", q=session.session_id), "its tasks")),
        definition("Ledger", link(address("/ledger", scope=f"session:{session.session_id}"), "its entries")),
    )
    return Markup('<dl class="facts">{}</dl>').format(join(facts))


def choices(session_id: str, threads: Sequence[Thread], current: str) -> Markup:
    """The conversations of a session, to choose from; nothing where there is one."""
    if len(threads) < 2:
        return NOTHING
    links = join(
        Markup('<a href="{}"{}>{} <span class="num">{}</span></a>').format(
            address(f"/sessions/{session_id}", thread=one.thread or None),
            Markup(' aria-current="true"') if one.thread == current else NOTHING,
            one.thread or "conversation",
            exact(one.messages),
        )
        for one in threads
    )
    return Markup('<nav class="chips" aria-label="Conversations of this session">{}</nav>').format(links)


def compressions(versions: Sequence[StoredSummary], opened: int | None, beside: Markup) -> Markup:
    """What each compression did, newest first; one of them opened."""
    if not versions:
        return empty("Nothing has been compressed", "Windows show every message of this conversation.")
    columns = ("Version", "When", "Covers", "#Before", "#After", "#Less", "Written by", "#Fidelity", "Why", "")
    shown = table("Compressions", columns, (_version(one, opened) for one in reversed(versions)))
    return join((shown, beside))


def _version(one: StoredSummary, opened: int | None) -> Markup:
    made = one.summary
    less = made.tokens_before - made.tokens_after
    share = f"{less * 100 // made.tokens_before} %" if made.tokens_before else "—"
    passed = f"{len(made.passed)} pinned {plural(len(made.passed), 'message')} left out" if made.passed else ""
    is_open = made.version == opened
    return row(
        f"v{made.version}",
        f"version {made.version}",
        cell(moment(one.created_at, "second")),
        cell(join((f"{exact(made.first_seq)} to {exact(made.last_seq)}", by(passed)))),
        figure(tokens(made.tokens_before)),
        figure(tokens(made.tokens_after)),
        figure(share),
        cell(
            join(
                (made.model or "extract, no model", by(f"{made.method}{f', {made.language}' if made.language else ''}"))
            )
        ),
        figure("—" if made.fidelity is None else f"{made.fidelity:.2f}"),
        cell(words(made.trigger)),
        cell(
            button(
                "open",
                "Close" if is_open else "Compare",
                label=f"Compare version {made.version} with what it covers",
                opened=is_open,
                version=made.version,
            )
        ),
        css="opened" if is_open else "",
    )


def pins(live: Sequence[Pin], taken: int, budget: int, *, may_pin: bool) -> Markup:
    """Who keeps which messages, why, and until when."""
    room = Markup('{}<p class="figure num">{} of {} tokens that pins may take</p>').format(
        bar(taken, 0, budget), exact(taken), exact(budget)
    )
    if not live:
        return section("Pins", join((Markup('<p class="note">No message is pinned.</p>'), room)))
    rows = (
        row(
            f"p{pin.seq}",
            f"message {exact(pin.seq)}",
            cell(pin.author or "came pinned"),
            cell(pin.reason or "—", "wide"),
            cell(moment(pin.pinned_at)),
            cell(moment(pin.until) if pin.until else "for ever"),
            cell(button("unpin", "Unpin", label=f"Unpin message {pin.seq}", seq=pin.seq) if may_pin else ""),
        )
        for pin in live
    )
    listed = table("Pins", ("Message", "By", "Reason", "Since", "Until", ""), rows)
    return section("Pins", join((listed, room)))


def pin_form(seq: int | None, fault: str) -> Markup:
    """Asks why a message is to be kept, and until when."""
    if seq is None:
        return NOTHING
    told = Markup('<p class="fault" role="alert">{}</p>').format(fault) if fault else NOTHING
    return Markup(
        '<form data-act="pin" data-seq="{seq}" data-key="pin-{seq}" class="card pin-form">'
        "<h2>Pin message {seq}</h2>{told}"
        '<div class="fields"><div><label for="pin-reason">Reason</label>'
        '<input id="pin-reason" name="reason" maxlength="1000" autocomplete="off" autofocus></div>'
        '<div><label for="pin-hours">For so many hours</label><input id="pin-hours" name="hours" inputmode="decimal" '
        'placeholder="for ever" autocomplete="off"></div></div><div class="acts">'
        '<button type="submit" class="btn main-act">Pin</button>{back}</div></form>'
    ).format(seq=seq, told=told, back=button("no-pin", "Back", css="btn"))


def facts(found: Sequence[FactView], sheet: str) -> Markup:
    """What the conversation keeps word for word, newest first."""
    if not found:
        return section("Facts", Markup('<p class="note">No facts have been found in this conversation.</p>'))
    rows = (
        row(
            f"f{fact.seq} {index}",
            fact.subject,
            cell(fact.relation),
            cell(fact.value),
            cell(words(fact.kind)),
            figure(exact(fact.seq)),
            cell(f"replaced by message {exact(fact.superseded_by)}" if fact.superseded_by else "holds"),
            css="past" if fact.superseded_by else "",
        )
        for index, fact in enumerate(reversed(found[-MOST_FACTS:]))
    )
    listed = pane("Facts", table("Table of facts", ("About", "Relation", "Value", "Kind", "#Message", "State"), rows))
    rest = f"The newest {exact(MOST_FACTS)} of {exact(len(found))}." if len(found) > MOST_FACTS else ""
    shown = (
        Markup('<h3 class="apart">As windows show them</h3>{}').format(long_text(sheet, lines=4)) if sheet else NOTHING
    )
    return section("Facts", join((listed, shown)), note=rest)
