"""The ways to models that the settings describe."""

from activities.call_metrics import CallMetrics, Decided, nobody
from activities.embedder import EmbeddingModel, LiteLLMEmbedder
from activities.provider import ModelProvider, Timeouts
from budget.postgres.connection import Pool
from budget.postgres.ledger import Ledger
from budget.postgres.policies import Policies
from budget.prices import PriceBook
from compose.settings import Settings
from compose.settings.ledger import ledger_settings
from context.redaction import Redactor, custom_detectors


def model_provider(settings: Settings, metrics: CallMetrics | None = None) -> ModelProvider:
    """The way to all models."""
    keys = {host: key.get_secret_value() for host, key in settings.provider_keys.items()}
    return ModelProvider(keys, Timeouts(total_s=settings.model_timeout_s), metrics=metrics)


def embedder(
    settings: Settings, pool: Pool, provider: ModelProvider, prices: PriceBook, decided: Decided = nobody
) -> LiteLLMEmbedder | None:
    """What makes vectors for memory; `None` where no model is configured."""
    if settings.embedding_model is None:
        return None
    model = EmbeddingModel(
        settings.embedding_model,
        settings.embedding_api_base,
        settings.embedding_dimensions,
        settings.embedding_timeout_s,
    )
    given, custom = ledger_settings(settings), custom_detectors(settings.redaction_patterns)
    return LiteLLMEmbedder(
        model,
        provider,
        Ledger(pool, given),
        Policies(pool, given),
        prices,
        # One for each text: a redactor is not for several threads at once.
        lambda text: Redactor(custom=custom).redact(text),
        decided,
    )
