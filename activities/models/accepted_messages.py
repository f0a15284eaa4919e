"""The messages of a window as the provider of a model accepts them.

Providers refuse, each in its own way, what OpenAI's protocol or their own earlier releases allow, and a stored message
cannot be taken back: each further call of its session would fail. So only what is sent changes, not what is stored or
what `GET /window` shows. What is added here is counted before the call is admitted.
"""

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import cached_property, lru_cache
from typing import Any

from purser.activities.tools import arguments_of
from purser.context.conversation.conversations import Conversation
from purser.context.conversation.messages import speaker_name
from purser.context.tokens import PER_MESSAGE, count_text

EMPTY = "[empty]"
"""Shown of a message without content: Gemini refuses an empty text, and LiteLLM drops an empty result for Mistral."""
NO_REASONING = " "
"""The reasoning of every message: that of the model is not stored."""
BETWEEN = "OK."
"""What the assistant says between the result of a tool and a message that is not its own."""

# DeepSeek refuses assistant messages of a tool loop without `reasoning_content`, its final text included, and Moonshot
# those with tool calls (https://api-docs.deepseek.com/guides/thinking_mode). LiteLLM fills in a space, the least that
# both accept: `DeepSeekChatConfig._fill_reasoning_content`, but only if the request enables thinking, which is on by
# default, and `MoonshotChatConfig.fill_reasoning_content`, but only for some models. Instruct models do not reason, and
# other hosts, such as Groq, refuse the field.
_REASONING = re.compile(r"(deepseek|moonshot|kimi)(?!.*instruct)")
# Mistral answers 400, "Unexpected role 'user' after role 'tool'" (code 3230), and so do hosts that check by its rules.
# Other projects put an assistant message in between, too, such as zed-industries/zed#31736: an empty one, which LiteLLM
# would drop.
_MISTRAL = re.compile("[sx]tral")


@dataclass(frozen=True)
class AcceptedMessages:
    """What the provider of a model accepts."""

    model: str
    """Name of the model in LiteLLM."""
    api_base: str | None
    """Address of an OpenAI-compatible server; `None`: the provider's own."""

    def of(self, messages: Iterable[Mapping[str, Any]]) -> list[Mapping[str, Any]]:
        """The messages to send, from those of a window in the format of the OpenAI chat API."""
        return [self._accepted(one) for one in (_answered(messages) if self._answers_results else messages)]

    def counted(self, conversation: Conversation) -> Conversation:
        """The conversation with the tokens that `of` adds to its messages."""
        refs = conversation.messages
        added = [self.added(ref.role, ref.tokens, calls=bool(ref.call_ids)) for ref in refs]
        if not any(added):
            return conversation
        grown = (ref._replace(tokens=ref.tokens + more) for ref, more in zip(refs, added, strict=True))
        return replace(conversation, messages=tuple(grown))

    def added(self, role: str, tokens: int, *, calls: bool = False) -> int:
        """The most tokens that `of` adds to a message: exact, except that not every result needs `BETWEEN`.

        Args:
            role: its role.
            tokens: its tokens, as `count_message` counts them.
            calls: whether it calls tools.
        """
        texts = [EMPTY] if tokens == PER_MESSAGE else []
        if self._reasons and role == "assistant":
            texts.append(NO_REASONING)
        if self._answers_results and calls:
            return PER_MESSAGE + sum(_tokens(text, self.model) for text in (*texts, BETWEEN))
        return sum(_tokens(text, self.model) for text in texts)

    def _accepted(self, message: Mapping[str, Any]) -> Mapping[str, Any]:
        calls = [_with_object(call) for call in message.get("tool_calls", ())]
        accepted = {**message, "content": _content(message["content"]) or (None if calls else EMPTY)}
        if calls:
            accepted["tool_calls"] = calls
        if name := message.get("name"):
            accepted["name"] = speaker_name(name)
        if self._reasons and message["role"] == "assistant":
            accepted["reasoning_content"] = NO_REASONING
        return accepted

    @cached_property
    def _reasons(self) -> bool:
        """Whether assistant messages need a reasoning."""
        name = self.model.lower()
        found = _REASONING.match(name) if self.api_base is None else _REASONING.search(name)
        return found is not None

    @cached_property
    def _answers_results(self) -> bool:
        """Whether the assistant has to speak after the results of its calls."""
        return _MISTRAL.search(self.model.lower()) is not None


@lru_cache(maxsize=1024)
def _tokens(text: str, model: str) -> int:
    return count_text(text, model).tokens


def _answered(messages: Iterable[Mapping[str, Any]]) -> Iterator[Mapping[str, Any]]:
    """Puts a message of the assistant between results and a message that is not the assistant's."""
    role = ""
    for message in messages:
        if role == "tool" and message["role"] not in ("tool", "assistant"):
            yield {"role": "assistant", "content": BETWEEN}
        yield message
        role = message["role"]


def _content(content: Any) -> Any:
    """The content without empty texts."""
    if not isinstance(content, list):
        return content
    return [part for part in content if part["type"] != "text" or part["text"]]


def _with_object(call: Mapping[str, Any]) -> Mapping[str, Any]:
    """The call with a JSON object as its arguments, which protocols other than OpenAI's need."""
    function = call["function"]
    valid = function["arguments"] and arguments_of(function) is not None
    return call if valid else {**call, "function": {**function, "arguments": "{}"}}
