"""The embedder with a real ledger and a real provider over HTTP, and memory that uses it."""

import asyncio
from collections.abc import AsyncIterator, Awaitable
from typing import Any
from urllib.parse import urlsplit

import pytest

from purser.activities.calls.side_calls import SideCalls
from purser.activities.models.embedder import EmbeddingModel, LiteLLMEmbedder
from purser.activities.models.embedding_requests import EmbeddingRequest
from purser.activities.models.provider import ModelProvider
from purser.activities.pacing.limits import Pacing
from purser.activities.pacing.pace import Pace
from purser.activities.pacing.pacer import Pacer
from purser.activities.postgres.calls.pacing import PacingStore
from purser.budget.postgres.connections.pools import Connection, Pool
from purser.budget.pricing.call_prices import Unpriced
from purser.budget.pricing.price_book import PriceBook
from purser.budget.scopes import Path
from purser.budget.usage import Usage
from purser.compose.demo.provider import Fault, FaultKind, Provider, serve_provider
from purser.compose.demo.provider.embeddings import DIMENSIONS, embedding
from purser.context.compression.requests import unchanged
from purser.context.postgres.conversation.conversations import Conversations
from purser.context.postgres.memory.memory import Memory
from purser.context.retrieval import Embedder, Outcome, Via
from purser.context.tokens import count_text
from tests.support.budgets.prices import per_million
from tests.support.context.conversations import assistant, user
from tests.support.ledger import Books, meet, no_attempts

# LiteLLM and its types warn of themselves at import and at first use.
pytestmark = pytest.mark.filterwarnings("ignore")

TENANT, SESSION = "acme", "session:s1"
PATH = Path.parse([SESSION])
CHEAP, FREE = PriceBook({}, {}, per_million("1", "0")), PriceBook({}, {}, None)
TEXTS = ["red bicycle", "蜜蜂在冬天睡觉"]


@pytest.fixture
async def provider() -> AsyncIterator[Provider]:
    """A model provider on loopback that records its requests."""
    async with serve_provider(keep_text=True) as provider:
        yield provider


@pytest.fixture
async def books(pool: Pool) -> AsyncIterator[Books]:
    """A ledger; the audit is clean and no hold is open when the test ends."""
    books = Books.on(pool)
    yield books
    await books.check()
    assert await pool.fetchval("select count(*) from holds where state = 'held'") == 0


def embedder(
    books: Books, provider: Provider, *, prices: PriceBook = CHEAP, redact: Any = unchanged, **model: Any
) -> LiteLLMEmbedder:
    """An embedder of the shipped provider."""
    about = EmbeddingModel(**{"name": "openai/hashing", "api_base": provider.api_base, "timeout_s": 20, **model})
    return LiteLLMEmbedder(about, ModelProvider({}), books.ledger, prices, redact)


async def test_every_text_gets_its_vector(books: Books, provider: Provider) -> None:
    maker: Embedder = embedder(books, provider)
    vectors = await maker.embed(TENANT, PATH, TEXTS)
    assert vectors is not None
    assert [list(vector) for vector in vectors] == [pytest.approx(embedding(text)) for text in TEXTS]


async def test_what_the_provider_reports_is_charged_under_a_hold_of_its_own(books: Books, provider: Provider) -> None:
    await embedder(books, provider).embed(TENANT, PATH, TEXTS)
    (served,) = provider.served()
    assert await books.balance() == {"spent": served.charged_tokens}
    assert await books.money() == {"spent": served.charged_tokens * 1_000}
    hold = await books.pool.fetchrow("select hold_id, key from holds")
    assert hold is not None
    assert served.arrival.request_id == f"{hold['hold_id']}-1"


async def test_each_request_is_paid_for(books: Books, provider: Provider) -> None:
    for _ in range(2):
        await embedder(books, provider).embed(TENANT, PATH, TEXTS)
    assert await books.balance() == {"spent": 2 * provider.served()[0].charged_tokens}


async def test_without_room_in_the_budget_nothing_is_sent(books: Books, provider: Provider) -> None:
    await books.budget(SESSION, limit_tokens=1, mode="hard")
    assert await embedder(books, provider).embed(TENANT, PATH, TEXTS) is None
    assert provider.served() == ()


async def test_a_model_without_a_price_is_not_asked_where_money_is_limited(books: Books, provider: Provider) -> None:
    maker = embedder(books, provider, prices=FREE)
    assert await maker.embed(TENANT, PATH, TEXTS) is not None
    await books.budget(SESSION, limit_nano_usd=10**9)
    assert await maker.embed(TENANT, PATH, TEXTS) is None
    assert len(provider.served()) == 1


async def test_a_request_whose_price_is_gone_is_charged_what_was_held_for_it(books: Books) -> None:
    prices, outcomes = PriceBook({}, {}, per_million("1", "0")), list[Unpriced]()
    calls = SideCalls("m", books.ledger, prices, on_unpriced=outcomes.append)
    call = await calls.hold(TENANT, "k", PATH, 100)
    assert call is not None
    await call.start(asyncio.sleep(0))
    gone = SideCalls("m", books.ledger, FREE, on_unpriced=outcomes.append).attempts
    await gone.settle(call.started, gone.report(call.started, Usage(input=60)))
    assert (await books.balance(), await books.money(), outcomes) == (
        {"spent": 60},
        {"spent": 100_000},
        [Unpriced.ESTIMATED],
    )


async def test_text_is_redacted_before_it_leaves(books: Books, provider: Provider) -> None:
    await embedder(books, provider, redact=lambda text: text.replace("red", "[X]")).embed(TENANT, PATH, TEXTS)
    sent = provider.served()[0].arrival.text
    assert sent is not None
    assert "[X] bicycle" in sent
    assert "red bicycle" not in sent


@pytest.mark.parametrize(
    ("kind", "timeout_s"),
    [(FaultKind.RATE_LIMITED, 60), (FaultKind.SERVER_ERROR, 60), (FaultKind.DROP, 60), (FaultKind.HANG, 3)],
)
async def test_a_provider_that_fails_gives_no_vectors_and_leaves_no_hold(
    books: Books, provider: Provider, kind: FaultKind, timeout_s: float
) -> None:
    provider.control.add_fault(Fault(kind=kind))
    assert await embedder(books, provider, timeout_s=timeout_s).embed(TENANT, PATH, TEXTS) is None
    presumed = sum(count_text(text, "openai/hashing").tokens for text in TEXTS)
    assert await books.balance() == ({} if kind is FaultKind.RATE_LIMITED else {"spent": presumed})
    assert len(provider.served()) == 1


async def test_a_request_that_would_wait_too_long_for_its_pace_is_not_sent_and_costs_nothing(
    books: Books, provider: Provider
) -> None:
    pacing = Pacing({f"{urlsplit(provider.api_base).netloc}/hashing": Pace(rpm=7)}, CHEAP)
    models = ModelProvider({}, pacer=Pacer(PacingStore(books.pool), pacing))
    about = EmbeddingModel("openai/hashing", provider.api_base, timeout_s=3)
    maker = LiteLLMEmbedder(about, models, books.ledger, CHEAP, unchanged)
    await models.warm_up()
    await models.keep_pace(EmbeddingRequest("openai/hashing", TEXTS, "", provider.api_base))
    assert await maker.embed(TENANT, PATH, TEXTS) is None
    assert (await books.balance(), provider.served()) == ({}, ())


@pytest.mark.parametrize("cancelled", [False, True], ids=["timed out", "cancelled"])
async def test_a_request_that_ends_while_the_ledger_starts_its_attempt_is_not_sent_and_costs_nothing(
    books: Books, provider: Provider, cancelled: bool
) -> None:
    timeout_s = 3
    maker = embedder(books, provider, timeout_s=timeout_s)
    asked = list[asyncio.Task[Any]]()

    def embed() -> Awaitable[Any]:
        asked.append(asyncio.create_task(maker.embed(TENANT, PATH, TEXTS)))
        return asyncio.wait(asked)

    async def end(_: Connection) -> None:
        if cancelled:
            asked[0].cancel()
        else:
            await asyncio.sleep(timeout_s)

    await meet(books.pool, no_attempts, embed, end)
    assert asked[0].cancelled() if cancelled else asked[0].result() is None
    assert (await books.balance(), provider.served()) == ({}, ())


async def test_a_cancelled_request_leaves_no_hold(books: Books, provider: Provider) -> None:
    provider.control.hold()
    task = asyncio.create_task(embedder(books, provider).embed(TENANT, PATH, TEXTS))
    await provider.control.wait_held()
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task


async def test_another_length_is_another_model(books: Books, provider: Provider) -> None:
    short = embedder(books, provider, name="openai/text-embedding-3-small", dimensions=32)
    vectors = await short.embed(TENANT, PATH, TEXTS)
    assert vectors is not None
    assert {len(vector) for vector in vectors} == {32}
    assert short.model != embedder(books, provider, name="openai/text-embedding-3-small").model


async def test_memory_finds_by_vectors_and_goes_on_by_words_when_the_provider_is_down(
    books: Books, provider: Provider
) -> None:
    outcomes: list[Outcome] = []
    memory = Memory(books.pool, embedder(books, provider), outcomes.append)
    said = [user("The velociped stands in the yard."), *[assistant("Fine weather.")] * 20, user("A bicycle.")]
    await Conversations(books.pool).append(TENANT, "s1", said, origin="o")
    found = (await memory.search(TENANT, "s1", "velocipede", limit=1)).found
    assert [(one.seq, one.via) for one in found] == [(1, Via.VECTOR)]
    dimensions = await books.pool.fetchval("select distinct vector_dims(embedding) from memory_vectors")
    assert dimensions == DIMENSIONS
    provider.control.add_fault(Fault(kind=FaultKind.UNAVAILABLE))
    assert [one.seq for one in (await memory.search(TENANT, "s1", "bicycle", limit=1)).found] == [22]
    assert outcomes == [Outcome.FUSED, Outcome.NO_VECTORS]
