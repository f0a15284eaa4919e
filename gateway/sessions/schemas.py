"""Parameters and request bodies of `/v1/sessions`."""

from collections.abc import Sequence
from typing import Annotated, Any

import fastapi
from fastapi import Depends, Path, Query
from fastapi.exceptions import RequestValidationError
from pydantic import AfterValidator, Field, ValidationError, model_validator

from purser.budget.errors import InvalidRequest
from purser.budget.scopes import check_id
from purser.context.conversation.json_lines import read_lines
from purser.context.conversation.messages import Message
from purser.context.errors import InvalidMessage
from purser.gateway.http.bodies import MAX_VALUES, check_size, check_values
from purser.wire.base import Body
from purser.wire.fields import Name, storable
from purser.wire.storable import is_storable

USER_ID = r"^[A-Za-z0-9._~-]{1,128}$"
MAX_MESSAGES = 10_000
"""Most messages of one append."""
MAX_QUESTION = 5_000
"""Most characters of a question: it is part of the URL, which is limited to 64 KiB."""


async def _session_id(session_id: str) -> str:
    return check_id(session_id, "session_id")


def _checked_user(user_id: str) -> str:
    return check_id(user_id, "user_id")


async def _user_id(user_id: str) -> str:
    return _checked_user(user_id)


SessionId = Annotated[str, Depends(_session_id)]
UserId = Annotated[str, Depends(_user_id)]
Seq = Annotated[int, Path(ge=1, le=2**53 - 1)]
Model = Annotated[
    str, AfterValidator(storable), Query(min_length=1, max_length=256, description="Model whose tokenizer is used.")
]
Thread = Annotated[
    str,
    AfterValidator(storable),
    Query(max_length=300, description="Empty for the session's own conversation, else `{task_id}/{agent_id}`."),
]
Question = Annotated[
    str, AfterValidator(storable), Query(min_length=1, max_length=MAX_QUESTION, description="Text to search for.")
]
Fields = Annotated[dict[str, Any], AfterValidator(storable), fastapi.Body()]


class AppendBody(Body):
    """Messages to add to the end of a session."""

    messages: list[Any]
    """OpenAI chat messages: `role`, `content`, `tool_calls`, `tool_call_id`, `name`, and Purser's own `pinned` and
    `created_at`, the time when it was written (RFC 3339 with a zone; at most a day in the future), by default now."""
    key: Name | None = None
    """Identifies this append in its session: repeating it adds nothing. Also as header `Idempotency-Key`."""
    user_id: Annotated[str, Field(pattern=USER_ID), AfterValidator(_checked_user)] | None = None
    """The user to whom the session belongs."""

    @model_validator(mode="before")
    @classmethod
    def _storable(cls, value: Any) -> Any:
        # Messages are checked one by one, so that an error names the place.
        return value


def read_append(body: object) -> tuple[AppendBody, list[Message]]:
    """Parses an append in any form: an object, a bare array, or the bytes of JSON lines.

    Raises:
        InvalidMessage, RequestValidationError
    """
    if isinstance(body, bytes):
        check_size(body)
        if body.count(b"\n") > MAX_VALUES:
            raise InvalidRequest(f"body has more than {MAX_VALUES} lines: send it in parts")
        body = read_lines(_decoded(body))
        check_values(body)
    if isinstance(body, list):
        body = {"messages": body}
    try:
        read = AppendBody.model_validate(body)
    except ValidationError as error:
        raise RequestValidationError([{**one, "loc": ("body", *one["loc"])} for one in error.errors()]) from None
    return read, _messages(read.messages)


def unanswering(messages: Sequence[Message]) -> dict[int, str]:
    """Tool results without a preceding call among `messages`: their ids by index."""
    open_ids: set[str] = set()
    found = {}
    for index, message in enumerate(messages):
        open_ids.update(message.call_ids)
        if message.tool_call_id is not None and message.tool_call_id not in open_ids:
            found[index] = message.tool_call_id
    return found


def _messages(values: Sequence[object]) -> list[Message]:
    if not 1 <= len(values) <= MAX_MESSAGES:
        raise InvalidMessage(f"messages: are {len(values)}, send 1 to {MAX_MESSAGES} at a time")
    for index, value in enumerate(values):
        for field, content in value.items() if isinstance(value, dict) else ():
            if not is_storable([field, content]):
                where = f"message {index}, field {field[:80]!r}"
                raise InvalidMessage(f"{where}: contains a NUL character or half of a surrogate pair, remove it")
    return [Message.parse(value, index) for index, value in enumerate(values)]


def _decoded(body: bytes) -> str:
    try:
        return body.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise InvalidMessage(f"body is not UTF-8: byte {error.start}") from None
