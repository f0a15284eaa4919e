"""A model's reply while it arrives: the basis of a cancelled call's charge and of a completed call's message."""

import asyncio
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from purser.activities.errors import Cost, ProviderRejected
from purser.budget.errors import InvalidUsage
from purser.budget.usage import Usage, normalize
from purser.context.conversation.messages import Message
from purser.context.tokens import count_text

_LONG = 20_000
"""Characters above which a reply is counted off the event loop."""


@dataclass
class _Call:
    """A tool call with the parts received so far."""

    id: str = ""
    name: str = ""
    arguments: list[str] = field(default_factory=list)


@dataclass
class PartialReply:
    """A reply with the parts received so far."""

    sent: bool = False
    """Whether the request may have reached the provider."""
    finish_reason: str | None = None
    streamed: bool = False
    """Whether the reply arrives in pieces."""
    was_cut: bool = False
    """Whether Purser ended the reply."""
    usage: Usage | None = None
    """Usage as the provider last reported it; `None`: it reported none, or in an unknown format."""
    provider_request_id: str = ""
    """The provider's own id of the request; empty: unknown."""
    most_characters: int | None = None
    """Characters that no reply of the requested length exceeds; `None`: unbounded."""
    characters: int = 0
    """Characters so far, including tool calls and reasoning."""
    _new: list[str] = field(default_factory=list)
    _thoughts: list[str] = field(default_factory=list)
    _texts: list[str] = field(default_factory=list)
    _calls: dict[int, _Call] = field(default_factory=dict)

    @property
    def complete(self) -> bool:
        """Whether the reply is complete, even if the connection broke after it."""
        return self.finish_reason is not None and self.usage is not None

    def add(
        self,
        text: str | None,
        calls: Iterable[Mapping[str, Any]],
        finish_reason: str | None,
        thought: object = None,
    ) -> None:
        """Adds one chunk.

        Args:
            text: text of the reply.
            calls: tool call deltas in the format of the OpenAI API.
            finish_reason: why the provider ended the reply; `None`: it has not.
            thought: reasoning, which is charged and is no part of the message. Only text can be counted.

        Raises:
            ProviderRejected: the reply is longer than the request allows.
        """
        if thought and isinstance(thought, str):
            self._thoughts.append(thought)
            self._grow(thought)
        if text:
            self._texts.append(text)
            self._grow(text)
        for delta in calls:
            call = self._calls.setdefault(delta.get("index") or 0, _Call())
            call.id = call.id or delta.get("id") or ""
            function = delta["function"]
            if function.get("name") and not call.name:
                call.name = function["name"]
                self._new.append(call.name)
            call.arguments.append(function.get("arguments") or "")
            self._grow(call.arguments[-1])
        if self.most_characters is not None and self.characters > self.most_characters:
            raise ProviderRejected("reply_too_large", cost=Cost.UNKNOWN)
        self.finish_reason = finish_reason or self.finish_reason

    def take_new(self) -> str:
        """Returns what was produced since the last call."""
        new, self._new = "".join(self._new), []
        return new

    def cut(self) -> None:
        """Ends the reply with what it has so far. A tool call without its full arguments never runs."""
        self.was_cut, self.finish_reason = True, "length"
        for call in self._calls.values():
            # No arguments at all would mean a call without any.
            call.arguments = call.arguments if any(call.arguments) else ["{"]

    def report(self, payload: Mapping[str, Any]) -> bool:
        """Stores the provider's usage block; returns whether its format is known."""
        try:
            usage = normalize(payload)
        except InvalidUsage:
            return False
        self.usage = usage if usage.total > 0 else None
        return True

    def message(self) -> Message:
        """Returns the reply as a message of a conversation."""
        ids = CallIds()
        calls = [
            {"id": ids.take(place, call.id), "type": "function", "function": _function(call)}
            for place, call in enumerate(self._calls.values())
        ]
        text = "".join(self._texts)
        return Message("assistant", text or (None if calls else ""), tool_calls=tuple(calls)).storable()

    def charge(self, prompt_tokens: int, model: str) -> Usage:
        """Returns the reported usage of a reply that the provider ended, otherwise an estimate, marked as such.

        The estimate has the reported input, if any, and at least the output that has arrived: providers begin a reply
        with a report of its prompt.
        """
        if (reported := self._final_usage) is not None:
            return reported
        calls = (part for call in self._calls.values() for part in (call.name, *call.arguments))
        produced = "".join((*self._thoughts, *self._texts, *calls))
        usage = self.usage or Usage(input=prompt_tokens)
        output = max(usage.output, count_text(produced, model).tokens if produced else 0)
        return replace(usage, output=output, estimated=True)

    async def charge_async(self, prompt_tokens: int, model: str) -> Usage:
        """Returns what `charge` returns, but counts a long reply off the event loop."""
        if self._final_usage is None and self.characters > _LONG:
            return await asyncio.to_thread(self.charge, prompt_tokens, model)
        return self.charge(prompt_tokens, model)

    async def charge_reported(self, prompt_tokens: int, model: str) -> Usage | None:
        """Returns what `charge_async` returns; `None` if the provider has reported no usage."""
        return None if self.usage is None else await self.charge_async(prompt_tokens, model)

    @property
    def _final_usage(self) -> Usage | None:
        """The reported usage, if it is that of the whole reply."""
        return self.usage if self.complete and not self.was_cut else None

    def _grow(self, part: str) -> None:
        self._new.append(part)
        self.characters += len(part)


class CallIds:
    """Ids of the tool calls of one reply, which tie results to calls.

    If a provider left one out, used it twice or made one that Postgres cannot store, one by position takes its place.
    """

    def __init__(self) -> None:
        self._taken: set[str] = set()

    def take(self, place: int, given: str) -> str:
        """The id of the next call, from its position and the id that the provider has given, if any."""
        usable = given and given.isprintable() and given not in self._taken
        found = given if usable else f"call_{place}"
        while found in self._taken:
            found += "_"
        self._taken.add(found)
        return found


def _function(call: _Call) -> dict[str, str]:
    return {"name": call.name, "arguments": "".join(call.arguments) or "{}"}
