"""The list of models: what has a price and a way, as clients of OpenAI and Anthropic read it."""

from pathlib import Path

import openai
import pytest

from purser.activities.models.egress.routes import open_providers
from purser.budget.errors import InvalidRequest
from purser.budget.pricing.price_book import PriceBook
from purser.gateway.access.roles import Role
from purser.gateway.proxy.models import Catalogue, KnownModel, page_of
from tests.gateway.proxy.conftest import Proxy

FIVE = [KnownModel(name, "openai") for name in "abcde"]


@pytest.fixture
def prices(tmp_path: Path) -> PriceBook:
    override = tmp_path / "own.json"
    override.write_text('{"our-llama": {"input_cost_per_token": 0, "output_cost_per_token": 0}}')
    return PriceBook.load(override)


def test_a_model_is_listed_if_it_has_a_price_and_its_provider_a_key(prices: PriceBook) -> None:
    listed = Catalogue(prices, frozenset({"groq"}), own_servers=False).all()
    assert {model.provider for model in listed} == {"groq"}
    assert len({model.name for model in listed}) == len(listed) > 3
    assert Catalogue(prices, frozenset(), own_servers=False).all() == []


def test_models_of_own_servers_are_listed_where_requests_may_name_one(prices: PriceBook) -> None:
    assert [model.name for model in Catalogue(prices, frozenset(), own_servers=True).all()] == ["our-llama"]


@pytest.mark.parametrize(
    ("name", "provider"),
    [("gpt-4o", "openai"), ("openai/gpt-4o", "openai"), ("groq/no-such", None), ("gpt-5-invented", None)],
)
def test_a_model_is_found_by_the_names_that_calls_use(prices: PriceBook, name: str, provider: str | None) -> None:
    found = Catalogue(prices, frozenset({"openai", "groq"}), own_servers=False).find(name)
    assert (found and found.provider) == provider


def test_open_providers_are_allowed_and_have_a_key(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GROQ_API_KEY", "from-the-environment")
    keys = {"api.openai.com": "from-the-settings"}
    assert {"groq", "openai"} <= open_providers(keys, None)
    assert "anthropic" not in open_providers(keys, ("openai", "anthropic"))
    assert "groq" not in open_providers(keys, ("openai",))


@pytest.mark.parametrize(
    ("limit", "after", "before", "names", "more"),
    [
        (2, None, None, "ab", True),
        (2, "b", None, "cd", True),
        (2, "d", None, "e", False),
        (2, None, "e", "cd", True),
        (5, None, "c", "ab", False),
        (5, "a", "d", "bc", False),
        (5, "e", None, "", False),
    ],
)
def test_a_page_says_whether_more_follows(
    limit: int, after: str | None, before: str | None, names: str, more: bool
) -> None:
    page = page_of(FIVE, limit, after, before)
    assert ["".join(model["id"] for model in page["data"]), page["has_more"]] == [names, more]
    assert (page["first_id"], page["last_id"]) == ((names[0], names[-1]) if names else (None, None))


def test_a_page_after_a_model_that_is_not_listed_is_an_error() -> None:
    with pytest.raises(InvalidRequest, match="'z' is not listed"):
        page_of(FIVE, 2, "z", None)


async def test_clients_list_and_show_models(proxy: Proxy, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GROQ_API_KEY", "not-a-key")
    client = await proxy.openai()
    listed = [model async for model in client.models.list()]
    name = next(model.id for model in listed if model.id.startswith("groq/"))
    assert (await client.models.retrieve(name)).owned_by == "groq"
    with pytest.raises(openai.NotFoundError, match="no price") as unknown:
        await client.models.retrieve("openai/gpt-invented")
    assert unknown.value.code == "model_not_found"
    with pytest.raises(openai.PermissionDeniedError):
        await (await proxy.openai(Role.VIEWER)).models.list()


async def test_clients_of_anthropic_page_through_models(proxy: Proxy, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GROQ_API_KEY", "not-a-key")
    http = await proxy.gateway.client(Role.AGENT)
    first = (await http.get("/anthropic/v1/models", params={"limit": 1})).json()
    second = (await http.get("/anthropic/v1/models", params={"limit": 1, "after_id": first["last_id"]})).json()
    assert (first["has_more"], second["data"][0]["type"]) == (True, "model")
    assert second["first_id"] > first["last_id"]
    shown = (await http.get(f"/anthropic/v1/models/{first['last_id']}")).json()
    assert shown == first["data"][0]
    missing = await http.get("/anthropic/v1/models/none")
    assert (missing.status_code, missing.json()["error"]["type"]) == (404, "not_found_error")
