"""What the plugin reads from arguments and results, and the path of a workflow without one."""

from dataclasses import dataclass, field
from typing import Any

import pytest

from purser.budget.scopes import Scope
from purser_client import UnknownUsage
from purser_client.temporal import Estimate, plain_estimate
from purser_client.temporal.estimates import reported
from purser_client.temporal.paths import default_path, path_of


@dataclass
class Settings:
    """Settings of a framework."""

    max_tokens: int | None = 200


@dataclass
class Arguments:
    """Arguments of a framework."""

    model_name: str = "gpt-4o"
    model_settings: Settings = field(default_factory=Settings)


@pytest.mark.parametrize(
    ("argument", "estimate"),
    [
        ({"model": "m", "max_tokens": 7}, Estimate(model="m", max_output_tokens=7)),
        (Arguments(), Estimate(model="gpt-4o", max_output_tokens=200)),
        (Arguments(model_settings=Settings(None)), Estimate(model="gpt-4o")),
        ({"model": "outer", "more": {"model": "inner"}}, Estimate(model="outer")),
        ("only a text", Estimate()),
    ],
)
def test_model_and_limit_are_found_by_their_usual_names(argument: Any, estimate: Estimate) -> None:
    assert plain_estimate([argument]) == estimate


def test_the_usage_of_a_stream_is_that_of_its_chunks() -> None:
    usage = {"input_tokens": 3, "output_tokens": 4}
    chunks = [{"type": "response.output_text.delta", "delta": "hi"}]
    ended = {"type": "response.completed", "response": {"usage": usage}}
    assert reported([*chunks, ended]) == usage
    assert reported({"usage": usage}) == usage
    with pytest.raises(UnknownUsage, match="no chunk"):
        reported(chunks)


@pytest.mark.parametrize("usage", [{"input_tokens": 0, "output_tokens": 0, "requests": 1}, {"total_tokens": 0}])
def test_a_usage_without_tokens_is_none(usage: dict[str, int]) -> None:
    with pytest.raises(UnknownUsage, match="has reported no usage"):
        reported({"usage": usage})
    with pytest.raises(UnknownUsage, match="no chunk of the result reports the usage"):
        reported([{"usage": usage}])


@pytest.mark.parametrize("workflow_id", ["order-7", "order/7 ü", "order-7" * 40])
def test_every_workflow_id_makes_a_valid_session_of_its_own(workflow_id: str) -> None:
    [scope] = path_of({}, workflow_id)
    Scope.parse(scope)
    assert default_path(workflow_id) == [scope]
    assert default_path(workflow_id + "!") != [scope]
    assert (scope == f"session:{workflow_id}") is (workflow_id == "order-7")
