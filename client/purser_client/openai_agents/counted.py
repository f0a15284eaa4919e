"""What the model reads of a request, in the form that the client counts, and how long its reply may be."""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any

from agents import AgentOutputSchemaBase, Handoff, ModelSettings, Tool, TResponseInputItem

_LIMIT = "max_completion_tokens"
"""The name of the limit that reasoning models take over chat completions, where they refuse `max_tokens`."""


def messages_of(instructions: str | None, input: str | list[TResponseInputItem]) -> list[Any]:
    """Instructions and input."""
    system = [{"role": "system", "content": instructions}] if instructions else []
    return [*system, *([{"role": "user", "content": input}] if isinstance(input, str) else input)]


def tools_of(
    tools: Sequence[Tool], handoffs: Sequence[Handoff[Any, Any]], schema: AgentOutputSchemaBase | None
) -> list[Any]:
    """Tools, agents to hand off to, and the form of the output."""
    return [*map(_tool, tools), *map(_handoff, handoffs), *_form(schema)]


def limit_of(settings: ModelSettings) -> int | None:
    """The most that the reply may have, if the settings say."""
    limit: int | None = (settings.extra_args or {}).get(_LIMIT)
    return settings.max_tokens if limit is None else limit


def settings_of(settings: ModelSettings, max_tokens: int) -> ModelSettings:
    """The settings with another limit of the reply, by the name that they have for it."""
    extra = settings.extra_args or {}
    if _LIMIT in extra:
        return replace(settings, max_tokens=None, extra_args={**extra, _LIMIT: max_tokens})
    return replace(settings, max_tokens=max_tokens)


def _tool(tool: Any) -> Any:
    if hasattr(tool, "params_json_schema"):  # a `FunctionTool`, or what Temporal's integration sends of it
        return {"name": tool.name, "description": tool.description, "parameters": tool.params_json_schema}
    return tool


def _handoff(handoff: Handoff[Any, Any]) -> Any:
    return {
        "name": handoff.tool_name,
        "description": handoff.tool_description,
        "parameters": handoff.input_json_schema,
    }


def _form(schema: AgentOutputSchemaBase | None) -> Iterator[Any]:
    if schema is not None and not schema.is_plain_text():
        yield schema.json_schema()
