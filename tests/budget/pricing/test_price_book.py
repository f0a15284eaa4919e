"""Prices: exact to the nano-dollar, never underestimated, and every mistake in a price file is named."""

import json
import subprocess
import sys
from collections.abc import Callable
from fractions import Fraction
from itertools import product
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from purser.activities.models.litellm_library import litellm_library
from purser.budget.errors import InvalidPrices, UnknownPrice
from purser.budget.gate import price_of
from purser.budget.pricing.call_prices import quote
from purser.budget.pricing.price_book import PriceBook
from purser.budget.pricing.rates import Price, Rates
from purser.budget.usage import Usage, normalize
from tests.support.budgets.prices import per_million

CLAUDE = {
    "input_cost_per_token": 3e-06,
    "cache_read_input_token_cost": 3e-07,
    "cache_creation_input_token_cost": 3.75e-06,
    "cache_creation_input_token_cost_above_1hr": 6e-06,
    "output_cost_per_token": 1.5e-05,
}
TIERED = {
    "input_cost_per_token": 1e-06,
    "input_cost_per_token_above_200k_tokens": 2e-06,
    "output_cost_per_token": 1e-05,
    "output_cost_per_token_above_200k_tokens": 1.5e-05,
}

Load = Callable[[dict[str, Any]], PriceBook]


@pytest.fixture
def load(tmp_path: Path) -> Load:
    """Loads a book whose override file has this content."""

    def load(models: dict[str, Any]) -> PriceBook:
        path = tmp_path / "prices.json"
        path.write_text(json.dumps(models))
        return PriceBook.load(path)

    return load


# --- cost ------------------------------------------------------------------------------------------------------------


def test_the_bill_of_litellm_9812_is_met_to_the_nano_dollar(load: Load) -> None:
    report = {
        "input_tokens": 3,
        "cache_creation_input_tokens": 12_304,
        "cache_read_input_tokens": 0,
        "output_tokens": 550,
    }
    assert load({"claude": CLAUDE}).price("claude").cost(normalize(report)) == 54_399_000


def test_each_class_has_its_own_rate(load: Load) -> None:
    price = load({"m": CLAUDE | {"output_cost_per_reasoning_token": 2e-05}}).price("m")
    usage = Usage(input=1, cache_read=10, cache_write_5m=100, cache_write_1h=1_000, output=20_000, reasoning=5_000)
    assert price.cost(usage) == 3_000 + 3_000 + 375_000 + 6_000_000 + 15_000 * 15_000 + 5_000 * 20_000


def test_fractions_of_a_nano_dollar_are_kept_and_the_charge_is_rounded_up_once(load: Load) -> None:
    price = load({"m": {"input_cost_per_token": 2.8e-10, "output_cost_per_token": 1e-10}}).price("m")
    assert price.cost(Usage(input=1, output=1)) == 1
    assert price.cost(Usage(input=10, output=2)) == 3
    assert price.cost(Usage(input=10, output=3)) == 4


def test_cached_input_without_a_rate_costs_what_fresh_input_costs(load: Load) -> None:
    price = load({"m": {"input_cost_per_token": 1e-06, "output_cost_per_token": 0}}).price("m")
    assert price.cost(Usage(input=1, cache_read=1, cache_write_5m=1, cache_write_1h=1)) == 4_000


def test_reasoning_that_is_not_reported_is_charged_at_the_higher_rate(load: Load) -> None:
    price = load(
        {"m": {"input_cost_per_token": 0, "output_cost_per_token": 1e-06, "output_cost_per_reasoning_token": 3e-06}}
    )
    assert price.price("m").cost(Usage(output=10, reasoning=0)) == 10_000
    assert price.price("m").cost(Usage(output=10)) == 30_000


def test_a_tier_begins_above_its_size_and_counts_cached_input(load: Load) -> None:
    price = load({"m": TIERED}).price("m")
    assert price.cost(Usage(input=100_000, cache_read=100_000, output=10)) == 200_000 * 1_000 + 10 * 10_000
    assert price.cost(Usage(input=100_000, cache_read=100_001, output=10)) == 200_001 * 2_000 + 10 * 15_000


def test_a_tier_inherits_the_rates_that_it_does_not_change(load: Load) -> None:
    price = load({"m": CLAUDE | {"input_cost_per_token_above_200k_tokens": 6e-06}}).price("m")
    assert price.cost(Usage(input=200_001, cache_read=10)) == 200_001 * 6_000 + 10 * 300


def test_the_dearer_tier_of_xai_begins_at_its_size(load: Load) -> None:
    price = load({"m": TIERED | {"litellm_provider": "xai"}}).price("m")
    assert price.cost(Usage(input=199_999)) == 199_999 * 1_000
    assert price.cost(Usage(input=200_000)) == 200_000 * 2_000


def test_zero_is_a_price(load: Load) -> None:
    price = load({"local": {"input_cost_per_token": 0, "output_cost_per_token": 0.0}}).price("local")
    assert price.cost(Usage(input=10**9, output=10**9, unsplit=10**9)) == 0
    assert price.ceiling(Usage(input=10**9, output=10**9, unsplit=10**9)) == 0


# --- bounds, for any rates -------------------------------------------------------------------------------------------

rate = st.builds(Fraction, st.integers(0, 10**6), st.sampled_from([1, 7, 1000]))
rates = st.builds(Rates, rate, rate, rate, rate, rate, rate)
prices = st.builds(
    Price,
    rates,
    st.lists(st.tuples(st.integers(1, 300), rates), max_size=3).map(
        lambda steps: tuple(sorted(steps, key=lambda step: step[0]))
    ),
)
count = st.integers(0, 200)


@given(prices, st.tuples(count, count, count, count), count, st.data())
def test_a_ceiling_bounds_every_usage_inside_it(
    price: Price, split: tuple[int, int, int, int], output: int, data: st.DataObject
) -> None:
    reasoning = data.draw(st.none() | st.integers(0, output))
    room = data.draw(st.tuples(count, count))
    usage = Usage(*split, output, reasoning)
    assert price.cost(usage) <= price.ceiling(Usage(input=usage.prompt + room[0], output=output + room[1]))


@given(prices, st.tuples(count, count, count, count), count, st.data())
def test_a_bare_total_costs_at_least_what_any_split_of_it_costs(
    price: Price, split: tuple[int, int, int, int], output: int, data: st.DataObject
) -> None:
    usage = Usage(*split, output, data.draw(st.none() | st.integers(0, output)))
    assert price.cost(Usage.from_total(usage.total)) >= price.cost(usage)


@given(prices, count, count, st.data())
def test_an_ask_of_any_size_between_least_and_full_costs_at_least_its_price(
    price: Price, least: int, more: int, data: st.DataObject
) -> None:
    quoted = quote(PriceBook({}, {}, price), "m", Usage.from_total(least + more), Usage.from_total(least))
    total = data.draw(st.integers(least, least + more))
    assert price_of(total, quoted.full, quoted.least) >= price.ceiling(Usage.from_total(total))


@given(st.lists(rates, min_size=1, max_size=4), st.tuples(count, count, count, count, count), count, count)
def test_more_tokens_never_cost_less_where_larger_prompts_are_not_cheaper(
    steps: list[Rates], split: tuple[int, int, int, int, int], more_input: int, more_output: int
) -> None:
    dearer = steps[:1]
    for step in steps[1:]:
        dearer.append(dearer[-1] | step)
    price = Price(dearer[0], tuple((100 * place, each) for place, each in enumerate(dearer[1:], start=1)))
    usage = Usage(*split)
    assert price.cost(usage) <= price.cost(usage + Usage(input=more_input, output=more_output))


# --- names -----------------------------------------------------------------------------------------------------------


def test_the_table_of_litellm_is_read_without_importing_litellm() -> None:
    script = (
        "import sys; from purser.budget.pricing.price_book import PriceBook; book = PriceBook.load();"
        "assert book.price('gpt-4o').cost and book.context_window('gpt-4o') == 128000;"
        "assert not {'litellm', 'openai', 'tiktoken'} & sys.modules.keys()"
    )
    subprocess.run([sys.executable, "-c", script], check=True)


def test_a_model_is_found_with_and_without_its_provider() -> None:
    book = PriceBook.load()
    assert book.price("openai/gpt-4o") == book.price("gpt-4o")
    assert book.price("anthropic/claude-sonnet-4-5") == book.price("claude-sonnet-4-5")
    assert book.max_output_tokens("openai/gpt-4o") == 16_384


@pytest.mark.parametrize(
    "model", ["groq/gpt-4o", "no-such-model", "openai/no-such-model", "", "/", "openai/", "sample_spec"]
)
def test_a_price_is_never_taken_from_another_provider_or_guessed(model: str) -> None:
    with pytest.raises(UnknownPrice, match="has no price"):
        PriceBook.load().price(model)


def test_a_model_that_is_not_priced_per_token_has_no_price() -> None:
    with pytest.raises(UnknownPrice):
        PriceBook.load().price("azure/container")


def test_unknown_models_cost_the_stated_ceiling_if_there_is_one() -> None:
    ceiling = per_million("150", "600")
    book = PriceBook.load(unknown=ceiling)
    assert book.price("no-such-model") == ceiling
    assert book.price("gpt-4o") != ceiling
    assert book.context_window("no-such-model") is None


def test_an_override_goes_before_the_table(load: Load) -> None:
    cheap = {"input_cost_per_token": 1e-09, "output_cost_per_token": 2e-09}
    book = load({"gpt-4o": cheap})
    assert book.price("gpt-4o").cost(Usage(input=1, cache_read=1, output=1)) == 4
    assert book.price("openai/gpt-4o") == book.price("gpt-4o")
    assert book.context_window("gpt-4o") == 128_000, "limits that the override leaves out stay known"


def test_an_override_of_limits_leaves_the_price_alone(load: Load) -> None:
    book = load({"gpt-4o": {"max_output_tokens": 1_000}})
    assert book.max_output_tokens("openai/gpt-4o") == 1_000
    assert book.context_window("openai/gpt-4o") == 128_000
    assert book.price("gpt-4o") == PriceBook.load().price("gpt-4o")


def test_a_bare_name_in_the_file_is_of_every_provider_but_not_of_dated_versions(load: Load) -> None:
    cheap, table = {"input_cost_per_token": 1e-09, "output_cost_per_token": 2e-09}, PriceBook.load()
    book = load({"gpt-4o": cheap})
    for name in ("openai/gpt-4o", "azure/gpt-4o"):
        assert book.price(name) == book.price("gpt-4o") != table.price(name)
    for name in ("gpt-4o-2024-08-06", "azure/gpt-4o-2024-08-06", "openrouter/openai/gpt-4o"):
        assert book.find(name) == table.find(name)
    own = load({"gpt-4o": cheap, "azure/gpt-4o": cheap | {"input_cost_per_token": 3e-09}})
    assert own.price("azure/gpt-4o").cost(Usage(input=1)) == 3, "an entry of the full name goes first"


def test_the_full_name_goes_before_the_bare_one_and_names_before_wildcards_the_longest_first(load: Load) -> None:
    def priced(nano: int) -> dict[str, float]:
        return {"input_cost_per_token": float(f"{nano}e-09"), "output_cost_per_token": 0}

    names = ("*", "local/*", "local/llama-*", "llama-3", "local/llama-3")
    book = load({name: priced(nano) for nano, name in enumerate(names, start=1)})
    found = {
        model: book.price(model).cost(Usage(input=1)) for model in ("other", "local/x", "local/llama-2", "llama-3")
    }
    assert found == {"other": 1, "local/x": 2, "local/llama-2": 3, "llama-3": 4}
    assert book.price("local/llama-3").cost(Usage(input=1)) == 5
    assert book.price("remote/llama-3").cost(Usage(input=1)) == 4


# --- price files -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("fields", "says"),
    [
        ({"input_cost_per_token": -1e-06, "output_cost_per_token": 0}, "input_cost_per_token"),
        ({"input_cost_per_token": "1e-06", "output_cost_per_token": 0}, "input_cost_per_token"),
        ({"input_cost_per_token": True, "output_cost_per_token": 0}, "input_cost_per_token"),
        ({"input_cost_per_token": 2.5, "output_cost_per_token": 10}, r"\$2\.50 per million is 2\.5e-06"),
        ({"input_cost_per_token": 1e-06}, "no 'output_cost_per_token'"),
        ({"output_cost_per_token_above_200k_tokens": 1e-06}, "no 'input_cost_per_token'"),
        ({"input_cost_per_tokens": 1e-06}, "input_cost_per_tokens.*spelling"),
        ({"max_output_tokens": 0}, "max_output_tokens"),
        ({"max_input_tokens": 1.5}, "max_input_tokens"),
        ({"tiered_pricing": []}, "tiered_pricing"),
        ([], "list"),
    ],
)
def test_a_mistake_in_a_price_file_names_file_model_and_field(load: Load, fields: Any, says: str) -> None:
    with pytest.raises(InvalidPrices, match=says) as error:
        load({"my-model": fields})
    assert "prices.json" in str(error.value)
    assert "my-model" in str(error.value)


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ('{"gpt-4o": {}, "local/*": {}, "gpt-4o": {}}', "'gpt-4o' occurs twice"),
        ('{"gpt-4o": {"max_tokens": 1, "max_tokens": 2}}', "'max_tokens' occurs twice"),
        ('{"gpt-4o ": {}}', "model 'gpt-4o ': has a space"),
        ('{"\\tgpt-4o": {}}', r"model '\\tgpt-4o': has a space"),
    ],
)
def test_a_name_that_is_stated_twice_or_with_a_space_around_it_is_refused(tmp_path: Path, text: str, says: str) -> None:
    path = tmp_path / "prices.json"
    path.write_text(text)
    with pytest.raises(InvalidPrices, match=rf"prices\.json.*{says}"):
        PriceBook.load(path)


@pytest.mark.parametrize("text", ["", "{", "[]", '{"m": {"input_cost_per_token": NaN}}', "\xff"])
def test_a_file_that_is_no_json_object_is_named(tmp_path: Path, text: str) -> None:
    path = tmp_path / "prices.json"
    path.write_bytes(text.encode("latin-1"))
    with pytest.raises(InvalidPrices, match=r"prices\.json"):
        PriceBook.load(path)


def test_a_missing_price_file_is_named(tmp_path: Path) -> None:
    with pytest.raises(InvalidPrices, match=r"absent\.json.*No such file"):
        PriceBook.load(tmp_path / "absent.json")


def test_an_entry_copied_from_litellms_table_is_accepted(load: Load) -> None:
    entry = {
        "litellm_provider": "openai",
        "mode": "chat",
        "supports_vision": True,
        "input_cost_per_token_batches": 1e-06,
    }
    book = load({"copy": CLAUDE | entry | {"max_tokens": 4_096}})
    assert book.max_output_tokens("copy") == 4_096


# --- against LiteLLM -------------------------------------------------------------------------------------------------


def test_costs_agree_with_litellms_calculator() -> None:
    """Every class, both sides of every kind of tier. Providers whose discounts depend on the hour are left out."""
    litellm, book = litellm_library(), PriceBook.load()
    models = {
        "gpt-4o": "openai",
        "o1": "openai",
        "gpt-5": "openai",
        "claude-sonnet-4-5": "anthropic",
        "claude-opus-4-5": "anthropic",
        "gemini/gemini-2.5-pro": "gemini",
        "gemini/gemini-2.5-flash": "gemini",
        "dashscope/qwen-flash": "dashscope",
        "mistral/mistral-large-latest": "mistral",
        "xai/grok-4.3": "xai",
    }
    for (model, provider), scale in product(models.items(), (1, 300)):
        fresh, read, hour, minutes, output, reasoning = 501 * scale, 303 * scale, 47 * scale, 31 * scale, 211, 57
        report = litellm.types.utils.Usage(
            prompt_tokens=fresh + read + hour + minutes,
            completion_tokens=output,
            total_tokens=fresh + read + hour + minutes + output,
            prompt_tokens_details={
                "cached_tokens": read,
                "cache_creation_tokens": hour + minutes,
                "text_tokens": fresh,
                "cache_creation_token_details": {
                    "ephemeral_5m_input_tokens": minutes,
                    "ephemeral_1h_input_tokens": hour,
                },
            },
            completion_tokens_details={"reasoning_tokens": reasoning, "text_tokens": output - reasoning},
            cache_creation_input_tokens=hour + minutes,
            cache_read_input_tokens=read,
        )
        dollars = sum(litellm.cost_per_token(model=model, custom_llm_provider=provider, usage_object=report))
        cost = book.price(model).cost(normalize(report.model_dump()))
        assert cost == pytest.approx(dollars * 1e9, rel=1e-9, abs=1), model
