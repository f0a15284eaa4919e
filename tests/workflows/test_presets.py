"""Tasks with the presets of windows, end to end: their figures are in force, with their source, and act in calls."""

import json
import uuid
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import pytest

from purser.context.conversation.messages import Message
from purser.context.settings import PRESETS
from purser.context.strategies import WINDOW_PRESETS
from tests.support.runs.proof import some
from tests.support.world import TENANT, World, eventually

STORED = 60
"""Messages of the session before the first task."""


@dataclass(frozen=True)
class Seen:
    """What the last call of a task saw."""

    plan: dict[str, Any]
    prompt: list[dict[str, Any]]
    summary: dict[str, Any]
    """The stored summary; empty if there is none."""

    @property
    def verbatim(self) -> list[int]:
        """Sequence numbers of the session's messages."""
        return list(self.plan["session"]["seqs"])

    def says(self, text: str) -> bool:
        return any(str(one["content"]).startswith(text) for one in self.prompt)


def education(seen: Seen) -> bool:
    return len(seen.verbatim) <= 40 and seen.summary["tokens_after"] <= 1_024 and seen.says("Summary of messages 1 to")


def game(seen: Seen) -> bool:
    rounds = sum(one["role"] == "user" for one in seen.prompt)
    return rounds == 10 and not seen.summary and seen.plan["session"]["dropped"][0]["first_seq"] == 1


def cookhero(seen: Seen) -> bool:
    return 10 <= len(seen.verbatim) <= 15 and seen.summary["last_seq"] % 6 == 0 and seen.summary["first_seq"] == 1


def optimizer(seen: Seen) -> bool:
    return " conversation of " in seen.plan["strategy_reason"] and seen.summary["tokens_after"] <= 320


def shannon(seen: Seen) -> bool:
    ends = seen.verbatim[:3] == [1, 2, 3] and len(seen.verbatim) >= 3 + 20
    return ends and seen.summary["tokens_after"] <= 400 and seen.says("Previous context summary:\n")


ACTS: dict[str, Callable[[Seen], bool]] = {one.__name__: one for one in (education, game, cookhero, optimizer, shannon)}


def test_every_preset_of_windows_is_run() -> None:
    assert ACTS.keys() == WINDOW_PRESETS.keys()


@pytest.mark.parametrize("preset", some(list(ACTS), 2))
async def test_the_figures_of_a_preset_are_in_force_in_a_task_with_their_source(system: World, preset: str) -> None:
    session = f"preset-{uuid.uuid4().hex[:8]}"  # compressions are named after their session, and tests share one engine
    said = [Message(("user", "assistant")[n % 2], f"Sentence {n} tells about topic {n}. " * 8) for n in range(STORED)]
    await system.conversations.append(TENANT, session, said, origin="talk")
    first = await system.run(system.agent("a"), session_id=session, use_case_preset=preset)
    if PRESETS[preset].get("strategy") != "sliding_window":
        await eventually(lambda: system.pool.fetchval("select count(*) from summaries"))
    task = await system.run(system.agent("a"), session_id=session, use_case_preset=preset)
    assert first["status"] == task["status"] == "completed"

    file = await system.tasks.file(TENANT, task["task_id"])
    assert file is not None
    context = file.resolved_context(system.dependencies.settings.context)
    assert (context.preset, file.use_case_preset) == (preset, preset)
    for name, value in PRESETS[preset].items():
        assert (getattr(context.settings, name), context.source(name)) == (value, preset), name
    assert context.source("history_token_budget_ratio") == "default"

    plan = await system.pool.fetchval("select plan from calls where task_id = $1", task["task_id"])
    summary = await system.pool.fetchrow("select * from summaries order by version desc limit 1")
    prompt = json.loads(system.provider.served()[-1].arrival.text or "")["messages"]
    seen = Seen(plan, prompt, dict(summary or {}))
    assert seen.plan["strategy"] in (context.settings.strategy, "summary", "smart_truncation")
    assert ACTS[preset](seen), (seen.verbatim, seen.plan["strategy_reason"], seen.summary)
    await system.audited()
