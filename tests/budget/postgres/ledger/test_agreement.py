"""SQL and the rules in Python agree on asks, policies and windows."""

from collections.abc import Sequence
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from itertools import count
from zoneinfo import ZoneInfo

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from purser.budget.errors import InvalidPolicy
from purser.budget.gate import Amount, GateAnswer, ScopeView, gate_answer
from purser.budget.holds import HoldRequest, HoldState
from purser.budget.policies.fields import DEFAULT_BACKPRESSURE, Mode
from purser.budget.policies.ladder import read_ladder
from purser.budget.policies.policy import POLICY_FIELDS, Policy, PolicyPatch, resolve
from purser.budget.policies.templates import Pattern
from purser.budget.postgres.connections.pools import Pool
from purser.budget.postgres.ledger.batches import Ask, hold_together
from purser.budget.postgres.ledger.ledger import Ledger
from purser.budget.postgres.ledger.policies import Policies
from purser.budget.postgres.ledger.settings import LedgerSettings
from purser.budget.previews import reserve_of
from purser.budget.scopes import Kind, Path, Scope
from purser.budget.windows import Window, read_window, rolling_key, window_bounds
from tests.support.actors import TESTER
from tests.support.budgets.policies import SHARES, patches
from tests.support.runs.proof import sized
from tests.support.views import PATH, Case, cases

EXAMPLES = settings(
    max_examples=100, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow]
)
SETTINGS = LedgerSettings(defaults=dict.fromkeys(Kind, Policy()))
RESERVED = st.lists(st.one_of(st.just(Decimal(0)), SHARES), min_size=len(PATH), max_size=len(PATH))
SHARED = st.lists(st.integers(0, 3), min_size=len(PATH), max_size=len(PATH))
tenants = (f"tenant{number}" for number in count())

ARRANGE = """
with scope as (
    insert into scopes (tenant, kind, id) values ($1, $2, $3) returning tenant, scope_id
), balance as (
    insert into balances (tenant, scope_id, window_start, spent_tokens, spent_nano, held_tokens, held_nano,
                          granted_tokens, granted_nano, updated_at)
    select tenant, scope_id, '-infinity', $4, $5, $6, $7, $8, $9, now() from scope
), policy as (
    insert into policies (tenant, scope_id, limit_tokens, limit_nano_usd, mode, warn_at, backpressure, frozen, shadow,
                          last_answer, updated_by, updated_at)
    select tenant, scope_id, $10, $11, $12, $13, $14, $15, $17, $18, 'test', now() from scope
), other as (
    insert into holds (tenant, key, state, created_at) select $1, $2, 'none', now() where $16 returning hold_id
)
insert into waiters (tenant, hold_id, scope_id, since, last_asked, asks)
select tenant, hold_id, scope_id, now() - interval '1 hour', now(), 2 from other, scope
"""


def reserving(path: Sequence[ScopeView], shares: Sequence[Decimal]) -> list[ScopeView]:
    """The path under policies that reserve these shares for last answers."""
    policies = (Policy(one.limit_tokens, one.limit_nano_usd, one.mode, shadow=one.shadow, last_answer=share)
                for one, share in zip(path, shares, strict=False))  # fmt: skip
    return [replace(view, reserve=reserve_of(policy)) for view, policy in zip(path, policies, strict=True)]


async def arrange(pool: Pool, tenant: str, path: Sequence[ScopeView], shares: Sequence[Decimal]) -> None:
    """Makes a ledger whose gate will see `path`."""
    for view, share in zip(path, shares, strict=False):
        patch = PolicyPatch(warn_at=tuple(view.warn_at), backpressure=tuple(view.backpressure)).to_json()
        await pool.execute(
            ARRANGE, tenant, view.scope.kind, view.scope.id, view.spent.tokens, view.spent.nano_usd, view.held.tokens,
            view.held.nano_usd, view.granted.tokens, view.granted.nano_usd, view.limit_tokens, view.limit_nano_usd,
            view.mode, list(view.warn_at), patch["backpressure"], view.frozen, view.queued, view.shadow, share,
        )  # fmt: skip


async def held(pool: Pool, tenant: str) -> dict[Scope, Amount]:
    rows = await pool.fetch("select * from balances join scopes using (tenant, scope_id) where tenant = $1", tenant)
    return {Scope(Kind(row["kind"]), row["id"]): Amount(row["held_tokens"], row["held_nano"]) for row in rows}


async def test_sql_and_rules_rank_the_same_kinds(pool: Pool) -> None:
    ranks = await pool.fetchval(
        "select array_agg(kind_rank(k) order by n) from unnest($1::text[]) with ordinality k (k, n)", [*Kind, "planet"]
    )
    assert ranks == [*range(1, len(Kind) + 1), None]


# --- asks ------------------------------------------------------------------------------------------------------------


@EXAMPLES
@given(case=cases(), patient=st.booleans(), priced=st.booleans(), shares=RESERVED, last_of=st.one_of(st.none(), SHARED))
async def test_sql_admits_exactly_what_the_rules_admit(
    pool: Pool, case: Case, patient: bool, priced: bool, shares: list[Decimal], last_of: list[int] | None
) -> None:
    tenant, (path, [(full, least)]) = next(tenants), case
    path = reserving(path, shares)
    if not priced:
        full, least = Amount(full.tokens), Amount(least.tokens)
    await arrange(pool, tenant, path, shares)
    scopes, parts = Path(tuple(view.scope for view in path)), None if last_of is None else tuple(last_of[: len(path)])
    request = HoldRequest("k", scopes, full, least, patient=patient, priced=priced, last_of=parts)
    answer = await Ledger(pool, SETTINGS).hold(tenant, request)
    path = [
        replace(view, queued=view.queued and patient, last_of=number if view.reserve != Amount() else 0)
        for view, number in zip(path, last_of or [0] * len(PATH), strict=False)
    ]
    expected = gate_answer(path, full, least, patient=patient, priced=priced)
    assert answer.gate == expected
    assert answer.state is (HoldState.HELD if expected.amount else HoldState.NONE)
    assert answer.amount == (expected.amount or full)
    added = expected.amount or Amount()
    assert await held(pool, tenant) == {view.scope: view.held + added for view in path}
    counted = await pool.fetch("select outcome from shadow_counts where tenant = $1", tenant)
    recorded = [one.would.outcome for one in expected.scopes if expected.amount and one.would and one.would.outcome]
    assert sorted(row["outcome"] for row in counted) == sorted(recorded)


def one_by_one(path: Sequence[ScopeView], wanted: Sequence[tuple[int, Amount, bool]]) -> list[GateAnswer]:
    """What asks on the outer scopes of a path get, priced or not, one after the other."""
    answers = []
    seen = list(path)
    for depth, ask, priced in wanted:
        answers.append(gate_answer(seen[:depth], ask, priced=priced))
        got = answers[-1].amount or Amount()
        seen = [replace(view, held=view.held + got) if i < depth else view for i, view in enumerate(seen)]
    return answers


@EXAMPLES
@given(
    case=cases(most=6),
    asked=st.lists(st.tuples(st.integers(1, len(PATH)), st.integers(0, 3).map(bool)), min_size=6, max_size=6),
    shares=RESERVED,
)
async def test_a_batch_admits_exactly_what_its_asks_get_one_by_one(
    pool: Pool, case: Case, asked: list[tuple[int, bool]], shares: list[Decimal]
) -> None:
    tenant, (path, wants) = next(tenants), case
    path = reserving(path, shares)
    wanted = [
        (min(depth, len(path)), full if priced else Amount(full.tokens), priced)
        for (depth, priced), (full, _) in zip(asked, wants, strict=False)
    ]
    await arrange(pool, tenant, path, shares)
    asks = [
        Ask(tenant, HoldRequest(f"k{number}", Path(tuple(view.scope for view in path[:depth])), ask, priced=priced))
        for number, (depth, ask, priced) in enumerate(wanted)
    ]
    answers = await hold_together(pool, SETTINGS, None, asks)
    # What the batch leaves alone comes after it; it gets what it would have got in its turn.
    together = [number for number, answer in enumerate(answers) if answer is not None]
    alone = [number for number, answer in enumerate(answers) if answer is None]
    asked_alone = [await Ledger(pool, SETTINGS).hold(tenant, asks[number].request) for number in alone]
    given = {number: answers[number] for number in together} | dict(zip(alone, asked_alone, strict=True))
    in_order = together + alone
    expected = one_by_one(path, [wanted[number] for number in in_order])
    assert [answer.gate for number in in_order if (answer := given[number])] == expected
    in_turn = one_by_one(path, wanted)
    assert [answer.gate.amount for _, answer in sorted(given.items()) if answer] == [one.amount for one in in_turn]
    assert await held(pool, tenant) == {
        view.scope: view.held
        + sum(
            (one.amount or Amount() for one, (depth, _, _) in zip(in_turn, wanted, strict=True) if i < depth), Amount()
        )
        for i, view in enumerate(path)
    }


# --- policies --------------------------------------------------------------------------------------------------------


@EXAMPLES
@given(
    stored=st.one_of(st.none(), patches()),
    template=st.one_of(st.none(), patches()),
    request=st.one_of(st.none(), patches()),
    default=st.builds(
        Policy,
        limit_tokens=st.sampled_from([None, 500]),
        mode=st.sampled_from(Mode),
        frozen=st.booleans(),
        shadow=st.booleans(),
    ),
)
async def test_sql_resolves_a_policy_as_the_rules_do(
    pool: Pool,
    stored: PolicyPatch | None,
    template: PolicyPatch | None,
    request: PolicyPatch | None,
    default: Policy,
) -> None:
    tenant, scope = next(tenants), Scope.parse("agent:t1/writer")  # whose policy may have every field
    given = LedgerSettings(defaults=dict.fromkeys(Kind, default))
    policies = Policies(pool, given)
    await policies.set(tenant, scope, stored or PolicyPatch(), by=TESTER)
    async with pool.acquire() as connection:
        await policies.set_template(tenant, Pattern.parse("agent:*"), template, by=TESTER, connection=connection)
    await policies.set(tenant, scope, request or PolicyPatch(), by=TESTER, task_id="t1")
    row = await pool.fetchrow(
        "select p.* from scopes s, ledger_policies(s.tenant, array[s.scope_id], 't1', $2) p where s.tenant = $1",
        tenant,
        given.defaults_json,
    )
    assert row is not None
    patterns = dict.fromkeys(POLICY_FIELDS, "agent:*")
    expected = resolve(stored, request, default, {}, template=template, patterns=patterns).policy
    applied = {"mode": row["mode"], "frozen": row["frozen"]} | row["shadow"].get("shadow", {})
    assert not row["shadow"] or (row["mode"], row["frozen"]) == ("soft", False)
    found = (
        row["limit_tokens"], row["limit_nano"], applied["mode"], row["win"], row["zone"], row["warn_at"],
        applied["frozen"], bool(row["shadow"]), row["last_answer"],
        read_ladder(row["ladder"].get("ladder", [])),
    )  # fmt: skip
    assert found == (
        expected.limit_tokens, expected.limit_nano_usd, expected.mode, expected.window, expected.timezone,
        list(expected.warn_at), expected.frozen, expected.shadow, expected.last_answer,
        () if expected.shadow else expected.ladder,
    )  # fmt: skip
    steps = PolicyPatch(backpressure=expected.backpressure).to_json()["backpressure"]
    assert (steps if row["backpressure"] is not None else expected.backpressure) == (
        row["backpressure"] if row["backpressure"] is not None else DEFAULT_BACKPRESSURE
    )
    (view,) = await policies.budgets_of(tenant, [scope], task_id="t1")
    assert view.policy == expected


# --- windows ---------------------------------------------------------------------------------------------------------

ZONES = (
    "UTC", "Europe/Berlin", "Europe/London", "America/New_York", "America/Havana", "America/Scoresbysund",
    "America/St_Johns", "Africa/Cairo", "Africa/Casablanca", "Asia/Beirut", "Asia/Kathmandu", "Atlantic/Azores",
    "Australia/Lord_Howe", "Pacific/Apia", "Antarctica/Troll", "Antarctica/Casey", "Pacific/Chatham",
)  # fmt: skip


def instants_near_changes(zone: str) -> list[datetime]:
    """Instants around every change of a zone's clock in ten years that all time zone tables agree on."""
    clock, day, found = ZoneInfo(zone), datetime(2014, 1, 1, tzinfo=UTC), []
    while day.year < 2024:
        following = day + timedelta(days=1)
        if day.astimezone(clock).utcoffset() != following.astimezone(clock).utcoffset():
            found += [day + timedelta(minutes=minutes, seconds=-1) for minutes in range(-2_880, 2_880, 15)]
            found += [day + timedelta(minutes=minutes) for minutes in range(-2_880, 2_880, 15)]
            found += [day + timedelta(hours=hours) for hours in range(-200, 200)]
        day = following
    return found[:: max(1, len(found) // sized(600, 3_000))] or [datetime(2020, 2, 29, 23, 59, 59, tzinfo=UTC)]


@pytest.mark.parametrize("window", [Window.HOUR, Window.DAY, Window.WEEK, Window.MONTH])
async def test_sql_begins_a_window_where_the_rules_do(pool: Pool, window: Window) -> None:
    for zone in ZONES:
        instants = instants_near_changes(zone)
        starts = await pool.fetch(
            "select ledger_window_start($1, $2, x.at) as start"
            " from unnest($3::timestamptz[]) with ordinality x (at, ord) order by x.ord",
            window, zone, instants,
        )  # fmt: skip
        differing = [
            (at.isoformat(), row["start"].isoformat(), start.isoformat())
            for at, row in zip(instants, starts, strict=True)
            if (start := window_bounds(window, zone, at)[0]) is not None and start != row["start"]
        ]
        assert not differing, (zone, differing[:5])


async def test_sql_knows_the_windows_that_the_rules_know(pool: Pool) -> None:
    names = [
        *Window,
        "1h",
        "24h",
        "999h",
        "31d",
        "32d",
        "744h",
        "745h",
        "0h",
        "05h",
        "5m",
        "h",
        "",
        "5H",
        "year",
        "5h\n",
    ]
    known = await pool.fetchval(
        "select array_agg(is_window(n) order by i) from unnest($1::text[]) with ordinality x (n, i)", names
    )
    assert known == [is_known(name) for name in names]
    keys = await pool.fetch(
        "select ledger_window_start(n, 'UTC', now()) as key from unnest($1::text[]) n", ["1h", "24h", "31d"]
    )
    assert [row["key"] for row in keys] == [rolling_key("1h"), rolling_key("1d"), rolling_key("744h")]


def is_known(name: str) -> bool:
    try:
        return bool(read_window(name))
    except InvalidPolicy:
        return False


async def test_a_zone_that_only_python_knows_is_refused_when_it_is_stored(pool: Pool) -> None:
    """Else every hold on the scope would fail."""
    with pytest.raises(InvalidPolicy, match="Postgres does not know it"):
        await Policies(pool, SETTINGS).set(
            "acme", Scope.parse("session:s"), PolicyPatch(timezone="Mars/Olympus"), by=TESTER
        )
