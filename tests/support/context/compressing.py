"""A harness for compressions: a session, the activity, a real ledger and a real provider over HTTP."""

import uuid
from dataclasses import dataclass, field, replace
from typing import Any

from purser.activities.compress_context import CompressContext, CompressionTarget
from purser.activities.compression.summarizer import Summarizer
from purser.activities.models.provider import ModelProvider
from purser.activities.runtime.metrics import Metrics
from purser.budget.postgres.connections.pools import Pool
from purser.budget.pricing.price_book import PriceBook
from purser.budget.scopes import Path
from purser.compose.demo.provider import Provider, Reply, Rule
from purser.context.conversation.messages import Message
from purser.context.postgres.conversation.conversations import END, Conversations
from purser.context.postgres.conversation.placeholders import Placeholders
from purser.context.postgres.conversation.summaries import Summaries
from purser.context.settings import ContextSettings
from purser.context.windows import plan_window, render
from purser.context.windows.plans import TextRef
from purser.workflows.contract import CompressInput
from tests.support.budgets.prices import per_million
from tests.support.context.conversations import user
from tests.support.ledger import Books

TENANT, SESSION, AGENT = "acme", "session:s1", "agent:t1/a1"
MODEL = "gpt-4o"
PATH = Path.parse([SESSION, "task:t1", AGENT])
NO_PRICES = PriceBook({}, {}, None)
CHEAP = PriceBook({}, {}, per_million("1", "2"))
SUMMARY = "The user asked for these orders to be noted. We never ship by air.\n" + "\n".join(
    f"WriteRequest {1000 + index} goes to Haven {index} on May {1 + index % 28}, file F-{index + 1}."
    for index in range(4, 60, 2)
)


@dataclass
class CompressionHarness:
    """A session and everything that compresses it."""

    pool: Pool
    books: Books
    provider: Provider
    conversations: Conversations
    summaries: Summaries
    metrics: Metrics = field(default_factory=Metrics)

    @classmethod
    def on(cls, pool: Pool, provider: Provider) -> "CompressionHarness":
        """Creates a harness on a database."""
        return cls(pool, Books.on(pool), provider, Conversations(pool), Summaries(pool))

    async def say(self, *messages: Message, thread: str = "", session_id: str = "s1") -> list[int]:
        """Appends to a session."""
        origin = str(uuid.uuid4())
        return await self.conversations.append(TENANT, session_id, messages, origin=origin, thread=thread)

    def activity(
        self,
        *,
        model: bool = False,
        prices: PriceBook = CHEAP,
        timeout_s: float = 20,
        settings: ContextSettings | None = None,
        window: int = 128_000,
        cooldown_s: int = 600,
        upto: int = END,
    ) -> CompressContext:
        """The activity, with or without a model."""

        async def resolve_target(_: CompressInput) -> CompressionTarget:
            return CompressionTarget(PATH, MODEL, settings or ContextSettings(), 73_142, upto)

        books = self.books
        summarizer = Summarizer(
            "openai/writer",
            ModelProvider({}),
            books.ledger,
            prices,
            api_base=self.provider.api_base,
            timeout_s=timeout_s,
            window=window,
        )

        def choose(name: str) -> Summarizer | None:
            return summarizer if model and name != "extractive" else None

        placeholders = Placeholders(self.pool)
        return CompressContext(self.pool, resolve_target, choose, placeholders, self.metrics, cooldown_s=cooldown_s)

    def counter(self, metric: str) -> dict[str, float]:
        """Values of a counter of the worker by its labels."""
        samples = [sample for family in self.metrics.registry.collect() for sample in family.samples]
        return {
            "/".join(sample.labels.values()): sample.value
            for sample in samples
            if sample.name == f"purser_{metric}_total"
        }

    def answer(self, text: str, **rule: Any) -> None:
        """Sets the model's reply from now on."""
        self.provider.control.add_rule(Rule(reply=Reply(content=text), **rule))

    async def prompt(self, thread: str = "t1/a1") -> list[dict[str, Any]]:
        """The next prompt of an agent."""
        session = await self.conversations.conversation(TENANT, "s1", model=MODEL)
        own = await self.conversations.conversation(TENANT, "s1", thread, model=MODEL)
        [seq] = await self.say(user("and now?"))
        plan = plan_window(
            ContextSettings(),
            budget=73_142,
            system_tokens=10,
            session=session,
            question=TextRef(seq, 10),
            own=own,
        )
        stored = await self.conversations.read(TENANT, "s1", plan.seqs)
        return render(plan, stored, await self.summaries.texts(TENANT, "s1", plan.versions), "be brief", count=len)

    async def versions(self) -> list[dict[str, Any]]:
        """All rows of the table of summaries."""
        return [dict(row) for row in await self.pool.fetch("select * from summaries order by thread, version")]

    async def open_holds(self) -> int:
        """Number of open holds."""
        return int(await self.pool.fetchval("select count(*) from holds where state = 'held'"))

    async def attempts(self) -> list[tuple[int, str]]:
        """Every attempt and its state."""
        rows = await self.pool.fetch("select attempt, state from attempts order by hold_id, attempt")
        return [(row["attempt"], row["state"]) for row in rows]

    async def claims(self) -> int:
        """Number of claimed compressions."""
        return int(await self.pool.fetchval("select count(*) from compressions"))


def request(key: str = "k1", thread: str = "", **more: Any) -> CompressInput:
    """A compression on behalf of an agent."""
    return replace(CompressInput(TENANT, "s1", key, thread, "t1", "a1"), **more)
