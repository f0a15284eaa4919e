"""Replies while they arrive."""

import threading
from typing import Any

import pytest

from purser.activities.errors import ProviderRejected
from purser.activities.models import partial_replies
from purser.activities.models.partial_replies import PartialReply
from purser.activities.tools import arguments_of
from purser.budget.usage import Usage
from purser.context.tokens import count_text


def delta(index: int, arguments: str, call_id: str | None = None, name: str | None = None) -> Any:
    return {"index": index, "id": call_id, "function": {"name": name, "arguments": arguments}}


def test_text_and_calls_are_put_together_in_order() -> None:
    partial = PartialReply()
    partial.add("Let me ", (), None)
    partial.add("see.", [delta(0, '{"a"', "c1", "add"), delta(1, "{", "c2", "sub")], None)
    partial.add(None, [delta(0, ": 1}"), delta(1, "}")], "tool_calls")
    message = partial.message()
    assert message.content == "Let me see."
    assert [(call["id"], call["function"]["arguments"]) for call in message.tool_calls] == [
        ("c1", '{"a": 1}'),
        ("c2", "{}"),
    ]
    assert partial.finish_reason == "tool_calls"


def test_a_call_that_is_cut_before_its_arguments_is_no_call_without_any() -> None:
    partial = PartialReply()
    partial.add(None, [delta(0, "{}", "c1", "add"), delta(1, "", "c2", "stop")], None)
    partial.cut()
    assert [arguments_of(call["function"]) for call in partial.message().tool_calls] == [{}, None]
    assert partial.finish_reason == "length"


def test_a_call_that_the_provider_ends_without_arguments_has_an_empty_object() -> None:
    partial = PartialReply()
    partial.add(None, [delta(0, "", "c1", "stop")], "tool_calls")
    assert [call["function"]["arguments"] for call in partial.message().tool_calls] == ["{}"]


def test_an_id_that_takes_the_place_of_a_missing_one_is_that_of_no_other_call() -> None:
    partial = PartialReply()
    given = ["call_1", None, "call_3", "call_3", "call_3_", None]
    partial.add(None, [delta(index, "{}", call_id, "add") for index, call_id in enumerate(given)], "tool_calls")
    assert partial.message().call_ids == ("call_1", "call_1_", "call_3", "call_3_", "call_4", "call_5")


def test_a_report_in_the_middle_of_a_reply_that_is_cut_is_not_its_usage() -> None:
    partial = PartialReply()
    partial.add("word " * 40, (), None)
    partial.report({"prompt_tokens": 10, "completion_tokens": 1})
    partial.cut()
    usage = partial.charge(10, "gpt-4o")
    assert (usage.input, usage.estimated) == (10, True)
    assert usage.output >= 40


def test_a_report_before_the_end_states_the_input_and_the_least_output() -> None:
    partial = PartialReply(sent=True)
    partial.report({"prompt_tokens": 100, "completion_tokens": 1, "prompt_tokens_details": {"cached_tokens": 90}})
    partial.add("word " * 40, (), None)
    arrived = count_text("word " * 40, "gpt-4o").tokens
    assert partial.charge(99, "gpt-4o") == Usage(input=10, cache_read=90, output=arrived, estimated=True)
    partial.report({"prompt_tokens": 100, "completion_tokens": arrived + 1})
    assert partial.charge(99, "gpt-4o") == Usage(input=100, output=arrived + 1, estimated=True)
    partial.add(None, (), "stop")
    assert partial.charge(99, "gpt-4o") == Usage(input=100, output=arrived + 1)


async def test_a_reply_that_breaks_off_is_charged_only_if_the_provider_has_reported_usage() -> None:
    partial = PartialReply(sent=True)
    partial.add("word " * 40, (), None)
    assert await partial.charge_reported(99, "gpt-4o") is None
    partial.report({"prompt_tokens": 10, "completion_tokens": 1})
    assert await partial.charge_reported(99, "gpt-4o") == partial.charge(99, "gpt-4o")


def test_reasoning_counts_as_produced_and_is_no_part_of_the_message() -> None:
    partial = PartialReply(sent=True, most_characters=250)
    partial.add(None, (), None, "thought " * 30)
    partial.add("Yes.", (), None, {"own": "format"})
    assert (partial.take_new(), partial.characters) == ("thought " * 30 + "Yes.", 244)
    assert partial.message().content == "Yes."
    assert partial.charge(99, "gpt-4o").output == count_text("thought " * 30 + "Yes.", "gpt-4o").tokens
    with pytest.raises(ProviderRejected, match="reply_too_large"):
        partial.add(None, (), None, "thought ")


def test_what_was_produced_is_taken_once() -> None:
    partial = PartialReply()
    partial.add("one ", [delta(0, "{", "c", "add")], None)
    assert partial.take_new() == "one add{"
    partial.add("two", (), None)
    assert (partial.take_new(), partial.take_new()) == ("two", "")


def test_an_empty_reply_is_an_empty_text() -> None:
    assert PartialReply().message().content == ""


def test_ids_that_a_provider_leaves_out_or_repeats_are_replaced() -> None:
    partial = PartialReply()
    partial.add(None, [delta(0, "{}", None, "add"), delta(1, "{}", "c", "add"), delta(2, "{}", "c", "add")], None)
    assert partial.message().call_ids == ("call_0", "c", "call_2")


@pytest.mark.parametrize("call_id", ["c\0", "c\ud800"])
def test_an_id_that_postgres_cannot_store_is_replaced(call_id: str) -> None:
    partial = PartialReply()
    partial.add(None, [delta(0, "{}", call_id, "add")], None)
    assert partial.message().call_ids == ("call_0",)


def test_text_that_postgres_cannot_store_is_replaced_in_texts_and_calls() -> None:
    partial = PartialReply()
    partial.add("half \ud83d", [delta(0, '"a\0b"', "c1", "add\ud83d")], None)
    message = partial.message()
    assert message.text == "half \ufffd"
    assert message.tool_calls[0]["function"] == {"name": "add\ufffd", "arguments": '"a\ufffdb"'}


def test_the_providers_report_is_charged() -> None:
    partial = PartialReply(sent=True)
    partial.report({"prompt_tokens": 10, "completion_tokens": 5, "total_tokens": 15})
    partial.add("Done.", (), "stop")
    assert partial.charge(99, "gpt-4o") == Usage(input=10, output=5)


@pytest.mark.parametrize("report", [{}, {"prompt_tokens": -5}, {"prompt_tokens": 0, "completion_tokens": 0}, {"x": 1}])
def test_a_report_that_says_nothing_is_replaced_by_an_estimate_that_says_so(report: dict[str, Any]) -> None:
    partial = PartialReply(sent=True)
    partial.add("Five words are said here.", (), None)
    partial.report(report)
    charge = partial.charge(99, "gpt-4o")
    assert (charge.input, charge.estimated) == (99, True)
    assert charge.output > 0


@pytest.mark.parametrize(("words", "is_inline"), [(10, True), (5_000, False)])
async def test_a_long_reply_is_counted_off_the_event_loop(
    monkeypatch: pytest.MonkeyPatch, words: int, is_inline: bool
) -> None:
    counted: list[bool] = []

    def noted(text: str, model: str) -> Any:
        counted.append(threading.current_thread() is threading.main_thread())
        return count_text(text, model)

    monkeypatch.setattr(partial_replies, "count_text", noted)
    partial = PartialReply(sent=True)
    partial.add("word " * words, (), "stop")
    assert await partial.charge_async(99, "gpt-4o") == partial.charge(99, "gpt-4o")
    assert counted == [is_inline, True]


def test_a_reply_is_whole_once_its_end_and_its_usage_are_known() -> None:
    partial = PartialReply()
    partial.add("Done.", (), "stop")
    assert not partial.complete
    partial.report({"prompt_tokens": 10, "completion_tokens": 5})
    assert partial.complete
