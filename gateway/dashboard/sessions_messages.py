"""Messages of a session, beside their summary, one by one, and as found: text of others, and nothing but text."""

from collections.abc import Mapping, Sequence

from markupsafe import Markup

from context.layers import Layer, Level
from context.messages import Message
from context.postgres.conversations import Listed
from context.postgres.summaries import StoredSummary
from context.retrieval import Found, Via
from gateway.dashboard.markup import NOTHING, exact, join, moment, tag
from gateway.dashboard.work_words import button, long_text, pane, words
from gateway.session_views import ExplanationView

_LEVELS: Mapping[Level, str] = {Level.LEAF: "newest", Level.SECTION: "section", Level.SESSION: "oldest part"}
_VIA: Mapping[Via, str] = {Via.LEXICAL: "its words", Via.VECTOR: "its meaning", Via.BOTH: "words and meaning"}


def side_by_side(one: StoredSummary, covered: Sequence[Listed], *, more: bool) -> Markup:
    """A summary beside what it covers, as far as that has been asked for."""
    made = one.summary
    next_ = button("more", "Show more of them", css="btn", after=covered[-1].stored.seq) if more else NOTHING
    layers = NOTHING
    if len(made.parts) > 1:
        layers = Markup("<h3>Layers</h3>{}").format(join(_layer(layer) for layer in made.parts))
    left = pane(f"Messages that version {made.version} covers", join((join(map(_said, covered)), next_)))
    right = pane(f"Summary version {made.version}", Markup('<pre class="text">{}</pre>{}').format(made.text, layers))
    return Markup(
        '<div class="pair" data-key="pair-{}"><div><h3>Messages {} to {}</h3>{}</div>'
        "<div><h3>Version {}: {} tokens</h3>{}</div></div>"
    ).format(
        made.version, exact(made.first_seq), exact(made.last_seq), left, made.version, exact(made.tokens_after), right
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
    pinned = Markup(" {}").format(tag("pinned", "busy")) if listed.pinned else NOTHING
    return Markup('<div class="line" data-key="c{}"><p class="note">#{} {}{}</p>{}</div>').format(
        stored.seq, exact(stored.seq), speaker(stored.message), pinned, content(stored.message)
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


def speaker(message: Message) -> str:
    """Who says it."""
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
    """Messages in sequence, each with what can be done about it.

    Args:
        page: which messages.
        counts: tokens by sequence number.
        explained: what was asked for, by sequence number.
        may_pin: whether the reader may pin.
        older: whether there are older ones.
        newest: whether these are the newest.
    """
    if not page:
        return Markup('<p class="note">This conversation has no messages.</p>')
    buttons = (
        button("older", "Older", css="btn", before=page[0].stored.seq) if older else NOTHING,
        NOTHING if newest else button("newest", "Newest", css="btn"),
    )
    pager = Markup('<div class="pager">{}</div>').format(join(buttons)) if any(buttons) else NOTHING
    listed = join(
        _message(one, counts.get(one.stored.seq, 0), explained.get(one.stored.seq), may_pin=may_pin) for one in page
    )
    return Markup('<ol class="messages">{}</ol>{}').format(listed, pager)


def _message(one: Listed, count: int, explanation: ExplanationView | None, *, may_pin: bool) -> Markup:
    seq = one.stored.seq
    acts = [button("explain", "Explain", label=f"Explain message {seq}", opened=explanation is not None, seq=seq)]
    if may_pin and one.pinned:
        acts.insert(0, button("unpin", "Unpin", label=f"Unpin message {seq}", seq=seq))
    elif may_pin:
        acts.insert(0, button("ask-pin", "Pin …", label=f"Pin message {seq}", seq=seq))
    head = _head(
        seq,
        speaker(one.stored.message),
        join((moment(one.created_at), f"{exact(count)} tokens"), " · "),
        tag("pinned", "busy") if one.pinned else NOTHING,
        join(acts),
    )
    return Markup('<li data-key="m{}" class="message {}">{}{}{}</li>').format(
        seq,
        one.stored.message.role,
        head,
        content(one.stored.message),
        _explained(explanation) if explanation else NOTHING,
    )


def _head(seq: int, who: str, told: Markup, mark: Markup, acts: Markup) -> Markup:
    return Markup(
        '<div class="line-head"><span class="num muted">#{}</span> <b>{}</b> <span class="muted">{}</span> {}'
        '<span class="line-acts">{}</span></div>'
    ).format(exact(seq), who, told, mark, acts)


def _explained(found: ExplanationView) -> Markup:
    states = join((tag(words(state), "busy") for state in found.states), " ")
    told = join(
        Markup("<li>{} <i>{}</i> {}</li>").format(fact.subject, fact.relation, fact.value) for fact in found.facts
    )
    return Markup('<div class="explained" role="status">{} {}{}</div>').format(
        states, found.reason, Markup("<ul>{}</ul>").format(told) if told else NOTHING
    )


def search_form() -> Markup:
    """A question to the session's memory. It travels over the page's socket and stands in no address."""
    return Markup(
        '<form data-act="search" role="search" class="search">'
        '<label class="sr" for="memory">Search this session</label><input id="memory" name="q" type="search" '
        'maxlength="2000" autocomplete="off" placeholder="What was said about …">'
        '<button class="btn" type="submit">Search</button></form>'
    )


def found_messages(question: str, found: Sequence[Found]) -> Markup:
    """What a search found, in time order."""
    if not question:
        return NOTHING
    if not found:
        return Markup('<p class="note" role="status">Nothing in this session answers that.</p>')
    listed = join(
        Markup('<li class="message {}" data-key="s{}">{}{}</li>').format(
            one.role,
            one.seq,
            _head(
                one.seq,
                f"{one.role} {one.name}" if one.name else one.role,
                moment(one.created_at),
                tag(f"by {_VIA[one.via]}"),
                NOTHING,
            ),
            long_text(one.text),
        )
        for one in found
    )
    return Markup('<ol class="messages" aria-label="Found messages">{}</ol>').format(listed)
