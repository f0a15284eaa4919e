"""`purser doctor` on real parts, running and unreachable."""

import asyncio
import resource
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from pydantic import SecretStr

from purser.activities.postgres.tasks import Tasks
from purser.activities.tasks.file import TaskFile
from purser.budget.policies.fields import Mode
from purser.budget.policies.policy import PolicyPatch
from purser.budget.postgres.audit.results import AuditResults, AuditRun
from purser.budget.postgres.ledger.policies import Policies
from purser.budget.postgres.ledger.settings import LedgerSettings
from purser.budget.scopes import Kind, Scope
from purser.compose.doctor import diagnose
from purser.compose.settings import Settings
from purser.compose.stack.ports import LOOPBACK, free_port
from purser.context.conversation.messages import Message
from purser.context.postgres.conversation.conversations import Conversations
from tests.support.actors import ANA
from tests.support.servers.forked import Forks

if TYPE_CHECKING:
    import asyncpg


def test_with_nothing_running_it_says_how_to_start(forks: Forks, tmp_path: Path) -> None:
    answer = forks.purser(tmp_path).json("doctor", "--data", str(tmp_path / "data"))
    states = {finding["name"]: finding["state"] for finding in answer["findings"]}
    assert {name for name, state in states.items() if state == "off"} == {
        "up",
        "postgres",
        "schema",
        "temporal",
        "gateway",
    }
    assert all("purser up" in finding["remedy"] for finding in answer["findings"] if finding["state"] == "off")


def test_it_reports_versions_and_the_sources_of_settings(
    forks: Forks, tmp_path: Path, dsn: str, temporal_address: str, task_queue: str
) -> None:
    (tmp_path / "purser.toml").write_text(f'task_queue = "{task_queue}"')
    answer = forks.purser(tmp_path, dsn=dsn, temporal_address=temporal_address).json("doctor")
    details = {finding["name"]: finding["detail"] for finding in answer["findings"]}
    assert answer["ok"]
    assert details["postgres"].startswith("18.")
    assert temporal_address in details["temporal"]
    assert details["worker"] == f"no worker polls the task queue {task_queue!r} for workflows and activities"
    assert answer["configured"] == {"dsn": "environment", "temporal_address": "environment", "task_queue": "file"}


def test_what_does_not_answer_fails_and_names_the_setting_to_correct(
    forks: Forks, tmp_path: Path, temporal_address: str
) -> None:
    away = f"{LOOPBACK}:{free_port()}"
    purser = forks.purser(tmp_path, dsn=f"postgresql://u:s3cr3t@{away}/d", temporal_address=away, url=f"http://{away}")
    answer = purser.json("doctor", code=1)
    failed = {finding["name"]: finding for finding in answer["findings"] if finding["state"] == "failed"}
    assert set(failed) == {"postgres", "schema", "temporal", "gateway"}
    assert "PURSER_DSN" in failed["postgres"]["remedy"]
    assert "PURSER_TEMPORAL_ADDRESS" in failed["temporal"]["remedy"]
    assert "PURSER_URL" in failed["gateway"]["remedy"]
    assert "s3cr3t" not in str(answer)

    wrong = forks.purser(tmp_path, temporal_address=temporal_address, temporal_namespace="nowhere")
    failed = {f["name"]: f for f in wrong.json("doctor", code=1)["findings"] if f["state"] == "failed"}
    assert "'nowhere'" in failed["temporal"]["detail"]
    assert "PURSER_TEMPORAL_NAMESPACE" in failed["temporal"]["remedy"]


def test_a_dsn_that_is_not_valid_is_no_server_that_does_not_answer(forks: Forks, tmp_path: Path) -> None:
    purser = forks.purser(tmp_path, dsn="postgresql://u:s3cr3t@127.0.0.1:9/d?sslmode=sometimes")
    [found] = [one for one in purser.json("doctor", code=1)["findings"] if one["name"] == "postgres"]
    assert found["detail"].startswith("dsn is not valid: `sslmode` parameter must be one of")
    assert "PURSER_DSN" in found["remedy"]


def test_a_database_without_the_schema_fails_with_the_remedy_to_migrate(
    forks: Forks, tmp_path: Path, empty_dsn: str
) -> None:
    purser = forks.purser(tmp_path, dsn=empty_dsn)
    failed = {f["name"]: f for f in purser.json("doctor", code=1)["findings"] if f["state"] == "failed"}
    assert set(failed) == {"schema"}
    assert "purser migrate" in failed["schema"]["remedy"]


async def test_common_pitfalls_are_warnings_and_not_failures(
    forks: Forks, tmp_path: Path, dsn: str, pool: "asyncpg.Pool[asyncpg.Record]", temporal_address: str, task_queue: str
) -> None:
    conversations = Conversations(pool)
    for number in range(20):
        await conversations.append("t", f"s{number}", [Message("user", "hello")], origin="a")
    purser = forks.purser(
        tmp_path, dsn=dsn, temporal_address=temporal_address, task_queue=task_queue, compression_trigger_ratio="0.95",
        primers_count="1", recents_count="50", mode="hard", agent_limit_tokens="10000",
    )  # fmt: skip
    answer = await asyncio.to_thread(purser.json, "doctor")
    warned = [finding for finding in answer["findings"] if finding["state"] == "warned"]
    assert answer["ok"]
    assert [finding["name"] for finding in warned] == ["worker", *["settings"] * 4]
    assert any("every agent has a hard limit of 10,000" in finding["detail"] for finding in warned)
    assert any("20 of 20 sessions" in finding["detail"] for finding in warned)


async def test_004_14_stored_policies_and_task_files_with_pitfalls_are_warnings(
    forks: Forks, tmp_path: Path, dsn: str, pool: "asyncpg.Pool[asyncpg.Record]"
) -> None:
    policies = Policies(pool, LedgerSettings())
    small = PolicyPatch(limit_tokens=10_000, mode=Mode.HARD)
    await policies.set("acme", Scope(Kind.SESSION, "s7"), small, by=ANA)
    agent = {"id": "a1", "model": "gpt-4o", "instructions": "Be brief."}
    context = {"trigger_ratio": 0.95, "recents_count": 90}
    file = {"session_id": "s1", "task_id": "t1", "input": "hi", "context": context, "agents": [agent]}
    tasks = Tasks(pool, policies, Conversations(pool))
    await tasks.submit("acme", TaskFile.parse(file, ()), None)
    answer = await asyncio.to_thread(forks.purser(tmp_path, dsn=dsn).json, "doctor")
    warned = [finding["detail"] for finding in answer["findings"] if finding["state"] == "warned"]
    assert [detail.split(":")[0] for detail in warned if "acme" in detail] == [
        "acme session", "task acme t1", "task acme t1",
    ]  # fmt: skip
    assert any("acme session:s7 has a hard limit of 10,000 tokens" in detail for detail in warned)
    assert any("starts at 0.95" in detail for detail in warned)
    assert any("90 recent messages" in detail for detail in warned)


async def test_it_says_how_many_connections_the_open_files_allow(tmp_path: Path) -> None:
    _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    few = Settings(data_dir=tmp_path, max_connections=1)
    many = few.model_copy(update={"max_connections": hard})
    found = [next(one for one in (await diagnose(each)).findings if one.name == "files") for each in (few, many)]
    assert [one.state for one in found] == ["ok", "warned"]
    assert found[0].detail == f"{hard} open files, up to 1 connections"
    assert f"up to {hard - 256} connections of {hard}" in found[1].detail
    assert str(hard + 256) in found[1].remedy


@pytest.mark.parametrize("text", ["not json", '{"my-model": {"input_cost_per_token": 2.5}}'])
async def test_a_price_file_with_which_nothing_starts_fails(tmp_path: Path, text: str) -> None:
    (tmp_path / "prices.json").write_text(text)
    for file, state in ((None, "ok"), (tmp_path / "prices.json", "failed")):
        findings = (await diagnose(Settings(data_dir=tmp_path, price_file=file))).findings
        assert [one.state for one in findings if one.name == "prices"] == [state]


async def test_provider_keys_that_are_sent_nowhere_are_warnings_without_their_names(tmp_path: Path) -> None:
    names = ("api.openai.com", "openai", "llm.example.com:8443", "sk-confused")
    keys = dict.fromkeys(names, SecretStr("k"))
    settings = Settings(data_dir=tmp_path, provider_keys=keys, allowed_api_bases=("https://llm.example.com:8443/v1",))
    found = [one for one in (await diagnose(settings)).findings if one.name == "provider keys"]
    assert [(one.state, one.detail.split()[4]) for one in found] == [("warned", "2"), ("warned", "4")]
    assert "confused" not in str(found)


async def test_the_last_audit_is_shown_and_fails_if_it_found_differences(
    pool: "asyncpg.Pool[asyncpg.Record]", dsn: str
) -> None:
    async def state(**run: object) -> tuple[str, str]:
        given = {"ended_at": datetime.now(UTC), "seconds": 1.5, "by": "ada", "checked": {}, "differences": 0}
        await AuditResults(pool).store(AuditRun(**(given | {"examples": ()} | run)))  # type: ignore[arg-type]
        [found] = [one for one in (await diagnose(Settings(dsn=dsn))).findings if one.name == "audit"]
        return found.state, found.detail

    ok, detail = await state()
    assert (ok, detail.startswith("0 differences"), detail.endswith("by ada")) == ("ok", True, True)
    assert (await state(differences=2))[0] == "failed"
    for days in (-3, 3):
        assert (await state(ended_at=datetime.now(UTC) + timedelta(days=days)))[0] == "warned"
