"""One session: what is shown, as markup. Texts are those of others: they are text here and nothing else."""

from collections.abc import Mapping, Sequence
from datetime import datetime

from markupsafe import Markup

from context.layers import Layer, Level
from context.messages import Message
from context.pins import Pin
from context.postgres.conversations import Listed
from context.postgres.overviews import Thread
from context.postgres.sessions import Session
from context.postgres.summaries import StoredSummary
from context.retrieval import Found
from gateway.dashboard.markup import NOTHING, address, bar, empty, exact, join, link, moment, plural, tag, tokens
from gateway.dashboard.work_words import by, cell, definition, figure, long_text, row, section, table, words
from gateway.session_views import ExplanationView, FactView

OWN = "the session's own conversation"
_LEVELS: Mapping[Level, str] = {Level.LEAF: "newest", Level.SECTION: "section", Level.SESSION: "oldest part"}


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
            Markup(
                '<button type="button" class="plain" data-act="open" data-version="{}" aria-expanded="{}">{}</button>'
            ).format(made.version, "true" if is_open else "false", "Close" if is_open else "Compare")
        ),
        css="opened" if is_open else "",
    )


def side_by_side(one: StoredSummary, covered: Sequence[Listed], more: bool) -> Markup:
    """A summary beside what it covers."""
    made = one.summary
    next_ = NOTHING
    if more:
        next_ = Markup(
            '<button type="button" class="btn" data-act="more" data-after="{}">Show more of them</button>'
        ).format(covered[-1].stored.seq)
    left = join(_said(listed) for listed in covered)
    layers = NOTHING
    if len(made.parts) > 1:
        layers = Markup("<h3>Layers</h3>{}").format(join(_layer(layer) for layer in made.parts))
    return Markup(
        '<div class="pair" data-key="pair-{version}"><div><h3>Messages {first} to {last}</h3>'
        '<div class="column" tabindex="0" role="region" aria-label="Messages that version {version} covers">{left}{next}</div></div>'
        "<div><h3>Version {version}: {after} tokens</h3>"
        '<div class="column" tabindex="0" role="region" aria-label="Summary version {version}"><pre class="text">{text}</pre>{layers}</div>'
        "</div></div>"
    ).format(
        version=made.version,
        first=exact(made.first_seq),
        last=exact(made.last_seq),
        after=exact(made.tokens_after),
        left=left,
        next=next_,
        text=made.text,
        layers=layers,
    )


def _layer(layer: Layer) -> Markup:
    return Markup('<div class="layer"><p class="note">{}: messages {} to {}, {} in all</p>{}</div>').format(
        _LEVELS[layer.level],
        exact(layer.first_seq),
        exact(layer.last_seq),
        exact(layer.messages),
        long_text(layer.text),
    )


def _said(listed: Listed) -> Markup:
    stored = listed.stored
    return Markup('<div class="line" data-key="c{}"><p class="note">#{} {}{}</p>{}</div>').format(
        stored.seq,
        exact(stored.seq),
        _speaker(stored.message),
        Markup(" {}").format(tag("pinned", "busy")) if listed.pinned else NOTHING,
        content(stored.message),
    )


def content(message: Message) -> Markup:
    """What a message says and calls."""
    calls = join(
        Markup('<p class="call"><span class="muted">calls</span> <code>{}</code></p>{}').format(
            call["function"]["name"], long_text(call["function"]["arguments"], lines=2)
        )
        for call in message.tool_calls
    )
    return join((long_text(message.text) if message.text else NOTHING, calls))


def _speaker(message: Message) -> str:
    return f"{message.role} {message.name}" if message.name else message.role


def messages(
    page: Sequence[Listed],
    counts: Mapping[int, int],
    explained: Mapping[int, ExplanationView],
    *,
    may_pin: bool,
    older: bool,
    newest: bool,
) -> Markup:
    """Messages in sequence, each with what can be done about it."""
    if not page:
        return Markup('<p class="note">This conversation has no messages.</p>')
    buttons = NOTHING
    if older:
        buttons += Markup('<button type="button" class="btn" data-act="older" data-before="{}">Older</button>').format(
            page[0].stored.seq
        )
    if not newest:
        buttons += Markup('<button type="button" class="btn" data-act="newest">Newest</button>')
    pager = Markup('<div class="pager">{}</div>').format(buttons) if buttons else NOTHING
    listed = join(
        _message(one, counts.get(one.stored.seq, 0), explained.get(one.stored.seq), may_pin=may_pin) for one in page
    )
    return Markup('<ol class="messages">{}</ol>{}').format(listed, pager)


def _message(one: Listed, count: int, explanation: ExplanationView | None, *, may_pin: bool) -> Markup:
    seq = one.stored.seq
    pin = NOTHING
    if may_pin:
        name, text = ("unpin", "Unpin") if one.pinned else ("ask-pin", "Pin …")
        pin = Markup(
            '<button type="button" class="plain" data-act="{}" data-seq="{}" aria-label="{} message {}">{}</button>'
        ).format(name, seq, text.rstrip(" …"), seq, text)
    why = Markup(
        '<button type="button" class="plain" data-act="explain" data-seq="{}" aria-label="Explain message {}" aria-expanded="{}">Explain</button>'
    ).format(seq, seq, "true" if explanation else "false")
    return Markup(
        '<li data-key="m{}" class="message {}"><div class="line-head"><span class="num muted">#{}</span> <b>{}</b> '
        '<span class="muted">{} · {} tokens</span> {}<span class="line-acts">{}{}</span></div>{}{}</li>'
    ).format(
        seq,
        one.stored.message.role,
        exact(seq),
        _speaker(one.stored.message),
        moment(one.created_at),
        exact(count),
        tag("pinned", "busy") if one.pinned else NOTHING,
        pin,
        why,
        content(one.stored.message),
        _explained(explanation) if explanation else NOTHING,
    )


def _explained(found: ExplanationView) -> Markup:
    states = join((tag(words(state), "busy") for state in found.states), " ")
    told = join(
        Markup("<li>{} {} {}</li>").format(fact.subject, Markup("<i>{}</i>").format(fact.relation), fact.value)
        for fact in found.facts
    )
    listed = Markup("<ul>{}</ul>").format(told) if told else NOTHING
    return Markup('<div class="explained">{} {}{}</div>').format(states, found.reason, listed)


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
            cell(
                Markup(
                    '<button type="button" class="plain" data-act="unpin" data-seq="{}" aria-label="Unpin message {}">Unpin</button>'
                ).format(pin.seq, pin.seq)
                if may_pin
                else ""
            ),
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
        '<form data-act="pin" data-seq="{seq}" data-key="pin-{seq}" class="card pin-form"><h2>Pin message {seq}</h2>{told}'
        '<div class="fields"><div><label for="pin-reason">Reason</label>'
        '<input id="pin-reason" name="reason" maxlength="1000" autocomplete="off" autofocus></div>'
        '<div><label for="pin-hours">For so many hours</label><input id="pin-hours" name="hours" inputmode="decimal" '
        'placeholder="for ever" autocomplete="off"></div></div><div class="acts">'
        '<button type="submit" class="btn main-act">Pin</button>'
        '<button type="button" class="btn" data-act="no-pin">Back</button></div></form>'
    ).format(seq=seq, told=told)


def facts(found: Sequence[FactView], sheet: str) -> Markup:
    """What the conversation keeps word for word."""
    if not found:
        return section("Facts", Markup('<p class="note">No facts have been found in this conversation.</p>'))
    rows = (
        row(
            f"f{index}",
            fact.subject,
            cell(fact.relation),
            cell(fact.value, "wide"),
            cell(words(fact.kind)),
            figure(exact(fact.seq)),
            cell(f"replaced by message {exact(fact.superseded_by)}" if fact.superseded_by else "holds"),
            css="past" if fact.superseded_by else "",
        )
        for index, fact in enumerate(found)
    )
    listed = table("Facts", ("About", "Relation", "Value", "Kind", "#Message", "State"), rows)
    shown = Markup("<h3>As windows show them</h3>{}").format(long_text(sheet, lines=4)) if sheet else NOTHING
    return section("Facts", join((listed, shown)))


def search_form() -> Markup:
    """A question to the session's memory."""
    return Markup(
        '<form data-act="search" role="search" class="search"><label class="sr" for="memory">Search this session</label>'
        '<input id="memory" name="q" type="search" maxlength="2000" autocomplete="off" placeholder="What was said about …">'
        '<button class="btn" type="submit">Search</button></form>'
    )


def found_messages(question: str, found: Sequence[Found]) -> Markup:
    """What a search found, in time order."""
    if not question:
        return NOTHING
    if not found:
        return Markup('<p class="note" role="status">Nothing in this session answers that.</p>')
    listed = join(
        Markup('<li class="message {}" data-key="s{}"><div class="line-head"><span class="num muted">#{}</span> <b>{}</b> '
               '<span class="muted">{}</span> {}</div>{}</li>').format(
            one.role, one.seq, exact(one.seq), f"{one.role} {one.name}" if one.name else one.role,
            moment(one.created_at), tag(f"by {_VIA[one.via]}"), long_text(one.text),
        )
        for one in found
    )  # fmt: skip
    return Markup('<ol class="messages" aria-label="Found messages">{}</ol>').format(listed)


_VIA = {"lexical": "its words", "vector": "its meaning", "both": "words and meaning"}


def deleted(told: str) -> tuple[str, str]:
    """What is left of a session that was deleted."""
    return "This session was deleted", f"{told}. Its figures stay in the ledger; its texts are gone."
