"""Random calls are answered alike by the router and in front of it, and leave the same balances."""

import json
import re
from collections.abc import Sequence
from datetime import UTC, datetime
from itertools import count
from typing import Any

import httpx
import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st
from starlette.types import ASGIApp
from temporalio.client import Client

from purser.budget.policies.policy import PolicyPatch
from purser.budget.postgres.connections.pools import Pool
from purser.budget.postgres.ledger.ledger import Ledger
from purser.budget.scopes import Scope
from purser.compose.processes.gateway import build_services
from purser.compose.settings import Settings
from purser.compose.settings.ledger import ledger_settings
from purser.gateway.access.roles import Role
from purser.gateway.app import create_app, with_direct_routes
from purser.gateway.metrics.requests import Metrics
from purser.gateway.services import Services
from tests.support.actors import TESTER

ROUTED, DIRECT = "routed", "direct"
"""Two tenants: one calls the router, the other what is in front of it."""
NOW = datetime(2026, 11, 20, 12, tzinfo=UTC)
LADDER = [{"ratio": 0.5, "model": ["gpt-4o-mini"], "output": 0.25}]
POLICIES: dict[str, dict[str, Any]] = {
    "session:hard": {"limit_tokens": 2_000, "mode": "hard", "window": "day", "ladder": LADDER},
    "session:soft": {"limit_tokens": 2_000, "mode": "soft", "window": "day"},
    "session:approval": {"limit_tokens": 1_000, "mode": "approval"},
    "session:money": {"limit_nano_usd": 10**6, "mode": "hard"},
    "session:frozen": {"frozen": True},
    "tag:team=search": {"limit_tokens": 2_500, "mode": "hard"},
}
SESSIONS = [[name] for name in POLICIES if name.startswith("session:")]
PATHS = [*SESSIONS, *SESSIONS, ["session:free", "task:t1", "agent:t1/a"], ["tenant:other"], ["task:t1", "session:s"]]
ASKS = st.fixed_dictionaries(
    {
        "key": st.sampled_from("abcdefgh"),
        "path": st.sampled_from(PATHS),
        "tokens": st.sampled_from([1, 900, 1_500]),
        "start": st.booleans(),
    },
    optional={
        "nano_usd": st.sampled_from([0, 600_000]),
        "model": st.sampled_from(["priced-model", "unknown"]),
        "min_tokens": st.sampled_from([1, 5_000]),
        "tags": st.just({"team": "search"}),
    },
)
REPORTS = st.fixed_dictionaries(
    {
        "attempt": st.sampled_from([1, 1, 2]),
        "usage": st.sampled_from([{"total": 5}, {"total": 2_000}, {"prompt_tokens": 3, "completion_tokens": 4}, {}]),
    },
    optional={"nano_usd": st.sampled_from([0, 700_000])},
)
HOLDS = st.sampled_from([0, 0, 1, 2, 99])
"""Which of the holds made so far; 99: none of them."""
NO_HOLD = 10**9
STEPS = st.one_of(
    *[ASKS.map(lambda body: ("", None, body))] * 4,
    ASKS.map(lambda body: ("/batch", None, {"holds": [body]})),  # of several, chance may admit either
    st.tuples(st.just("/attempts"), HOLDS, st.fixed_dictionaries({"attempt": st.sampled_from([1, 2, 3])})),
    st.tuples(st.just("/settle"), HOLDS, REPORTS),
    st.tuples(st.just("/release"), HOLDS, st.none()),
)
RUNS = count()


def held(key: str) -> tuple[str, int | None, Any]:
    return "", None, {"key": key, "path": ["session:hard"], "tokens": 900}


def settled(hold: int) -> tuple[str, int | None, Any]:
    return "/settle", hold, {"attempt": 1, "usage": {"total": 900}}


OWN = re.compile(
    rf"{ROUTED}|{DIRECT}"
    r'|(?<="hold_id":)"\d+"|(?<=hold )\'\d+\'|(?<=Approval )[\w-]+|(?<="approval_id":)"[^"]*"'
)
"""What differs between two tenants."""


class Calls:
    """The calls of one tenant."""

    def __init__(self, app: ASGIApp, secret: str, run: int) -> None:
        headers = {"authorization": f"Bearer {secret}"}
        self.http = httpx.AsyncClient(transport=httpx.ASGITransport(app), base_url="http://gateway", headers=headers)
        self._run = run
        self._holds: list[str] = []

    async def answer(self, step: tuple[str, int | None, Any]) -> tuple[int, list[tuple[str, str]], str]:
        """What the gateway answers to a step, without what is this tenant's own."""
        name, number, body = step
        hold = "" if number is None else f"/{dict(enumerate(self._holds)).get(number, NO_HOLD)}"
        if body is not None:
            body = json.loads(re.sub(r'"key": "(\w)"', rf'"key": "\g<1>{self._run}"', json.dumps(body)))
        answer = await self.http.post(f"/v1/holds{hold}{name}", json=body)
        if not name and answer.status_code == 200 and (made := answer.json()["hold_id"]):
            self._holds.append(made)
        headers = [header for header in answer.headers.multi_items() if header[0] != "content-length"]
        return answer.status_code, headers, OWN.sub("…", answer.text)


async def balances(pool: Pool, tenant: str) -> Sequence[Any]:
    statement = "select kind, id, spent_tokens, spent_nano, held_tokens, held_nano from balances natural join scopes"
    found = await pool.fetch(f"{statement} where tenant = $1 order by kind, id", tenant)
    return [tuple(row) for row in found if row["kind"] != "tenant"]


@pytest.fixture
async def services(pool: Pool, plain_settings: Settings, dsn: str, temporal_client: Client) -> Services:
    """Of a gateway with both tenants and their policies."""
    own = plain_settings.model_copy(update={"dsn": dsn})
    ledger = Ledger(pool, ledger_settings(own), now=NOW)
    services = build_services(own, ledger, temporal_client, lambda: None, Metrics())
    for tenant in (ROUTED, DIRECT):
        for name, policy in POLICIES.items():
            await services.policies.set(tenant, Scope.parse(name), PolicyPatch.parse(policy), by=TESTER)
    return services


@pytest.fixture
async def secrets(services: Services) -> dict[str, str]:
    """Keys by tenant, which are in use."""
    made = {tenant: await services.keys.create(tenant, "bot", Role.AGENT, by=TESTER) for tenant in (ROUTED, DIRECT)}
    for key in made.values():
        await services.keys.find(key.secret)
    return {tenant: key.secret for tenant, key in made.items()}


@settings(
    max_examples=12, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow]
)
@example([held("a"), settled(0), held("b"), settled(1), held("c")])
@given(st.lists(STEPS, min_size=10, max_size=15))
async def test_random_calls_are_answered_alike(
    services: Services, secrets: dict[str, str], steps: list[tuple[str, int | None, Any]]
) -> None:
    run, app = next(RUNS), create_app(services, {})
    routed, direct = Calls(app, secrets[ROUTED], run), Calls(with_direct_routes(app), secrets[DIRECT], run)
    for step in steps:
        assert await direct.answer(step) == await routed.answer(step)
    assert await balances(services.pool, DIRECT) == await balances(services.pool, ROUTED)
