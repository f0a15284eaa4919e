"""Explanations of where a message is in a window or a stored conversation, and why."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from purser.context.conversation.conversations import Conversation, Group
from purser.context.conversation.messages import SYSTEM_ROLES
from purser.context.conversation.pins import Pin
from purser.context.facts import Fact
from purser.wire.enums import State as State


@dataclass(frozen=True, slots=True)
class Explanation:
    """The state of a message and the reason."""

    seq: int
    states: tuple[State, ...]
    """State of the message itself, which `fact` may follow."""
    reason: str
    """Human-readable reason, never text of the conversation."""
    version: int = 0
    """Version of the stored summary that covers it; 0 if none does, or if the window wrote its own."""


@dataclass(frozen=True, slots=True)
class Places:
    """The messages of one window by state."""

    verbatim: frozenset[int]
    clipped: frozenset[int]
    summarised: frozenset[int]
    dropped: Mapping[int, str]
    """Dropped messages with the reason."""
    version: int
    """Version of the stored summary that the window shows; 0 if none."""
    cleared: frozenset[int] = frozenset()


def explain(
    seq: int,
    conversation: Conversation,
    *,
    first_version: int = 0,
    pins: Iterable[Pin] = (),
    facts: Sequence[Fact] = (),
    places: Places | None = None,
) -> Explanation:
    """Explains where a message is in a window, or in the stored conversation if no window is given.

    Args:
        seq: sequence number of the message, one of `conversation.messages`.
        conversation: its thread, with every message and the latest summary.
        first_version: version of the first summary that covered it; 0 if none did.
        pins: the live pins.
        facts: facts extracted from this message.
        places: the messages of the window by state.
    """
    fact_state = (State.FACT,) if any(fact.superseded_by is None for fact in facts) else ()
    group = next((one for one in conversation.groups if seq in one.seqs), None)
    pin = next((one for one in pins if one.seq == seq), None)
    if places is not None and seq not in places.verbatim:
        return _left_out(seq, places, first_version, fact_state)
    if places is not None and seq in places.clipped:
        return Explanation(
            seq, (State.CLIPPED, *fact_state), "it is too large for the window, which shows its beginning and end"
        )
    if places is not None and seq in places.cleared:
        return Explanation(seq, (State.CLEARED, *fact_state), "it is an old tool result, of which a mark is shown")
    if pin is not None:
        return Explanation(
            seq, (State.PINNED, *fact_state), f"pinned by {pin.author or 'the caller that appended it'}{_until(pin)}"
        )
    if group is None and places is None:
        version = conversation.summary.version if conversation.summary else 0
        return Explanation(seq, (State.SUMMARY, *fact_state), _covered(version, first_version), version)
    return Explanation(seq, (State.VERBATIM, *fact_state), _verbatim_reason(seq, group, conversation))


def _left_out(seq: int, places: Places, first_version: int, fact_state: tuple[State, ...]) -> Explanation:
    if seq in places.dropped:
        return Explanation(seq, (State.DROPPED, *fact_state), places.dropped[seq])
    if places.version and 0 < first_version <= places.version:
        return Explanation(seq, (State.SUMMARY, *fact_state), _covered(places.version, first_version), places.version)
    return Explanation(seq, (State.SUMMARY, *fact_state), "covered by an extract that this window makes")


def _covered(version: int, first_version: int) -> str:
    since = f", since version {first_version}" if 0 < first_version < version else ""
    return f"covered by summary version {version}{since}"


def _until(pin: Pin) -> str:
    return f" until {pin.until:%Y-%m-%dT%H:%MZ}" if pin.until else ""


def _verbatim_reason(seq: int, group: Group | None, conversation: Conversation) -> str:
    """The reason why an unpinned message stays verbatim."""
    if group is None:
        return "the window has room for it"
    ref = next(one for one in group.refs if one.seq == seq)
    if ref.role in SYSTEM_ROLES:
        return "system messages always stay"
    if pinned := [one.seq for one in group.refs if one.pinned]:
        return f"it belongs to the tool calls of message {pinned[0]}, which is pinned"
    if group.opens:
        return "the first user message always stays"
    if conversation.newest_request is not None and group is conversation.groups[conversation.newest_request]:
        return "the newest user message always stays"
    if ref.passed_over:
        return (
            "it was pinned or the newest user message when a summary passed over it, "
            "so no summary covers it before the next version"
        )
    if conversation.summary is None:
        return "no summary covers the conversation"
    if ref.seq < conversation.summary.first_seq:
        return "it is one of the first messages, which summaries leave out"
    return f"it is newer than what summary version {conversation.summary.version} covers"
