"""Tool calls and results that are apart in a conversation, in windows that providers accept."""

import pytest

from purser.context.conversation.messages import Message
from purser.context.tokens import count_request
from purser.context.windows import build_window
from purser.context.windows.linking import LATE_RESULT, NO_RESULT
from tests.support.context.conversations import assistant, calling, result, user
from tests.support.context.windows import indexes, requested, texts, window

GO_ON = [assistant("Meanwhile."), user("And the weather?")]


def shown(messages: list[Message]) -> list[tuple[str, str | None, str]]:
    """Role, answered call and text of each message of a window with room for everything."""
    found = window(messages, 10_000)
    assert found.tokens == requested(list(found.messages))
    assert not found.dropped
    return [(message.role, message.tool_call_id, message.text) for message in found.messages]


def test_a_call_without_a_result_is_answered_by_a_mark() -> None:
    assert shown([user("Go."), calling("a", "b"), result("b"), user("Well?")]) == [
        ("user", None, "Go."),
        ("assistant", None, ""),
        ("tool", "b", "found"),
        ("tool", "a", NO_RESULT),
        ("user", None, "Well?"),
    ]


def test_a_result_that_comes_after_further_turns_is_shown_where_it_came_as_what_a_tool_returned() -> None:
    assert shown([user("Go."), calling("a"), user("Hm."), *GO_ON, result("a"), user("Well?")])[2:] == [
        ("tool", "a", NO_RESULT),
        ("user", None, "Hm."),
        ("assistant", None, "Meanwhile."),
        ("user", None, "And the weather?"),
        ("user", None, f"{LATE_RESULT}\nfound"),
        ("user", None, "Well?"),
    ]


@pytest.mark.parametrize("model", ["gpt-4o", "claude-sonnet-4-5", "gemini-2.5-pro", "deepseek-chat"])
def test_what_is_added_is_counted(model: str) -> None:
    messages = [user("Go."), calling("a", "b"), user("Hm."), *GO_ON, result("a"), result("x"), user("Well?")]
    found = build_window(messages, budget=10_000, model=model)
    assert found.tokens == count_request([message.to_openai() for message in found.messages], [], model).tokens
    assert found.stats.tokens_saved == 0


def test_a_result_follows_its_call_also_if_a_message_of_the_user_came_first() -> None:
    messages = [user("Go."), calling("a", "b"), user("Hm."), result("b"), result("a"), assistant("Done."), user("Ok.")]
    assert indexes(window(messages, 10_000)) == [0, 1, 3, 4, 2, 5, 6]


def test_a_second_result_and_a_result_without_any_call_say_that_a_tool_returned_them() -> None:
    messages = [result("x", "lost"), user("Go."), calling("a"), result("a"), result("a", "again"), user("Well?")]
    assert [text for _, _, text in shown(messages)] == [
        f"{LATE_RESULT}\nlost", "Go.", "", "found", f"{LATE_RESULT}\nagain", "Well?"
    ]  # fmt: skip


def test_a_last_call_may_wait_and_logs_that_do_not_name_calls_stay_as_they_are() -> None:
    waiting = [user("Go."), calling("a", "b"), result("b")]
    assert list(window(waiting, 10_000).messages) == waiting
    log = [user("Go."), calling("a"), Message("tool", "found"), user("Well?")]
    assert list(window(log, 10_000).messages) == log


def test_turns_between_a_call_and_a_late_result_are_cut_one_by_one() -> None:
    turns = [one for number in range(40) for one in (user(f"Question {number}?"), assistant(f"Answer {number}."))]
    found = window([user("Go."), calling("a"), *turns, result("a"), user("Well?")], 300, "token_truncation")
    assert len(found.messages) > 20
    assert texts(found)[-3:] == ["Answer 39.", f"{LATE_RESULT}\nfound", "Well?"]


def test_a_result_with_parts_keeps_them_below_the_mark() -> None:
    image = {"type": "image_url", "image_url": {"url": "https://example.com/a.png"}}
    found = window([user("Go."), Message("tool", (image,), tool_call_id="x"), user("Well?")], 10_000)
    assert found.messages[1].content == ({"type": "text", "text": LATE_RESULT}, image)
    assert found.changed == {1}
