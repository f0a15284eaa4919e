"""Conversations for tests."""

import random
from typing import Any

from purser.context.conversation.messages import Message


def call(identifier: str, arguments: str = "{}") -> dict[str, Any]:
    """A tool call."""
    return {"id": identifier, "type": "function", "function": {"name": "look_up", "arguments": arguments}}


def user(text: str, *, pinned: bool = False) -> Message:
    """What a person says."""
    return Message("user", text, pinned=pinned)


def assistant(text: str) -> Message:
    """What a model says."""
    return Message("assistant", text)


def calling(*identifiers: str) -> Message:
    """A model that calls a tool, once for each id."""
    return Message("assistant", tool_calls=tuple(call(identifier) for identifier in identifiers))


def result(identifier: str, text: str = "found") -> Message:
    """What a tool returned."""
    return Message("tool", text, tool_call_id=identifier)


def parts(*texts: str) -> list[dict[str, str]]:
    """Content of several texts."""
    return [{"type": "text", "text": text} for text in texts]


def talk(count: int) -> list[Message]:
    """A conversation of so many messages, each with a fact of its own."""
    return [
        user(f"Please note that order {1000 + index} goes to Haven {index} on May {1 + index % 28}.")
        if index % 2 == 0
        else assistant(
            f"I have noted it under file number F-{index}. We never ship it by air, and nothing else changes."
        )
        for index in range(count)
    ]


def transcript(chance: random.Random) -> list[Message]:
    """Some hundred messages: parallel, nested, open and late calls, a few pins and system messages."""
    found = [Message("system", "Be brief.")] if chance.random() < 0.5 else []
    for _ in range(chance.randint(80, 160)):
        words = "word " * chance.randint(1, 60)
        match chance.choice(("user", "user", "assistant", "calls")):
            case "user":
                found.append(user(words, pinned=chance.random() < 0.02))
            case "assistant":
                found.append(assistant(words))
            case "calls":
                ids = [f"c{chance.randint(0, 3)}-{place}" for place in range(chance.randint(1, 3))]
                nested = [user(words)] if chance.random() < 0.1 else []
                answers = [result(one, words) for one in ids if chance.random() < 0.95]
                late = [result(ids[0], words)] if chance.random() < 0.2 else []
                found += [calling(*ids), *nested, *answers, assistant(words), user(words), *late]
        if chance.random() < 0.01:
            found.append(Message("system", "Note."))
    return found
