"""An embedding model for memory; each request has its own hold."""

import asyncio
import math
import uuid
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from purser.activities.calls.attempts import NotStarted
from purser.activities.calls.side_calls import SideCalls
from purser.activities.calls.uncancelled import uncancelled
from purser.activities.errors import ProviderError
from purser.activities.models.embedding_requests import EmbeddingRequest, Embeddings
from purser.activities.models.metrics import OnVerdict, ignore_verdict
from purser.activities.models.provider import ModelProvider
from purser.budget.postgres.ledger.ledger import Ledger
from purser.budget.pricing.call_prices import Unpriced, ignore_unpriced
from purser.budget.pricing.price_book import PriceBook
from purser.budget.scopes import Path
from purser.budget.usage import Usage
from purser.context.compression.requests import Redact
from purser.context.retrieval import Vector
from purser.context.tokens import count_text


@dataclass(frozen=True, slots=True)
class EmbeddingModel:
    """The embedding model and its parameters."""

    name: str
    """As LiteLLM names it."""
    api_base: str | None = None
    """Address of the model; `None`: its provider's own."""
    dimensions: int | None = None
    """Length of a vector; `None`: the model's own."""
    timeout_s: float = 5
    """Seconds for an answer; after that the search continues by words."""


class LiteLLMEmbedder:
    """The `Embedder` of memory: asks the configured model if the budget admits the request."""

    def __init__(
        self,
        model: EmbeddingModel,
        provider: ModelProvider,
        ledger: Ledger,
        prices: PriceBook,
        redact: Redact,
        on_verdict: OnVerdict = ignore_verdict,
        on_unpriced: Callable[[Unpriced], None] = ignore_unpriced,
    ) -> None:
        """Args:
        model: the embedding model.
        provider: sends the requests.
        ledger, prices: as in `SideCalls`.
        redact: applied to every text before it is sent.
        on_verdict: called with every verdict on a hold.
        on_unpriced: called for each charge without a price.
        """
        self._model = model
        self._provider = provider
        self._calls = SideCalls(model.name, ledger, prices, on_verdict, on_unpriced)
        self._redact = redact

    @property
    def model(self) -> str:
        """Name of the model with the length of its vectors, since another length is another model."""
        dimensions = self._model.dimensions
        return self._model.name if dimensions is None else f"{self._model.name}@{dimensions}"

    async def embed(self, tenant: str, path: Path, texts: Sequence[str]) -> Sequence[Vector] | None:
        """Returns one vector per text, or `None`; see `Embedder`.

        No hold remains open, and the possible cost of an attempt is charged.

        Raises:
            LedgerUnavailable: the model was not asked.
        """
        # Takes seconds once per process, which must not count against the timeout of a request.
        await self._provider.warm_up()
        redacted, tokens = await asyncio.to_thread(self._prepare, texts)
        # A repeated search asks again and pays again.
        key = f"embed-{uuid.uuid4()}"
        return await self._calls.closed(tenant, key, self._ask(tenant, key, path, redacted, tokens), otherwise=None)

    def _prepare(self, texts: Sequence[str]) -> tuple[list[str], int]:
        """Returns the redacted texts and their tokens."""
        redacted = [self._redact(text) for text in texts]
        return redacted, sum(count_text(text, self._model.name).tokens for text in redacted)

    async def _ask(
        self, tenant: str, key: str, path: Path, texts: Sequence[str], tokens: int
    ) -> Sequence[Vector] | None:
        model = self._model
        call = await self._calls.hold(tenant, key, path, tokens)
        if call is None:
            return None
        request = EmbeddingRequest(model.name, texts, call.hold_id, model.api_base, model.dimensions, tokens)
        try:
            async with asyncio.timeout(model.timeout_s):
                answer = await self._provider.embed(request, lambda: call.start(self._provider.keep_pace(request)))
        except (ProviderError, TimeoutError, NotStarted) as failure:
            await uncancelled(call.failed(failure))
            return None
        await uncancelled(call.settle(answer.usage or Usage(input=tokens)))
        return answer.vectors if _fit(answer, len(texts)) else None


def _fit(answer: Embeddings, texts: int) -> bool:
    """Whether there is a vector for every text, all of the same length, with finite numbers."""
    lengths = {len(vector) for vector in answer.vectors}
    numbers = all(math.isfinite(value) for vector in answer.vectors for value in vector)
    return len(answer.vectors) == texts and len(lengths) == 1 and lengths != {0} and numbers
