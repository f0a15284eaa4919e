"""What a plain turn of an agent costs beside workflows that do nothing: its time, and what it leaves in Temporal.

A plain turn plans the window, estimates, holds, calls the model, settles and stores the reply. It takes turns with five
empty regular activities, as the same steps would be without Purser's, and with an empty local and an empty regular one,
so that whatever else the machine does slows all of them. The provider answers at once. A turn counts from the start of
its workflow until its last activity completed, by Temporal's clock. The figures are valid only if every task completed,
the ledger charged what the provider served, and the audit is clean.
"""

import asyncio
import time
import uuid
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path
from statistics import median
from typing import Any

from purser.benchmarks.outcome import Outcome, Table, gate_table, percentile_ms
from purser.benchmarks.progress import log_step
from purser.benchmarks.tasks.baselines import QUEUE, EmptyPair, FiveActivities
from purser.benchmarks.tasks.histories import Turn, turn_of
from purser.benchmarks.tasks.running import Running, running_tasks
from purser.compose.signals import cancelled_once

SECONDS = 30.0
WARM_UP = 5
"""Rounds that do not count."""
EVENTS = 8
"""Target: most events of a plain turn."""
TARGETS = {"five activities": 0.33, "an empty pair": 1.4}
"""Targets: most times that the median of a plain turn takes, in medians of these."""
PLAIN = "a plain turn"


@dataclass
class Kind:
    """Workflows of one kind."""

    name: str
    activities: int
    """Regular activities of its turn."""
    turns: list[Turn] = field(default_factory=list)

    @property
    def p50_ms(self) -> float:
        """The median."""
        return percentile_ms([turn.seconds for turn in self.turns], 0.50)

    def figures(self) -> dict[str, Any]:
        """The figures as JSON."""
        return {
            "turn": self.name,
            "turns": len(self.turns),
            "p50_ms": self.p50_ms,
            "p99_ms": percentile_ms([turn.seconds for turn in self.turns], 0.99),
            "events": int(median(turn.events for turn in self.turns)),
            "most_events": max(turn.events for turn in self.turns),
            "bytes": int(median(turn.size_bytes for turn in self.turns)),
        }


def run(data: Path | None, seconds: float = SECONDS) -> Outcome:
    """Runs the benchmark.

    Args:
        data: not used.
        seconds: of all turns.
    """
    return asyncio.run(cancelled_once(measure(seconds, WARM_UP)))


async def measure(seconds: float, warm_up: int) -> Outcome:
    """Measures turns for some seconds, after so many rounds that do not count."""
    kinds = [Kind("five activities", 5), Kind("an empty pair", 1), Kind(PLAIN, 1)]
    statuses: Counter[str] = Counter()
    async with running_tasks() as running:
        for _ in range(warm_up):
            await _round(running, statuses)
        log_step(f"turns for {seconds:.0f} s")
        end = time.perf_counter() + seconds
        while not kinds[0].turns or time.perf_counter() < end:
            for kind, workflow_id in zip(kinds, await _round(running, statuses), strict=True):
                kind.turns.append(await turn_of(running.client, workflow_id, kind.activities))
        gate = await running.gate(statuses)
    return outcome_of(kinds, gate, seconds)


async def _round(running: Running, statuses: Counter[str]) -> list[str]:
    """Runs one workflow of each kind; returns their ids."""
    empty = {workflow: str(uuid.uuid4()) for workflow in (FiveActivities, EmptyPair)}
    for workflow, workflow_id in empty.items():
        await running.client.execute_workflow(workflow.run, id=workflow_id, task_queue=QUEUE)
    statuses[await running.tasks.run()] += 1
    return [*empty.values(), running.tasks.last_agent.workflow_id]


def outcome_of(kinds: list[Kind], gate: dict[str, bool], seconds: float) -> Outcome:
    """The figures of these kinds, the plain turn last. A target that is missed is shown, and fails nothing."""
    found = [kind.figures() for kind in kinds]
    plain = kinds[-1]
    times = {kind.name: round(plain.p50_ms / kind.p50_ms, 2) for kind in kinds[:-1]}
    events = found[-1]["events"]
    targets = [
        *(
            (f"times {name}", f"{times[name]:.2f}", f"{most:.2f}", times[name] <= most)
            for name, most in TARGETS.items()
        ),
        ("events", str(events), str(EVENTS), events <= EVENTS),
    ]
    return Outcome(
        gate_passed=all(gate.values()),
        results={"turns": found, "times": times, "targets": {**TARGETS, "events": EVENTS}, "gate": gate},
        settings={"seconds": seconds},
        tables=[
            Table("turns", tuple(name.replace("_", " ") for name in found[0]), [tuple(one.values()) for one in found]),
            Table(f"{PLAIN}, median", ("in", "measured", "target, at most", "reached"), targets),
            gate_table(gate),
        ],
    )
