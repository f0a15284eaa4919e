"""Tokenizers: vocabulary and margin by model name."""

import pytest
import tiktoken.model

from purser.context.tokens import tokenizer_of


@pytest.mark.parametrize(
    ("models", "encoding"),
    [
        (
            "gpt-4o gpt-4o-mini chatgpt-4o-latest gpt-4.1 gpt-4.5-preview gpt-5 gpt-5-mini gpt-5.4 gpt-6 gpt-oss-120b",
            "o200k_base",
        ),
        ("o1 o3 o3-mini o4-mini openai/o1-pro azure/gpt-4o ft:gpt-4o-mini-2024-07-18:acme::1", "o200k_base"),
        (
            "gpt-4 gpt-4-turbo gpt-3.5-turbo azure/gpt-35-turbo ft:gpt-3.5-turbo:acme text-embedding-3-small",
            "cl100k_base",
        ),
        (
            "claude-3-5-sonnet-20241022 anthropic/claude-sonnet-4-5 claude-opus-4-20250514 claude-opus-4-6",
            "cl100k_base+30%",
        ),
        (
            "claude-2.1 claude-instant-v1 vertex_ai/claude-sonnet-4@20250514 us.anthropic.claude-haiku-4-5-v1:0",
            "cl100k_base+30%",
        ),
        (
            "claude-opus-4-7 claude-sonnet-5 anthropic/claude-haiku-5-5 openrouter/anthropic/claude-opus-4.8",
            "cl100k_base+60%",
        ),
        ("claude-of-tomorrow", "cl100k_base+60%"),
        ("gemini/gemini-2.5-pro vertex_ai/gemini-3-flash gemma-3-27b-it", "o200k_base+15%"),
        ("mistral-large llama-3.1-70b deepseek/deepseek-chat my-own-model GPT-NONE", "cl100k_base+25%"),
    ],
)
def test_families_are_recognized_by_name_whatever_the_provider(models: str, encoding: str) -> None:
    assert {model: tokenizer_of(model).encoding for model in models.split()} == dict.fromkeys(models.split(), encoding)


def test_names_are_not_case_sensitive() -> None:
    assert tokenizer_of("OpenAI/GPT-4o") == tokenizer_of("gpt-4o")


def test_every_model_that_tiktoken_knows_has_its_vocabulary() -> None:
    known = {**tiktoken.model.MODEL_TO_ENCODING, **tiktoken.model.MODEL_PREFIX_TO_ENCODING}
    ours = {"o200k_base": "o200k_base", "o200k_harmony": "o200k_base", "cl100k_base": "cl100k_base"}
    differing = {
        name
        for name, vocabulary in known.items()
        if ours.get(vocabulary, tokenizer_of(name).vocabulary) != tokenizer_of(name).vocabulary
    }
    assert differing == set()


@pytest.mark.parametrize(
    ("models", "key"),
    [
        ("gpt-4o gpt-4.1 gpt-4.5-preview", "o200k_base"),
        ("gpt-4o-mini openai/gpt-4o-mini-2024-07-18", "o200k_base, tiles 2833+5667"),
        ("gpt-4.1-mini gpt-5-mini", "o200k_base, patches 32px 1536x162%"),
        ("gpt-5", "o200k_base, tiles 70+140"),
        ("o3", "o200k_base, tiles 75+150"),
        ("gpt-5.4 gpt-oss-120b", "o200k_base, patches 32px 12000x120%"),
        ("gpt-4-turbo text-embedding-3-small", "cl100k_base"),
        (
            "claude-3-5-sonnet-20241022 claude-opus-4-20250514 claude-opus-4-6",
            "cl100k_base+30%, patches 28px 1600x100%",
        ),
        ("claude-opus-4-7 claude-opus-4.10 claude-sonnet-5", "cl100k_base+60%, patches 28px 4800x100%"),
        ("gemini/gemini-2.5-pro", "o200k_base+15%, tiles 1120+0"),
        ("mistral-large", "cl100k_base+25%"),
    ],
)
def test_the_key_that_is_stored_with_a_count_names_vocabulary_margin_and_image_costs(models: str, key: str) -> None:
    assert {model: tokenizer_of(model).key for model in models.split()} == dict.fromkeys(models.split(), key)


def test_a_margin_is_rounded_up_and_leaves_nothing_at_nothing() -> None:
    claude = tokenizer_of("claude-sonnet-4-5")
    assert [claude.with_margin(tokens) for tokens in (0, 1, 10, 100)] == [0, 2, 13, 130]
