"""Addresses of requests, for every provider of LiteLLM: the provider's own host or the allowed address."""

import json
import subprocess
import sys
from pathlib import Path
from urllib.parse import urlsplit

import pytest

from purser.activities.models.egress.routes import PROVIDERS
from tests.support.servers.provider_sweep import Asked

ROOT = Path(__file__).parents[4]

pytestmark = pytest.mark.proof


@pytest.fixture(scope="module")
def asked() -> list[Asked]:
    """Every request of the sweep and its effects."""
    run = [sys.executable, "-m", "tests.support.servers.provider_sweep"]
    found = subprocess.run(run, cwd=ROOT, capture_output=True, text=True, check=True)
    return [Asked(**each) for each in json.loads(found.stdout)]


def kind(asked: list[Asked], *kinds: str) -> list[Asked]:
    found = [each for each in asked if each.kind in kinds]
    assert len(found) > 150, "LiteLLM knows more than 150 providers"
    return found


def home_of(model: str) -> str | None:
    home = PROVIDERS.get(model.partition("/")[0] if "/" in model else "openai")
    return urlsplit(home.base).hostname if home else None


def test_a_model_name_that_holds_an_address_reaches_nothing(asked: list[Asked]) -> None:
    for each in kind(asked, "address"):
        assert (each.reason, each.contacts, each.requests) == ("bad_model_name", [], 0), each


def test_a_provider_is_reached_at_its_own_host_or_not_at_all(asked: list[Asked]) -> None:
    found = kind(asked, "home", "home embedding", "image")
    for each in found:
        assert set(each.contacts) <= {home_of(each.model)}, each
        assert each.requests == 0, each
    reached = {each.model.partition("/")[0] for each in found if each.kind == "home" and each.contacts}
    assert reached >= set(PROVIDERS), "all providers that are supported are asked"


def test_a_provider_that_is_not_supported_is_named_as_such(asked: list[Asked]) -> None:
    for each in kind(asked, "home"):
        if home_of(each.model) is None:
            assert each.reason == "provider_not_allowed", each


def test_an_allowed_address_gets_one_request_an_attempt_whatever_the_model_is_called(asked: list[Asked]) -> None:
    for each in kind(asked, "base", "base embedding"):
        assert (each.reason, each.contacts, each.requests) == ("server_error", [], 1), each


def test_an_allowed_address_gets_nothing_from_the_environment(asked: list[Asked]) -> None:
    assert not [each for each in kind(asked, "base", "base embedding") if each.leaked]
