"""Texts that are no summaries, each with its code."""

import pytest

from purser.context.compression.acceptance import fault


@pytest.mark.parametrize(
    ("text", "tokens", "code"),
    [
        ("", 20, "empty"),
        ("  \n", 20, "empty"),
        ("Error: model overloaded", 20, "error_text"),
        ("RateLimitError: try again", 20, "error_text"),
        ("Internal Server Error", 20, "error_text"),
        ("I'm sorry, but I can't help with that.", 20, "error_text"),
        ("I cannot summarize this.", 20, "error_text"),
        ("对不起，我无法完成", 20, "error_text"),
        ("I apologize, but I can't help with that request.", 20, "error_text"),
        ("I'm afraid I can't assist with summarizing this content.", 20, "error_text"),
        ("Unfortunately, I cannot help with this.", 20, "error_text"),
        ("As a language model, I do not keep records.", 20, "error_text"),
        ("죄송합니다. 요청하신 내용은 도와드릴 수 없습니다.", 20, "error_text"),
        ("## Goal\n\n## Decisions\n\n## Open questions\n", 30, "template"),
        ("Goal: [insert goal]\nDecisions: N/A\n- Names: <names>", 30, "template"),
        ("**Summary:**\n{{summary}}", 30, "template"),
        ("主题：无\n决定：待补充", 30, "template"),
        ("## Decisions\n- none\n## Names\n- Anna Berg", 30, None),
        ("[EMAIL_1] asked for a refund", 30, None),
        ("a long record", 500, "longer"),
        ("a long record", 101, "over_target"),
        ("a good record", 100, None),
        ("Error budgets were agreed: 99.9 percent.", 30, None),
        ("The user cannot fly on May 3.", 30, None),
        ("Error 500 in checkout was traced to the cache by Ann; they decided to ship Monday.", 30, None),
        ("TypeError: 'NoneType' in parse() was the bug; fixed by Tom in v2.", 30, None),
        ("Sorry about the delay, said the agent; the user accepted a $50 voucher.", 30, None),
        ("I cannot eat peanuts, said the user. " + "They chose a lemon chicken with rice. " * 5, 90, None),
    ],
)
def test_a_text_that_is_no_summary_gets_a_code(text: str, tokens: int, code: str | None) -> None:
    assert fault(text, tokens, most_tokens=100, tokens_before=500) == code


@pytest.mark.timeout(60)
@pytest.mark.parametrize("text", ["<" * 30_000 + " " * 200_000 + "x", "[" * 100_000 + "x"])
def test_long_runs_of_brackets_are_no_placeholders(text: str) -> None:
    """In quadratic time each takes minutes, which exceeds the timeout."""
    assert fault(text, 50, most_tokens=100, tokens_before=500) is None


def test_the_length_is_checked_before_the_words() -> None:
    assert fault("Error: 500", 101, most_tokens=100, tokens_before=500) == "over_target"


def test_a_summary_in_another_language_is_none() -> None:
    french = "Le client veut déplacer son vol à vendredi et payer avec le bon d'achat de l'année dernière."
    assert fault(french, 30, most_tokens=100, tokens_before=500, language="en") == "other_language"
    assert fault(french, 30, most_tokens=100, tokens_before=500, language="fr") is None
    assert fault(french, 30, most_tokens=100, tokens_before=500) is None
