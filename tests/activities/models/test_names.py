"""Names of models contain no address."""

import pytest

from purser.activities.errors import InvalidTask
from purser.activities.models.names import check_model_name
from purser.activities.tasks.file import TaskFile
from purser.compose.errors import SettingsError
from purser.compose.settings import load_settings


@pytest.mark.parametrize(
    "name",
    [
        "gpt-4o-mini",
        "openai/gpt-4o-mini",
        "ft:gpt-4o-mini:my-org:custom:id",
        "meta-llama/Llama-3.1-8B-Instruct",
        "openrouter/google/gemma-2-9b-it:free",
        "bedrock/us.anthropic.claude-3-5-sonnet@20240620-v1:0",
    ],
)
def test_names_of_models_are_taken(name: str) -> None:
    assert check_model_name(name) == name


ADDRESSES = [
    "oobabooga/http://127.0.0.1:39300/internal-admin",
    "oobabooga/HTTP://internal",
    "https:internal",
    "http://internal",
    "gemini/../../v1/files",
    "gemini/x?key=1",
    "gemini/x#y",
    "gemini/%2e%2e",
    "gemini//internal",
    "gemini\\..\\x",
    "openai/",
    "gpt-4o\u2028",
]


@pytest.mark.parametrize("name", ADDRESSES)
def test_a_name_that_holds_an_address_or_part_of_one_is_refused_with_its_place(name: str) -> None:
    agent = {"id": "a", "model": name, "instructions": "Be brief."}
    with pytest.raises(InvalidTask, match=r"\$\.agents\[0\]\.model"):
        TaskFile.parse({"session_id": "s", "task_id": "t", "input": "Hello.", "agents": [agent]}, ())


@pytest.mark.parametrize("setting", ["summarizer", "embedding_model"])
def test_the_models_of_settings_hold_no_address_either(setting: str) -> None:
    with pytest.raises(SettingsError, match=setting):
        load_settings(**{setting: "oobabooga/http://127.0.0.1:39300/internal-admin"})


def test_only_supported_providers_can_be_allowed() -> None:
    assert load_settings(allowed_providers="openai, anthropic").allowed_providers == ("openai", "anthropic")
    with pytest.raises(SettingsError, match=r"PURSER_ALLOWED_PROVIDERS.*'oobabooga' is not supported"):
        load_settings(allowed_providers="openai,oobabooga")
