"""Kinds of conversation."""

from collections import Counter
from collections.abc import Iterable
from pathlib import Path

import pytest

from purser.benchmarks.data import rows
from purser.context.conversation.kinds import Composition, Kind
from purser.context.conversation.messages import Message
from tests.support.context.conversations import assistant, calling, result, user

SHORT, LONG = "Which one is better?", "Both have advantages, and it depends on what you need. " * 5
CHAT = [user(SHORT), assistant(SHORT)]


def composition(messages: Iterable[Message]) -> Composition:
    """Measures messages in characters."""
    said = [message for message in messages if message.role in ("user", "assistant", "tool")]
    lengths = {role: sum(len(one.text) for one in said if one.role == role) for role in ("user", "assistant")}
    tools = sum(one.role == "tool" or bool(one.tool_calls) for one in said)
    return Composition(lengths["user"], lengths["assistant"], len(said), tools)


@pytest.mark.parametrize(
    ("messages", "kind"),
    [
        ([], Kind.PEOPLE),
        ([Message("system", LONG)], Kind.PEOPLE),
        ([user(LONG)], Kind.PEOPLE),
        (CHAT, Kind.PEOPLE),
        ([user(LONG), assistant(SHORT)], Kind.PEOPLE),
        ([user(SHORT), assistant(LONG)], Kind.ASSISTANT),
        ([Message("system", LONG * 9), *CHAT], Kind.PEOPLE),
        ([assistant(LONG)], Kind.ASSISTANT),
        ([user(SHORT), calling("c1"), result("c1", LONG), assistant(SHORT)], Kind.TOOLS),
        ([*CHAT * 40, calling("c1"), result("c1", LONG)], Kind.PEOPLE),
        ([*[user(SHORT), assistant(LONG)] * 40, calling("c1"), result("c1", LONG)], Kind.ASSISTANT),
    ],
)
def test_the_kind_follows_from_who_says_how_much_and_from_tools(messages: list[Message], kind: Kind) -> None:
    assert composition(messages).kind is kind


@pytest.mark.parametrize(
    ("name", "kind", "share"),
    [
        ("locomo", Kind.PEOPLE, 1), ("kdconv", Kind.PEOPLE, 0.99), ("crosswoz", Kind.PEOPLE, 1),
        ("xpersona", Kind.PEOPLE, 0.98), ("tau_airline", Kind.TOOLS, 0.9),
    ],
)  # fmt: skip
def test_real_conversations_are_of_the_kind_of_their_set(
    shared_data: Path, name: str, kind: Kind, share: float
) -> None:
    found = Counter(
        composition(Message.parse(_message(message), linked=False) for message in row["messages"]).kind
        for row in rows(shared_data, name)
    )
    assert found[kind] >= share * found.total(), found


def _message(row: dict[str, object]) -> dict[str, object]:
    return {key: row[key] for key in ("role", "content", "name", "tool_calls", "tool_call_id") if key in row}
