"""A model that makes vectors for memory, each request under a hold of its own."""

import asyncio
import math
import uuid
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from activities.errors import Cost, ProviderError
from activities.provider import EmbeddingRequest, Embeddings, ModelProvider
from activities.shielding import finished
from budget.decisions import Amount
from budget.errors import BudgetError, LedgerUnavailable, UnknownPrice
from budget.holds import HoldRequest, HoldState, Report
from budget.postgres.ledger import Ledger
from budget.postgres.policies import Policies
from budget.prices import PriceBook
from budget.scopes import Path
from budget.usage import Usage
from context.retrieval import Vector
from context.tokens import count_text

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


@dataclass(frozen=True, slots=True)
class _Started:
    """An attempt that may go to the provider."""

    hold_id: str
    attempt: int
    tokens: int


class LiteLLMEmbedder:
    """The `Embedder` of memory: asks the configured model, where the budget lets it."""

    def __init__(
        self,
        model: EmbeddingModel,
        provider: ModelProvider,
        ledger: Ledger,
        policies: Policies,
        prices: PriceBook,
        redact: Redact,
    ) -> None:
        """Args:
        model: which makes the vectors.
        provider: the way to it.
        ledger: holds and settles.
        policies: tell whether a path limits money; what has no price is not asked there.
        prices: of the model.
        redact: applied to every text before it leaves.
        """
        self._model = model
        self._provider = provider
        self._ledger = ledger
        self._policies = policies
        self._prices = prices
        self._redact = redact

    @property
    def model(self) -> str:
        """Model and length of its vectors: another length is another model."""
        dimensions = self._model.dimensions
        return self._model.name if dimensions is None else f"{self._model.name}@{dimensions}"

    async def embed(self, tenant: str, path: Path, texts: Sequence[str]) -> Sequence[Vector] | None:
        """One vector per text, or `None`; see `Embedder`. A search waits for nobody and asks nobody for approval.

        No hold is left open, and what an attempt may have cost is charged.

        Raises:
            LedgerUnavailable: nothing was asked.
        """
        # Once a process: its seconds are not those of a request that is paid for.
        await self._provider.warm_up()
        redacted, tokens = await asyncio.to_thread(self._prepare, texts)
        # Whoever searches again asks again, and pays again.
        key = f"embed-{uuid.uuid4()}"
        try:
            started = await self._start(tenant, key, path, tokens)
            return await self._ask(tenant, started, redacted) if started else None
        except LedgerUnavailable:
            raise
        except BudgetError:
            await self._ledger.release(tenant, key=key)
            return None
        except asyncio.CancelledError:
            await finished(self._ledger.release(tenant, key=key))
            raise

    def _prepare(self, texts: Sequence[str]) -> tuple[list[str], int]:
        """What may leave, and its tokens."""
        redacted = [self._redact(text) for text in texts]
        return redacted, sum(count_text(text, self._model.name).tokens for text in redacted)

    async def _start(self, tenant: str, key: str, path: Path, tokens: int) -> _Started | None:
        """Holds and starts an attempt, if every scope has room for it."""
        nano_usd = await self._ceiling(tenant, path, tokens)
        if nano_usd is None:
            return None
        request = HoldRequest(key, path, Amount(tokens, nano_usd), model=self._model.name, patient=False)
        answer = await self._ledger.hold(tenant, request)
        if answer.hold_id is None or answer.state is not HoldState.HELD:
            return None
        attempt = await self._ledger.start_attempt(tenant, answer.hold_id)
        if not attempt.started:
            await self._ledger.release(tenant, hold_id=answer.hold_id)
            return None
        return _Started(answer.hold_id, attempt.attempt, tokens)

    async def _ask(self, tenant: str, started: _Started, texts: Sequence[str]) -> Sequence[Vector] | None:
        model, request_id = self._model, f"{started.hold_id}-{started.attempt}"
        request = EmbeddingRequest(model.name, texts, request_id, model.api_base, model.dimensions)
        try:
            async with asyncio.timeout(model.timeout_s):
                answer = await self._provider.embed(request)
        except (ProviderError, TimeoutError) as failure:
            nothing = isinstance(failure, ProviderError) and failure.cost is Cost.NOTHING
            await finished(self._failed(tenant, started, costs_nothing=nothing))
            return None
        await finished(self._settle(tenant, started, answer.usage or Usage(input=started.tokens)))
        return answer.vectors if _fit(answer, len(texts)) else None

    async def _failed(self, tenant: str, started: _Started, *, costs_nothing: bool) -> None:
        """Releasing presumes that the attempt cost what was held."""
        if costs_nothing:
            await self._settle(tenant, started, Usage())
        else:
            await self._ledger.release(tenant, hold_id=started.hold_id)

    async def _settle(self, tenant: str, started: _Started, usage: Usage) -> None:
        try:
            nano_usd = self._prices.price(self._model.name).cost(usage)
        except UnknownPrice:
            nano_usd = 0
        await self._ledger.settle(tenant, started.hold_id, started.attempt, Report(usage, nano_usd))

    async def _ceiling(self, tenant: str, path: Path, tokens: int) -> int | None:
        """Nano-dollars that the call can cost; `None` if nobody knows and a scope limits them."""
        try:
            return self._prices.price(self._model.name).ceiling(tokens, 0)
        except UnknownPrice:
            budgets = await self._policies.budgets_of(tenant, path.scopes, path.task_id() or None)
            return None if any(budget.policy.limit_nano_usd is not None for budget in budgets) else 0


def _fit(answer: Embeddings, texts: int) -> bool:
    """Whether there is a vector for every text, all of one length, of numbers."""
    lengths = {len(vector) for vector in answer.vectors}
    numbers = all(math.isfinite(value) for vector in answer.vectors for value in vector)
    return len(answer.vectors) == texts and len(lengths) == 1 and lengths != {0} and numbers
