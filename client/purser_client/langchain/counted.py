"""What the model reads and writes, in the form that the client counts."""

from collections.abc import Iterator
from itertools import chain
from typing import Any

from langchain.agents.middleware import ModelRequest, ModelResponse
from langchain.agents.structured_output import AutoStrategy, ProviderStrategy, ToolStrategy
from langchain_core.messages import AIMessage, AIMessageChunk, AnyMessage, convert_to_openai_messages
from langchain_core.utils.function_calling import convert_to_openai_tool

from purser_client.usage import of_langchain

_LIMITS = ("max_tokens", "max_completion_tokens", "max_output_tokens")


def messages_of(request: ModelRequest[Any]) -> list[Any]:
    """The system message, and the conversation."""
    system = [] if request.system_message is None else [request.system_message]
    return [each for message in (*system, *request.messages) for each in _message(message)]


def tools_of(request: ModelRequest[Any]) -> list[Any]:
    """Tools, and the form of the output."""
    return [*(convert_to_openai_tool(tool) for tool in request.tools), *_forms(request.response_format)]


def model_of(request: ModelRequest[Any]) -> str | None:
    """The name of the model, by which calls are priced."""
    found = (getattr(request.model, name, None) for name in ("model_name", "model"))
    return next((name for name in found if isinstance(name, str)), None)


def limit_of(request: ModelRequest[Any]) -> int | None:
    """The most that the reply may have, if the request or its model says."""
    stated = [request.model_settings.get(name) for name in _LIMITS]
    stated += [getattr(request.model, name, None) for name in _LIMITS]
    return next((limit for limit in stated if isinstance(limit, int)), None)


def settings_of(request: ModelRequest[Any], max_tokens: int) -> dict[str, Any]:
    """The settings with another limit of the reply, by the name that the request or its model has for it."""
    stated = (name for name in _LIMITS if name in request.model_settings)
    known = (name for name in _LIMITS if hasattr(request.model, name))
    named = next(chain(stated, known), _LIMITS[0])
    return {**request.model_settings, named: max_tokens}


def usage_of(response: ModelResponse[Any]) -> dict[str, int] | None:
    """Usage in the words of the gateway; `None` if there is none. Zeros are those of a model that does not report."""
    replies = [one for one in response.result if isinstance(one, AIMessage)]
    reported = replies[-1].usage_metadata if replies else None
    if not reported:
        return None
    usage = of_langchain(reported)
    return usage if any(usage.values()) else None


def written_in(chunk: AIMessageChunk) -> str:
    """What a chunk of a reply adds to it, its reasoning included."""
    called = (f"{part['name'] or ''}{part['args'] or ''}" for part in chunk.tool_call_chunks)
    return "".join((*_reasoned(chunk), str(chunk.text), *called))


def _message(message: AnyMessage) -> list[Any]:
    try:
        return list(convert_to_openai_messages([message]))
    except (KeyError, TypeError, ValueError):  # a block of a provider, such as an image of Anthropic at an address
        return [message]


def _reasoned(chunk: AIMessageChunk) -> Iterator[str]:
    yield chunk.additional_kwargs.get("reasoning_content") or ""
    for block in () if isinstance(chunk.content, str) else chunk.content:
        match block:
            case {"type": "thinking", "thinking": str(text)} | {"type": "reasoning", "reasoning": str(text)}:
                yield text
            case {"type": "reasoning", "summary": [*parts]}:
                yield from (part.get("text") or "" for part in parts)


def _forms(form: Any) -> Iterator[Any]:
    match form:
        case ProviderStrategy():
            yield form.schema_spec.json_schema
        case ToolStrategy():
            yield from (spec.json_schema for spec in form.schema_specs)
        case AutoStrategy():
            yield from _forms(ToolStrategy(form.schema))
