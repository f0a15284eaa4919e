"""Messages in the format of the OpenAI chat API, and their grouping into calls with results."""

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from hashlib import sha256
from typing import Any, NamedTuple, Protocol, Self

from purser.context.conversation.storable import storable
from purser.context.errors import InvalidMessage
from purser.wire.storable import is_storable

JsonObject = Mapping[str, Any]

ROLES = ("system", "developer", "user", "assistant", "tool")
SYSTEM_ROLES = ("system", "developer")
_SORTED = json.JSONEncoder(sort_keys=True).encode
MOST_AHEAD = timedelta(days=1)
"""How far the time of a message may lie in the future, because clocks differ."""
_FIELDS = ("role", "content", "name", "tool_calls", "tool_call_id", "pinned", "created_at")
_NOT_IN_NAMES = re.compile(r"[^\w\x80-\U0010ffff-]|\s")
_TIME = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?(Z|[+-]\d\d:\d\d)", re.ASCII | re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Message:
    """One chat message. Its text is never truncated."""

    role: str
    """One of `ROLES`."""
    content: str | tuple[JsonObject, ...] | None = None
    """Text, or content parts (text, images, …) of the API; `None` only where an assistant calls tools."""
    name: str | None = None
    """Who speaks, where several share a role."""
    tool_calls: tuple[JsonObject, ...] = ()
    """Calls of an assistant, each `{"id", "type": "function", "function": {"name", "arguments"}}`."""
    tool_call_id: str | None = None
    """The call that a tool message answers."""
    pinned: bool = False
    """Whether it stays verbatim in every window."""
    created_at: datetime | None = None
    """When it was written, with a time zone, as the caller gave it; `None` if it is appended as it is written."""

    @classmethod
    def parse(cls, value: object, index: int = 0, *, linked: bool = True) -> Self:
        """Parses an OpenAI chat message.

        Args:
            value: the message as a mapping; fields that are null or empty count as absent.
            index: its position in the conversation, named in errors.
            linked: whether a tool message must name the call that it answers; logs of agents often leave that out.

        Raises:
            InvalidMessage: the message is malformed; the error names the index and the field, never the text.
        """
        if not isinstance(value, Mapping):
            raise InvalidMessage(f"message {index}: is a {type(value).__name__}, it must be an object with a role")
        given = {field: content for field, content in value.items() if content is not None and content != []}
        if unknown := [field for field in given if field not in _FIELDS]:
            raise _invalid(index, str(unknown[0])[:80], f"is not known, use {', '.join(_FIELDS)}")
        role = given.get("role")
        if role not in ROLES:
            shown = repr(role)[:80] if isinstance(role, str) else f"a {type(role).__name__}"
            raise _invalid(index, "role", f"is {shown}, use one of {', '.join(ROLES)}")
        message = cls(
            role=role,
            content=_content(given.get("content"), index),
            name=_text(given.get("name"), index, "name"),
            tool_calls=_calls(given.get("tool_calls", ()), index),
            tool_call_id=_text(given.get("tool_call_id"), index, "tool_call_id"),
            pinned=_flag(given.get("pinned", False), index),
            created_at=_time(given.get("created_at"), index),
        )
        message._check(index, linked=linked)
        return message

    @classmethod
    def stored(cls, value: JsonObject) -> Self:
        """The inverse of `to_dict`, for messages that were checked when they were stored."""
        content, at = value["content"], value.get("created_at")
        return cls(
            value["role"],
            tuple(content) if isinstance(content, list) else content,
            value.get("name"),
            tuple(value.get("tool_calls", ())),
            value.get("tool_call_id"),
            value.get("pinned", False),
            datetime.fromisoformat(at) if at else None,
        )

    def to_openai(self) -> dict[str, Any]:
        """The message in the provider's format, without `pinned` and `created_at`, which only Purser knows."""
        fields: dict[str, Any] = {"role": self.role}
        # Providers require the key `content`, with null where the message only calls tools.
        fields["content"] = list(self.content) if isinstance(self.content, tuple) else self.content
        if self.name is not None:
            fields["name"] = self.name
        if self.tool_calls:
            fields["tool_calls"] = list(self.tool_calls)
        if self.tool_call_id is not None:
            fields["tool_call_id"] = self.tool_call_id
        return fields

    def to_dict(self) -> dict[str, Any]:
        """The inverse of `parse`."""
        fields = self.to_openai()
        if self.pinned:
            fields["pinned"] = True
        if self.created_at:
            fields["created_at"] = self.created_at.isoformat().replace("+00:00", "Z")
        return fields

    def storable(self) -> Self:
        """The message as it is stored; `context.conversation.storable` lists what is replaced."""
        texts = (self.content, self.name, self.tool_calls, self.tool_call_id)
        if all(map(is_storable, filter(None, texts))):
            return self
        content, name, tool_calls, tool_call_id = storable(texts)
        return replace(self, content=content, name=name, tool_calls=tool_calls, tool_call_id=tool_call_id)

    @property
    def text(self) -> str:
        """The text parts joined by line breaks; empty if there are none."""
        if isinstance(self.content, tuple):
            return "\n".join(part["text"] for part in self.content if part.get("type") == "text")
        return self.content or ""

    @property
    def speaker(self) -> str:
        """Its name on one line, else its role; both if the name is another role: an agent `user` is not the user."""
        name = " ".join((self.name or "").split())
        letters = "".join(filter(str.isalnum, name)).casefold()
        return with_role(self.role, name) if letters in ROLES and letters != self.role else name or self.role

    @property
    def call_ids(self) -> tuple[str, ...]:
        """Ids of its tool calls."""
        return tuple(call["id"] for call in self.tool_calls) if self.tool_calls else ()

    def _check(self, index: int, *, linked: bool) -> None:
        """Checks the rules that concern several fields."""
        if self.tool_calls and self.role != "assistant":
            raise _invalid(index, "tool_calls", f"do not belong to role {self.role!r}, only an assistant calls tools")
        if (self.tool_call_id is not None) != (self.role == "tool") and (linked or self.tool_call_id is not None):
            raise _invalid(index, "tool_call_id", "belongs to a tool message, and every tool message has one")
        if self.content is None and not self.tool_calls:
            raise _invalid(index, "content", "is missing, only an assistant that calls tools may leave it out")


@dataclass(frozen=True, slots=True)
class StoredMessage:
    """A stored message with its position and token counts."""

    seq: int
    """Sequence number in the session, from 1, shared by all threads."""
    thread: str
    """Empty for the session's own conversation, else `{task_id}/{agent_id}`."""
    message: Message
    tokens: Mapping[str, int]
    """Token count by encoding."""
    created_at: datetime | None = None
    """When it was written: the time that the caller gave, else that of its append; `None` if it is not stored yet."""


class Linked(Protocol):
    """The fields that link tool calls to their results."""

    @property
    def role(self) -> str: ...

    @property
    def call_ids(self) -> tuple[str, ...]: ...

    @property
    def tool_call_id(self) -> str | None: ...


def with_role(role: str, name: str | None) -> str:
    """A speaker by role and, if known, name."""
    return f"{role} ({name})" if name else role


def speaker_name(name: str) -> str:
    """The name of a speaker as providers accept it: at most 64 characters, of ASCII only letters, digits, _ and -.

    OpenAI refuses white space and some signs, other providers all signs; letters of any language remain.
    """
    return _NOT_IN_NAMES.sub("_", name)[:64]


def json_and_digest(stored: JsonObject) -> tuple[str, str]:
    """The JSON of a message as `Message.to_dict` returns it, and its SHA-256 digest, equal for equal messages."""
    # Fields are encoded once: this takes far less time than the JSON of a message whose fields are sorted.
    fields = [f'"{name}": {json.dumps(value)}' for name, value in stored.items()]
    is_flat = isinstance(stored["content"], str) and "tool_calls" not in stored
    in_order = f"{{{', '.join(sorted(fields))}}}" if is_flat else _SORTED(stored)
    return f"{{{', '.join(fields)}}}", sha256(in_order.encode()).hexdigest()


class Links(NamedTuple):
    """How the tool calls and the results of a conversation belong together."""

    callers: dict[int, int]
    """Index of the message that called, by index of the result."""
    waiting: int
    """Index of the first message with a call that waits for its result; the number of messages if there is none."""


def link(messages: Sequence[Linked]) -> Links:
    """Finds the call of each result.

    A call waits for its result until the assistant writes again after a message of somebody else. Ids may repeat along
    a conversation: a result answers the latest call of that id.
    """
    callers, waiting, speaker = dict[int, int](), dict[str, int](), ""
    first = next((index for index, message in enumerate(messages) if message.call_ids), len(messages))
    for index, message in enumerate(messages[first:], first):
        if message.role == "assistant" != speaker:
            waiting.clear()
        speaker = message.role
        if call_ids := message.call_ids:
            waiting.update(dict.fromkeys(call_ids, index))
        if message.tool_call_id is not None and message.tool_call_id in waiting:
            callers[index] = waiting.pop(message.tool_call_id)
    return Links(callers, min(waiting.values(), default=len(messages)))


def group(messages: Sequence[Linked]) -> list[range]:
    """Splits a conversation into atomic groups, which windows and summaries never separate.

    An assistant message, all results of its calls and every message between them form one group; any other message is a
    group by itself, also a result for which no call waits.

    Returns:
        Index ranges that partition `messages`, in order.
    """
    last_of, callers = list(range(len(messages))), link(messages).callers
    if not callers:
        return [range(index, index + 1) for index in last_of]
    for result, caller in callers.items():
        last_of[caller] = result
    found: list[range] = []
    start = end = 0
    for index, last in enumerate(last_of):
        end = max(end, last)
        if index == end:
            found.append(range(start, index + 1))
            start = end = index + 1
    return found


def check_time(message: Message, index: int, now: datetime) -> None:
    """Refuses a message from the future.

    Args:
        message, index: the message and its position in the conversation, named in the error.
        now: the current time in UTC.

    Raises:
        InvalidMessage: it was written more than `MOST_AHEAD` after `now`.
    """
    if message.created_at is not None and message.created_at > now + MOST_AHEAD:
        raise _invalid(index, "created_at", f"lies in the future, it is now {now:%Y-%m-%dT%H:%M:%SZ}")


def _invalid(index: int, field: str, fault: str) -> InvalidMessage:
    return InvalidMessage(f"message {index}, field {field!r}: {fault}")


def _text(value: object, index: int, field: str) -> str | None:
    if value is not None and not _names(value):
        raise _invalid(index, field, f"is {_kind(value)}, it must be text without NUL characters")
    return None if value is None else str(value)


def _names(value: object) -> bool:
    return isinstance(value, str) and bool(value) and "\0" not in value


def _flag(value: object, index: int) -> bool:
    if not isinstance(value, bool):
        raise _invalid(index, "pinned", f"is {_kind(value)}, use true or false")
    return value


def _time(value: object, index: int) -> datetime | None:
    if value is None:
        return None
    if not isinstance(value, str) or not _TIME.fullmatch(value):
        fault = _kind(value) if not isinstance(value, str) or not value else "not in this format"
        raise _invalid(index, "created_at", f"is {fault}, write it with its zone: 2026-11-20T18:00:00Z or …+08:00")
    try:
        found = datetime.fromisoformat(value.upper())
        found.astimezone(UTC)
    except (ValueError, OverflowError):
        raise _invalid(index, "created_at", "is no time of the calendar") from None
    return found


def _content(value: object, index: int) -> str | tuple[JsonObject, ...] | None:
    if value is None or isinstance(value, str):
        return value
    if not isinstance(value, Sequence):
        raise _invalid(index, "content", f"is {_kind(value)}, it must be text or a list of parts")
    for place, part in enumerate(value):
        if not isinstance(part, Mapping) or not isinstance(part.get("type"), str):
            raise _invalid(index, f"content[{place}]", 'is no part, write for example {"type": "text", "text": "…"}')
        if part["type"] == "text" and not isinstance(part.get("text"), str):
            raise _invalid(index, f"content[{place}].text", f"is {_kind(part.get('text'))}, it must be text")
        if part["type"] == "image_url" and not _names(_address(part.get("image_url"))):
            raise _invalid(index, f"content[{place}].image_url", 'is no image, write for example {"url": "https://…"}')
    return tuple(value)


def _address(image: object) -> object:
    return image.get("url") if isinstance(image, Mapping) else image


def _calls(value: object, index: int) -> tuple[JsonObject, ...]:
    if not isinstance(value, Sequence) or isinstance(value, str):
        raise _invalid(index, "tool_calls", f"is {_kind(value)}, it must be a list of calls")
    for place, call in enumerate(value):
        where = f"tool_calls[{place}]"
        function = call.get("function") if isinstance(call, Mapping) else None
        if not isinstance(function, Mapping) or not _names(call.get("id")):
            raise _invalid(index, where, "is no call, it needs an id and a function with name and arguments")
        for field in ("name", "arguments"):
            if not isinstance(function.get(field), str):
                raise _invalid(index, f"{where}.function.{field}", f"is {_kind(function.get(field))}, it must be text")
    if len({call["id"] for call in value}) != len(value):
        raise _invalid(index, "tool_calls", "name an id twice, every call has its own")
    return tuple(value)


def _kind(value: object) -> str:
    return "missing" if value is None else "empty" if value == "" else f"a {type(value).__name__}"
