"""Remedies for messages that are too large for a window."""

import json
from collections.abc import Sequence
from contextlib import suppress
from itertools import pairwise

import pytest

from purser.context.conversation.conversations import Conversation, MessageRef
from purser.context.conversation.messages import Message, StoredMessage
from purser.context.errors import WindowTooSmall
from purser.context.settings import ContextSettings
from purser.context.strategies import StrategyName
from purser.context.tokens import count_message, count_text
from purser.context.windows import plan_window, render
from purser.context.windows.agent_window import reply_line
from purser.context.windows.plans import MemoryRef, TextRef, WindowPlan
from purser.context.windows.trimming import DOCUMENTS, Remedy, Trim, show, show_all
from tests.support.context.conversations import calling, result, talk, user
from tests.support.context.windows import MODEL, SYSTEM, indexes, window

LARGE = "row 4711 of the table; " * 3_000
QUESTION = 1_000
REPLY = 2_000


def count(text: str) -> int:
    return count_text(text, MODEL).tokens


def tokens(message: Message) -> int:
    return count_message(message.to_openai(), MODEL).tokens


def thread(name: str, messages: Sequence[Message], first: int) -> tuple[Conversation, dict[int, StoredMessage]]:
    """A thread numbered from `first`, by reference and with texts."""
    stored = {seq: StoredMessage(seq, name, one, {}) for seq, one in enumerate(messages, first)}
    refs = (
        MessageRef(seq, one.message.role, tokens(one.message), one.message.call_ids, one.message.tool_call_id)
        for seq, one in stored.items()
    )
    return Conversation(name, tuple(refs)), stored


def planned(
    budget: int,
    *,
    session: Sequence[Message] = (),
    own: Sequence[Message] = (),
    question: str = "And now?",
    documents: int = 0,
    replies: Sequence[Message] = (),
    left: int | None = None,
    settings: ContextSettings | None = None,
) -> tuple[WindowPlan, list[dict[str, object]]]:
    """The plan of a call with counted sizes, and its messages."""
    of_session, texts = thread("", session, 1)
    of_agent, more = thread("t1/a", own, QUESTION + 1)
    asked = Message("user", question)
    _, others = thread("t1/b", replies, REPLY)
    everything = {**texts, **more, **others, QUESTION: StoredMessage(QUESTION, "", asked, {})}
    line = count(reply_line("b"))
    memory = Message("user", "document " * documents) if documents else None
    sizes: dict[int, int] = {}
    while True:
        plan = plan_window(
            settings or ContextSettings(),
            budget=budget,
            system_tokens=10,
            session=of_session,
            question=TextRef(QUESTION, tokens(asked)),
            replies=[TextRef(seq, tokens(one.message) + line, "b") for seq, one in others.items()],
            reply_lines=dict.fromkeys(others, line),
            own=of_agent,
            left=left,
            memory=MemoryRef((), tokens(memory), tokens(memory)) if memory else None,
            sizes=sizes,
        )
        uncounted = [trim for trim in plan.trims if trim.seq not in sizes]
        if not uncounted:
            break
        bodies = {seq: one.message for seq, one in everything.items()} | ({DOCUMENTS: memory} if memory else {})
        sizes |= {seq: tokens(message) for seq, message in show_all(uncounted, bodies, count).items()}
    return plan, render(plan, everything, {}, "Be brief.", count=count, memory=memory)


def steps(number: int, text: str) -> list[Message]:
    """Steps of an agent: calls of a tool with their results."""
    return [one for step in range(number) for one in (calling(f"c{step}"), result(f"c{step}", text))]


def parts_of(message: dict[str, object]) -> list[dict[str, str]]:
    """The parts of a message's content."""
    content = message["content"]
    assert isinstance(content, list)
    return content


def sent(messages: Sequence[dict[str, object]]) -> int:
    """Counted tokens of a request without its instructions."""
    return sum(count_message(one, MODEL).tokens for one in messages if one["role"] != "system") + 3


def test_old_tool_results_are_cleared_before_anything_is_dropped_and_keep_their_calls() -> None:
    own = steps(4, "row " * 800)
    plan, messages = planned(2_500, own=own)
    assert not plan.left_out or not plan.own.dropped
    assert [(trim.seq, trim.remedy) for trim in plan.in_part] == [(1_002, "cleared"), (1_004, "cleared")]
    answers = [one for one in messages if one["role"] == "tool"]
    assert [one["tool_call_id"] for one in answers] == ["c0", "c1", "c2", "c3"], "no pair breaks"
    assert answers[0]["content"] == f"[{tokens(own[1])} tokens left out of message 1002]"
    assert answers[3]["content"] == own[7].text, "the newest step stays whole"
    assert sent(messages) == plan.tokens <= 2_500


def test_a_message_once_cleared_stays_cleared_in_later_turns_and_several_turns_share_a_prefix() -> None:
    cleared = []
    for number in range(4, 40):
        plan, _ = planned(6_000, own=steps(number, "row " * 400))
        cleared.append({trim.seq for trim in plan.in_part})
    assert all(before <= after for before, after in pairwise(cleared))
    changes = sum(before != after for before, after in pairwise(cleared))
    assert 0 < changes <= len(cleared) / 2, "results are cleared in steps, not with each turn"


def test_short_results_and_results_of_pinned_calls_are_not_cleared() -> None:
    pinned = Message("assistant", tool_calls=calling("p").tool_calls, pinned=True)
    messages = [SYSTEM, user("Look."), pinned, result("p", "row " * 300), *steps(3, "row " * 300), *steps(3, "short")]
    found = window(messages, 900, "token_truncation")
    assert found.messages[3].text == messages[3].text
    assert [one.index for one in found.stats.cleared] == [5, 7]


def test_edge_a_newest_step_larger_than_the_budget_is_clipped_in_a_live_turn_and_never_fails() -> None:
    for large in (user(LARGE), result("c0", LARGE)):
        own = [calling("c0"), large] if large.role == "tool" else [large]
        plan, messages = planned(3_000, own=own)
        assert [(trim.seq, trim.remedy) for trim in plan.in_part] == [(QUESTION + len(own), Remedy.CLIPPED)]
        text = str(messages[-1]["content"])
        assert text.startswith("row 4711 of the table")
        assert f"tokens left out of message {QUESTION + len(own)} …]" in text
        assert messages[-1].get("tool_call_id") == large.tool_call_id
        assert 2_000 < sent(messages) == plan.tokens <= 3_000


def test_a_first_user_message_larger_than_the_budget_fails_no_later_task_of_its_session() -> None:
    plan, messages = planned(3_000, session=[user(LARGE), Message("assistant", "Noted."), *talk(4)])
    assert [(trim.seq, trim.remedy) for trim in plan.in_part] == [(1, Remedy.CLIPPED)]
    assert [one["content"] for one in messages[2:]] == ["Noted.", *(one.text for one in talk(4)), "And now?"]
    assert sent(messages) == plan.tokens <= 3_000


def test_documents_larger_than_the_budget_are_clipped_too() -> None:
    plan, messages = planned(1_000, documents=5_000)
    assert [trim.seq for trim in plan.in_part] == [DOCUMENTS]
    assert "tokens left out of the documents …]" in str(messages[-2]["content"])
    assert sent(messages) == plan.tokens <= 1_000


DRAFTS = [Message("assistant", f"Draft {number}: the seller pays. " * 90) for number in range(4)]
"""Replies of about 630 tokens each."""


@pytest.mark.parametrize(("budget", "left"), [(1_000, None), (70_000, 1_000)], ids=["small model", "small budget"])
def test_replies_that_do_not_fit_share_the_room_and_none_vanishes_without_a_mark(budget: int, left: int | None) -> None:
    plan, messages = planned(budget, replies=DRAFTS, left=left)
    assert [(trim.seq, trim.remedy) for trim in plan.in_part] == [(REPLY + n, Remedy.CLIPPED) for n in range(4)]
    assert len({trim.most for trim in plan.in_part}) == 1
    assert not plan.dropped_replies
    for number, message in enumerate(messages[1:5]):
        line, text = (part["text"] for part in parts_of(message))
        assert line == "[reply of the agent b:]"
        assert text.startswith(f"Draft {number}:")
        assert f"tokens left out of message {REPLY + number} …]" in text
    assert 800 < sent(messages) == plan.tokens <= 1_000


def test_replies_of_which_not_even_marks_fit_the_model_end_the_agent_with_their_tokens() -> None:
    shown, _ = planned(250, replies=DRAFTS)
    assert len(shown.in_part) == 4
    with pytest.raises(WindowTooSmall, match="replies of the agents that it depends on: ") as caught:
        planned(100, replies=DRAFTS)
    assert caught.value.parts["replies of the agents that it depends on"] > 4 * 600


def test_replies_for_which_the_agent_has_no_budget_are_shown_all_the_same_and_the_ledger_decides() -> None:
    plan, _ = planned(70_000, replies=DRAFTS, left=0)
    assert not plan.in_part
    assert len(plan.replies) == 4


def test_several_large_messages_share_the_room_and_the_question_stays_whole() -> None:
    question = "What is in it? " * 40
    own = [calling("a", "b"), result("a", LARGE), result("b", LARGE)]
    plan, messages = planned(4_000, session=[user(LARGE)], own=own, question=question)
    assert {trim.remedy for trim in plan.in_part} == {Remedy.CLIPPED}
    assert len({trim.most for trim in plan.in_part}) == 1
    assert question in [one["content"] for one in messages]
    assert sent(messages) == plan.tokens <= 4_000


def test_an_agent_ends_only_if_instructions_and_question_alone_do_not_fit_and_the_error_has_figures() -> None:
    alone = tokens(Message("user", LARGE)) + 3
    planned(alone + 200, session=[user(LARGE)], own=[calling("a"), result("a", LARGE)], question=LARGE)
    with pytest.raises(WindowTooSmall, match=rf"budget of {alone - 1} tokens.*input: {alone} tokens") as caught:
        planned(alone - 1, question=LARGE)
    assert caught.value.parts["input"] == alone


def test_a_message_whose_text_cannot_be_clipped_is_replaced_by_its_mark() -> None:
    image = {"type": "image_url", "image_url": {"url": "https://example.com/a.png"}}
    large = json.dumps({"rows": ["row"] * 2_000})
    calls = ({"id": "c", "type": "function", "function": {"name": "store", "arguments": large}},)
    for message in (Message("user", (image,)), Message("assistant", tool_calls=calls)):
        shown = show(message, Trim(7, Remedy.CLIPPED, tokens(message), 60, 60), count, 7)
        assert tokens(shown) <= 60
        assert shown.content == f"[{tokens(message)} tokens left out of message 7]"
        assert [call["id"] for call in shown.tool_calls] == list(message.call_ids)
        assert all(json.loads(call["function"]["arguments"]) for call in shown.tool_calls)


@pytest.mark.parametrize("strategy", [StrategyName.TOKEN_TRUNCATION, StrategyName.SLIDING_WINDOW])
def test_a_short_call_that_cannot_be_cut_is_refused_and_not_shown_over_the_budget(strategy: StrategyName) -> None:
    arguments = json.dumps({"order_id": "W-77120", "items": [str(place) for place in range(28)]})
    called = {"id": "c", "type": "function", "function": {"name": "exchange", "arguments": arguments}}
    open_call = Message("assistant", tool_calls=(called,))
    messages = [SYSTEM, user("Exchange it."), open_call]
    needed = 3 + sum(map(tokens, messages))
    assert tokens(show(open_call, Trim(3, Remedy.CLIPPED, tokens(open_call), 9, 9), count, 3)) == tokens(open_call)
    assert window(messages, budget=needed, strategy=strategy).tokens == needed
    with pytest.raises(WindowTooSmall, match=f"budget of {needed - 1} tokens"):
        window(messages, budget=needed - 1, strategy=strategy)


def test_many_calls_at_once_never_exceed_the_budget() -> None:
    arguments = json.dumps({"query": "flights from Berlin to Madrid with two bags and a window seat, cheapest first"})
    calls = tuple(
        {"id": f"c{place}", "type": "function", "function": {"name": "search", "arguments": arguments}}
        for place in range(40)
    )
    own = [Message("assistant", "", tool_calls=calls), *(result(f"c{place}", "result " * 400) for place in range(40))]
    with pytest.raises(WindowTooSmall):
        planned(2_600, own=own)
    plan, messages = planned(4_200, own=own)
    assert sent(messages) == plan.tokens <= 4_200
    assert {trim.seq for trim in plan.in_part} == set(range(QUESTION + 2, QUESTION + 42)), "the calls stay whole"


def test_a_message_that_is_shown_whole_is_not_reported_as_clipped() -> None:
    calls = tuple(
        {"id": f"c{place}", "type": "function", "function": {"name": "search", "arguments": json.dumps({"n": place})}}
        for place in range(9)
    )
    called = Message("assistant", "Searching.", tool_calls=calls)
    own = [called, *(result(f"c{place}", "result " * 400) for place in range(9))]
    for budget in range(600, 1_000, 40):
        with suppress(WindowTooSmall):
            plan, messages = planned(budget, own=own)
            assert sent(messages) == plan.tokens <= budget
            assert called.to_openai() in messages
            assert QUESTION + 1 not in {trim.seq for trim in plan.in_part}


def test_where_a_summary_covers_old_results_none_is_cleared() -> None:
    messages = [SYSTEM, user("Look."), *steps(8, "The price is 40 euros. " * 60), *talk(2)]
    found = window(messages, 1_500, StrategyName.THREE_PART)
    assert found.summary
    assert found.stats.cleared == ()
    cut = window(messages, 1_500, StrategyName.TOKEN_TRUNCATION)
    assert cut.stats.cleared
    assert len(indexes(cut)) == len(messages)
    assert "of message 3]" in cut.messages[3].text


def test_a_plan_with_remedies_survives_storage() -> None:
    plan, _ = planned(2_500, own=steps(4, "row " * 800))
    assert WindowPlan.from_json(json.loads(json.dumps(plan.to_json()))) == plan
