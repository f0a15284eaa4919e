"""Tool calls and results in the order that providers require: each call is followed by its results, none stands alone.

Stored conversations are not always like that: an application stops before it stores a result, stores one after further
turns, or stores a message of the user in between. Providers refuse such requests, and a stored message cannot be taken
back, so a window says what is missing.
"""

from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace

from purser.context.compression.requests import CountText
from purser.context.conversation.conversations import Conversation, MessageRef
from purser.context.conversation.messages import Message, link
from purser.context.tokens import PER_MESSAGE

NO_RESULT = "[no result is stored here]"
"""What a window shows as the result of a call that has none."""
LATE_RESULT = "[a tool returned this later:]"
"""What a window shows above a result that does not follow its call."""


def linked(conversation: Conversation, count: CountText, *, question_follows: bool = False) -> Conversation:
    """The conversation with the tokens that a window adds to calls without results and to results without calls.

    Nothing is added to a last call that still waits, and in logs whose results do not name their calls.

    Args:
        conversation: the conversation.
        count: counts the tokens of a text.
        question_follows: whether a window shows messages after the conversation, so that no call may wait.
    """
    if not any(ref.call_ids or ref.tool_call_id for ref in conversation.messages):
        return conversation
    if any(ref.role == "tool" and ref.tool_call_id is None for ref in conversation.messages):
        return conversation
    groups = conversation.groups
    complete = groups if question_follows else groups[:-1]
    missing = [ref.seq for one in complete for ref, _ in one.unanswered]
    unmatched = [ref.seq for one in groups for ref in one.unmatched]
    if not missing and not unmatched:
        return conversation
    added = dict.fromkeys(unmatched, count(LATE_RESULT))
    for seq in missing:
        added[seq] = added.get(seq, 0) + PER_MESSAGE + count(NO_RESULT)
    return _with_added(conversation, added)


def headed(conversation: Conversation, lines: Mapping[int, str], count: CountText) -> Conversation:
    """The conversation with the tokens of lines that a window shows above messages, by sequence number."""
    return _with_added(conversation, {seq: count(line) for seq, line in lines.items()}) if lines else conversation


def _with_added(conversation: Conversation, added: Mapping[int, int]) -> Conversation:
    refs = (ref._replace(added=ref.added + added.get(ref.seq, 0)) for ref in conversation.messages)
    return replace(conversation, messages=tuple(refs))


def below(line: str, message: Message) -> Message:
    """The message with a line above its text, which stays as it is."""
    content = message.content or ""
    parts = ({"type": "text", "text": content},) if isinstance(content, str) else content
    return replace(message, content=({"type": "text", "text": line}, *parts))


def repaired_seqs(refs: Iterable[MessageRef]) -> tuple[int, ...]:
    """Sequence numbers of the messages to which `linked` or `headed` added tokens."""
    return tuple(ref.seq for ref in refs if ref.added)


def sendable(shown: Sequence[tuple[int, Message]], repaired: Collection[int]) -> Iterator[tuple[int | None, Message]]:
    """Yields messages as providers accept them, each with its sequence number, or `None` for an added message.

    Args:
        shown: whole groups of a conversation, with their sequence numbers.
        repaired: sequence numbers of calls to complete and of results that do not follow their call.
    """
    messages = [_as_message(one) if seq in repaired and one.role == "tool" else one for seq, one in shown]
    results_of, callers = defaultdict[int, list[int]](list), link(messages).callers
    for result, caller in callers.items():
        results_of[caller].append(result)
    if not callers and not repaired:
        yield from shown
        return
    for place, (seq, _) in enumerate(shown):
        message = messages[place]
        if place in callers:
            continue
        yield seq, message
        results = [shown[result] for result in results_of[place]]
        yield from results
        if seq in repaired:
            answered = {result.tool_call_id for _, result in results}
            missing = [identifier for identifier in message.call_ids if identifier not in answered]
            yield from ((None, Message("tool", NO_RESULT, tool_call_id=identifier)) for identifier in missing)


def _as_message(result: Message) -> Message:
    """A result as a message of its own, below a line that says where it comes from."""
    return replace(below(LATE_RESULT, result), role="user", tool_call_id=None)
