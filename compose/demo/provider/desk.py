"""What the provider keeps while it serves: its script, its faults, who is held, and the log. Knows nothing of HTTP."""

import asyncio
from collections.abc import Iterable
from dataclasses import dataclass, field

from purser.compose.demo.provider.prefix_cache import PrefixCache
from purser.compose.demo.provider.recorded import Recording
from purser.compose.demo.provider.script import Asked, Fault, FaultKind, Match, Reply, Rule, Script, default_reply
from purser.compose.demo.provider.service_log import ServiceLog
from purser.compose.demo.provider.wire import ChatRequest


@dataclass
class Held:
    """A request that waits for a test to continue it."""

    seq: int
    """Its number in the log."""
    asked: Asked
    """What it asks."""
    go: asyncio.Event = field(default_factory=asyncio.Event, repr=False)
    """Set when it may go on."""


@dataclass
class _Armed:
    fault: Fault
    left: int | None


class Desk:
    """Decides what happens to each request, and lets tests interfere. Belongs to one event loop."""

    def __init__(self, log: ServiceLog, recordings: Iterable[Recording], script: Script, key: str | None) -> None:
        self.log = log
        self.recordings = {recording.name: recording for recording in recordings}
        self.key = key
        self.cache = PrefixCache()
        self.stopping = asyncio.Event()
        self._rules: list[Rule] = []
        self._armed: list[_Armed] = []
        self._held: list[Held] = []
        self._held_changed = asyncio.Event()
        self.add(script)

    def add(self, script: Script) -> None:
        """Take more rules and faults: new rules go before older ones, new faults come after older ones."""
        self._rules[:0] = script.rules
        self._armed += [_Armed(fault, fault.times) for fault in script.faults]

    def add_rule(self, rule: Rule) -> None:
        """Answer matching requests by this rule from now on."""
        self.add(Script(rules=(rule,)))

    def add_fault(self, fault: Fault) -> None:
        """Let this go wrong with matching requests from now on."""
        self.add(Script(faults=(fault,)))

    def clear(self) -> None:
        """Forget all rules and faults, and continue everyone who is held."""
        self._rules.clear()
        self._armed.clear()
        self.continue_held()

    def add_recordings(self, recordings: Iterable[Recording]) -> None:
        """Serve these recordings too."""
        self.recordings.update((recording.name, recording) for recording in recordings)

    def rule_for(self, asked: Asked) -> Rule:
        """How a request is answered: by the first rule that fits; without one, plainly."""
        return next((rule for rule in self._rules if rule.match.accepts(asked)), Rule())

    def reply_for(self, rule: Rule, asked: Asked, request: ChatRequest) -> Reply:
        """What is said: by the rule, else by the recording of the path, else the default.

        Raises:
            RecordingError: the recording does not have the agent of the path.
        """
        if rule.reply is not None:
            return rule.reply
        recording = self.recordings.get(asked.recording or "")
        if recording is not None:
            return recording.reply(asked.agent, request.messages)
        spoken = [message.text for message in request.messages if message.role == "user"]
        return default_reply(spoken[-1] if spoken else asked.text)

    def take_fault(self, asked: Asked) -> Fault | None:
        """The fault that befalls a request, used up by one."""
        armed = next((one for one in self._armed if one.left != 0 and one.fault.match.accepts(asked)), None)
        if armed is None:
            return None
        if armed.left is not None:
            armed.left -= 1
        return armed.fault

    def hold(self, match: Match | None = None, *, after_chunks: int | None = None, times: int | None = 1) -> None:
        """Let the next matching requests wait until they are continued."""
        match = match or Match()
        self.add_fault(Fault(kind=FaultKind.HOLD, match=match, after_chunks=after_chunks, times=times))

    async def wait(self, seq: int, asked: Asked) -> None:
        """Hold a request here until a test continues it."""
        held = Held(seq, asked)
        self._held.append(held)
        self._held_changed.set()
        try:
            await held.go.wait()
        finally:
            self._held.remove(held)
            self._held_changed.set()

    def waiting(self) -> tuple[Held, ...]:
        """The requests that are held, in order."""
        return tuple(held for held in self._held if not held.go.is_set())

    async def wait_held(self, count: int = 1) -> tuple[Held, ...]:
        """Wait until at least this many requests are held."""
        while len(self.waiting()) < count:
            self._held_changed.clear()
            await self._held_changed.wait()
        return self.waiting()

    def continue_held(self, request_id: str = "") -> int:
        """Let requests go on whose id begins with this (by default all that are held); how many."""
        going = [held for held in self.waiting() if (held.asked.request_id or "").startswith(request_id)]
        for held in going:
            held.go.set()
        return len(going)
