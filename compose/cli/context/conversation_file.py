"""Reading conversation files and plain text for commands."""

import json
from collections.abc import Iterator
from dataclasses import dataclass, fields
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from purser.compose.errors import UnreadableFile
from purser.context.conversation.messages import Message, check_time
from purser.context.errors import InvalidMessage


@dataclass(frozen=True, slots=True)
class ConversationFile:
    """A conversation that was read from a file."""

    messages: list[Message]
    """The parsed messages. Fields that Purser knows are validated, all others are ignored."""
    originals: list[dict[str, Any]]
    """The same messages, as they are in the file."""


def read_file(path: Path) -> ConversationFile | str:
    """Read a `.json` file (an array of OpenAI chat messages), a `.jsonl` file (one a line), or any other as text.

    Raises:
        UnreadableFile: the message names the file, the line or index, and the field; it never quotes the content.
    """
    try:
        text = path.read_text(encoding="utf-8-sig")
    except OSError as error:
        raise UnreadableFile(f"{str(path)!r} cannot be read: {error.strerror}") from None
    except UnicodeDecodeError as error:
        raise UnreadableFile(f"{str(path)!r} is not UTF-8: byte {error.start}", remedy="Save it as UTF-8.") from None
    match path.suffix.lower():
        case ".json":
            values = _array(path, text)
        case ".jsonl":
            values = _lines(path, text)
        case _:
            return text
    found = ConversationFile([], [])
    for index, (where, value) in enumerate(values):
        found.messages.append(_message(where, value, index))
        found.originals.append(value)
    return found


def _array(path: Path, text: str) -> Iterator[tuple[str, Any]]:
    messages = _parsed(str(path), text)
    if not isinstance(messages, list):
        raise UnreadableFile(f"{str(path)!r} is a JSON {_kind(messages)}", remedy="Write an array of chat messages.")
    yield from ((str(path), message) for message in messages)


def _lines(path: Path, text: str) -> Iterator[tuple[str, Any]]:
    # Not `splitlines`, which also splits at separators that JSON allows inside strings.
    for number, line in enumerate(text.split("\n"), start=1):
        if line.strip():
            where = f"{path}, line {number}"
            yield where, _parsed(where, line)


def _parsed(where: str, text: str) -> Any:
    try:
        return json.loads(text)
    except json.JSONDecodeError as error:
        place = f"line {error.lineno}, column {error.colno}" if error.lineno > 1 else f"column {error.colno}"
        raise UnreadableFile(f"{where}: is not JSON: {error.msg}, {place}", remedy=_REMEDY) from None
    except RecursionError:
        raise UnreadableFile(f"{where}: is nested too deeply", remedy=_REMEDY) from None


def _message(where: str, value: Any, index: int) -> Message:
    known = {name: value[name] for name in _FIELDS if name in value} if isinstance(value, dict) else value
    try:
        message = Message.parse(known, index, linked=False)
        check_time(message, index, datetime.now(UTC))
        return message
    except InvalidMessage as error:
        raise UnreadableFile(f"{where}: {error}", remedy=_REMEDY) from None


def _kind(value: object) -> str:
    return "object" if isinstance(value, dict) else "value"


_FIELDS = tuple(field.name for field in fields(Message))
_REMEDY = "A .json file holds an array of OpenAI chat messages, a .jsonl file one message a line."
