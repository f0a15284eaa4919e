"""`/v1/sessions`: windows, summaries, facts, memory and advice; every message is accounted for in each window."""

import json
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import httpx
import pytest

from purser.compose.processes.worker import run_worker
from purser.compose.settings import Settings
from purser.context.compression.summaries import Method, Summary
from purser.context.conversation.messages import Message, StoredMessage
from purser.context.facts import extract_facts
from purser.context.postgres.conversation.summaries import Summaries
from purser.context.tokens import count_request, count_text
from purser.gateway.access.roles import Role
from purser.gateway.sessions import window_views
from tests.gateway.conftest import RunningGateway
from tests.gateway.sessions.conftest import TALK
from tests.support.context.session_requests import S1, append, problem
from tests.support.runs.proof import some
from tests.support.servers.commands import Commands
from tests.support.threads import in_task

WHOLE = count_request(TALK, [], "gpt-4o").tokens
PATTERNS = {"TICKET": r"TCK-\d+"}


@pytest.fixture
def settings(settings: Settings, request: pytest.FixtureRequest) -> Settings:
    """Those of the gateway under test; with memory across sessions where a test asks for it."""
    given = {"memory_across_sessions": "across_sessions" in request.fixturenames, "redaction_patterns": PATTERNS}
    return settings.model_copy(update=given)


@pytest.fixture
def across_sessions() -> None:
    """Allows memory to look into other sessions of a user."""


@pytest.fixture
async def worker(settings: Settings, gateway: RunningGateway) -> AsyncIterator[None]:
    """A worker on the gateway's queue."""
    async with in_task(lambda stop, ready: run_worker(settings, stop, ready)):
        yield


async def window(client: httpx.AsyncClient, **query: Any) -> dict[str, Any]:
    """The window; checks that each message of the conversation is in exactly one place of it."""
    answer = await client.get(f"{S1}/window", params={"model": "gpt-4o", **query})
    assert answer.status_code == 200, answer.text
    found: dict[str, Any] = answer.json()
    stored = (await client.get(f"{S1}/messages", params={"limit": 1_000, "thread": ""})).json()["messages"]
    verbatim = [index for index in found["indexes"] if index is not None]
    dropped = [one["index"] for one in found["dropped"]]
    for one in found["omitted"]:
        assert set(range(one["indexes"][0], one["indexes"][1] + 1)) <= set(dropped)
    covered = [index for first, last in found["summarised"] for index in range(first, last + 1)]
    assert sorted(verbatim + dropped + covered) == list(range(len(stored)))
    for message, index, seq in zip(found["messages"], found["indexes"], found["seqs"], strict=True):
        assert index is None or (message, seq) == (stored[index]["message"], stored[index]["seq"])
    assert found["stats"]["messages_removed"] == len(dropped) + len(covered)
    return found


async def cover(gateway: RunningGateway, first: int, last: int, text: str = "Orders were noted.") -> None:
    """Stores a summary of this range."""
    summary = Summary(1, first, last, text, Method.EXTRACTIVE, "k1", 1_000, 100, "digest")
    assert await Summaries(gateway.pool).store("default", "s1", "", summary)


# --- windows ---------------------------------------------------------------------------------------------------------


async def test_a_stored_summary_replaces_what_it_covers_even_if_all_would_fit(
    gateway: RunningGateway, session: httpx.AsyncClient
) -> None:
    await cover(gateway, 4, 40)
    found = await window(session, budget=WHOLE, strategy="token_truncation")
    assert (found["summary_version"], found["summarised"]) == (1, [[3, 39]])


async def test_what_fits_whole_is_shown_unchanged(session: httpx.AsyncClient) -> None:
    found = await window(session, budget=WHOLE)
    assert (found["messages"], found["tokens"]) == (TALK, WHOLE)
    assert (found["dropped"], found["summarised"], found["summary_version"]) == ([], [], 0)
    assert not found["stats"]["optimization_applied"]


QUERIES: list[dict[str, str]] = [
    {},
    {"strategy": "sliding_window"},
    {"strategy": "token_truncation"},
    {"strategy": "smart_truncation"},
    {"strategy": "hybrid"},
    {"strategy": "auto", "preference": "quality"},
    {"preset": "shannon"},
    {"preset": "cookhero"},
    {"summarizer": "none"},
]


@pytest.mark.parametrize("query", some(QUERIES, 4))
@pytest.mark.parametrize("covered", [True, False])
async def test_every_strategy_fits_the_budget_and_accounts_for_every_message(
    gateway: RunningGateway, session: httpx.AsyncClient, query: dict[str, str], covered: bool
) -> None:
    if covered:
        await cover(gateway, 4, 40)
    await session.put(f"{S1}/pins/10")
    found = await window(session, budget=WHOLE // 2, **query)
    assert found["tokens"] <= WHOLE // 2
    assert found["tokens"] == count_request(found["messages"], [], "gpt-4o").tokens
    assert 9 in found["indexes"], "a pin is in every window"


async def test_a_preview_is_what_the_command_prints_of_the_same_messages(
    agent: httpx.AsyncClient, tmp_path: Path
) -> None:
    said = "Ask ana@example.com about ticket TCK-4711 of order 77, her card is 4111111111111111."
    talk = [*TALK[:20], {"role": "user", "content": said}, *TALK[20:]]
    await append(agent, *talk)
    found = await window(agent, budget=WHOLE // 2, strategy="three_part")
    assert "[EMAIL_1] about ticket [TICKET_1] of order 77, her card is [CARD_1]" in str(found["messages"])
    (tmp_path / "talk.json").write_text(json.dumps(talk))
    purser = Commands.at(tmp_path, redaction_patterns=json.dumps(PATTERNS))
    options = ("--budget", str(WHOLE // 2), "--model", "gpt-4o", "--strategy", "three_part")
    printed = purser.json("window", "talk.json", *options)
    assert printed["messages"] == found["messages"]


async def test_messages_of_a_long_conversation_that_are_not_read_are_listed_unless_they_are_too_many(
    session: httpx.AsyncClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    for _ in range(3):
        await append(session, *TALK)
    query: dict[str, Any] = {"budget": 1_000, "strategy": "sliding_window"}
    found = await window(session, **query)
    [unread] = found["omitted"]
    assert [one["index"] for one in found["dropped"] if one["seq"] is None] == list(
        range(unread["indexes"][0], unread["indexes"][1] + 1)
    )
    monkeypatch.setattr(window_views, "MOST_LISTED", 10)
    few = (await session.get(f"{S1}/window", params={"model": "gpt-4o", **query})).json()
    assert few["omitted"] == found["omitted"]
    assert few["dropped"] == [one for one in found["dropped"] if one["seq"] is not None]


async def test_the_stored_summary_replaces_what_it_covers(gateway: RunningGateway, session: httpx.AsyncClient) -> None:
    await cover(gateway, 4, 40)
    found = await window(session, budget=WHOLE // 2, strategy="three_part")
    assert (found["summary_version"], found["summarised"]) == (1, [[3, 39]])
    assert found["indexes"] == [None, 0, 1, 2, *range(40, 60)]
    assert found["messages"][0]["content"].endswith("Orders were noted.")
    assert found["stats"]["tokens_saved"] == WHOLE - found["tokens"]
    none = await window(session, budget=WHOLE // 2, summarizer="none")
    assert (none["summary_version"], none["summarised"]) == (0, [])


async def test_a_stored_summary_that_is_too_large_gives_way(
    gateway: RunningGateway, session: httpx.AsyncClient
) -> None:
    await cover(gateway, 4, 40, "word " * 2_000)
    found = await window(session, budget=WHOLE // 2)
    assert found["summary_version"] == 0
    assert found["tokens"] <= WHOLE // 2


async def test_text_fits_the_budget_as_text(session: httpx.AsyncClient) -> None:
    found = await window(session, budget=500, format="text")
    assert found["tokens"] == count_text(found["text"], "gpt-4o").tokens <= 500
    assert found["text"].splitlines()[-1].startswith("ASSISTANT:")


async def test_what_a_window_summarizes_is_redacted_as_what_is_stored(agent: httpx.AsyncClient) -> None:
    secrets = "My card is 4242 4242 4242 4242, my mail ana@example.com and my password: hunter2secret."
    order = {"role": "assistant", "content": "Your order 4417 is on its way."}
    await append(agent, {"role": "user", "content": "Hello!"}, {"role": "assistant", "content": secrets}, *[order] * 20)
    found = await window(agent, budget=3_000, preset="cookhero")
    [summary] = [one for one, seq in zip(found["messages"], found["seqs"], strict=True) if seq is None]
    assert "[CARD_1]" in summary["content"]
    assert not any(value in str(found["messages"]) for value in ("4242", "ana@example.com", "hunter2secret"))


async def test_what_cannot_fit_is_named(session: httpx.AsyncClient) -> None:
    problem(await session.get(f"{S1}/window?budget=10"), 422, "window-too-small", "newest user message")
    for query in (
        "budget=0",
        "budget=x",
        "budget=100&strategy=x",
        "budget=100&preset=x",
        "budget=100&summarizer=m",
    ):
        problem(await session.get(f"{S1}/window?{query}"), 422, "invalid-request")


# --- compression -----------------------------------------------------------------------------------------------------


@pytest.mark.usefixtures("worker")
async def test_a_compression_stores_a_version_and_answers_with_it(
    gateway: RunningGateway, session: httpx.AsyncClient
) -> None:
    wanted: Any = {"json": {"budget": WHOLE // 2, "model": "gpt-4o"}, "headers": {"Idempotency-Key": "c1"}}
    answer = await session.post(f"{S1}/compress", **wanted, timeout=60)
    assert answer.status_code == 200, answer.text
    made = answer.json()
    assert (await session.post(f"{S1}/compress", **wanted)).content == answer.content
    assert (await gateway.pool.fetchval("select answer from answers"))["summary"] is None, "the text is in one place"
    assert (made["version"], made["method"], made["reason"]) == (1, "extractive", None)
    assert made["covers"][0] <= made["covers"][1]
    assert 0 < made["summary_tokens"] < made["original_tokens"]
    [stored] = (await session.get(f"{S1}/summaries")).json()["summaries"]
    assert (stored["version"], stored["text"], stored["covers"]) == (1, made["summary"], made["covers"])
    assert (await window(session, budget=WHOLE // 2))["summary_version"] == 1
    again = (await session.post(f"{S1}/compress", json={"budget": WHOLE})).json()
    assert (again["version"], again["summary"], again["reason"]) == (0, None, "nothing_to_cover")


async def test_a_bad_compression_names_its_field(session: httpx.AsyncClient) -> None:
    for body, named in (
        ({"budget": 0}, "budget"),
        ({"budget": "x"}, "budget"),
        ({"model": ""}, "model"),
        ({"x": 1}, "x"),
    ):
        problem(await session.post(f"{S1}/compress", json=body), 422, "invalid-request", named)


# --- facts and explain -----------------------------------------------------------------------------------------------


async def test_facts_are_listed_with_the_sheet_of_windows(gateway: RunningGateway, session: httpx.AsyncClient) -> None:
    found = extract_facts(StoredMessage(seq, "", Message.parse(one), {}) for seq, one in enumerate(TALK, 1))
    answer = (await session.get(f"{S1}/facts")).json()
    assert {(fact["seq"], fact["value"]) for fact in answer["facts"]} == {(fact.seq, fact.value) for fact in found}
    assert answer["sheet"]
    listed = (await session.get(f"{S1}/messages")).json()["messages"]
    times = {one["seq"]: one["created_at"] for one in listed}
    assert all(fact["created_at"] == times[fact["seq"]] for fact in answer["facts"])
    explained = (await session.get(f"{S1}/messages/1/explain")).json()
    assert explained["states"] == ["verbatim", "fact"]
    assert {fact["seq"] for fact in explained["facts"]} == {1}


@pytest.mark.parametrize("read", ["facts", "messages/1/explain"])
async def test_facts_are_derived_without_what_the_configured_patterns_find(
    gateway: RunningGateway, agent: httpx.AsyncClient, read: str
) -> None:
    await append(agent, {"role": "user", "content": "Never close ticket TCK-4711 before you write to ana@example.com."})
    answer = (await agent.get(f"{S1}/{read}")).text
    stored = str(await gateway.pool.fetch("select * from facts"))
    for text in (answer, stored):
        assert "[TICKET_1]" in text
        assert "TCK-4711" not in text


async def test_explain_says_where_a_message_is_and_why(gateway: RunningGateway, session: httpx.AsyncClient) -> None:
    async def explained(seq: int, **query: Any) -> tuple[str, int | None, str]:
        found = (await session.get(f"{S1}/messages/{seq}/explain", params=query)).json()
        return found["state"], found["version"], found["reason"]

    assert (await explained(30))[0] == "verbatim"
    await cover(gateway, 4, 40)
    await session.put(f"{S1}/pins/20")
    assert await explained(1) == ("verbatim", None, "the first user message always stays")
    assert (await explained(2))[0] == "verbatim"
    assert await explained(20) == ("pinned", None, "pinned by backend")
    assert await explained(30) == ("summary", 1, "covered by summary version 1")
    assert await explained(50) == ("verbatim", None, "it is newer than what summary version 1 covers")
    half = {"budget": WHOLE // 2, "model": "gpt-4o"}
    assert await explained(30, **half) == ("summary", 1, "covered by summary version 1")
    assert (await explained(20, **half))[0] == "pinned"
    assert await explained(5, strategy="token_truncation", **half) == ("summary", 1, "covered by summary version 1")
    tight = {**half, "budget": WHOLE // 4}
    assert await explained(45, strategy="token_truncation", **tight) == ("dropped", None, "over_budget")
    assert (await explained(45, **{**half, "budget": WHOLE}))[0] == "verbatim"
    problem(await session.get(f"{S1}/messages/61/explain"), 404, "not-found", "message 61")


async def test_a_message_larger_than_the_window_is_listed_as_clipped(agent: httpx.AsyncClient) -> None:
    await append(agent, {"role": "user", "content": "hello"}, {"role": "user", "content": "many words here " * 2_000})
    found = (await agent.get(f"{S1}/messages/2/explain", params={"budget": 500})).json()
    assert found["state"] == "clipped"
    stats = (await agent.get(f"{S1}/window", params={"budget": 500})).json()["stats"]
    assert [one["index"] for one in stats["clipped"]] == [1]


# --- memory and advice -----------------------------------------------------------------------------------------------


async def test_a_hybrid_window_brings_back_what_the_newest_message_asks_for(session: httpx.AsyncClient) -> None:
    await append(session, {"role": "user", "content": "What was order 1010 about, the one for Haven 10?"})
    found = await window(session, budget=WHOLE // 2, strategy="hybrid")
    [memory] = [one for one in found["messages"] if "Retrieved for the next user message" in one["content"]]
    assert "order 1010 goes to Haven 10" in memory["content"]
    assert found["messages"].index(memory) == len(found["messages"]) - 2
    assert found["tokens"] == count_request(found["messages"], [], "gpt-4o").tokens <= WHOLE // 2


async def test_memory_finds_what_was_said_in_this_session(session: httpx.AsyncClient) -> None:
    found = (await session.get(f"{S1}/memory", params={"q": "Haven 10", "limit": 3})).json()["found"]
    assert any("Haven 10 " in one["text"] for one in found)
    assert [one["seq"] for one in found] == sorted(one["seq"] for one in found)
    off = await session.get(f"{S1}/memory?q=x&across=true")
    problem(off, 403, "forbidden", "PURSER_MEMORY_ACROSS_SESSIONS")
    assert "setting" in off.json()["remedy"]
    assert "key" not in off.json()["remedy"]
    for query in ("", "q=", "q=%00", "q=x&limit=0", "q=x&limit=101"):
        problem(await session.get(f"{S1}/memory?{query}"), 422, "invalid-request")


@pytest.mark.usefixtures("across_sessions")
async def test_memory_finds_what_was_said_in_other_sessions_of_the_user_where_that_is_allowed(
    session: httpx.AsyncClient,
) -> None:
    def said(text: str) -> dict[str, str]:
        return {"role": "user", "content": text}

    for name, user_id in (("s1", "ana"), ("s2", "ana"), ("s3", "ben")):
        await append(session, said(f"My bicycle in {name} is green."), path=f"/v1/sessions/{name}", user_id=user_id)

    async def found(**query: Any) -> list[tuple[str, int]]:
        answer = (await session.get(f"{S1}/memory", params={"q": "Which colour has the bicycle?", **query})).json()
        return [(one["session_id"], one["seq"]) for one in answer["found"] if "bicycle" in one["text"]]

    assert await found() == [("s1", 61)]
    assert await found(across=True) == [("s1", 61), ("s2", 1)]


async def test_advice_is_given_without_changing_anything(gateway: RunningGateway, session: httpx.AsyncClient) -> None:
    before = await gateway.rows()
    advised = (await session.post(f"{S1}/recommend", json={"max_tokens": 3_000, "preference": "fast"})).json()
    assert (advised["tokens"], advised["needs_optimization"]) == (WHOLE, WHOLE > 1_000)
    for body in ({"limit": WHOLE + 999, "planned_tools": 2}, {"max_tokens": WHOLE + 999, "tools": 2}):
        found = (await session.post(f"{S1}/tool-safety", json=body)).json()
        assert (found["safe"], found["tokens"], found["limit"]) == (False, WHOLE, WHOLE + 999)
    assert (await session.post(f"{S1}/tool-safety", json={"limit": WHOLE + 1_000, "tools": 2})).json()["safe"]
    bad: list[tuple[str, dict[str, Any], str]] = [
        ("recommend", {}, "max_tokens"),
        ("recommend", {"max_tokens": 5, "preference": "x"}, "preference"),
        ("tool-safety", {"limit": 5}, "planned_tools"),
        ("tool-safety", {"limit": 5, "max_tokens": 5, "tools": 1}, "max_tokens"),
        ("tool-safety", {"limit": 5, "tools": -1}, "tools"),
    ]
    for path, body, named in bad:
        problem(await session.post(f"{S1}/{path}", json=body), 422, "invalid-request", named)
    assert await gateway.rows() == before


async def test_viewers_look_and_do_not_change(gateway: RunningGateway, session: httpx.AsyncClient) -> None:
    viewer = await gateway.client(Role.VIEWER)
    assert (await viewer.get(f"{S1}/window?budget=9000")).status_code == 200
    assert (await viewer.post(f"{S1}/recommend", json={"max_tokens": 5_000})).status_code == 200
    problem(await viewer.post(f"{S1}/compress"), 403, "forbidden")
    problem(await session.delete(S1), 403, "forbidden", "delete sessions")
