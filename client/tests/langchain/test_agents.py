"""What is particular to LangChain: tools, agents that are not awaited, zeros, interrupts, and steps that run again."""

import asyncio
import json
from collections.abc import Callable
from typing import Any

import httpx
import pytest
from doors import WORDS, Door, words
from langchain.agents import create_agent
from langchain.agents.structured_output import ProviderStrategy, ToolStrategy
from langchain_core.language_models.fake_chat_models import GenericFakeChatModel
from langchain_core.messages import AIMessage, BaseMessage, UsageMetadata
from langchain_core.outputs import ChatResult
from langchain_core.tools import tool
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.types import Command
from pydantic import BaseModel
from roads import HELLO
from table import ARRIVED, OUTPUT, PROMPT

from purser_client import BudgetRefused, Purser, PurserError
from purser_client.langchain import PurserMiddleware

CALL = {"id": "call-1", "function": {"name": "weather", "arguments": '{"city": "Oslo"}'}}
WRONG = {"id": "call-1", "function": {"name": "Answer", "arguments": '{"number": "ten"}'}}
SAID = {"messages": [("user", HELLO)]}
THREAD = {"configurable": {"thread_id": "t1"}}


@tool
def weather(city: str) -> str:
    """The weather of a city."""
    return f"rain in {city}"


async def test_each_turn_of_a_run_with_tools_is_a_call(door: Door, road_of: Callable[..., Any]) -> None:
    rule = {"match": {"text": HELLO}, "reply": {"tool_calls": [CALL]}}
    await door.script(rules=[{"reply": {"content": "rain"}}, rule][::-1])
    agent = road_of().agent(tools=[weather])
    assert (await agent.ainvoke(SAID))["messages"][-1].content == "rain"
    served = await door.served()
    assert len(served) == door.asks == 2
    await door.is_charged(*(one["charged_tokens"] for one in served))


async def test_an_agent_that_is_not_awaited_is_charged_and_refused_alike(
    door: Door, road_of: Callable[..., Any]
) -> None:
    road = road_of()
    with Purser(count=words) as purser:
        road.middleware = PurserMiddleware(purser, path=door.path)
        answer = await asyncio.to_thread(road.agent().invoke, SAID)
        assert "hello" in answer["messages"][-1].content
        [served] = await door.served()
        await door.is_charged(served["charged_tokens"])
        await door.limit(10)
        with pytest.raises(BudgetRefused):
            await asyncio.to_thread(road.agent().invoke, SAID)
        with pytest.raises(PurserError, match="AsyncPurser"):
            await road.ask(HELLO)
    assert len(await door.served()) == 1


async def test_a_stream_that_is_not_awaited_and_breaks_off_is_charged_what_has_arrived(
    door: Door, road_of: Callable[..., Any]
) -> None:
    await door.script(
        rules=[{"reply": {"content": WORDS}, "chunks": 40}], faults=[{"kind": "drop", "after_chunks": ARRIVED}]
    )
    road = road_of()
    with Purser(count=words) as purser:
        road.middleware = PurserMiddleware(purser, path=door.path)

        def read() -> None:
            for _ in road.agent().stream(SAID, stream_mode="messages"):
                pass

        with pytest.raises(Exception, match=r"(?i)closed|incomplete|connection"):
            await asyncio.to_thread(read)
    await door.is_charged(PROMPT + ARRIVED)


class Answer(BaseModel):
    """What an agent has to answer."""

    number: int


@pytest.mark.parametrize(
    ("form", "reply"),
    [
        (ToolStrategy(Answer, handle_errors=False), {"tool_calls": [WRONG]}),
        (ToolStrategy(Answer, handle_errors=False), {"tool_calls": [WRONG, {**WRONG, "id": "call-2"}]}),
        (ProviderStrategy(Answer), {"content": '{"number": "ten"}'}),
        (ProviderStrategy(Answer), {"content": " ".join(["hello"] * 2 * OUTPUT)}),
    ],
    ids=["wrong", "two", "no-json", "cut"],
)
async def test_a_reply_that_is_not_of_the_form_is_charged_as_it_was_served(
    door: Door, road_of: Callable[..., Any], form: Any, reply: dict[str, Any]
) -> None:
    await door.script(rules=[{"reply": reply}])
    with pytest.raises(Exception, match=r"(?i)parse|multiple"):
        await road_of().agent(response_format=form).ainvoke(SAID)
    [served] = await door.served()
    await door.is_charged(served["charged_tokens"])


async def test_a_usage_of_zeros_is_no_report(door: Door) -> None:
    zeros = UsageMetadata(input_tokens=0, output_tokens=0, total_tokens=0)
    model = GenericFakeChatModel(messages=iter([AIMessage("hello", usage_metadata=zeros)]))
    middleware = PurserMiddleware(door.purser, path=door.path, max_output_tokens=OUTPUT)
    await create_agent(model, middleware=[middleware]).ainvoke(SAID)
    await door.is_charged(PROMPT + OUTPUT)


class _Gemini(GenericFakeChatModel):
    """Reads the limit of a reply by its own name, as the models of Google do, and no other."""

    max_output_tokens: int = OUTPUT
    sent: int | None = None
    """The limit of the last request."""

    def _generate(self, messages: list[BaseMessage], *_: Any, **named: Any) -> ChatResult:
        self.sent = named.get("max_output_tokens")
        return super()._generate(messages)


async def test_the_output_is_capped_by_the_name_that_the_model_has_for_it(door: Door) -> None:
    await door.limit(PROMPT + 20)
    model = _Gemini(messages=iter([AIMessage("hello")]))
    middleware = PurserMiddleware(door.purser, path=door.path, min_output_tokens=10)
    await create_agent(model, middleware=[middleware]).ainvoke(SAID)
    assert model.sent == 20


async def test_an_interrupt_asks_a_person_and_the_resumed_run_makes_the_call_once(
    door: Door, road_of: Callable[..., Any]
) -> None:
    await door.limit(10, mode="approval")
    keys = set()

    async def note(request: httpx.Request) -> None:
        if request.url.path == "/v1/holds":
            keys.add(json.loads(request.content)["key"])

    door.purser._http.event_hooks["request"].append(note)
    agent = road_of(interrupts=True).agent(checkpointer=InMemorySaver())
    for command in (SAID, Command(resume="not yet decided")):
        [asked] = (await agent.ainvoke(command, THREAD))["__interrupt__"]
        assert asked.value["approval_id"]
    pending = (await door.purser.approvals.list(state="pending")).items
    assert [one.approval_id for one in pending if one.scope == door.session] == [asked.value["approval_id"]]
    assert await door.served() == []
    await door.approve()
    answer = await agent.ainvoke(Command(resume="decided"), THREAD)
    assert "hello" in answer["messages"][-1].content
    assert len(keys) == 1
    [served] = await door.served()
    await door.is_charged(served["charged_tokens"])


async def test_a_step_that_runs_again_is_a_call_of_its_own(door: Door, road_of: Callable[..., Any]) -> None:
    await door.script(faults=[{"kind": "drop"}])
    agent = road_of().agent(checkpointer=InMemorySaver())
    with pytest.raises(Exception, match=r"(?i)connection"):
        await agent.ainvoke(SAID, THREAD)
    assert "hello" in (await agent.ainvoke(None, THREAD))["messages"][-1].content
    _, served = await door.served()
    await door.is_charged(PROMPT + OUTPUT, served["charged_tokens"])
