"""Progress of the demo: one line for each change of the task between two polls."""

import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from rich.console import Console
from rich.markup import escape

from purser.compose.cli.tables import percent, usd
from purser.compose.demo.figures import Compression, charged, short_name

NOT_STARTED = ("waiting", "skipped", "cancelled")
ENDINGS = {
    "completed": "done",
    "refused": "was refused: {reason}",
    "failed": "failed: {reason}",
    "cancelled": "was cancelled",
    "skipped": "is skipped: an agent that it needs did not complete",
}


@dataclass(frozen=True)
class Line:
    """One line of progress."""

    agent_id: str
    """Empty: the demo itself."""
    text: str


class Progress:
    """Writes lines with the seconds since the demo started."""

    def __init__(self, console: Console) -> None:
        self.console = console
        self._started = time.monotonic()

    def write(self, text: str, agent_id: str = "") -> None:
        """Writes one line about an agent or the demo itself."""
        seconds = time.monotonic() - self._started
        self.console.print(f"[dim]{seconds:5.1f} s[/]  [cyan]{escape(agent_id):<9}[/]{escape(text)}", soft_wrap=True)


def compression_line(compression: Compression) -> Line:
    """The line about a new summary."""
    one = compression
    return Line(
        "",
        f"The session is compressed: {one.messages} of {one.of_messages} messages became a summary, "
        f"{one.tokens_before:,} → {one.tokens_after:,} tokens",
    )


def changes(before: Mapping[str, Any] | None, now: Mapping[str, Any]) -> Iterator[Line]:
    """Lines about what changed between two answers of `GET /tasks/{id}`."""
    for agent_id, agent in now["agents"].items():
        old = before["agents"][agent_id] if before else {"status": "waiting", "turns": 0, "delay_ms": 0}
        yield from (Line(agent_id, text) for text in _agent_changes(old, agent, now))


def _agent_changes(old: Mapping[str, Any], agent: Mapping[str, Any], now: Mapping[str, Any]) -> Iterator[str]:
    if old["status"] == "waiting" and agent["status"] not in NOT_STARTED:
        yield "begins"
    if agent["delay_ms"] > old["delay_ms"]:
        scope, ratio = _fullest(now)
        more_ms = agent["delay_ms"] - old["delay_ms"]
        yield f"slowed down by {more_ms:,} ms: {short_name(scope)} is {percent(ratio)} used"
    if agent["turns"] > old["turns"]:
        yield f"call {agent['turns']} answered; {charged(agent):,} tokens, {usd(agent['nano_usd'])} so far"
    if agent["status"] != old["status"]:
        if agent["status"] == "waiting_approval":
            yield "exceeds its budget and waits for approval"
        elif agent["status"] in ENDINGS:
            yield ENDINGS[agent["status"]].format(reason=agent["reason"])


def _fullest(task: Mapping[str, Any]) -> tuple[str, float]:
    """The scope with the highest ratio, and that ratio."""
    ratios = {scope: view["ratio"] or 0.0 for scope, view in task["scopes"].items()}
    scope = max(ratios, key=ratios.__getitem__)
    return scope, ratios[scope]
