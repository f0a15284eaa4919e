"""The state of a running provider: its rules, faults, held requests and log, without any HTTP."""

import asyncio
from collections.abc import Iterable
from dataclasses import dataclass, field

from purser.compose.demo.provider.prefix_cache import PrefixCache
from purser.compose.demo.provider.recorded import Recording
from purser.compose.demo.provider.script import Fault, FaultKind, Match, Reply, RequestInfo, Rule, Script, default_reply
from purser.compose.demo.provider.service_log import ServiceLog
from purser.compose.demo.provider.wire import ChatRequest


@dataclass
class HeldRequest:
    """A request that waits for a test to continue it."""

    seq: int
    """Its number in the log."""
    info: RequestInfo
    """What is known of it."""
    released: asyncio.Event = field(default_factory=asyncio.Event, repr=False)
    """Set when it may continue."""


@dataclass
class _Armed:
    fault: Fault
    remaining: int | None


class Control:
    """Decides what happens to each request; tests change its rules and faults. Belongs to one event loop."""

    def __init__(self, log: ServiceLog, recordings: Iterable[Recording], script: Script, key: str | None) -> None:
        self.log = log
        self.recordings = {recording.name: recording for recording in recordings}
        self.key = key
        self.cache = PrefixCache()
        self.stopping = asyncio.Event()
        self._rules: list[Rule] = []
        self._armed: list[_Armed] = []
        self._held: list[HeldRequest] = []
        self._held_changed = asyncio.Event()
        self.add(script)

    def add(self, script: Script) -> None:
        """Adds rules and faults: new rules precede older ones, new faults follow older ones."""
        self._rules[:0] = script.rules
        self._armed += [_Armed(fault, fault.times) for fault in script.faults]

    def add_rule(self, rule: Rule) -> None:
        """Answers matching requests by this rule from now on."""
        self.add(Script(rules=(rule,)))

    def add_fault(self, fault: Fault) -> None:
        """Applies this fault to matching requests from now on."""
        self.add(Script(faults=(fault,)))

    def clear(self) -> None:
        """Removes all rules and faults and continues all held requests."""
        self._rules.clear()
        self._armed.clear()
        self.continue_held()

    def add_recordings(self, recordings: Iterable[Recording]) -> None:
        """Serves these recordings too."""
        self.recordings.update((recording.name, recording) for recording in recordings)

    def rule_for(self, info: RequestInfo) -> Rule:
        """The first rule that matches a request; without one, a rule with defaults only."""
        return next((rule for rule in self._rules if rule.match.accepts(info)), Rule())

    def reply_for(self, rule: Rule, info: RequestInfo, request: ChatRequest) -> Reply:
        """The reply of the rule, else of the recording in the path, else the default reply.

        Raises:
            RecordingError: the recording does not have the agent in the path.
        """
        if rule.reply is not None:
            return rule.reply
        recording = self.recordings.get(info.recording or "")
        if recording is not None:
            return recording.reply(info.agent, request.messages)
        spoken = [message.text for message in request.messages if message.role == "user"]
        return default_reply(spoken[-1] if spoken else info.text)

    def take_fault(self, info: RequestInfo) -> Fault | None:
        """The first fault that matches a request; counts one use of it."""
        armed = next((one for one in self._armed if one.remaining != 0 and one.fault.match.accepts(info)), None)
        if armed is None:
            return None
        if armed.remaining is not None:
            armed.remaining -= 1
        return armed.fault

    def hold(self, match: Match | None = None, *, after_chunks: int | None = None, times: int | None = 1) -> None:
        """Holds the next matching requests until they are continued."""
        match = match or Match()
        self.add_fault(Fault(kind=FaultKind.HOLD, match=match, after_chunks=after_chunks, times=times))

    async def wait(self, seq: int, info: RequestInfo) -> None:
        """Blocks a request until a test continues it."""
        held = HeldRequest(seq, info)
        self._held.append(held)
        self._held_changed.set()
        try:
            await held.released.wait()
        finally:
            self._held.remove(held)
            self._held_changed.set()

    def waiting(self) -> tuple[HeldRequest, ...]:
        """The held requests, in order."""
        return tuple(held for held in self._held if not held.released.is_set())

    async def wait_held(self, count: int = 1) -> tuple[HeldRequest, ...]:
        """Waits until at least this many requests are held; returns all that are."""
        while len(self.waiting()) < count:
            self._held_changed.clear()
            await self._held_changed.wait()
        return self.waiting()

    def continue_held(self, request_id: str = "") -> int:
        """Continues held requests whose id begins with `request_id`, by default all; returns how many."""
        continued = [held for held in self.waiting() if (held.info.request_id or "").startswith(request_id)]
        for held in continued:
            held.released.set()
        return len(continued)
