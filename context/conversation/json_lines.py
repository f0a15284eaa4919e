"""Conversations as JSON lines: one OpenAI chat message a line, as they are imported and exported."""

import json
from typing import Any

from purser.context.conversation.messages import Message
from purser.context.errors import InvalidMessage


def read_lines(text: str) -> list[Any]:
    """The values of all lines that are not blank, for `Message.parse`.

    Raises:
        InvalidMessage: names the line; never what it says.
    """
    # Not `splitlines`, which also splits at separators that JSON allows inside of strings.
    lines = enumerate(text.split("\n"), start=1)
    return [_value(number, line) for number, line in lines if line.strip()]


def write_line(message: Message) -> str:
    """One line, with its end. ASCII only: a message may hold half of a surrogate pair, which no encoding takes."""
    return json.dumps(message.to_dict()) + "\n"


def _value(number: int, line: str) -> Any:
    try:
        return json.loads(line)
    except json.JSONDecodeError as error:
        raise InvalidMessage(
            f"line {number} stops being JSON at character {error.pos}: write one message a line"
        ) from None
    except (RecursionError, ValueError):
        raise InvalidMessage(f"line {number} is no JSON that can be read: nest less, write shorter numbers") from None
