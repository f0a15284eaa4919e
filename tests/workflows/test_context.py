"""Windows of running tasks: the session, the replies of other agents, and summaries in place of old messages."""

import asyncio
import json
import uuid
from dataclasses import replace

import pytest
from temporalio.common import WorkflowIDConflictPolicy

from purser.activities.models.embedder import EmbeddingModel, LiteLLMEmbedder
from purser.budget.pricing.price_book import PriceBook
from purser.budget.scopes import Kind, Path, Scope
from purser.compose.demo.provider.script import Fault, FaultKind, Match
from purser.context.compression.requests import unchanged
from purser.context.conversation.messages import Message
from purser.context.postgres.sessions.preferences import PersonalSettings
from purser.context.redaction import custom_detectors
from purser.context.windows.linking import NO_RESULT
from purser.workflows.contract import CompressResult, CompressSessionInput, WorkflowName
from tests.support.actors import ANA
from tests.support.budgets.prices import per_million
from tests.support.context.conversations import assistant, calling, parts, result, user
from tests.support.world import TENANT, World, eventually

SHORT = {"history_window_size": 10, "primers_count": 2, "recents_count": 4}
"""Messages of a window before its trigger."""


@pytest.fixture
def long() -> str:
    """A session of this test alone: compressions are named after their session, and tests share one engine."""
    return f"long-{uuid.uuid4().hex[:8]}"


def prompts(world: World) -> list[list[dict[str, str]]]:
    """The messages that the provider received, request by request."""
    return [json.loads(one.arrival.text or "")["messages"] for one in world.provider.served()]


async def append_messages(world: World, session_id: str, messages: int, first: str = "", origin: str = "talk") -> None:
    """Appends a long conversation to a session, optionally after an assistant message `first`."""
    said = [Message(("user", "assistant")[n % 2], f"Sentence {n} tells about topic {n}. " * 8) for n in range(messages)]
    begun = [Message("user", "Hello."), Message("assistant", first)] if first else []
    await world.conversations.append(TENANT, session_id, [*begun, *said], origin=origin)


async def test_an_agent_sees_the_replies_of_those_it_depends_on_and_the_input(system: World) -> None:
    judge = system.agent("judge", depends_on=["one", "two"], instructions="Judge.")
    await system.run(
        system.agent("one", "First view."), system.agent("two", "Second view."), judge, input="Which is right?"
    )
    prompt = prompts(system)[-1]
    assert [(message["role"], message.get("name"), message["content"]) for message in prompt] == [
        ("system", None, "Judge."),
        ("user", "one", parts("[reply of the agent one:]", "First view.")),
        ("user", "two", parts("[reply of the agent two:]", "Second view.")),
        ("user", None, "Which is right?"),
    ]
    asked = await system.pool.fetchval("select asked_tokens from holds order by hold_id desc limit 1")
    assert asked == system.provider.served()[-1].arrival.prompt_tokens + judge["max_output_tokens"]


async def test_replies_beyond_the_budget_of_an_agent_are_shown_in_part_and_it_may_read_the_rest(system: World) -> None:
    texts = [f"Mapper {n}: amount {n}. {'detail text. ' * 100}" for n in range(4)]
    said = [system.agent(f"m{n}", text, max_output_tokens=400) for n, text in enumerate(texts)]
    reducer = system.agent(
        "sum", "Six.", depends_on=[one["id"] for one in said], budget={"limit_tokens": 800, "mode": "hard"}
    )
    task = await system.run(*said, reducer, input="Add them up.")
    assert task["agents"]["sum"]["status"] == "completed"
    request = json.loads(system.provider.served()[-1].arrival.text or "")
    replies = [one["content"][1]["text"] for one in request["messages"] if one.get("name")]
    assert [text.partition(".")[0] for text in replies] == [f"Mapper {n}: amount {n}" for n in range(4)]
    assert all("tokens left out of message" in text for text in replies)
    assert [tool["function"]["name"] for tool in request["tools"]] == ["recall_message"]


async def test_the_next_task_of_a_session_sees_the_input_and_the_last_replies_of_the_one_before(system: World) -> None:
    await system.run(
        system.agent("draft", "Draft."), system.agent("final", "Final.", depends_on=["draft"]), session_id="s"
    )
    await system.run(system.agent("next"), session_id="s", input="And now?")
    assert [message["content"] for message in prompts(system)[-1][1:]] == [
        "Say something.", parts("[reply of the agent final:]", "Final."), "And now?"
    ]  # fmt: skip


async def test_a_provider_accepts_a_session_whose_calls_lack_results_or_got_them_late(system: World) -> None:
    gone, late = calling("gone"), calling("late")
    hello = Message("user", "Hello.", name="Anna Müller")
    turns = [hello, gone, user("Anybody?"), late, user("Hm."), assistant("Hm."), result("late"), user("So?")]
    await system.conversations.append(TENANT, "s", turns, origin="chat")
    await system.run(system.agent("a"), session_id="s", input="And now?")
    [prompt] = prompts(system)
    assert [message["role"] for message in prompt] == [
        "system", "user", "assistant", "tool", "user", "assistant", "tool", "user", "assistant", "user", "user", "user"
    ]  # fmt: skip
    assert [message["content"] for message in prompt if message["role"] == "tool"] == [NO_RESULT, NO_RESULT]
    assert prompt[1]["name"] == "Anna_Müller"
    [stored, *_] = await system.conversations.read_thread(TENANT, "s")
    assert stored.message == hello


async def test_documents_of_the_task_precede_its_input(system: World) -> None:
    await system.run(system.agent("a"), context={"documents": [{"kind": "note", "text": "Water is wet."}]})
    *_, documents, question = prompts(system)[0]
    assert documents["role"] == "user"
    assert documents["content"] == "Document (note):\nWater is wet."
    assert question["content"] == "Say something."


async def test_a_window_begins_with_the_personal_settings_of_session_and_user(system: World) -> None:
    await system.run(system.agent("a"), session_id="s")
    await PersonalSettings(system.pool).set_for_session(TENANT, "s", {"diet": "no peanuts"}, by=ANA)
    await system.run(system.agent("a"), session_id="s")
    before, after = prompts(system)
    assert not any("peanuts" in message["content"] for message in before)
    assert "- diet: no peanuts" in after[0]["content"]
    assert after[0]["role"] == "user"


async def test_a_hybrid_window_brings_back_what_it_does_not_show_of_the_session(system: World, long: str) -> None:
    await append_messages(system, long, 80, first="The spare key of the boat house hangs behind the blue door.")
    agent = system.agent("a", budget={"limit_tokens": 3_000, "mode": "hard"})
    options = {"strategy": "hybrid", "primers_count": 0, "trigger_ratio": 1.0}
    await system.run(agent, session_id=long, context=options, input="Where is the spare key of the boat house?")
    [prompt] = prompts(system)
    *_, memory, question = prompt
    assert memory["role"] == "user"
    assert "behind the blue door" in memory["content"]
    assert question["content"] == "Where is the spare key of the boat house?"


@pytest.mark.parametrize(("dropped", "asked_once"), [(True, 1), (False, 0)], ids=["part is dropped", "all is shown"])
async def test_memory_that_asks_a_model_pays_for_it_once_a_turn_and_is_not_asked_in_a_hurry(
    idle: World, long: str, *, dropped: bool, asked_once: int
) -> None:
    model = EmbeddingModel("openai/hashing", idle.provider.api_base, timeout_s=20)
    prices = PriceBook({}, {}, per_million("1", "0"))
    embedder = LiteLLMEmbedder(model, idle.dependencies.provider, idle.ledger, prices, unchanged)
    idle.dependencies = replace(
        idle.dependencies,
        stores=replace(idle.dependencies.stores, embedder=embedder),
        quick=replace(idle.dependencies.quick, embedder=embedder),
    )
    await embedder.embed(TENANT, Path((Scope(Kind.SESSION, "other"),)), ["The first request loads much."])
    slow = Fault(kind=FaultKind.SLOW, match=Match(model="hashing"), delay_ms=1_500)
    idle.provider.control.add_fault(slow)
    await append_messages(idle, long, 8, first="The spare key of the boat house hangs behind the blue door.")
    context = {"trigger_ratio": 1.0, **({"max_tokens": 200} if dropped else {})}
    async with idle.worker():
        task = await idle.run(idle.agent("a"), session_id=long, context=context)
    assert task["status"] == "completed"
    asked = [one for one in idle.provider.served() if "input" in json.loads(one.arrival.text or "")]
    assert len(asked) == 1 + asked_once
    assert await idle.pool.fetchval("select count(*) from attempts where state = 'presumed'") == 0
    await idle.audited()


async def test_a_window_that_would_overflow_is_compressed_before_the_call_and_once_a_turn(
    system: World, long: str
) -> None:
    await append_messages(system, long, 60)
    agent = system.agent("a", budget={"limit_tokens": 3_000, "mode": "hard"})
    task = await system.run(agent, session_id=long, context=SHORT)
    assert task["status"] == "completed"
    [summary] = await system.pool.fetch("select first_seq, last_seq, trigger from summaries")
    assert summary["trigger"] == "overflow"
    header = f"Summary of messages {summary['first_seq']} to {summary['last_seq']}"
    [prompt] = prompts(system)
    assert [message["role"] for message in prompt if header in message["content"]] == ["user"]
    assert len(prompt) < 15
    await system.audited()


async def test_past_the_soft_mark_the_call_sees_everything_and_the_next_one_the_summary(
    system: World, long: str
) -> None:
    await append_messages(system, long, 60)
    await system.run(system.agent("a"), session_id=long, context=SHORT)
    assert len(prompts(system)[0]) == 1 + 60 + 1, "no call waits for a compression that is not needed yet"
    await eventually(lambda: system.pool.fetchval("select count(*) from summaries"))
    await system.run(system.agent("a"), session_id=long, context=SHORT)
    [summary] = await system.pool.fetch("select trigger from summaries")
    assert summary["trigger"] == "soft_mark"
    assert any("Summary of messages" in message["content"] for message in prompts(system)[1])
    assert len(prompts(system)[1]) < 15
    await system.audited()


async def test_agents_that_pass_the_soft_mark_at_once_start_one_compression(system: World, long: str) -> None:
    await append_messages(system, long, 60)
    agents = [system.agent(name) for name in "abcd"]
    task = await system.run(*agents, session_id=long, context=SHORT)
    assert {agent["status"] for agent in task["agents"].values()} == {"completed"}
    await eventually(lambda: system.pool.fetchval("select count(*) from summaries"))
    assert await system.pool.fetchval("select count(*) from summaries") == 1


async def test_anyone_may_ask_for_a_compression_and_learns_what_came_of_it(system: World, long: str) -> None:
    await append_messages(system, long, 60)
    start = CompressSessionInput(TENANT, long, model="gpt-4o", budget_tokens=2_000)
    asked = [
        system.client.execute_workflow(
            WorkflowName.COMPRESS_SESSION,
            start,
            id=start.workflow_id,
            task_queue=system.task_queue,
            id_conflict_policy=WorkflowIDConflictPolicy.USE_EXISTING,
            result_type=CompressResult,
        )
        for _ in range(3)
    ]
    found = await asyncio.gather(*asked)
    assert {one.version for one in found} == {1}
    assert found[0].tokens_after <= 750
    assert await system.pool.fetchval("select count(*) from summaries") == 1


async def test_what_cannot_fit_the_model_fails_the_agent_without_a_call_and_with_figures(idle: World) -> None:
    async with idle.worker():
        task = await idle.run(idle.agent("a"), input="word " * 100_000)
    agent = task["agents"]["a"]
    assert (task["status"], agent["reason"]) == ("failed", "WindowTooSmall")
    assert agent["shortfall"]["parts"]["input"] > agent["shortfall"]["budget"] > 0
    assert f"input: {agent['shortfall']['parts']['input']} tokens" in agent["shortfall"]["text"]
    assert idle.provider.served() == ()
    await idle.audited()


async def test_a_task_says_what_its_summaries_must_keep(idle: World, long: str) -> None:
    idle.dependencies = replace(
        idle.dependencies,
        summarizer_model="openai/writer",
        summarizer_api_base=idle.provider.api_base_of("none", "writer"),
    )
    await append_messages(idle, long, 60)
    async with idle.worker():
        options = {**SHORT, "summary_keep": "allergies and dishes", "summary_drop": "small talk"}
        await idle.run(idle.agent("a"), session_id=long, context=options)
        await eventually(lambda: idle.pool.fetchval("select count(*) from summaries"))
    asked = [prompt[0]["content"] for prompt in prompts(idle)]
    assert any("Keep allergies and dishes" in text and "Leave out small talk." in text for text in asked)


async def test_configured_patterns_are_taken_out_of_summaries(idle: World, long: str) -> None:
    stores = replace(idle.dependencies.stores, redaction=custom_detectors({"TICKET": r"TCK-\d+"}))
    idle.dependencies = replace(idle.dependencies, stores=stores)
    secret = Message("user", "Never close ticket TCK-4711 before you write to ana@example.com.")
    await append_messages(idle, long, 40)
    await idle.conversations.append(TENANT, long, [secret, Message("assistant", "I will not.")], origin="secret")
    await append_messages(idle, long, 20, origin="more")
    start = CompressSessionInput(TENANT, long, model="gpt-4o", budget_tokens=2_000)
    done = await idle.compress(start)
    assert done.version == 1
    [summary] = await idle.pool.fetch("select text from summaries")
    assert "[TICKET_1]" in summary["text"]
    assert "TCK-4711" not in summary["text"]
    assert "ana@example.com" not in summary["text"]
