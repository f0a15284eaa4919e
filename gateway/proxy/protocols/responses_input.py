"""Requests to `responses` in the format of OpenAI's chat API; what needs a stored conversation is refused by name."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Annotated, Any

from pydantic import BaseModel, ConfigDict, Field

from purser.budget.errors import InvalidRequest
from purser.gateway.proxy.chat_call import ChatRequest
from purser.gateway.proxy.protocols.bodies import (
    MAX_MESSAGES,
    MAX_TOOLS,
    Cap,
    Model,
    Objects,
    PassedOn,
    options_of,
    read_body,
)
from purser.gateway.proxy.protocols.covered import RUN_ELSEWHERE, check_covered
from purser.gateway.proxy.protocols.thinking import unseal
from purser.gateway.proxy.verdicts import Unsupported

_WITHOUT_EFFECT = {"max_tool_calls", "metadata", "stream_options"}
"""About parts that a reply here does not have; metadata comes back with the reply."""
_STORED = "Purser stores no responses: send the whole conversation as input"
_UNSUPPORTED = {
    "previous_response_id": _STORED,
    "conversation": _STORED,
    "prompt": "Purser stores no prompts: send the text as instructions and input",
    "background": "a response arrives in its request or as its stream: leave it out",
    "store": _STORED + ", and leave store out",
    "top_logprobs": "use chat/completions, which returns log probabilities",
}
_ENCRYPTED = "reasoning.encrypted_content"
_ROLES = {"user": "user", "assistant": "assistant", "system": "system", "developer": "system"}


class _Reasoning(BaseModel):
    model_config = ConfigDict(strict=True, extra="ignore", frozen=True)

    effort: str | None = None


class _Text(BaseModel):
    model_config = ConfigDict(strict=True, extra="forbid", frozen=True)

    format: dict[str, Any] | None = None
    verbosity: str | None = None


class ResponsesBody(PassedOn):
    """The part of a request that the proxy itself reads, and what it passes on."""

    model: Model
    input: Annotated[str, Field(min_length=1)] | Annotated[Objects, Field(min_length=1, max_length=MAX_MESSAGES)]
    instructions: str | None = None
    tools: Annotated[Objects, Field(max_length=MAX_TOOLS)] | None = None
    tool_choice: str | dict[str, Any] | None = None
    max_output_tokens: Cap | None = None
    stream: bool | None = None
    reasoning: _Reasoning | None = None
    text: _Text | None = None
    truncation: str | None = None
    include: list[str] | None = None
    metadata: dict[str, str] | None = None

    @property
    def returns_reasoning(self) -> bool:
        """Whether the reply has the signed reasoning, for the input of the next request."""
        return _ENCRYPTED in (self.include or ())

    def asked(self) -> ChatRequest:
        """What the model is asked; raises `InvalidRequest` and `Unsupported`."""
        options = options_of(PassedOn, self)
        if self.tool_choice is not None:
            options["tool_choice"] = _tool_choice(self.tool_choice)
        if self.reasoning is not None and self.reasoning.effort is not None:
            options["reasoning_effort"] = self.reasoning.effort
        if self.text is not None:
            options |= _text_options(self.text)
        items = [{"role": "user", "content": self.input}] if isinstance(self.input, str) else self.input
        system = [{"role": "system", "content": self.instructions}] if self.instructions else []
        tools = [_tool(tool) for tool in self.tools or ()]
        messages = [*system, *_messages(items, self.model)]
        check_covered(messages, tools, options)
        return ChatRequest(self.model, messages, tools, self.max_output_tokens, options)


def read_responses(content: bytes) -> ResponsesBody:
    """Reads the body of a request to `responses`.

    Raises:
        RequestValidationError: it is not JSON.
        InvalidRequest: it is no such request; names the field, never its value.
        Unsupported: it asks for what the proxy does not do.
    """
    known = {*ResponsesBody.model_fields, *_WITHOUT_EFFECT, *_UNSUPPORTED}
    body = read_body(ResponsesBody, content, known)
    for name, remedy in _UNSUPPORTED.items():
        if (body.model_extra or {}).get(name):
            raise Unsupported(name, remedy)
    if body.truncation not in (None, "disabled"):
        raise Unsupported("truncation", "let the header Purser-Window choose what the model sees")
    if other := [each for each in body.include or () if each != _ENCRYPTED]:
        raise Unsupported(f"include {other[0][:80]!r}", "leave it out")
    return body


def _messages(items: Sequence[Mapping[str, Any]], model: str) -> list[dict[str, Any]]:
    """The items of a conversation as messages: calls of tools join the message of the model before them."""
    found: list[dict[str, Any]] = []
    thoughts: list[dict[str, Any]] = []
    for place, item in enumerate(items):
        where = f"input.{place}"
        match item.get("type", "message"):
            case "message":
                found.append(_message(item, where))
            case "function_call":
                call: dict[str, Any] = {"id": _word(item, "call_id", where), "type": "function"}
                call["function"] = {"name": _word(item, "name", where), "arguments": _word(item, "arguments", where)}
                if not found or found[-1]["role"] != "assistant":
                    found.append({"role": "assistant", "content": None})
                found[-1].setdefault("tool_calls", []).append(call)
            case "function_call_output":
                content = _content(item.get("output"), f"{where}.output")
                found.append({"role": "tool", "tool_call_id": _word(item, "call_id", where), "content": content})
            case "reasoning":
                thoughts += _thoughts(item, where, model)
                continue
            case "item_reference":
                raise Unsupported(f"{where}.type item_reference", _STORED)
            case other:
                raise Unsupported(
                    f"{where}.type {str(other)[:80]}", "send message, function_call and function_call_output"
                )
        if thoughts and found[-1]["role"] == "assistant":
            found[-1].setdefault("thinking_blocks", []).extend(thoughts)
        thoughts = []
    if not found:
        raise InvalidRequest("input is not valid: it has no message")
    return found


def _thoughts(item: Mapping[str, Any], where: str, model: str) -> list[dict[str, Any]]:
    """The blocks of reasoning that this model has signed; all other reasoning is left out: it could not read it."""
    if item.get("encrypted_content") is None:
        return []
    sealed = _word(item, "encrypted_content", where)
    try:
        return unseal(sealed, model)
    except ValueError as error:
        raise InvalidRequest(f"{where}.encrypted_content is not valid: {error}") from None


def _message(item: Mapping[str, Any], where: str) -> dict[str, Any]:
    role = item.get("role")
    if not isinstance(role, str) or role not in _ROLES:
        raise InvalidRequest(f"{where}.role is not valid: use one of {', '.join(_ROLES)}")
    return {"role": _ROLES[role], "content": _content(item.get("content"), f"{where}.content")}


def _content(content: object, where: str) -> str | list[dict[str, Any]]:
    if isinstance(content, str):
        return content
    if not isinstance(content, list) or not all(isinstance(part, dict) for part in content):
        raise InvalidRequest(f"{where} is not valid: give text or a list of parts")
    parts = list(_parts(content, where))
    if all(part["type"] == "text" for part in parts):
        # Not every provider takes a list where text would do.
        return "\n".join(part["text"] for part in parts)
    return parts


def _parts(content: Sequence[Mapping[str, Any]], where: str) -> Iterator[dict[str, Any]]:
    for place, part in enumerate(content):
        at = f"{where}.{place}"
        if part.get("file_id") is not None:
            raise Unsupported(f"{at}.file_id", "Purser stores no files: send the content itself")
        match part.get("type"):
            case "input_text" | "output_text" | "text":
                yield {"type": "text", "text": _word(part, "text", at)}
            case "refusal":
                yield {"type": "text", "text": _word(part, "refusal", at)}
            case "input_image":
                image = {"url": _word(part, "image_url", at)}
                if part.get("detail"):
                    image["detail"] = _word(part, "detail", at)
                yield {"type": "image_url", "image_url": image}
            case "input_file" if part.get("file_data"):
                file = {name: part[name] for name in ("filename", "file_data") if part.get(name)}
                yield {"type": "file", "file": file}
            case other:
                raise Unsupported(
                    f"{at}.type {str(other)[:80]}", "send input_text, input_image, or input_file with data"
                )


def _tool(tool: Mapping[str, Any]) -> dict[str, Any]:
    kind = tool.get("type")
    if kind != "function":
        raise Unsupported(f"tools type {str(kind)[:80]}", RUN_ELSEWHERE)
    _word(tool, "name", "tools")
    function = {
        name: tool[name] for name in ("name", "description", "parameters", "strict") if tool.get(name) is not None
    }
    return {"type": "function", "function": function}


def _tool_choice(choice: str | Mapping[str, Any]) -> str | dict[str, Any]:
    if isinstance(choice, str):
        return choice
    if choice.get("type") != "function":
        raise Unsupported(f"tool_choice type {str(choice.get('type'))[:80]}", "use auto, none, required or a function")
    return {"type": "function", "function": {"name": _word(choice, "name", "tool_choice")}}


def _text_options(text: _Text) -> dict[str, Any]:
    options: dict[str, Any] = {"verbosity": text.verbosity} if text.verbosity is not None else {}
    if text.format is None or text.format.get("type") == "text":
        return options
    if text.format.get("type") == "json_schema":
        schema = {name: part for name, part in text.format.items() if name != "type" and part is not None}
        return options | {"response_format": {"type": "json_schema", "json_schema": schema}}
    return options | {"response_format": text.format}


def _word(item: Mapping[str, Any], name: str, where: str) -> str:
    value = item.get(name)
    if not isinstance(value, str):
        raise InvalidRequest(f"{where}.{name} is not valid: give text")
    return value
