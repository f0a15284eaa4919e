"""What a test of an adapter sees: a budget of its own, the requests to the gate, and the provider's own log."""

import asyncio
import gc
import uuid
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any, TypeVar

import httpx

from purser_client import AsyncPurser, BudgetBody

T = TypeVar("T")
MODEL = "gpt-4o"
WORDS = " ".join(["hello"] * 40)
"""A reply of as many tokens as words."""


def words(text: str) -> int:
    """Counts as the tokenizer of the provider does, for texts such as these."""
    return len(text.split())


@dataclass
class Door:
    """A session with a budget, in front of a provider on loopback."""

    purser: AsyncPurser
    provider: httpx.AsyncClient
    session: str = field(default_factory=lambda: f"session:{uuid.uuid4()}")
    sent: list[str] = field(default_factory=list)
    """Paths of the requests to the gate of the client that the adapter uses."""
    _served_before: int = 0

    @property
    def path(self) -> list[str]:
        """The path of the calls."""
        return [self.session]

    @property
    def proxied(self) -> int:
        """How many requests were sent to the proxy."""
        return sum(path.startswith(("/openai/", "/anthropic/")) for path in self.sent)

    @property
    def asks(self) -> int:
        """How many holds were asked for."""
        return self.sent.count("/v1/holds")

    @property
    def api_base(self) -> str:
        """The address for clients of the provider."""
        return f"{str(self.provider.base_url).rstrip('/')}/v1"

    async def note(self, request: Any) -> None:
        """Notes a request to the gate: a hook of the HTTP client that is tested."""
        self.sent.append(request.url.path)

    async def limit(self, tokens: int, mode: str = "hard", **policy: Any) -> None:
        """Limits the session."""
        fields = {"limit_tokens": tokens, "mode": mode, "backpressure": [(1.0, 0)]} | policy
        await self.purser.budgets.change(self.session, BudgetBody.model_validate(fields))

    async def figures(self) -> tuple[int, int]:
        """Tokens of the session that are spent and held."""
        budget = await self.purser.budgets.show(self.session)
        return budget.tokens.spent, budget.tokens.held

    async def script(self, *, rules: list[Any] | None = None, faults: list[Any] | None = None) -> None:
        """Changes what the provider does."""
        body = {"rules": rules or [], "faults": faults or []}
        (await self.provider.post("/_control", json=body)).raise_for_status()

    async def reset(self) -> None:
        """Forgets the scripts and requests of earlier tests."""
        (await self.provider.post("/_control", json={"clear": True})).raise_for_status()
        self._served_before = len((await self.provider.get("/_control/served")).json())

    async def served(self) -> list[Any]:
        """The provider's log of this test, once every request has ended."""

        async def ended() -> list[Any] | None:
            log = (await self.provider.get("/_control/served")).json()[self._served_before :]
            if all(one["end"] for one in log):
                return log
            gc.collect()  # a stream that its library keeps in a cycle is closed when it is collected
            return None

        return await eventually(ended)

    async def arrived(self) -> None:
        """Waits until the provider has got a request."""

        async def look() -> bool | None:
            return len((await self.provider.get("/_control/served")).json()) > self._served_before or None

        await eventually(look)

    async def asked(self, times: int) -> None:
        """Waits until the adapter has asked the gate this often."""

        async def look() -> bool | None:
            return self.asks >= times or None

        await eventually(look)

    async def is_charged(self, *tokens: int) -> None:
        """Asserts that these tokens are charged and nothing is held any more."""
        assert await eventually(self._settled) == sum(tokens)

    async def _settled(self) -> int | None:
        spent, held = await self.figures()
        return None if held else spent

    @asynccontextmanager
    async def taken(self, tokens: int) -> AsyncIterator[None]:
        """Another call that holds this many tokens, and uses none."""
        async with self.purser.call(self.path, model=MODEL, input_tokens=tokens - 1, max_output_tokens=1):
            self.sent.clear()
            yield

    async def approve(self) -> None:
        """Approves the request for more, once there is one."""

        async def pending() -> Any:
            page = await self.purser.approvals.list(state="pending")
            return next((one for one in page.items if one.scope == self.session), None)

        request = await eventually(pending)
        await self.purser.approvals.decide(request.approval_id, "approve")


async def eventually(look: Callable[[], Awaitable[T | None]]) -> T:
    """Waits until something is there; the time-out of the test ends it."""
    pause = 0.02
    while (found := await look()) is None:
        await asyncio.sleep(pause)
        pause = min(2 * pause, 0.2)
    return found
