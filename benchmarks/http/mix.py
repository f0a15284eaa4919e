"""The request mix: half of the requests hold and settle, half read, one in a hundred sets a budget.

Every answer is checked. What clients settle is recorded, to be compared with the ledger's balances.
"""

import time
from collections import Counter
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from random import Random
from typing import Any

from purser.benchmarks.http.connections import Connections

ASK, ASK_NANO_USD = 1_000, 5_000
USED, USED_NANO_USD = 800, 4_000
HOLDS_A_TASK = 10

Json = dict[str, Any]


class UnexpectedAnswer(Exception):
    """The answer to a request is not as expected; the message says which."""


@dataclass(frozen=True)
class Target:
    """The gateway under test, and the names of what it holds."""

    url: str
    key: str
    sessions: tuple[str, ...]
    tasks: tuple[str, ...]
    approvals: tuple[str, ...]


@dataclass
class Record:
    """Latencies and totals of one run of clients."""

    took: dict[str, list[float]] = field(default_factory=dict)
    """Seconds by operation."""
    settled: Counter[str] = field(default_factory=Counter)
    """Settled tokens by session."""
    errors: Counter[str] = field(default_factory=Counter)

    @property
    def all(self) -> list[float]:
        """Seconds of all requests."""
        return [seconds for took in self.took.values() for seconds in took]

    def add(self, operation: str, seconds: float) -> None:
        """Records an operation that was answered as expected."""
        self.took.setdefault(operation, []).append(seconds)


@dataclass
class Clients:
    """The clients of one process, which share connections."""

    http: Connections
    target: Target
    record: Record
    name: str
    """Prefix of every idempotency key, so that runs do not share keys."""
    random: Random
    holds: int = 0

    async def tried(self, operation: "Operation", due: float = 0) -> None:
        """Performs an operation; an answer that is not as expected is an error of the record."""
        try:
            await operation(due)
        except (UnexpectedAnswer, ConnectionError, TimeoutError) as error:
            self.record.errors[str(error) if isinstance(error, UnexpectedAnswer) else type(error).__name__] += 1

    async def call(self, due: float) -> None:
        """Holds and starts an attempt, then settles. The latency of the first request counts from `due`."""
        number, self.holds = self.holds, self.holds + 1
        session = self.random.choice(self.target.sessions)
        task = f"{self.name}-{session}-{number // HOLDS_A_TASK}"
        ask = {
            "key": f"{self.name}-{number}",
            "path": [f"session:{session}", f"task:{task}", f"agent:{task}/a"],
            "tokens": ASK,
            "nano_usd": ASK_NANO_USD,
            "start": True,
        }
        held = await self.request("hold", "POST", "/v1/holds", ask, due)
        if held["verdict"] != "allow" or held["attempt"] != 1:
            raise UnexpectedAnswer(f"hold: {held['verdict']}")
        report = {"attempt": 1, "usage": {"total": USED}, "nano_usd": USED_NANO_USD}
        done = await self.request("settle", "POST", f"/v1/holds/{held['hold_id']}/settle", report)
        if done["charged"] != {"tokens": USED, "nano_usd": USED_NANO_USD}:
            raise UnexpectedAnswer("settle: another charge")
        self.record.settled[session] += USED

    async def read(self, due: float) -> None:
        """One of the reads that pages and schedulers make."""
        target, choose = self.target, self.random.choice
        name, path = choose(
            (
                ("one budget", f"/v1/budgets/session:{choose(target.sessions)}"),
                ("budgets", "/v1/budgets?kind=session&limit=20"),
                ("one task", f"/v1/tasks/{choose(target.tasks)}"),
                ("tasks", "/v1/tasks?limit=20"),
                ("one approval", f"/v1/approvals/{choose(target.approvals)}"),
                ("approvals", "/v1/approvals?state=pending&limit=20"),
            )
        )
        await self.request(name, "GET", path, None, due)

    async def set_budget(self, due: float) -> None:
        """Stores a limit, which every stream reports as an event."""
        limit = {"limit_tokens": 10**12 + self.random.randrange(10**6)}
        await self.request("set budget", "PUT", f"/v1/budgets/session:{self.target.sessions[0]}", limit, due)

    async def request(self, name: str, method: str, path: str, body: Json | None = None, due: float = 0) -> Json:
        """Sends one request; its latency counts from `due`, or from now if that is 0."""
        due = due or time.perf_counter()
        response = await self.http.request(method, path, body)
        answer: Json = response.json()
        if response.status != 200:
            raise UnexpectedAnswer(f"{name}: {response.status} {answer.get('type')}")
        self.record.add(name, time.perf_counter() - due)
        return answer


Operation = Callable[[float], Awaitable[None]]

REQUESTS_PER_OPERATION = 4 / 3
"""Average number of requests of one operation."""


def draw(clients: Clients) -> Operation:
    """The next operation: a call is two requests, so a third of the operations is half of the requests."""
    at = clients.random.random()
    sets = 0.01 * REQUESTS_PER_OPERATION
    return clients.call if at < 1 / 3 else clients.set_budget if at < 1 / 3 + sets else clients.read
