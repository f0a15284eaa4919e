"""How the Temporal integrations of frameworks ask a model: the names, requests and results of their activities."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

from temporalio.worker import ExecuteActivityInput

from purser_client.errors import UnknownUsage
from purser_client.temporal.estimates import Estimate, Reading, plain_estimate, reported
from purser_client.usage import in_classes


@dataclass(frozen=True, slots=True)
class Framework:
    """A row of the table.

    Its functions import the adapter of the framework when they run: the framework is there wherever its activities are.
    """

    package: str
    """Where its activities are defined: two frameworks have activities of the same name."""
    activities: tuple[str, ...]
    """Names of its model activities, or patterns."""
    estimate: Callable[[ExecuteActivityInput], Estimate]
    usage: Reading


def estimate_of(input: ExecuteActivityInput) -> Estimate:
    """The most that an activity may use: as its framework asks, or else by the usual names in its arguments."""
    framework = _framework_of(input)
    return plain_estimate(input.args) if framework is None else framework.estimate(input)


def usage_of(input: ExecuteActivityInput, result: Any) -> object:
    """The usage in the result of an activity; raises `UnknownUsage`."""
    framework = _framework_of(input)
    return (reported if framework is None else framework.usage)(result)


def _framework_of(input: ExecuteActivityInput) -> Framework | None:
    module = f"{getattr(input.fn, '__module__', '')}."
    return next((one for one in FRAMEWORKS if module.startswith(f"{one.package}.")), None)


def _openai_agents(input: ExecuteActivityInput) -> Estimate:
    from purser_client.openai_agents.counted import messages_of, tools_of

    request = input.args[0]
    return _asked(
        request.get("model_name"),
        request["model_settings"].max_tokens,
        messages_of(request.get("system_instructions"), request["input"]),
        tools_of(request.get("tools", ()), request.get("handoffs", ()), request.get("output_schema")),
    )


def _pydantic_ai(input: ExecuteActivityInput) -> Estimate:
    from purser_client.pydantic_ai.counted import messages_of, tools_of

    request = input.args[0]
    return _asked(
        request.model_id,
        (request.model_settings or {}).get("max_tokens"),
        list(messages_of(request.messages)),
        list(tools_of(request.model_request_parameters)),
    )


def _pydantic_ai_usage(response: Any) -> dict[str, int]:
    from purser_client.pydantic_ai.counted import is_reported, usage_of

    if not is_reported(response.usage):
        raise UnknownUsage("the provider has reported no usage")
    return usage_of(response.usage)


def _google_adk(input: ExecuteActivityInput) -> Estimate:
    from purser_client.google_adk.counted import messages_of, tools_of

    request = getattr(input.args[0], "llm_request", input.args[0])
    limit = request.config.max_output_tokens
    return _asked(request.model, limit, list(messages_of(request)), list(tools_of(request)))


def _google_adk_usage(responses: Any) -> dict[str, int]:
    from purser_client.google_adk.counted import usage_of

    return _last([usage for usage in map(usage_of, responses) if usage is not None])


def _strands(input: ExecuteActivityInput) -> Estimate:
    """Asks the worker for the model: the request has only the name that the worker knows it by."""
    request = input.args[0]
    models = getattr(input.fn, "__self__", None)  # the worker's factories, which have no public way to a model
    known = plain_estimate([models._get_model(request.model_name).get_config()] if models else [])
    return _asked(known.model, known.max_output_tokens, list(_strands_messages(request)), request.tool_specs or ())


def _strands_messages(request: Any) -> Iterator[Any]:
    system = request.system_prompt_content or ([{"text": request.system_prompt}] if request.system_prompt else [])
    for message in ({"role": "system", "content": system}, *request.messages):
        for block in message["content"]:
            yield {"role": message["role"], "content": block.get("text", block)}


def _strands_usage(events: Any) -> dict[str, int]:
    """Usage in the words of the gateway; the total includes what was read from and written to caches."""
    found = (event.get("metadata", {}).get("usage") or {} for event in events)
    usage = _last([usage for usage in found if usage.get("totalTokens")])  # zero is a provider that does not report
    read, written = usage.get("cacheReadInputTokens", 0), usage.get("cacheWriteInputTokens", 0)
    return in_classes(usage["totalTokens"] - usage["outputTokens"], usage["outputTokens"], read, written)


def _asked(model: str | None, limit: int | None, messages: Sequence[Any], tools: Sequence[Any]) -> Estimate:
    estimate = Estimate(model=model, messages=messages, tools=tools)
    return estimate if limit is None else replace(estimate, max_output_tokens=limit)


def _last(usages: Sequence[dict[str, int]]) -> dict[str, int]:
    if not usages:
        raise UnknownUsage("the provider has reported no usage")
    return usages[-1]


FRAMEWORKS = (
    Framework(
        "temporalio.openai_agents",
        ("invoke_model_activity", "invoke_model_activity_streaming"),
        _openai_agents,
        reported,
    ),
    Framework(
        "pydantic_ai",
        ("agent__*__model_request", "agent__*__model_request_stream", "agent__*__model_compact_messages"),
        _pydantic_ai,
        _pydantic_ai_usage,
    ),
    Framework(
        "temporalio.google_adk",
        ("invoke_model", "invoke_model_streaming"),
        _google_adk,
        _google_adk_usage,
    ),
    Framework(
        "temporalio.strands_agents",
        ("invoke_model", "invoke_model_streaming"),
        _strands,
        _strands_usage,
    ),
)
"""In LangGraph's integration the nodes of a graph are activities: their names, requests and results are the user's."""

MODEL_ACTIVITIES = frozenset(name for framework in FRAMEWORKS for name in framework.activities)
"""Names of the model activities of these frameworks."""
