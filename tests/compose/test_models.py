"""Model provider and embedder, built from the settings."""

import pytest
from prometheus_client import CollectorRegistry

from purser.activities.models.egress.transport import Bounds
from purser.activities.models.embedder import LiteLLMEmbedder
from purser.activities.models.metrics import CallMetrics
from purser.budget.postgres.connections.pools import Pool
from purser.budget.postgres.ledger.ledger import Ledger
from purser.budget.pricing.price_book import PriceBook
from purser.budget.scopes import Path
from purser.compose.demo.provider import serve_provider
from purser.compose.models import embedder, model_provider
from purser.compose.settings import Settings
from purser.compose.settings.ledger import ledger_settings

# LiteLLM and its types warn of themselves at import and at first use.
pytestmark = pytest.mark.filterwarnings("ignore")


def made(settings: Settings, pool: Pool) -> LiteLLMEmbedder | None:
    ledger, calls = Ledger(pool, ledger_settings(settings)), CallMetrics(CollectorRegistry())
    return embedder(settings, ledger, model_provider(settings), PriceBook.load(), calls)


def test_only_the_providers_of_the_settings_are_asked(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("ANTHROPIC_API_KEY", "OPENAI_API_KEY"):
        monkeypatch.setenv(name, "key")
    assert model_provider(Settings(allowed_providers=("openai",))).providers() == {"openai"}
    assert model_provider(Settings()).providers() >= {"openai", "anthropic"}


def test_answers_of_providers_have_the_bounds_of_the_settings() -> None:
    settings = Settings(
        provider_error_bytes=4_096,
        provider_line_bytes=65_536,
        provider_bytes_per_token=64,
        provider_reply_bytes=2_097_152,
        max_retry_after_s=7,
    )
    bounds = Bounds(
        error_bytes=4_096, line_bytes=65_536, bytes_per_token=64, reply_ceiling=2_097_152, retry_after_ms=7_000
    )
    assert model_provider(settings)._bounds == bounds


async def test_without_an_embedding_model_memory_works_by_words(pool: Pool) -> None:
    settings = Settings()
    assert (
        embedder(
            settings,
            Ledger(pool, ledger_settings(settings)),
            model_provider(settings),
            PriceBook.load(),
            CallMetrics(CollectorRegistry()),
        )
        is None
    )


async def test_the_model_that_is_configured_gets_redacted_texts_and_the_key_of_its_host(pool: Pool) -> None:
    async with serve_provider(keep_text=True, key="sk-1") as provider:
        host = provider.address.removeprefix("http://")
        settings = Settings(
            embedding_model="openai/text-embedding-3-small",
            embedding_api_base=provider.api_base,
            embedding_dimensions=16,
            embedding_timeout_s=30,
            redaction_patterns={"EMPLOYEE": r"E\d{6}"},
            provider_keys={host: "sk-1"},
        )
        maker = embedder(
            settings,
            Ledger(pool, ledger_settings(settings)),
            model_provider(settings),
            PriceBook.load(),
            CallMetrics(CollectorRegistry()),
        )
        assert maker is not None
        assert maker.model == "openai/text-embedding-3-small@16"
        vectors = await maker.embed("acme", Path.parse(["session:s1"]), ["I am E123456, write to ann@example.com"])
        assert vectors is not None
        assert [len(vector) for vector in vectors] == [16]
        sent = provider.served()[0].arrival.text
        assert sent is not None
        assert "I am [EMPLOYEE_1], write to [EMAIL_1]" in sent
