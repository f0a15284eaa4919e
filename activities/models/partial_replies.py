"""A model's reply while it arrives: what a cancelled call settles from, and what a finished one stores."""

import asyncio
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from purser.activities.errors import Cost, ProviderRejected
from purser.budget.errors import InvalidUsage
from purser.budget.usage import Usage, normalize
from purser.context.conversation.messages import Message
from purser.context.tokens import count_text

_LONG = 20_000
"""Characters from which on a reply is counted off the event loop."""


@dataclass
class _Call:
    """A tool call as far as its parts have come."""

    id: str = ""
    name: str = ""
    arguments: list[str] = field(default_factory=list)


@dataclass
class Draft:
    """A reply as far as it has come."""

    sent: bool = False
    """Whether the request may have reached the provider."""
    finish_reason: str | None = None
    usage: Usage | None = None
    """As the provider reported it; `None` if it did not, or in words that nobody knows."""
    most_characters: int | None = None
    """Length from which on a reply is longer than any that was asked for; `None`: any length."""
    characters: int = 0
    """Length so far, tool calls included."""
    _texts: list[str] = field(default_factory=list)
    _calls: dict[int, _Call] = field(default_factory=dict)

    @property
    def complete(self) -> bool:
        """Whether the reply is whole although the connection broke after it."""
        return self.finish_reason is not None and self.usage is not None

    def add(self, text: str | None, calls: Iterable[Any], finish_reason: str | None) -> None:
        """Takes in one chunk; `calls` are tool call deltas in the words of the OpenAI API.

        Raises:
            ProviderRejected: the reply is longer than any that was asked for.
        """
        if text:
            self._texts.append(text)
            self.characters += len(text)
        for delta in calls:
            call = self._calls.setdefault(delta.index or 0, _Call())
            call.id = call.id or delta.id or ""
            call.name = call.name or delta.function.name or ""
            call.arguments.append(delta.function.arguments or "")
            self.characters += len(call.arguments[-1])
        if self.most_characters is not None and self.characters > self.most_characters:
            raise ProviderRejected("reply_too_large", cost=Cost.UNKNOWN)
        self.finish_reason = finish_reason or self.finish_reason

    def report(self, payload: Mapping[str, Any]) -> bool:
        """Takes in the provider's usage block; whether it can be understood."""
        try:
            usage = normalize(payload)
        except InvalidUsage:
            return False
        self.usage = usage if usage.total > 0 else None
        return True

    def message(self) -> Message:
        """The reply as a message of a conversation."""
        calls = [
            # Ids tie results to calls: where a provider left one out, used it twice or made one that Postgres cannot
            # store, the place stands in.
            {"id": self._id(place), "type": "function", "function": _function(call)}
            for place, call in enumerate(self._calls.values())
        ]
        text = "".join(self._texts)
        return Message("assistant", text or (None if calls else ""), tool_calls=tuple(calls)).storable()

    def charge(self, prompt_tokens: int, model: str) -> Usage:
        """What the provider reported, or an estimate of what was produced so far, marked as ours."""
        if self.usage is not None:
            return self.usage
        produced = [*self._texts, *(part for call in self._calls.values() for part in (call.name, *call.arguments))]
        output = count_text("".join(produced), model).tokens if produced else 0
        return Usage(input=prompt_tokens, output=output, estimated=True)

    async def charge_async(self, prompt_tokens: int, model: str) -> Usage:
        """What `charge` returns; a long reply is counted off the event loop."""
        if self.usage is None and self.characters > _LONG:
            return await asyncio.to_thread(self.charge, prompt_tokens, model)
        return self.charge(prompt_tokens, model)

    def _id(self, place: int) -> str:
        ids = [call.id for call in self._calls.values()]
        usable = ids[place] and ids[place].isprintable() and ids[place] not in ids[:place]
        return ids[place] if usable else f"call_{place}"


def _function(call: _Call) -> dict[str, str]:
    return {"name": call.name, "arguments": "".join(call.arguments)}
