"""One request for vectors through the proxy."""

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from purser.activities.calls.uncancelled import uncancelled
from purser.activities.errors import ProviderError
from purser.activities.models.embedding_requests import EmbeddingRequest, Embeddings
from purser.budget.errors import BudgetError
from purser.budget.usage import Usage
from purser.context.tokens import count_async
from purser.gateway.access.roles import Principal
from purser.gateway.proxy.callers import CallTerms
from purser.gateway.proxy.held_call import Charged, HeldCall
from purser.gateway.proxy.verdicts import NotAdmitted
from purser.gateway.services import Services


@dataclass(frozen=True, slots=True)
class VectorsRequest:
    """The texts for which a client wants vectors."""

    model: str
    texts: Sequence[str]
    dimensions: int | None = None


class EmbeddingCall:
    """A request for vectors under the gate."""

    def __init__(self, use: Services, caller: Principal, terms: CallTerms, asked: VectorsRequest) -> None:
        self.held = HeldCall(use, caller, terms, asked.model)
        self._use = use
        self._caller = caller
        self._terms = terms
        self._asked = asked
        self._tokens = 0
        self.cap = 0
        """Vectors have no output tokens."""
        self.headers: Mapping[str, str] = {}

    async def admit(self) -> None:
        """Counts the texts and holds their tokens; see `HeldCall.admit`."""
        messages = [{"role": "user", "content": text} for text in self._asked.texts]
        counted = await count_async(
            messages,
            (),
            self._asked.model,
            in_thread=lambda work: self._use.counting.in_thread(self._caller.key_id, work),
        )
        self._tokens = counted.tokens
        usage = Usage(input=self._tokens)
        await self.held.admit(usage, usage)

    async def run(self) -> tuple[Embeddings, Charged]:
        """Sends the request and charges it.

        Cancelling it once its attempt has started charges its estimate, because the provider may have worked.

        Raises:
            ProviderError: the provider did not answer; what it may have cost is charged.
        """
        asked, held, provider = self._asked, self.held, self._use.provider
        request = EmbeddingRequest(
            asked.model, asked.texts, held.hold_id, self._terms.api_base, asked.dimensions, self._tokens
        )
        async with held.leased():
            try:
                await held.outlast_delay()
                found = await provider.embed(request, lambda: held.start(0, lambda: provider.keep_pace(request)))
            except ProviderError as failure:
                await uncancelled(held.failed(failure, None))
                raise
            except (asyncio.CancelledError, BudgetError, NotAdmitted):
                await uncancelled(held.give_up())
                raise
            return found, await uncancelled(held.charge(found.usage or Usage(input=self._tokens, estimated=True)))
