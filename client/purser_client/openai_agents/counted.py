"""What the model reads of a request, in the form that the client counts."""

from collections.abc import Iterator, Sequence
from typing import Any

from agents import AgentOutputSchemaBase, Handoff, Tool, TResponseInputItem


def messages_of(instructions: str | None, input: str | list[TResponseInputItem]) -> list[Any]:
    """Instructions and input."""
    system = [{"role": "system", "content": instructions}] if instructions else []
    return [*system, *([{"role": "user", "content": input}] if isinstance(input, str) else input)]


def tools_of(
    tools: Sequence[Tool], handoffs: Sequence[Handoff[Any, Any]], schema: AgentOutputSchemaBase | None
) -> list[Any]:
    """Tools, agents to hand off to, and the form of the output."""
    return [*map(_tool, tools), *map(_handoff, handoffs), *_form(schema)]


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
