"""Facts of small dialogues in seven languages: what holds, what a later message supersedes, and what is no fact."""

import tomllib
from pathlib import Path
from typing import Any

import pytest

from purser.context.conversation.messages import Message, StoredMessage
from purser.context.facts import extract_facts

TABLE = tomllib.loads(Path(__file__).with_name("dialogues.toml").read_text())
DIALOGUES = [(language, dialogue) for language, dialogues in TABLE.items() for dialogue in dialogues]


def stored(said: list[str]) -> list[StoredMessage]:
    """The messages of a dialogue."""
    messages = []
    for seq, line in enumerate(said, 1):
        role, found, text = line.partition(": ")
        message = Message(role, text) if found and role == "assistant" else Message("user", line)
        messages.append(StoredMessage(seq, "", message, {}))
    return messages


@pytest.mark.parametrize(
    "dialogue", [pytest.param(one, id=f"{language}: {one['said'][-1]}") for language, one in DIALOGUES]
)
def test_facts_of_a_dialogue(dialogue: dict[str, Any]) -> None:
    facts = extract_facts(stored(dialogue["said"]))
    live = [f"{fact.kind}: {fact.value}" for fact in facts if fact.superseded_by is None]
    assert set(dialogue.get("live", ())) <= set(live)
    for one in dialogue.get("gone", ()):
        assert one in [f"{fact.kind}: {fact.value}" for fact in facts], "it was a fact"
        assert one not in live
    for text in dialogue.get("never", ()):
        assert not [fact for fact in facts if text == "*" or text in fact.value]
    for value in dialogue.get("once", ()):
        assert [fact.value for fact in facts].count(value) == 1
