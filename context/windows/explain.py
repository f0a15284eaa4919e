"""Where a message is now, and why."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum

from purser.context.conversation.conversations import Conversation, Group
from purser.context.conversation.messages import SYSTEM_ROLES
from purser.context.conversation.pins import Pin
from purser.context.facts import Fact


class State(StrEnum):
    """Where a message is."""

    VERBATIM = "verbatim"
    PINNED = "pinned"
    """Verbatim, because somebody keeps it so."""
    SUMMARY = "summary"
    """A summary says what it says, more or less."""
    FACT = "fact"
    """What it tells stands in the facts that travel with the summary."""
    CLIPPED = "clipped"
    """Verbatim in part: it is larger than the window."""
    DROPPED = "dropped"
    """Not in the window at all."""


@dataclass(frozen=True, slots=True)
class Explanation:
    """Where a message is now, and why."""

    seq: int
    states: tuple[State, ...]
    """The first is where the message itself is; `fact` may follow."""
    reason: str
    """For people; never text of the conversation."""
    version: int = 0
    """Of the stored summary that covers it; 0: none does, or the window wrote its own."""


@dataclass(frozen=True, slots=True)
class Places:
    """What one window does with each message."""

    verbatim: frozenset[int]
    clipped: frozenset[int]
    summarised: frozenset[int]
    dropped: Mapping[int, str]
    """With the reason."""
    version: int
    """Of the stored summary that it shows; 0: none."""


def explain(
    seq: int,
    conversation: Conversation,
    *,
    first_version: int = 0,
    pins: Iterable[Pin] = (),
    facts: Sequence[Fact] = (),
    places: Places | None = None,
) -> Explanation:
    """Where a message is: in one window, or without one, in the conversation as it is stored.

    Args:
        seq: the message, one of `conversation.messages`.
        conversation: its thread, with every message and the latest summary.
        first_version: of the summary that covered it first; 0: none did.
        pins: that hold now.
        facts: taken from this message.
        places: of the window that is asked about.
    """
    fact_state = (State.FACT,) if any(fact.superseded_by is None for fact in facts) else ()
    group = next((one for one in conversation.groups if seq in one.seqs), None)
    pin = next((one for one in pins if one.seq == seq), None)
    if places is not None and seq not in places.verbatim:
        return _left_out(seq, places, first_version, fact_state)
    if places is not None and seq in places.clipped:
        return Explanation(
            seq, (State.CLIPPED, *fact_state), "it is larger than the window, which shows its beginning and end"
        )
    if pin is not None:
        return Explanation(
            seq, (State.PINNED, *fact_state), f"pinned by {pin.author or 'whoever appended it'}{_until(pin)}"
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
    """Why a message that nobody pinned stays verbatim."""
    if group is None:
        return "the window has room for it"
    ref = next(one for one in group.refs if one.seq == seq)
    if ref.role in SYSTEM_ROLES:
        return "system messages always stay"
    if pinned := [one.seq for one in group.refs if one.pinned]:
        return f"it belongs to the tool calls of message {pinned[0]}, which is pinned"
    if group.opens:
        return "the first user message always stays"
    if ref.passed_over:
        return "it was pinned when a summary passed over it, so no summary says what it says before the next one"
    if conversation.summary is None:
        return "no summary covers the conversation"
    if ref.seq < conversation.summary.first_seq:
        return "it is one of the first messages, which summaries leave out"
    return f"it is newer than what summary version {conversation.summary.version} covers"
