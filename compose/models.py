"""Model provider and embedder, built from the settings."""

from purser.activities.models.egress.transport import Bounds
from purser.activities.models.embedder import EmbeddingModel, LiteLLMEmbedder
from purser.activities.models.metrics import CallMetrics
from purser.activities.models.provider import ModelProvider, Timeouts
from purser.activities.pacing.limits import Pacing
from purser.activities.pacing.pacer import Pacer
from purser.activities.postgres.calls.pacing import PacingStore
from purser.budget.postgres.connections.pools import Pool
from purser.budget.postgres.ledger.ledger import Ledger
from purser.budget.pricing.price_book import PriceBook
from purser.compose.settings import Settings
from purser.context.redaction import Redactor, custom_detectors


def model_provider(settings: Settings, metrics: CallMetrics | None = None, pacer: Pacer | None = None) -> ModelProvider:
    """The provider that all model calls go through."""
    keys = {host: key.get_secret_value() for host, key in settings.provider_keys.items()}
    bounds = Bounds(
        error_bytes=settings.provider_error_bytes,
        line_bytes=settings.provider_line_bytes,
        bytes_per_token=settings.provider_bytes_per_token,
        reply_ceiling=settings.provider_reply_bytes,
        retry_after_ms=settings.max_retry_after_s * 1_000,
    )
    return ModelProvider(
        keys,
        Timeouts(total_s=settings.model_timeout_s),
        metrics,
        allowed=settings.allowed_providers or None,
        bounds=bounds,
        proxy=None if settings.provider_proxy is None else settings.provider_proxy.get_secret_value(),
        pacer=pacer,
    )


def pacer_of(settings: Settings, pool: Pool, prices: PriceBook) -> Pacer | None:
    """Keeps the pace of requests; `None` if no provider is limited."""
    limits = settings.provider_pacing
    return Pacer(PacingStore(pool), Pacing(limits, prices)) if limits else None


def embedder(
    settings: Settings, ledger: Ledger, provider: ModelProvider, prices: PriceBook, calls: CallMetrics
) -> LiteLLMEmbedder | None:
    """The embedder for memory; `None` if no embedding model is configured."""
    if settings.embedding_model is None:
        return None
    model = EmbeddingModel(
        settings.embedding_model,
        settings.embedding_api_base,
        settings.embedding_dimensions,
        settings.embedding_timeout_s,
    )
    custom = custom_detectors(settings.redaction_patterns)
    return LiteLLMEmbedder(
        model,
        provider,
        ledger,
        prices,
        # One redactor for each text: a redactor is not thread-safe.
        lambda text: Redactor(custom=custom).redact(text),
        calls.count_verdict,
        calls.unpriced,
    )
