"""The registry of model windows."""

import logging

import pytest

from purser.budget.pricing.price_book import PriceBook
from purser.context.tokens.legacy import WINDOWS
from purser.context.tokens.windows import DEFAULT_WINDOW, window_of


@pytest.fixture(scope="module")
def prices() -> PriceBook:
    return PriceBook.load()


@pytest.mark.parametrize(
    ("model", "window"),
    [
        ("gpt-4", 8_192),
        ("gpt-4-32k", 32_768),
        ("gpt-4-turbo", 128_000),
        ("gpt-3.5-turbo-0613", 4_096),
        ("openai/gpt-4o", 128_000),
        ("claude-3-5-sonnet-20241022", 200_000),
        ("gemini-1.5-pro", 2_097_152),
        ("my-host/Llama-2-7b-chat", 4_096),
        ("mistral-7b-instruct", 32_768),
    ],
)
def test_windows_are_those_of_the_price_table_and_else_of_the_family(
    prices: PriceBook, model: str, window: int
) -> None:
    assert window_of(model, prices.context_window(model)) == window


def test_the_windows_that_courses_teach_can_be_had_as_overrides(prices: PriceBook) -> None:
    found = {model: window_of(model, prices.context_window(model), overrides=WINDOWS) for model in WINDOWS}
    assert {model: window // 1_000 for model, window in found.items()} == {
        "gpt-3.5-turbo": 4,
        "gpt-3.5-turbo-16k": 16,
        "gpt-4": 8,
        "gpt-4-32k": 32,
        "gpt-4-turbo": 128,
        "deepseek-chat": 32,
    }
    assert window_of("deepseek/deepseek-chat", 131_072, overrides=WINDOWS) == WINDOWS["deepseek-chat"]


def test_an_unknown_model_gets_a_default_and_one_warning(caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.WARNING):
        assert [window_of("model-of-tomorrow") for _ in range(3)] == [DEFAULT_WINDOW] * 3
    assert len(caplog.messages) == 1
    assert "'model-of-tomorrow' is not known, 128000 tokens" in caplog.messages[0]
    assert window_of("model-of-tomorrow", default=8_000) == 8_000
