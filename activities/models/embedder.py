"""A model that makes vectors for memory, each request under a hold of its own."""

import asyncio
import math
import uuid
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from purser.activities.calls.uncancelled import finished
from purser.activities.errors import Cost, ProviderError
from purser.activities.models.metrics import Decided, nobody
from purser.activities.models.provider import EmbeddingRequest, Embeddings, ModelProvider
from purser.activities.models.side_calls import SideCalls, Started
from purser.budget.postgres.ledger.ledger import Ledger
from purser.budget.pricing.prices import PriceBook
from purser.budget.pricing.quotes import Unpriced, uncounted
from purser.budget.scopes import Path
from purser.budget.usage import Usage
from purser.context.retrieval import Vector
from purser.context.tokens import count_text

Redact = Callable[[str], str]


@dataclass(frozen=True, slots=True)
class EmbeddingModel:
    """Which model makes vectors."""

    name: str
    """As LiteLLM names it."""
    api_base: str | None = None
    """Its address; `None`: its provider's own."""
    dimensions: int | None = None
    """Length of a vector; `None`: the model's own."""
    timeout_s: float = 5
    """For an answer: a search waits no longer, and goes on by words."""


class LiteLLMEmbedder:
    """The `Embedder` of memory: asks the configured model, where the budget lets it."""

    def __init__(
        self,
        model: EmbeddingModel,
        provider: ModelProvider,
        ledger: Ledger,
        prices: PriceBook,
        redact: Redact,
        decided: Decided = nobody,
        unpriced: Callable[[Unpriced], None] = uncounted,
    ) -> None:
        """Args:
        model: which makes the vectors.
        provider: the way to it.
        ledger, prices: of its holds, as `SideCalls` takes them.
        redact: applied to every text before it leaves.
        decided: told of every verdict on its holds.
        unpriced: called for each charge without a price.
        """
        self._model = model
        self._provider = provider
        self._calls = SideCalls(model.name, ledger, prices, decided, unpriced)
        self._redact = redact

    @property
    def model(self) -> str:
        """Model and length of its vectors: another length is another model."""
        dimensions = self._model.dimensions
        return self._model.name if dimensions is None else f"{self._model.name}@{dimensions}"

    async def embed(self, tenant: str, path: Path, texts: Sequence[str]) -> Sequence[Vector] | None:
        """One vector per text, or `None`; see `Embedder`.

        No hold is left open, and what an attempt may have cost is charged.

        Raises:
            LedgerUnavailable: nothing was asked.
        """
        # Once a process: its seconds are not those of a request that is paid for.
        await self._provider.warm_up()
        redacted, tokens = await asyncio.to_thread(self._prepare, texts)
        # Whoever searches again asks again, and pays again.
        key = f"embed-{uuid.uuid4()}"

        async def story() -> Sequence[Vector] | None:
            started = await self._calls.start(tenant, key, path, tokens)
            return await self._ask(tenant, started, redacted) if started else None

        return await self._calls.closed(tenant, key, story(), otherwise=None)

    def _prepare(self, texts: Sequence[str]) -> tuple[list[str], int]:
        """What may leave, and its tokens."""
        redacted = [self._redact(text) for text in texts]
        return redacted, sum(count_text(text, self._model.name).tokens for text in redacted)

    async def _ask(self, tenant: str, started: Started, texts: Sequence[str]) -> Sequence[Vector] | None:
        model = self._model
        request = EmbeddingRequest(model.name, texts, started.request_id, model.api_base, model.dimensions)
        try:
            async with asyncio.timeout(model.timeout_s):
                answer = await self._provider.embed(request)
        except (ProviderError, TimeoutError) as failure:
            cost = failure.cost if isinstance(failure, ProviderError) else Cost.UNKNOWN
            await finished(self._calls.give_up(tenant, started, cost))
            return None
        report = self._calls.report(started, answer.usage or Usage(input=started.input_tokens))
        await finished(self._calls.charge(tenant, started, report))
        return answer.vectors if _fit(answer, len(texts)) else None


def _fit(answer: Embeddings, texts: int) -> bool:
    """Whether there is a vector for every text, all of one length, of numbers."""
    lengths = {len(vector) for vector in answer.vectors}
    numbers = all(math.isfinite(value) for vector in answer.vectors for value in vector)
    return len(answer.vectors) == texts and len(lengths) == 1 and lengths != {0} and numbers
