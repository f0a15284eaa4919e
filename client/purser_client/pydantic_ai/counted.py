"""What the model reads and writes, in the form that the client counts."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from pydantic_ai.messages import (
    BinaryContent,
    ImageUrl,
    ModelMessage,
    ModelRequest,
    ModelResponse,
    TextPart,
    ThinkingPart,
    ToolCallPart,
)
from pydantic_ai.models import Model, ModelRequestParameters
from pydantic_ai.settings import ModelSettings
from pydantic_ai.usage import RequestUsage

from purser_client.usage import in_classes


def limit_of(model: Model, settings: ModelSettings | None) -> int | None:
    """The most that a reply may have, if the request or the model limits it."""
    limit: int | None = (settings or {}).get("max_tokens", (model.settings or {}).get("max_tokens"))
    return limit


def messages_of(messages: Sequence[ModelMessage]) -> Iterator[Any]:
    """The parts of all messages, and the instructions of the newest request, which alone are sent."""
    instructions = [one.instructions for one in messages if isinstance(one, ModelRequest) and one.instructions]
    if instructions:
        yield {"role": "system", "content": instructions[-1]}
    for message in messages:
        for part in message.parts:
            yield _part(part)


def tools_of(parameters: ModelRequestParameters) -> Iterator[Any]:
    """Tools, and the form of the output."""
    for tool in (*parameters.function_tools, *parameters.output_tools):
        yield {"name": tool.name, "description": tool.description, "parameters": tool.parameters_json_schema}
    if parameters.output_object is not None:
        yield parameters.output_object.json_schema


def usage_of(usage: RequestUsage) -> dict[str, int]:
    """Usage in the words of the gateway."""
    cached = (usage.cache_read_tokens, usage.cache_write_tokens, usage.cache_write_1h_tokens)
    return in_classes(usage.input_tokens, usage.output_tokens, *cached)


def is_reported(usage: RequestUsage) -> bool:
    """Whether the provider has reported what it used: zeros are those of a provider that does not."""
    return not usage.unmeasured_requests and any(usage_of(usage).values())


def is_whole(response: ModelResponse) -> bool:
    """Whether a reply has arrived to its end, with what it has used."""
    return response.state == "complete" and is_reported(response.usage)


def written_in(response: ModelResponse) -> str:
    """What has arrived of a reply."""
    return "".join(_written(part) for part in response.parts)


def _written(part: object) -> str:
    match part:
        case TextPart() | ThinkingPart():
            return str(part.content)
        case ToolCallPart():
            return f"{part.tool_name}{part.args_as_json_str()}"
    return ""


def _part(part: Any) -> Any:
    if isinstance(part, ToolCallPart):
        return {"role": part.part_kind, "name": part.tool_name, "arguments": part.args}
    return {"role": part.part_kind, "content": _content(getattr(part, "content", part))}


def _content(content: Any) -> Any:
    """What a part contains: text, or JSON that the model reads as text, and files in the form of OpenAI."""
    files: list[Any] = []
    rest = _without_files(content, files)
    return rest if isinstance(rest, str) else [{"json": rest}, *files]


def _without_files(content: Any, files: list[Any]) -> Any:
    match content:
        case BinaryContent():
            files.append(_file(content.data_uri, content.vendor_metadata))
        case ImageUrl():
            files.append(_file(content.url, content.vendor_metadata))
        case list() | tuple():
            return [_without_files(each, files) for each in content]
        case Mapping():
            return {name: _without_files(each, files) for name, each in content.items()}
        case _:
            return content
    return None


def _file(url: str, options: Mapping[str, Any] | None) -> dict[str, Any]:
    return {"type": "image_url", "image_url": {**(options or {}), "url": url}}
