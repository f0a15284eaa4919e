"""JSON Lines format of conversations for import and export: one OpenAI chat message per line."""

import json
from typing import Any

from purser.budget.errors import InvalidRequest
from purser.budget.json_objects import read_object
from purser.context.conversation.messages import Message
from purser.context.errors import InvalidMessage


def read_lines(text: str) -> list[Any]:
    """Parses all lines that are not blank, for `Message.parse`.

    Raises:
        InvalidMessage: a line is not valid JSON, or names a field twice; the error names the line, never its text.
    """
    # Not `splitlines`, which also splits at separators that JSON allows inside of strings.
    lines = enumerate(text.split("\n"), start=1)
    return [_value(number, line) for number, line in lines if line.strip()]


def write_line(message: Message) -> str:
    """Formats one line with its line break. ASCII only: a lone surrogate in a message cannot be encoded otherwise."""
    return json.dumps(message.to_dict()) + "\n"


def _value(number: int, line: str) -> Any:
    try:
        return json.loads(line, object_pairs_hook=read_object)
    except InvalidRequest as error:
        raise InvalidMessage(f"line {number}: {error}") from None
    except json.JSONDecodeError as error:
        raise InvalidMessage(
            f"line {number} stops being JSON at character {error.pos}: write one message a line"
        ) from None
    except (RecursionError, ValueError):
        raise InvalidMessage(f"line {number} is not readable JSON: nest less, write shorter numbers") from None
