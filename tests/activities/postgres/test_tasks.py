"""The task store: a task is stored as a whole or not at all, and once per id."""

import asyncio
from typing import Any

import pytest

from purser.activities.errors import TaskConflict, TaskNotFound
from purser.activities.postgres.agents import Agents
from purser.activities.postgres.tasks import Submitted, Tasks
from purser.activities.tasks.file import TaskFile
from purser.budget.policies.fields import Mode
from purser.budget.policies.policy import PolicyPatch
from purser.budget.postgres.connections.pools import Pool
from purser.budget.postgres.ledger.batches import Ask, Settle, hold_together, settle_together
from purser.budget.postgres.ledger.policies import Policies
from purser.budget.postgres.ledger.policy_sets import PolicySets
from purser.budget.postgres.ledger.settings import LedgerSettings
from purser.budget.scopes import Scope
from purser.context.postgres.conversation.conversations import Conversations
from purser.workflows.contract import TaskStatus
from tests.support.actors import TESTER
from tests.support.ledger import Books, meet, report, request, until_waiting, waiting_for_locks
from tests.support.rows_read import rows_read

TENANT = "acme"
AGENT = {"id": "a", "model": "gpt-4o", "instructions": "Be brief."}


@pytest.fixture
def policies(pool: Pool) -> Policies:
    return Policies(pool, LedgerSettings())


@pytest.fixture
def tasks(pool: Pool, policies: Policies) -> Tasks:
    return Tasks(pool, policies, Conversations(pool))


def file(task_id: str = "t1", **more: Any) -> TaskFile:
    body = {"session_id": "s1", "task_id": task_id, "input": "Hello.", "agents": [AGENT]} | more
    return TaskFile.parse(body, ())


async def counts(pool: Pool) -> dict[str, int]:
    names = ("tasks", "agents", "messages", "policies", "outbox")
    return {name: await pool.fetchval(f"select count(*) from {name}") for name in names}


async def test_a_submission_stores_task_agents_policies_input_and_the_order_to_start(pool: Pool, tasks: Tasks) -> None:
    submitted = await tasks.submit(TENANT, file(use_case_preset="governed"), "ann")
    assert submitted == Submitted("t1", created=True)
    assert await counts(pool) == {"tasks": 1, "agents": 1, "messages": 1, "policies": 3, "outbox": 1}
    [order] = await pool.fetch("select workflow_id, signal, payload from outbox")
    assert tuple(order) == ("task-acme/t1", "@start", {"tenant": TENANT, "task_id": "t1"})


async def test_the_same_file_again_changes_nothing(pool: Pool, tasks: Tasks) -> None:
    await tasks.submit(TENANT, file(), "ann")
    before = await counts(pool)
    assert await tasks.submit(TENANT, file(), "ben") == Submitted("t1", created=False)
    assert await counts(pool) == before


async def test_many_submissions_of_one_file_at_once_store_it_once(pool: Pool, tasks: Tasks) -> None:
    done = await asyncio.gather(*(tasks.submit(TENANT, file(), "ann") for _ in range(8)))
    assert sorted(one.created for one in done) == [False] * 7 + [True]
    assert (await counts(pool))["messages"] == 1


async def test_an_id_belongs_to_one_file_of_its_tenant(pool: Pool, tasks: Tasks) -> None:
    await tasks.submit(TENANT, file(), "ann")
    before = await counts(pool)
    with pytest.raises(TaskConflict, match="'t1'"):
        await tasks.submit(TENANT, file(input="Other."), "ann")
    assert await counts(pool) == before


async def test_two_tenants_use_one_id_for_tasks_of_their_own(pool: Pool, tasks: Tasks) -> None:
    await tasks.submit(TENANT, file(), "ann")
    assert await tasks.submit("other", file(input="Other."), "ben") == Submitted("t1", created=True)
    files = [await tasks.file(tenant, "t1") for tenant in (TENANT, "other")]
    assert [file and file.input for file in files] == ["Hello.", "Other."]
    starts = await pool.fetch("select workflow_id from outbox order by outbox_id")
    assert [start["workflow_id"] for start in starts] == ["task-acme/t1", "task-other/t1"]


async def test_a_task_that_joins_a_transaction_goes_with_it(pool: Pool, tasks: Tasks) -> None:
    async with pool.acquire() as own:
        transaction = own.transaction()
        await transaction.start()
        await tasks.submit(TENANT, file(), "ann", own)
        await transaction.rollback()
    assert set((await counts(pool)).values()) == {0}


async def test_requests_and_presets_become_policies_for_this_task_only(tasks: Tasks, policies: Policies) -> None:
    await tasks.submit(TENANT, file(use_case_preset="governed", budget={"session": {"limit_tokens": 7}}), "ann")
    session = Scope.parse("session:s1")
    [seen] = await policies.budgets_of(TENANT, [session], "t1")
    assert (seen.policy.limit_tokens, seen.policy.mode) == (7, Mode.APPROVAL)
    assert (seen.sources["limit_tokens"], seen.sources["mode"]) == ("request", "governed")
    [other] = await policies.budgets_of(TENANT, [session], "t2")
    assert (other.policy.limit_tokens, other.policy.mode) == (200_000, Mode.SOFT)


async def test_a_new_task_shows_waiting_agents_and_zeros(tasks: Tasks) -> None:
    await tasks.submit(TENANT, file(), "ann")
    shown = await tasks.get(TENANT, "t1")
    assert (shown["status"], shown["session_id"], shown["submitter"]) == ("running", "s1", "ann")
    agent = shown["agents"]["a"]
    assert (agent["status"], agent["reply"], agent["turns"], agent["holds"]) == ("waiting", None, 0, 0)
    assert agent["usage"]["output"] == 0


async def test_a_task_of_another_tenant_is_not_found(tasks: Tasks) -> None:
    await tasks.submit(TENANT, file(), "ann")
    with pytest.raises(TaskNotFound, match="'t1'"):
        await tasks.get("other", "t1")


async def test_a_plan_that_was_made_while_tables_were_empty_reads_a_task_alone(counting_pool: Pool) -> None:
    books = Books.on(counting_pool)
    tasks = Tasks(counting_pool, books.policies, Conversations(counting_pool))
    await tasks.submit(TENANT, file(), "ann")
    for _ in range(7):  # prepared statements settle on a plan after five executions
        await tasks.get(TENANT, "t1")
    asks = [Ask(TENANT, request(f"k{number}", 10, 0, f"agent:other{number}/a")) for number in range(300)]
    answers = await hold_together(counting_pool, books.settings, None, asks)
    settles = [Settle(TENANT, int(answer.hold_id or 0), 1, report(5)) for answer in answers if answer]
    await settle_together(counting_pool, books.settings, None, settles)
    before = sum((await rows_read(counting_pool)).values())
    await tasks.get(TENANT, "t1")
    assert sum((await rows_read(counting_pool)).values()) - before < 100


async def test_pages_go_from_new_to_old_and_end(pool: Pool, tasks: Tasks) -> None:
    for number in range(5):
        await tasks.submit(TENANT, file(f"t{number}"), "ann")
    await pool.execute("update tasks set status = 'completed' where task_id = 't2'")
    first = await tasks.list(TENANT, limit=3)
    rest = await tasks.list(TENANT, limit=3, cursor=first.cursor)
    assert [one["task_id"] for one in (*first.tasks, *rest.tasks)] == ["t4", "t3", "t2", "t1", "t0"]
    assert rest.cursor is None
    assert [one["task_id"] for one in (await tasks.list(TENANT, TaskStatus.COMPLETED)).tasks] == ["t2"]
    assert (await tasks.list("other")).tasks == ()


@pytest.mark.parametrize("vouched", [True, False])
async def test_agents_find_whether_their_submitter_is_vouched_for(pool: Pool, tasks: Tasks, vouched: bool) -> None:
    await tasks.submit(TENANT, file(), "ann", submitted_by="backend", vouched=vouched)
    given = await Agents(pool).task_record(TENANT, "t1")
    assert (given.submitter, given.submitted_by, given.vouched) == ("ann", "backend", vouched)


async def test_a_submission_meets_a_document_that_changes_a_template(
    pool: Pool, tasks: Tasks, policies: Policies
) -> None:
    """Its scopes come first: else it would wait for the templates, and the document for the balances of its session."""
    await Books.on(pool).spend("k", 1)
    document = {"session:*": PolicyPatch(limit_tokens=1_000_000)}
    submitting: list[asyncio.Task[Submitted]] = []

    async def lock_scopes(connection: Any) -> None:
        await connection.execute("select from scopes for no key update")

    async def submit(_: Any) -> None:
        waiting = await waiting_for_locks(pool)
        submitting.append(asyncio.create_task(tasks.submit(TENANT, file(use_case_preset="governed"), "ann")))
        await until_waiting(pool, waiting + 1)

    await meet(pool, lock_scopes, lambda: PolicySets(pool, policies).apply(TENANT, document, by=TESTER), submit)
    assert await submitting[0] == Submitted("t1", created=True)
