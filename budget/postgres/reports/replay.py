"""Replays the ledger's history under proposed policies, page by page."""

from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime, timedelta

import asyncpg

from purser.budget.gate import Amount, GateAnswer
from purser.budget.holds import usage_of
from purser.budget.policies.policy import POLICY_FIELDS, PolicyPatch
from purser.budget.policies.templates import is_pattern
from purser.budget.postgres.connections.pools import Connection, Pool, connected, fetch
from purser.budget.postgres.connections.queries import load
from purser.budget.postgres.ledger.policy_sets import PolicySets
from purser.budget.postgres.ledger.settings import LedgerSettings
from purser.budget.pricing.price_book import PriceBook
from purser.budget.reports.replay.balances import Key
from purser.budget.reports.replay.calls import Proposed, Recorded
from purser.budget.reports.replay.easing import Measured
from purser.budget.reports.replay.replay import Replay
from purser.budget.scopes import Scope
from purser.budget.usage import Usage

_SQL = load("purser.budget.postgres.reports", "replay.sql")
PAGE = 1_000
"""Entries that are read and applied at once: others get their turn in between."""
_EVER = datetime.min.replace(tzinfo=UTC)


class Replays:
    """Replays of all tenants. They read, and change nothing."""

    def __init__(
        self, pool: Pool, settings: LedgerSettings, policy_sets: PolicySets, prices: PriceBook, least_output: int
    ) -> None:
        """Args:
        pool, settings: of the ledger.
        policy_sets: the stored policies.
        prices: prices of models.
        least_output: output tokens below which no step of a ladder caps a call.
        """
        self._pool = pool
        self._settings = settings
        self._policy_sets = policy_sets
        self._prices = prices
        self._least_output = least_output

    async def run(
        self, tenant: str, wanted: Mapping[str, PolicyPatch | None], since: datetime,
        each: Callable[[Recorded, GateAnswer], None] | None = None,
    ) -> Replay:  # fmt: skip
        """Replays the calls since a time, up to the newest at the start of the replay.

        Args:
            tenant: tenant of the calls.
            wanted: policies and templates by name, in place of those that are stored; `None` removes one. The others
                stay as they are stored now.
            since: begin of the replay. What was spent before it counts.
            each: called with every call and the gate's answer.
        """
        policies = {
            name: patch
            for name, patch in {**await self._policy_sets.stored(tenant), **wanted}.items()
            if patch is not None
        }
        steps = self._settings.backpressure
        defaults = {kind: replace(policy, backpressure=steps) for kind, policy in self._settings.defaults.items()}
        replay = Replay(Proposed(policies, defaults), self._prices, self._least_output)
        templates = {name: patch.to_json() for name, patch in policies.items() if is_pattern(name)}
        async for first, page in self._pages(tenant, since):
            async with connected(self._pool, None) as own:
                await _learn(own, tenant, replay.proposed, page, templates)
                await _begin(own, tenant, replay, page, since, first)
            for one in page:
                answer = replay.apply(one)
                if answer is not None and each is not None:
                    each(one, answer)
        return replay

    async def _pages(self, tenant: str, since: datetime) -> AsyncIterator[tuple[int, list[Recorded]]]:
        """Yields the number of the first event and a page; no connection is in use between two pages."""
        async with connected(self._pool, None) as own:
            first, last = await own.fetchval(_SQL["first"], tenant, since), await own.fetchval(_SQL["last"], tenant)
        after = None if first is None else first - 1
        while after is not None:
            rows = await fetch(self._pool, _SQL["page"], tenant, after, last, PAGE)
            if page := [_recorded(row) for row in rows if row["counts"]]:
                yield first, page
            after = rows[-1]["number"] if len(rows) == PAGE else None


async def _learn(
    own: Connection, tenant: str, proposed: Proposed, page: Sequence[Recorded], templates: Mapping[str, object]
) -> None:
    """Makes the policies known of the scopes that this page is the first to name."""
    # What a task requests may name further models, whose labels may have policies.
    while unknown := _named(proposed, page) - proposed.templates.keys():
        for row in await own.fetch(_SQL["learn"], tenant, sorted(map(str, unknown)), templates):
            scope = Scope.stored(row["scope"])
            fields = row["fields"]
            proposed.templates[scope] = (None if fields is None else PolicyPatch.parse(fields), row["sources"] or {})
            for task, request in (row["requests"] or {}).items():
                given = {name: request[name] for name in POLICY_FIELDS}
                proposed.request(scope, task, PolicyPatch.parse(given))


def _named(proposed: Proposed, page: Sequence[Recorded]) -> set[Scope]:
    return {scope for one in page for variant in proposed.variants(one) for scope in proposed.named(variant)}


async def _begin(
    own: Connection, tenant: str, replay: Replay, page: Sequence[Recorded], since: datetime, first: int
) -> None:
    """Opens the balances of windows that had begun before the replay, and of those before them that roll over."""
    found: dict[Key, None] = {}
    rolling_over: dict[Scope, datetime] = {}
    for one in page:
        variants = replay.proposed.variants(one)
        for scope in dict.fromkeys(scope for variant in variants for scope in replay.proposed.scopes_of(variant)):
            # An event of a call that was asked for before concerns the windows of that time.
            for at in dict.fromkeys((one.asked_at, one.at)):
                key = replay.balances.key(scope, one.task, at)
                if not replay.balances.knows(key) and not (isinstance(key[1], datetime) and key[1] >= since):
                    found[key] = None
            if isinstance(key[1], datetime) and replay.balances.is_first(scope):
                rolling_over[scope] = key[1]
    if rolling_over:
        names = [str(scope) for scope in rolling_over]
        scopes = list(rolling_over)
        for row in await own.fetch(_SQL["last_used"], tenant, names, list(rolling_over.values()), first):
            key = replay.balances.key(scopes[row["ord"] - 1], "", row["at"])
            if isinstance(key[1], datetime) and not replay.balances.knows(key):
                found[key] = None
    if not found:
        return
    keys = list(found)
    names = [str(scope) for scope, _ in keys]
    lengths = [start if isinstance(start, timedelta) else None for _, start in keys]
    starts = [since - start if isinstance(start, timedelta) else start or _EVER for _, start in keys]
    ends = [replay.balances.end(key) for key in keys]
    for row in await own.fetch(_SQL["begin"], tenant, names, starts, lengths, first, ends):
        key = keys[row["ord"] - 1]
        moved = (_amount(row, name) for name in ("spent", "held", "granted", "carried"))
        replay.balances.begin(key, row["at"], *moved)


def _recorded(row: asyncpg.Record) -> Recorded:
    return Recorded(
        kind=row["kind"],
        at=row["at"],
        hold_id=row["hold_id"],
        path=tuple(Scope.stored(name) for name in row["path"]),
        labels=tuple(Scope.stored(name) for name in row["labels"]),
        task=row["task"],
        spent=_amount(row, "d_spent"),
        held=_amount(row, "d_held"),
        granted=_amount(row, "d_granted"),
        asked_at=row["asked_at"],
        had=_amount(row, "had"),
        priced=row["priced"],
        model=row["model"],
        measured=_measured(row),
    )


def _measured(row: asyncpg.Record) -> Measured | None:
    usages = [Usage.from_dict(usage_of(stored)) for stored in row["usages"] or ()]
    return Measured.of(row["model"], usages, row["charged_nano"] or 0)


def _amount(row: asyncpg.Record, name: str) -> Amount:
    return Amount(row[f"{name}_tokens"], row[f"{name}_nano"])
