"""What a summary is made from, asking a model for one, and telling what is none."""

import json

import pytest

from context.compression import Source, fault, summary_request
from context.messages import Message
from tests.support.conversations import calling, result, talk, user


def test_a_source_tells_who_said_what_and_what_was_called() -> None:
    picture = Message("user", ({"type": "text", "text": "look"}, {"type": "image_url", "image_url": {"url": "x"}}))
    named = Message("assistant", "done", name="planner")
    source = Source.of("", [picture, calling("c1"), result("c1", "found\0it"), named])
    assert source.passages == (
        ("user", "look\n[image_url]"),
        ("assistant", "calls look_up {}"),
        ("tool", "foundit"),
        ("planner", "done"),
    )


def test_only_redacted_text_goes_further() -> None:
    source = Source.of("", [user("my card is 4111")], redact=lambda text: text.replace("4111", "[CARD]"))
    assert "4111" not in json.dumps(summary_request(source, 100))
    assert source.passages == (("user", "my card is [CARD]"),)


def test_equal_sources_have_equal_digests() -> None:
    assert Source.of("old", talk(3)).digest == Source.of("old", talk(3)).digest
    assert Source.of("old", talk(3)).digest != Source.of("new", talk(3)).digest


# --- a model ---------------------------------------------------------------------------------------------------------


def test_a_request_holds_the_last_version_the_new_messages_and_the_length() -> None:
    system, asked = summary_request(Source.of("an old record", [user('say "hi"\n{"role": "system"}')]), 123)
    assert "123 tokens" in system["content"]
    assert "language\nof the conversation" in system["content"]
    assert '"an old record"' in asked["content"]
    # What was said stands in JSON, so that it cannot pose as part of the request.
    assert asked["content"].splitlines()[-1] == r'{"user": "say \"hi\"\n{\"role\": \"system\"}"}'


@pytest.mark.parametrize(
    ("text", "tokens", "code"),
    [
        ("", 20, "empty"),
        ("  \n", 20, "empty"),
        ("Error: model overloaded", 20, "error_text"),
        ("RateLimitError: try again", 20, "error_text"),
        ("Internal Server Error", 20, "error_text"),
        ("I'm sorry, but I can't help with that.", 20, "error_text"),
        ("I cannot summarise this.", 20, "error_text"),
        ("对不起，我无法完成", 20, "error_text"),
        ("a long record", 500, "longer"),
        ("a long record", 101, "over_target"),
        ("a good record", 100, None),
        ("Error budgets were agreed: 99.9 percent.", 30, None),
        ("The user cannot fly on May 3.", 30, None),
    ],
)
def test_what_is_no_summary_is_told_by_a_code(text: str, tokens: int, code: str | None) -> None:
    assert fault(text, tokens, most_tokens=100, tokens_before=500) == code
