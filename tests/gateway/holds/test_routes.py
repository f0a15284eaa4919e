"""`/v1/holds`: the life cycle of a hold over HTTP, field by field."""

import asyncio
from datetime import UTC, datetime, timedelta

import httpx
import pytest

from purser.budget.policies.policy import PolicyPatch
from purser.budget.postgres.ledger.policies import Policies
from purser.budget.postgres.ledger.settings import LedgerSettings
from purser.budget.scopes import Scope
from purser.compose.settings import Settings
from purser.gateway.access.roles import Role
from tests.gateway.conftest import RunningGateway, running_gateway
from tests.support.actors import TESTER
from tests.support.budgets.holding import PATH, ask, limit


async def test_an_ask_that_fits_is_answered_with_a_hold(agent: httpx.AsyncClient) -> None:
    answer = await ask(agent, lease_ms=60_000)
    expires = datetime.fromisoformat(answer.pop("expires_at"))
    assert timedelta(seconds=50) < expires - datetime.now(UTC) <= timedelta(seconds=60)
    assert answer.pop("hold_id").isdigit()
    scopes = answer.pop("scopes")
    assert answer == {
        "verdict": "allow",
        "state": "held",
        "tokens": 1_000,
        "nano_usd": 0,
        "delay_ms": 0,
        "pressure": "low",
    }
    assert [scope["scope"] for scope in scopes] == ["tenant:default", *PATH]
    assert scopes[3] == {
        "scope": "agent:t1/a1",
        "verdict": "allow",
        "ratio": 0.02,
        "mode": "soft",
        "limit": {"tokens": 50_000, "nano_usd": None},
        "granted": {"tokens": 0, "nano_usd": 0},
        "spent": {"tokens": 0, "nano_usd": 0},
        "held": {"tokens": 0, "nano_usd": 0},
        "headroom": {"tokens": 50_000, "nano_usd": None},
        "window_start": None,
        "reason": "fits",
    }


async def test_an_answer_names_the_steps_of_ladders_that_the_ask_reaches(
    admin: httpx.AsyncClient, agent: httpx.AsyncClient
) -> None:
    ladder = [{"ratio": 0.5, "model": ["gpt-4o-mini"], "output": 0.25}, {"ratio": 1, "output": 300}]
    await limit(admin, "session:s1", limit_tokens=2_000, mode="hard", ladder=ladder)
    assert "ladder" not in await ask(agent, key="small", tokens=999)
    step = {"scope": "session:s1", "model": ["gpt-4o-mini"], "compression": None}
    half = await ask(agent, key="half", tokens=1_001)
    assert (half["verdict"], half["ladder"]) == ("warn", [step | {"step": 2, "ratio": 1.0, "output": 300}])
    refused = await ask(agent, key="refused", tokens=3_000)
    assert (refused["verdict"], refused["ladder"]) == ("refuse", half["ladder"])
    await admin.post(f"/v1/holds/{half['hold_id']}/release", json={})
    assert (await ask(agent, key="first", tokens=10))["ladder"] == [step | {"step": 1, "ratio": 0.5, "output": 0.25}]


async def test_a_refusal_names_the_figures_of_the_scope_that_is_short(admin: httpx.AsyncClient) -> None:
    await admin.put("/v1/budgets/session:s1", json={"limit_tokens": 1_000, "mode": "hard"})
    first = await ask(admin, key="spent", tokens=300)
    await admin.post(f"/v1/holds/{first['hold_id']}/settle", json={"attempt": 1, "usage": {"total": 250}})
    await ask(admin, key="open", tokens=600)
    refused = await ask(admin, key="more", tokens=751)
    assert (refused["verdict"], refused["hold_id"]) == ("refuse", None)
    session = next(scope for scope in refused["scopes"] if scope["scope"] == "session:s1")
    assert (session["reason"], session["mode"]) == ("limit", "hard")
    tokens = {name: session[name]["tokens"] for name in ("limit", "granted", "spent", "held", "headroom")}
    assert tokens == {"limit": 1_000, "granted": 0, "spent": 250, "held": 600, "headroom": 150}


async def test_the_same_ask_again_gets_the_same_hold_and_adds_nothing(admin: httpx.AsyncClient) -> None:
    first = await ask(admin)
    assert await ask(admin) == first
    assert (await admin.get("/v1/budgets/session:s1")).json()["tokens"]["held"] == 1_000


async def test_two_asks_of_one_key_that_arrive_at_once_get_one_hold(admin: httpx.AsyncClient) -> None:
    answers = await asyncio.gather(*(ask(admin) for _ in range(10)))
    assert len({answer["hold_id"] for answer in answers}) == 1
    assert (await admin.get("/v1/budgets/session:s1")).json()["tokens"]["held"] == 1_000


@pytest.mark.parametrize("limit_tokens", [10_000, 500])
async def test_a_key_reused_with_another_payload_is_a_conflict_whatever_its_verdict_was(
    admin: httpx.AsyncClient, limit_tokens: int
) -> None:
    await limit(admin, "session:s1", limit_tokens=limit_tokens, mode="hard")
    await ask(admin)
    again = await admin.post("/v1/holds", json={"key": "k1", "path": PATH, "tokens": 999})
    assert again.status_code == 409
    assert again.headers["content-type"] == "application/problem+json"
    assert again.json() == {
        "type": "urn:purser:key-reused",
        "title": "The key is bound to another payload",
        "status": 409,
        "detail": "key 'k1' is bound to another payload: use a new key for a new call",
        "retryable": False,
        "remedy": "Use a new key for a new call.",
    }


async def test_a_refusal_is_200_and_says_what_can_be_done(admin: httpx.AsyncClient) -> None:
    await limit(admin, "session:s1", limit_tokens=500, mode="hard")
    answer = await ask(admin)
    assert (answer["verdict"], answer["hold_id"], answer["state"], answer["expires_at"]) == (
        "refuse",
        None,
        "none",
        None,
    )
    assert answer["scopes"][1]["reason"] == "limit"
    refusal = answer["refusal"]
    assert answer["remedy"] == refusal["remedy"]
    assert "purser budget set session:s1 --limit-tokens 1000" in answer["remedy"]
    assert (refusal["scope"], refusal["reason"]) == ("session:s1", "limit")
    figures = [refusal[name]["tokens"] for name in ("limit", "spent", "held", "asked")]
    assert figures == [500, 0, 0, 1_000]
    assert refusal["period_end"] is None


async def test_a_refusal_in_a_window_names_its_end(admin: httpx.AsyncClient) -> None:
    await limit(admin, "session:s1", limit_tokens=500, mode="hard", window="day")
    hold = await ask(admin, "spent", tokens=200)
    await admin.post(f"/v1/holds/{hold['hold_id']}/settle", json={"attempt": 1, "usage": {"total": 200}})
    assert (await ask(admin, "never", tokens=501))["refusal"]["period_end"] is None
    refusal = (await ask(admin, tokens=500))["refusal"]
    assert refusal["period_end"] == (await admin.get("/v1/budgets/session:s1")).json()["window_end"].replace(
        "+00:00", "Z"
    )


async def test_equal_to_the_limit_passes_and_one_more_does_not(admin: httpx.AsyncClient) -> None:
    await limit(admin, "session:s1", limit_tokens=1_000, mode="hard")
    assert (await ask(admin, "over", tokens=1_001))["verdict"] == "refuse"
    assert (await ask(admin, "equal", tokens=1_000))["verdict"] == "warn"


async def test_a_soft_scope_warns_delays_and_goes_on(admin: httpx.AsyncClient) -> None:
    await limit(admin, "session:s1", limit_tokens=1_000)
    answer = await ask(admin, tokens=950)
    assert (answer["verdict"], answer["delay_ms"], answer["pressure"]) == ("warn", 1_500, "critical")
    assert "remedy" not in answer


async def test_only_part_is_held_where_only_part_fits(admin: httpx.AsyncClient) -> None:
    await limit(admin, "session:s1", limit_tokens=600, mode="hard")
    answer = await ask(admin, nano_usd=2_000, min_tokens=300)
    assert (answer["verdict"], answer["tokens"], answer["nano_usd"]) == ("warn", 600, 1_200)


async def test_a_shortage_that_only_open_holds_cause_is_a_wait(admin: httpx.AsyncClient) -> None:
    await limit(admin, "session:s1", limit_tokens=1_000, mode="hard")
    first = await ask(admin, "first", tokens=800)
    answer = await ask(admin, "second", tokens=500)
    assert (answer["verdict"], answer["retry_after_ms"], answer["hold_id"]) == ("wait", 1_000, None)
    assert "remedy" in answer
    assert (await admin.post(f"/v1/holds/{first['hold_id']}/release")).status_code == 200
    assert (await ask(admin, "second", tokens=500))["verdict"] == "allow"


LONGER_AGO = "update holds set created_at = created_at - $1 * interval '1 second'"


async def test_the_mode_decides_once_a_caller_has_waited_long_enough(
    gateway: RunningGateway, admin: httpx.AsyncClient
) -> None:
    await limit(admin, "session:s1", limit_tokens=1_000, mode="hard")
    await ask(admin, "first", tokens=800)
    half_s = Settings().max_wait_s / 2
    assert (await ask(admin, "second", tokens=500))["verdict"] == "wait"
    await gateway.pool.execute(LONGER_AGO, half_s)
    assert (await ask(admin, "second", tokens=500))["verdict"] == "wait"
    await gateway.pool.execute(LONGER_AGO, half_s)
    answer = await ask(admin, "second", tokens=500)
    assert (answer["verdict"], answer["scopes"][1]["reason"]) == ("refuse", "limit")


async def test_the_time_that_a_person_took_is_no_wait_for_open_holds(
    gateway: RunningGateway, admin: httpx.AsyncClient
) -> None:
    await limit(admin, "session:s1", limit_tokens=1_000, mode="approval")
    await ask(admin, "first", tokens=800)
    answer = await ask(admin, "second", tokens=1_100)
    assert answer["verdict"] == "ask"
    await gateway.pool.execute(LONGER_AGO, Settings().max_wait_s)
    granted = {"decision_id": "d1", "decision": "approve", "grant_tokens": 100}
    assert (await admin.post(f"/v1/approvals/{answer['approval_id']}/decision", json=granted)).is_success
    assert (await ask(admin, "second", tokens=1_100))["verdict"] == "wait"
    await gateway.pool.execute(
        "update approval_waiters set left_at = left_at - $1 * interval '1 second'", Settings().max_wait_s
    )
    assert (await ask(admin, "second", tokens=1_100))["verdict"] == "ask"


async def test_an_attempt_starts_and_settles_at_what_was_used(admin: httpx.AsyncClient) -> None:
    hold = await ask(admin)
    started = await admin.post(f"/v1/holds/{hold['hold_id']}/attempts", json={"attempt": 1})
    step = started.json()
    assert step.pop("expires_at") > hold["expires_at"]
    assert step == {
        "verdict": "allow",
        "hold_id": hold["hold_id"],
        "attempt": 1,
        "state": "held",
        "tokens": 1_000,
        "nano_usd": 0,
        "scopes": [],
    }
    usage = {"prompt_tokens": 10_000, "completion_tokens": 500, "prompt_tokens_details": {"cached_tokens": 9_000}}
    report = {"attempt": 1, "usage": usage, "nano_usd": 7}
    settled = await admin.post(f"/v1/holds/{hold['hold_id']}/settle", json=report)
    assert settled.json() == {
        "hold_id": hold["hold_id"],
        "state": "settled",
        "charged": {"tokens": 10_500, "nano_usd": 7},
        "overrun": 9_500,
        "overrun_nano_usd": 7,
        "late": False,
    }
    again = await admin.post(f"/v1/holds/{hold['hold_id']}/settle", json=report)
    assert again.json() == settled.json()
    other = await admin.post(f"/v1/holds/{hold['hold_id']}/settle", json=report | {"usage": {"total": 3}})
    assert (other.status_code, other.json()["type"]) == (409, "urn:purser:conflict")


async def test_settling_without_a_started_attempt_starts_it(agent: httpx.AsyncClient) -> None:
    hold = await ask(agent)
    settled = await agent.post(f"/v1/holds/{hold['hold_id']}/settle", json={"attempt": 1, "usage": {"total": 400}})
    assert settled.json()["charged"] == {"tokens": 400, "nano_usd": 0}


async def test_a_second_attempt_that_needs_more_than_is_left_is_a_verdict_not_an_error(
    admin: httpx.AsyncClient,
) -> None:
    await limit(admin, "session:s1", limit_tokens=1_500, mode="hard")
    hold = await ask(admin)
    await admin.post(f"/v1/holds/{hold['hold_id']}/attempts", json={"attempt": 1})
    second = await admin.post(f"/v1/holds/{hold['hold_id']}/attempts", json={"attempt": 2})
    assert second.status_code == 200
    assert (second.json()["verdict"], second.json()["tokens"]) == ("refuse", 1_000)
    assert second.json()["refusal"]["held"] == {"tokens": 0, "nano_usd": 0}
    assert "remedy" in second.json()
    shown = (await admin.get(f"/v1/holds/{hold['hold_id']}")).json()
    assert (shown["attempts"], shown["state"], shown["charged"]["tokens"]) == (1, "held", 1_000)


async def test_an_attempt_out_of_order_is_a_conflict(agent: httpx.AsyncClient) -> None:
    hold = await ask(agent)
    answer = await agent.post(f"/v1/holds/{hold['hold_id']}/attempts", json={"attempt": 3})
    problem = answer.json()
    assert (answer.status_code, problem["type"]) == (409, "urn:purser:conflict")
    assert problem["title"] == "The attempt cannot start or has reported"
    assert problem["detail"].endswith("the next is 1")
    assert problem["remedy"].startswith("Start the attempt that the detail names")


async def test_releasing_frees_the_hold_and_a_closed_hold_goes_no_further(agent: httpx.AsyncClient) -> None:
    hold = await ask(agent)
    for _ in range(2):
        released = await agent.post(f"/v1/holds/{hold['hold_id']}/release")
        assert released.json() == {
            "hold_id": hold["hold_id"],
            "state": "released",
            "charged": {"tokens": 0, "nano_usd": 0},
        }
    for step, body in (("attempts", {"attempt": 1}), ("extend", {"tokens": 5})):
        answer = await agent.post(f"/v1/holds/{hold['hold_id']}/{step}", json=body)
        problem = answer.json()
        assert (answer.status_code, problem["type"], problem["state"]) == (409, "urn:purser:hold-closed", "released")


async def test_an_ask_of_a_key_that_has_ended_counts_the_ended_holds_of_work_that_is_tried_again(
    agent: httpx.AsyncClient,
) -> None:
    async def end(key: str) -> None:
        hold = await ask(agent, key)
        assert "ended_tries" not in hold
        await agent.post(f"/v1/holds/{hold['hold_id']}/release")

    for key in ("k1", "k1/2", "k1/3", "k1/2/2", "k1/7"):
        await end(key)
    assert [(await ask(agent, key))["ended_tries"] for key in ("k1", "k1/2", "k1/3")] == [3, 2, 1]
    await ask(agent, "k1/4")  # is open
    assert (await ask(agent, "k1"))["ended_tries"] == 3


async def test_a_key_stops_waiting_for_an_approval_and_may_wait_anew(admin: httpx.AsyncClient) -> None:
    await limit(admin, "session:s1", limit_tokens=10, mode="approval")
    first = (await ask(admin, "first"))["approval_id"]
    assert (await ask(admin, "second"))["approval_id"] == first
    for key, left, state in (
        ("first", [first], "pending"),
        ("first", [], "pending"),
        ("second", [first], "withdrawn"),
        ("second", [], "withdrawn"),
    ):
        answer = await admin.post("/v1/holds/withdraw", json={"key": key})
        assert (answer.status_code, answer.json()) == (200, {"approval_ids": left})
        assert (await admin.get(f"/v1/approvals/{first}")).json()["state"] == state
    again = await ask(admin, "second")
    assert again["verdict"] == "ask"
    assert again["approval_id"] != first


async def test_the_wait_of_a_workflow_is_ended_by_no_one_else(
    admin: httpx.AsyncClient, gateway: RunningGateway
) -> None:
    await limit(admin, "session:s1", limit_tokens=10, mode="approval")
    request = (await ask(admin, "k1"))["approval_id"]
    await gateway.pool.execute("update approval_waiters set workflow_id = 'w1'")
    assert (await admin.post("/v1/holds/withdraw", json={"key": "k1"})).json() == {"approval_ids": []}
    assert (await admin.get(f"/v1/approvals/{request}")).json()["state"] == "pending"


async def test_a_refused_addition_with_a_key_needs_no_second_connection(
    settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("purser.compose.processes.gateway.POOL_SIZE", 1)
    async with running_gateway(settings) as gateway:
        admin = await gateway.client()
        await limit(admin, "session:s1", limit_tokens=1_000, mode="hard")
        hold = await ask(admin)
        path, headers = f"/v1/holds/{hold['hold_id']}/extend", {"Idempotency-Key": "once"}
        short = await admin.post(path, json={"tokens": 1}, headers=headers)
        assert (short.status_code, short.json()["verdict"]) == (200, "refuse"), short.text
        assert (await admin.post(path, json={"tokens": 1}, headers=headers)).json() == short.json()


async def test_extending_adds_through_the_gate_and_renews_the_lease(admin: httpx.AsyncClient) -> None:
    await limit(admin, "session:s1", limit_tokens=1_500, mode="hard")
    hold = await ask(admin)
    more = await admin.post(f"/v1/holds/{hold['hold_id']}/extend", json={"tokens": 500, "lease_ms": 600_000})
    assert (more.json()["verdict"], more.json()["tokens"]) == ("allow", 1_500)
    assert more.json()["expires_at"] > hold["expires_at"]
    short = await admin.post(f"/v1/holds/{hold['hold_id']}/extend", json={"tokens": 1})
    assert (short.status_code, short.json()["verdict"]) == (200, "refuse")


async def test_an_addition_that_does_not_fit_is_named_and_its_remedy_is_enough(admin: httpx.AsyncClient) -> None:
    await limit(admin, "session:s1", limit_tokens=1_000, mode="hard")
    hold = await ask(admin, tokens=600)
    path, body = f"/v1/holds/{hold['hold_id']}/extend", {"tokens": 900, "nano_usd": 7}
    short = (await admin.post(path, json=body)).json()
    assert (short["verdict"], short["tokens"], short["nano_usd"]) == ("refuse", 900, 7)
    refusal = short["refusal"]
    assert refusal["asked"] == {"tokens": 900, "nano_usd": 7}
    assert "900 tokens asked" in refusal["text"]
    assert "--limit-tokens 1500`" in refusal["remedy"]
    await limit(admin, "session:s1", limit_tokens=1_500)
    more = (await admin.post(path, json=body)).json()
    assert (more["verdict"], more["tokens"], more["nano_usd"]) == ("allow", 1_500, 7)


async def test_a_refused_addition_is_advised_to_wait_by_the_window_of_its_task_while_that_lasts(
    gateway: RunningGateway, admin: httpx.AsyncClient
) -> None:
    requested = PolicyPatch.parse({"limit_tokens": 1_500, "mode": "hard", "window": "day"})
    policies, session = Policies(gateway.pool, LedgerSettings()), Scope.parse("session:s1")
    await policies.set("default", session, requested, by=TESTER, task_id="t1")
    extend = f"/v1/holds/{(await ask(admin))['hold_id']}/extend"
    refused = (await admin.post(extend, json={"tokens": 501})).json()["refusal"]
    assert refused["period_end"]
    assert "or wait until" in refused["remedy"]
    # The hold stays in the window in which it was taken, and no other one brings room there.
    await limit(admin, "session:s1", window="day", timezone="Pacific/Kiritimati")
    assert (await admin.post(extend, json={"tokens": 501})).json()["refusal"]["period_end"] is None


async def test_a_hold_is_shown_in_its_current_state(agent: httpx.AsyncClient) -> None:
    hold = await ask(agent, model="priced-model")
    shown = (await agent.get(f"/v1/holds/{hold['hold_id']}")).json()
    assert shown.pop("created_at") < shown.pop("expires_at")
    assert shown == {
        "hold_id": hold["hold_id"],
        "key": "k1",
        "path": ["tenant:default", *PATH],
        "tags": {},
        "model": "priced-model",
        "state": "held",
        "tokens": 1_000,
        "nano_usd": 4_000_000,
        "charged": {"tokens": 0, "nano_usd": 0},
        "attempts": 0,
        "ended_at": None,
    }


async def test_an_unknown_hold_is_404(agent: httpx.AsyncClient) -> None:
    steps = {
        "settle": {"attempt": 1, "usage": {"total": 1}, "nano_usd": 0},
        "attempts": {"attempt": 1},
        "extend": {"tokens": 1, "nano_usd": 0},
        "release": {},
    }
    for hold_id in ("7", "x", "9" * 40, "%00", "-1"):
        answers = [await agent.get(f"/v1/holds/{hold_id}")]
        answers += [await agent.post(f"/v1/holds/{hold_id}/{step}", json=body) for step, body in steps.items()]
        assert {(answer.status_code, answer.json()["type"]) for answer in answers} == {(404, "urn:purser:not-found")}


async def test_no_tenant_sees_or_changes_the_hold_of_another(gateway: RunningGateway, agent: httpx.AsyncClient) -> None:
    hold = await ask(agent)
    stranger = await gateway.client(Role.AGENT, tenant="other")
    assert (await stranger.get(f"/v1/holds/{hold['hold_id']}")).status_code == 404
    assert (await stranger.post(f"/v1/holds/{hold['hold_id']}/release")).status_code == 404
    assert (await ask(stranger))["hold_id"] != hold["hold_id"]


async def test_another_tenants_own_scope_is_forbidden_in_a_path(agent: httpx.AsyncClient) -> None:
    body = {"key": "k", "path": ["tenant:other", "session:s1"], "tokens": 1}
    answer = await agent.post("/v1/holds", json=body)
    assert (answer.status_code, answer.json()["type"]) == (403, "urn:purser:forbidden")
    own = await agent.post("/v1/holds", json=body | {"path": ["tenant:default", "session:s1"]})
    assert own.json()["verdict"] == "allow"


async def test_a_hold_draws_on_the_tags_of_its_key_its_own_and_its_model(
    gateway: RunningGateway, admin: httpx.AsyncClient
) -> None:
    for scope in ("tag:team=search", "tag:app=x", "model:openai/gpt-4o"):
        await limit(admin, scope, limit_tokens=1_500, mode="hard")
    made = (await admin.post("/v1/keys", json={"name": "bot", "role": "agent", "tags": {"team": "search"}})).json()
    bot = await gateway.with_secret(made["key"])
    first = await ask(bot, tags={"app": "x"}, model="openai/gpt-4o")
    labels = ["tag:app=x", "tag:team=search", "model:openai/gpt-4o"]
    assert [scope["scope"] for scope in first["scopes"]] == ["tenant:default", *PATH, *labels]
    shown = (await bot.get(f"/v1/holds/{first['hold_id']}")).json()
    assert (shown["path"], shown["tags"]) == (["tenant:default", *PATH], {"team": "search", "app": "x"})
    assert (await ask(bot, tags={"app": "x"}, model="openai/gpt-4o"))["hold_id"] == first["hold_id"]
    short = (await ask(bot, key="k2", path=["session:other"]))["scopes"][-1]
    assert (short["scope"], short["reason"]) == ("tag:team=search", "open_holds")
    assert (await admin.get("/v1/budgets/model:openai/gpt-4o")).json()["tokens"]["held"] == 1_000
    contradicting = await bot.post("/v1/holds", json={"key": "k3", "path": PATH, "tokens": 1, "tags": {"team": "ads"}})
    assert contradicting.status_code == 422
    assert "tag team=ads contradicts the key" in contradicting.json()["detail"]
    reused = await bot.post("/v1/holds", json={"key": "k1", "path": PATH, "tokens": 1_000, "model": "openai/gpt-4o"})
    assert reused.status_code == 409
