"""What the model reads and writes, in the form that the client counts."""

from collections.abc import Iterator
from typing import Any

from google.adk.models import BaseLlm, LlmRequest, LlmResponse
from pydantic import BaseModel

from purser_client.usage import in_classes


def messages_of(request: LlmRequest) -> Iterator[Any]:
    """The instruction, and the parts of all contents."""
    if request.config.system_instruction:
        yield {"role": "system", "content": _plain(request.config.system_instruction)}
    for content in request.contents:
        for part in content.parts or ():
            yield {"role": content.role, "content": part.text or _plain(part)}


def tools_of(request: LlmRequest) -> Iterator[Any]:
    """Tools, and the form of the output."""
    for tool in request.config.tools or ():
        yield from map(_plain, getattr(tool, "function_declarations", None) or (tool,))
    for form in (request.config.response_schema, request.config.response_json_schema):
        if form is not None:
            is_model = isinstance(form, type) and issubclass(form, BaseModel)
            yield form.model_json_schema() if is_model else _plain(form)


def limit_of(request: LlmRequest, model: BaseLlm) -> int | None:
    """The most that the reply may have, if the request or the model says."""
    stated = (request.config.max_output_tokens, getattr(model, "max_tokens", None))
    return next((limit for limit in stated if isinstance(limit, int)), None)


def usage_of(response: LlmResponse) -> dict[str, int] | None:
    """Usage in the words of the gateway.

    Whether the count of the reply includes its thoughts depends on the model; the total always does.
    """
    reported = response.usage_metadata
    if reported is None or not reported.total_token_count:
        return None
    prompt = (reported.prompt_token_count or 0) + (reported.tool_use_prompt_token_count or 0)
    read = reported.cached_content_token_count or 0
    written = getattr(reported, "cache_creation_input_tokens", None) or 0
    return in_classes(prompt, max(0, reported.total_token_count - prompt), read, written)


def written_in(response: LlmResponse) -> str:
    """What a part of a reply adds to it."""
    return "".join(map(_written, (response.content and response.content.parts) or ()))


def _written(part: Any) -> str:
    if (called := part.function_call) is not None:
        return f"{called.name or ''}{_plain(called.args or called.partial_args or '')}"
    return part.text or ""


def _plain(value: Any) -> Any:
    if isinstance(value, list):
        return [_plain(one) for one in value]
    return value.model_dump(mode="json", exclude_none=True) if hasattr(value, "model_dump") else value
