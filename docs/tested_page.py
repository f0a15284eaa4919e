"""Renders `how-to/clients/tested.md`: what each way to call a model is tested for, and by which test."""

from collections.abc import Mapping
from dataclasses import dataclass

CASES = (
    "answer", "stream", "cancelled", "left stream", "provider error", "retry", "refusal", "wait", "approval",
)  # fmt: skip


@dataclass(frozen=True)
class Cell:
    """A cell with tests."""

    charged: str
    names: tuple[str, ...]


@dataclass(frozen=True)
class Way:
    """A row: one way to call a model, or a tool."""

    name: str
    page: str
    file: str
    """Of its tests, from the root of the repository."""
    cells: Mapping[str, Cell | str]
    """By case: tests, or a sentence that says why there are none."""


_SERVED, _ARRIVED, _ESTIMATE, _NOTHING = "as served", "what has arrived", "the estimate", "nothing"
_TABLE: dict[str, Cell | str] = {
    "answer": Cell(_SERVED, ("test_answer",)),
    "stream": Cell(_SERVED, ("test_stream",)),
    "cancelled": Cell(
        _ARRIVED,
        (
            "test_stream_that_is_cancelled_or_left",
            "test_cancelled_before_the_answer_is_charged_the_estimate",
        ),
    ),
    "left stream": Cell(_ARRIVED, ("test_stream_that_is_cancelled_or_left",)),
    "provider error": Cell(
        "nothing, or the estimate",
        (
            "test_error_of_the_provider_that_costs_nothing",
            "test_error_of_the_provider_that_may_have_worked_is_charged_the_estimate",
        ),
    ),
    "retry": Cell("each request", ("test_retry_after_nothing", "test_retry_after_a_lost_answer")),
    "refusal": Cell(_NOTHING, ("test_refusal_is_one_request_to_the_gate_and_none_to_the_provider",)),
    "wait": Cell(_SERVED, ("test_wait",)),
    "approval": Cell(_SERVED, ("test_approval",)),
}
_BY_LEASE = Cell("the estimate, by the lease", ("test_stream_that_is_cancelled_or_left",))
_PROXY_LEFT = Cell(_ARRIVED, ("test_streams_that_are_cancelled_or_left_at_random_points",))
_REPEATED = ("test_a_request_that_the_client_repeats_is_a_call_of_its_own",)
_PROXY: dict[str, Cell | str] = {
    "answer": Cell(_SERVED, ("test_answer",)),
    "stream": Cell(_SERVED, ("test_stream",)),
    "cancelled": _PROXY_LEFT,
    "left stream": _PROXY_LEFT,
    "provider error": Cell(_ESTIMATE, _REPEATED),
    "retry": Cell("each request", _REPEATED),
    "refusal": Cell(_NOTHING, ("test_a_refusal_is_asked_for_once_and_says_why",)),
    "wait": Cell("as served, or 429", ("test_a_busy_budget_is_asked_again_until_the_patience_of_the_client_ends",)),
    "approval": Cell(_SERVED, ("test_a_call_that_waits_for_a_person_is_one_request",)),
}
_NO_STREAM = "Tools have no streams."
_PRICE = "the price"
_PAID: dict[str, Cell | str] = {
    "answer": Cell(_PRICE, ("test_answer",)),
    "stream": _NO_STREAM,
    "cancelled": Cell(_PRICE, ("test_a_cancelled_call_is_charged_its_estimate",)),
    "left stream": _NO_STREAM,
    "provider error": Cell(_PRICE, ("test_a_tool_that_fails_is_charged_because_it_has_run",)),
    "retry": Cell("both prices", ("test_a_retry_is_a_call_of_its_own",)),
    "refusal": Cell(_NOTHING, ("test_refusal_is_one_request_to_the_gate_and_the_model_reads_why",)),
    "wait": Cell(_PRICE, ("test_wait",)),
    "approval": Cell(_PRICE, ("test_approval",)),
}
_OF_OTHERS: dict[str, Cell | str] = {
    **_PAID,
    "cancelled": Cell(_PRICE, ("test_a_cancelled_call_is_charged_its_price",)),
    "provider error": Cell(_PRICE, ("test_the_price_is_charged_whatever_the_server_says_or_does",)),
    "retry": "Each call is one of its own, by the code that `PaidTools` runs.",
    "refusal": Cell(_NOTHING, ("test_refusal_is_one_request_to_the_gate_and_none_to_the_server",)),
    "wait": "Waits by the code that `PaidTools` runs.",
}
_PLUGIN: dict[str, Cell | str] = {
    "answer": Cell(_SERVED, ("test_an_answer_is_held_and_charged_as_it_was_served",)),
    "stream": "A streaming activity returns a list at its end, and is charged as an answer.",
    "cancelled": Cell(_ESTIMATE, ("test_a_cancelled_call_is_charged_its_estimate",)),
    "left stream": "A workflow cannot leave an activity's stream.",
    "provider error": Cell(
        "nothing, or the estimate",
        (
            "test_a_failure_that_cost_nothing_is_not_charged",
            "test_a_failure_that_may_have_cost_something_is_charged_its_estimate",
        ),
    ),
    "retry": Cell("each attempt", ("test_a_killed_worker_leaves_a_presumed_attempt_on_the_same_hold",)),
    "refusal": Cell(_NOTHING, ("test_a_refusal_ends_the_workflow_after_one_request",)),
    "wait": Cell(_SERVED, ("test_a_call_that_waits_goes_on_once_others_have_ended",)),
    "approval": Cell(
        _SERVED,
        (
            "test_an_approval_is_awaited_by_the_attempt",
            "test_an_approval_is_awaited_over_several_attempts",
        ),
    ),
}

_IN_FRAMEWORK: dict[str, Cell | str] = {
    **_PLUGIN,
    "answer": Cell(_SERVED, ("test_answer",)),
    "stream": Cell(_SERVED, ("test_stream",)),
    "retry": Cell("each attempt", ("test_a_failure_that_may_have_cost_something_is_charged_its_estimate",)),
}


def _adapter(name: str, page: str, folder: str, table: str = "test_table.py", **other: Cell | str) -> Way:
    cells = _TABLE | {case.replace("_", " "): cell for case, cell in other.items()}
    return Way(name, page, f"client/tests/{folder}/{table}", cells)


def _plugin(name: str, folder: str, **other: Cell | str) -> Way:
    cells = _IN_FRAMEWORK | {case.replace("_", " "): cell for case, cell in other.items()}
    return Way(
        f"Temporal plugin, {name}", "temporal-plugin.md", f"client/tests/{folder}/test_table_of_temporal.py", cells
    )


def _litellm(name: str, table: str) -> Way:
    return _adapter(f"LiteLLM, `{name}`", "litellm.md", "litellm", table, cancelled=_BY_LEASE, left_stream=_BY_LEASE)


_BY_PLUGIN = "Held by the operation of an answer; its verdict is what the plugin makes of it."
_DURABLE = Way(
    "pydantic-ai, `PurserCapability` in a workflow",
    "pydantic-ai.md",
    "client/tests/pydantic_ai/durable/test_temporal.py",
    {
        "answer": Cell(
            _SERVED, ("test_hold_and_settlement_are_an_activity_each_which_no_retry_and_no_replay_repeats",)
        ),
        "stream": "Held and settled by the operations of an answer.",
        "cancelled": "Charged in the activity, by the code that runs without a workflow.",
        "left stream": "A workflow cannot leave an activity's stream.",
        "provider error": "Charged in the activity, by the code that runs without a workflow.",
        "retry": Cell("each attempt", ("test_a_killed_worker_is_charged_its_estimate_and_another_goes_on",)),
        "refusal": _BY_PLUGIN,
        "wait": _BY_PLUGIN,
        "approval": _BY_PLUGIN,
    },
)

WAYS = (
    Way("Temporal plugin, your own activities", "temporal-plugin.md", "tests/client/temporal/test_plugin.py", _PLUGIN),
    _plugin("OpenAI Agents SDK", "openai_agents"),
    _plugin("pydantic-ai", "pydantic_ai"),
    _plugin("Google ADK", "google_adk"),
    _plugin("Strands", "strands"),
    _plugin("nodes of LangGraph", "langchain"),
    _adapter("OpenAI Agents SDK", "openai-agents.md", "openai_agents"),
    _adapter("pydantic-ai, `PurserModel`", "pydantic-ai.md", "pydantic_ai"),
    _adapter("pydantic-ai, `PurserCapability`", "pydantic-ai.md", "pydantic_ai"),
    _DURABLE,
    _adapter("LangChain", "langchain.md", "langchain"),
    _adapter("Google ADK", "google-adk.md", "google_adk"),
    _litellm("acompletion", "test_table.py"),
    _litellm("atext_completion", "test_table_of_texts.py"),
    _litellm("aresponses", "test_table_of_responses.py"),
    Way("MCP, `PaidTools`", "mcp.md", "client/tests/mcp/test_paid_tools.py", _PAID),
    Way("MCP, `hold_tools`", "mcp.md", "client/tests/mcp/test_hold_tools.py", _OF_OTHERS),
    Way("proxy, OpenAI's client 2 and 3", "openai-clients.md", "client/tests/clients/test_openai.py", _PROXY),
    Way("proxy, Anthropic's client", "openai-clients.md", "client/tests/clients/test_anthropic.py", _PROXY),
    Way("proxy, `ChatOpenAI`", "openai-clients.md", "client/tests/langchain/test_proxy.py", _PROXY),
    Way("proxy, pydantic-ai", "openai-clients.md", "client/tests/pydantic_ai/test_proxy.py", _PROXY),
    Way("proxy, LiteLLM's Router", "openai-clients.md", "client/tests/litellm/test_proxy.py", _PROXY),
)

_HEAD = """# What is tested

{generated}

Each way to call a model under a budget, or a tool, and what a call is charged in each case. ✓ means that a test with
the real package compares the charge with what the provider's own log says that it served, or with the tools that ran;
`make doors` runs them. A cell without ✓ says why there is no test.

| way | {cases} |
| --- |{rule}
"""


def page(generated: str) -> str:
    """The page."""
    head = _HEAD.format(generated=generated, cases=" | ".join(CASES), rule=" --- |" * len(CASES))
    rows = [f"| [{way.name}]({way.page}) | {' | '.join(_shown(way.cells[case]) for case in CASES)} |" for way in WAYS]
    return head + "\n".join(rows) + "\n"


def _shown(cell: Cell | str) -> str:
    return cell if isinstance(cell, str) else f"✓ {cell.charged}"
