"""Several limits on one scope: further scopes such as `session:s1@day`, each with its own period."""

import random
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta

import pytest

from purser.budget.errors import InvalidPolicy, InvalidScope
from purser.budget.gate import Amount, Verdict
from purser.budget.holds import HoldRequest
from purser.budget.labels import tags_of
from purser.budget.policies.fields import Mode
from purser.budget.policies.policy import Policy, PolicyPatch
from purser.budget.postgres.ledger.batches import Ask, hold_together
from purser.budget.postgres.ledger.policy_sets import PolicySets
from purser.budget.postgres.reports.exporter import Exporter
from purser.budget.postgres.reports.usage import UsageReports
from purser.budget.reports.usage import By
from purser.budget.scopes import Kind, Path, Scope
from purser.budget.windows import rolling_length, window_bounds
from tests.support.actors import TESTER
from tests.support.ledger import TENANT, Books, request
from tests.support.runs.proof import sized

ZONE = "Europe/Berlin"
NOW = datetime(2026, 11, 20, 12, tzinfo=UTC)
LIMITS = {"hour": 300, "5h": 700, "day": 1_000, "7d": 4_000, "month": 9_000}


@dataclass
class Rolling:
    """A rolling window as the documentation describes it: a list of what was charged, added up again when it is due."""

    length: timedelta
    entries: list[tuple[datetime, int]] = field(default_factory=list)
    out: int = 0
    due: datetime | None = None

    def spent(self, now: datetime) -> int:
        if self.due is None:
            self.due = now + self.length
        if self.due <= now:
            before = self.out
            while self.out < len(self.entries) and self.entries[self.out][0] <= now - self.length:
                self.out += 1
            first = self.entries[self.out][0] if self.out < len(self.entries) else now
            self.due = max(first + self.length, now + self.length / 60)
            if any(tokens for _, tokens in self.entries[before : self.out]):
                self.entries.append((now, 0))
        return sum(tokens for _, tokens in self.entries[self.out :])


def calendar(window: str, charges: list[tuple[datetime, int]]) -> Callable[[datetime], int]:
    """What was charged in the calendar window that contains a time."""

    def spent(now: datetime) -> int:
        start = window_bounds(window, ZONE, now)[0]
        return sum(tokens for at, tokens in charges if window_bounds(window, ZONE, at)[0] == start)

    return spent


@pytest.mark.parametrize("start", ["2026-10-24 20:00", "2028-02-28 20:00"], ids=["clock set back", "leap day"])
async def test_five_limits_decide_as_a_plain_model_of_them_does(books: Books, seed: int, start: str) -> None:
    dice, now = random.Random(f"{seed} {start}"), datetime.fromisoformat(start).replace(tzinfo=UTC)
    charges: list[tuple[datetime, int]] = []
    rolling = {period: Rolling(length) for period in LIMITS if (length := rolling_length(period))}
    model = {period: rolling[period].spent if period in rolling else calendar(period, charges) for period in LIMITS}
    for period, limit in LIMITS.items():
        zone = {} if period in rolling else {"timezone": ZONE}
        await books.budget(f"session:s1@{period}", limit_tokens=limit, mode="hard", **zone)
    stopped = set()
    for turn in range(sized(80, 150)):
        now += timedelta(minutes=dice.choice([0, 1, 5, 20, 60, 60, 400]), seconds=dice.randint(0, 59))
        books.at(now)
        tokens = dice.randint(1, 250)
        answer = await books.ask(f"k{turn}", tokens)
        expected = {f"session:s1@{period}": spent(now) for period, spent in model.items()}
        seen = {str(scope.scope): scope.view.spent.tokens for scope in answer.gate.scopes}
        assert seen == expected | {"session:s1": sum(charge for _, charge in charges)}
        short = [period for period, spent in model.items() if spent(now) + tokens > LIMITS[period]]
        assert {str(one.scope).partition("@")[2] for one in answer.gate.scopes if one.verdict is Verdict.REFUSE} == set(
            short
        )
        stopped.update(short)
        if answer.hold_id:
            await books.settle(answer.hold_id, tokens)
            charges.append((now, tokens))
            for one in rolling.values():
                one.entries.append((now, tokens))
    assert len(stopped) >= 3


async def test_a_further_limit_counts_only_while_it_has_a_policy(books: Books) -> None:
    defaults = {kind: Policy(limit_tokens=5) for kind in Kind}
    strict = Books.on(books.pool, defaults=defaults)
    await strict.budget("session:s1", limit_tokens=1_000, mode="hard")
    await strict.budget("session:s1@day", limit_tokens=100, mode="hard")
    assert (await strict.ask("over", 101)).gate.verdict is Verdict.REFUSE
    await strict.budget("session:s1@day", clear=["limit_tokens"], frozen=False)
    assert (await strict.ask("unlimited", 101)).hold_id
    await strict.budget("session:s1@day", clear=["mode", "frozen"])
    answer = await strict.ask("gone", 101)
    assert [str(one.scope) for one in answer.gate.scopes] == ["session:s1"]


async def test_a_template_gives_every_session_a_further_limit(books: Books) -> None:
    limits = {"session:*": 1_000, "session:*@day": 100, "session:vip*@day": 300}
    templates = {name: PolicyPatch(limit_tokens=tokens, mode=Mode.HARD) for name, tokens in limits.items()}
    await PolicySets(books.pool, books.policies).apply(TENANT, templates, by=TESTER)
    for session, most in (("session:s1", 100), ("session:vip1", 300)):
        assert (await books.ask(f"over {session}", most + 1, 0, session)).gate.verdict is Verdict.REFUSE
        [view] = await books.policies.further(TENANT, Scope.parse(session))
        assert (str(view.scope), view.policy.limit_tokens, view.policy.window) == (f"{session}@day", most, "day")
        assert (await books.ask(f"all {session}", most, 0, session)).hold_id
    assert (await books.policies.budget(TENANT, Scope.parse("session:s1"))).policy.limit_tokens == 1_000


async def test_a_template_gives_sessions_that_exist_a_further_limit(books: Books) -> None:
    await books.spend("before", 1_000)
    template = {"session:*@day": PolicyPatch(limit_tokens=100, mode=Mode.HARD)}
    await PolicySets(books.pool, books.policies).apply(TENANT, template, by=TESTER)
    assert (await books.ask("over", 101)).gate.verdict is Verdict.REFUSE
    assert (await books.ask("all", 100)).hold_id


async def test_a_further_limit_is_frozen_and_granted_by_itself(books: Books) -> None:
    books.at(NOW)
    await books.budget("session:s1@day", limit_tokens=100, mode="hard")
    await books.spend("all", 100)
    assert (await books.ask("over", 1)).gate.verdict is Verdict.REFUSE
    await books.grant("session:s1@day", 50)
    assert (await books.ask("granted", 50)).hold_id
    await books.budget("session:s1@day", frozen=True)
    assert (await books.ask("frozen", 1)).gate.decisive.reason == "frozen"
    assert await books.balance("session:s1") == {"spent": 100, "held": 50}


async def test_labels_have_further_limits_with_or_without_a_policy_of_their_own(books: Books) -> None:
    await books.budget("tag:team=search@hour", limit_tokens=100, mode="hard")
    path = Path((Scope.parse("session:s1"),), tags_of({"team": "search"}))
    answer = await books.ledger.hold(TENANT, HoldRequest("k", path, Amount(101)))
    assert str(answer.gate.decisive.scope) == "tag:team=search@hour"


async def test_asks_that_arrive_together_share_a_further_limit(books: Books) -> None:
    books.at(NOW)
    await books.budget("session:s1@5h", limit_tokens=100, mode="hard")
    await books.spend("first", 10)
    fitting, beyond = (
        [Ask(TENANT, request(f"{name} {n}", tokens)) for n in range(2)] for name, tokens in (("a", 40), ("b", 6))
    )
    assert None not in await hold_together(books.pool, books.settings, NOW, fitting)
    first, second = await hold_together(books.pool, books.settings, NOW, beyond)
    assert first is not None
    assert second is None
    assert await books.balance("session:s1@5h") == {"spent": 10, "held": 86}


async def test_reports_count_a_scope_once(books: Books) -> None:
    books.at(NOW)
    await books.budget("session:s1@day", limit_tokens=100, mode="hard")
    await books.spend("k", 60)
    page = await UsageReports(books.pool).report(TENANT, By.SESSION, NOW - timedelta(days=1), NOW + timedelta(days=1))
    assert [(line.id, line.charged.tokens) for line in page.lines] == [("s1", 60)]
    figures = await Exporter(books.pool, books.settings, now=NOW).figures(60)
    assert sum(found.spent.tokens for found in figures.budgets.values()) == 60


@pytest.mark.parametrize(
    "name", ["session:s1@", "session:s1@year", "session:@day", "session:s1@32d", "session:s1@day@day"]
)
def test_a_period_that_is_none_is_refused(name: str) -> None:
    with pytest.raises(InvalidScope):
        Scope.parse(name)


async def test_paths_labels_and_windows_name_no_further_limit(books: Books) -> None:
    with pytest.raises(InvalidScope, match="name session:s1, and its limits join"):
        Path.parse(["session:s1@day"])
    with pytest.raises(InvalidPolicy, match="the window of session:s1@day is day: leave out window"):
        await books.budget("session:s1@day", window="hour")
