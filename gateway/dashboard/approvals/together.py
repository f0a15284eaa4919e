"""Several requests at once: filters and groups of the list, and one decision for all that are selected."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from itertools import groupby

from purser.budget.approvals import ApprovalRequest, Choice
from purser.budget.gate import Amount
from purser.budget.scopes import Kind, Scope
from purser.gateway.access.roles import Permission, Principal
from purser.gateway.approvals import routes as api
from purser.gateway.dashboard.actions import Refused, explain
from purser.gateway.dashboard.approvals.form import Draft
from purser.gateway.dashboard.formats import amount, plural
from purser.gateway.dashboard.region import Act
from purser.gateway.dashboard.visit import Visit
from purser.wire.limits import MAX_NOTE

MOST = 1_000
"""Most pending requests that a filter looks through."""
ANNOUNCED = 20
"""Most new requests that are announced at once."""
AGES = (("", "any age"), ("5", "older than 5 min"), ("15", "older than 15 min"), ("60", "older than 1 h"))


@dataclass(frozen=True, slots=True)
class Filter:
    """What the list shows of the pending requests."""

    text: str = ""
    """Part of a scope, a task or an agent."""
    age_min: int = 0
    """Only requests that are older, in minutes."""
    grouped: bool = False
    """Whether requests of one session or task are listed under its name."""

    @classmethod
    def read(cls, fields: Mapping[str, str]) -> "Filter":
        """The filter as the form states it."""
        age = fields.get("age", "")
        return cls(fields.get("q", "").strip(), int(age) if age in dict(AGES) and age else 0, "grouped" in fields)

    @property
    def narrows(self) -> bool:
        """Whether it may leave requests out."""
        return bool(self.text or self.age_min)

    def shows(self, request: ApprovalRequest, now: datetime) -> bool:
        """Whether the list shows a request."""
        names = [str(request.scope), *(name for one in request.waiters for name in (one.task_id, one.agent_id))]
        found = any(self.text.lower() in name.lower() for name in names)
        return found and now - request.created_at >= timedelta(minutes=self.age_min)


def group_of(request: ApprovalRequest) -> str:
    """The outermost session or task on whose work a request depends; without one, the scope that is short."""
    for waiter in request.waiters:
        for name in waiter.path:
            if Scope.stored(name).kind in (Kind.SESSION, Kind.TASK):
                return name
    return str(request.scope)


def grouped(requests: Sequence[ApprovalRequest], by: Filter) -> list[tuple[str, list[ApprovalRequest]]]:
    """The list in groups with their names, in the order of their first request; without grouping one unnamed group."""
    if not by.grouped:
        return [("", list(requests))]
    order = list(dict.fromkeys(map(group_of, requests)))
    listed = sorted(requests, key=lambda request: order.index(group_of(request)))
    return [(name, list(members)) for name, members in groupby(listed, key=group_of)]


@dataclass(frozen=True, slots=True)
class Result:
    """What became of one request."""

    scope: Scope
    text: str
    good: bool


@dataclass
class Together:
    """The selection on one open page, and the decision about it."""

    visit: Visit
    filter: Filter = field(default_factory=Filter)
    picked: set[str] = field(default_factory=set)
    """Ids of the selected requests; only what the list shows is ever selected."""
    armed: Mapping[str, Draft] = field(default_factory=dict)
    """The decision about each of them that waits for confirmation, by id; empty: none does."""
    results: Sequence[Result] = ()
    """What became of each, after the last decision."""
    listed: Sequence[ApprovalRequest] = ()
    since: datetime | None = None
    """When the newest request was created that the page found first; `None` until it is read."""
    announced: set[str] = field(default_factory=set)
    """Ids of newer requests, of which the person was notified."""

    def show(self, listed: Sequence[ApprovalRequest]) -> None:
        """Follows the list: what it no longer shows is no longer selected."""
        self.listed = listed
        self.picked &= {request.approval_id for request in listed}
        self.armed = {approval_id: draft for approval_id, draft in self.armed.items() if approval_id in self.picked}

    def announce(self, newest: Sequence[ApprovalRequest]) -> None:
        """Offers a desktop notification of each request created since the page was opened.

        Args:
            newest: the newest pending requests, newest first, whatever the list shows.
        """
        if self.since is None:
            self.since = max((request.created_at for request in newest), default=datetime.min.replace(tzinfo=UTC))
        for request in reversed(newest):
            if request.created_at > self.since and request.approval_id not in self.announced:
                text = f"{request.scope} is short of {amount(request.shortage)}"
                self.visit.screen.notify("Approval needed", text, request.approval_id)
                self.announced.add(request.approval_id)

    @property
    def selected(self) -> list[ApprovalRequest]:
        """The selected requests."""
        return [request for request in self.listed if request.approval_id in self.picked]

    @property
    def missing(self) -> Amount:
        """What the selected requests are short of, in total."""
        return sum((request.shortage for request in self.selected), Amount())

    @property
    def asked(self) -> Amount:
        """What is granted in total if the person confirms."""
        return sum((draft.amount for draft in self.armed.values()), Amount())

    async def handle(self, act: Act) -> bool:
        """Handles an act of the person; `False` if it is about something else."""
        match act.name:
            case "filter":
                self.filter = Filter.read(act.fields)
            case "pick":
                self.pick({act.data.get("id", "")})
            case "pick-group":
                self.pick({one.approval_id for one in self.listed if group_of(one) == act.data.get("group")})
            case "pick-all":
                self.pick({one.approval_id for one in self.listed})
            case "pick-none":
                self.picked, self.armed = set(), {}
            case "approve-each" | "deny-each" if self.picked:
                note = act.fields.get("note", "").replace("\r\n", "\n").strip()[:MAX_NOTE]
                choice = Choice.DENY if act.name == "deny-each" else Choice.APPROVE
                reasons = {"note": note} if note else {}
                # What the question names is granted, however much is missing by the time it is answered.
                self.armed = {
                    one.approval_id: Draft(choice, Amount() if choice is Choice.DENY else one.shortage, reasons=reasons)
                    for one in self.selected
                }
            case "back-each":
                self.armed = {}
            case "confirm-each" if self.armed:
                await self._decide(self.armed)
            case _:
                return False
        return True

    def pick(self, ids: set[str]) -> None:
        """Selects requests; deselects them if all of them are selected."""
        self.armed, self.results = {}, ()
        self.picked = self.picked - ids if ids <= self.picked else self.picked | ids

    async def _decide(self, drafts: Mapping[str, Draft]) -> None:
        """Decides about each selected request by itself: one that is refused stops no other."""
        self.results = [await self._decide_one(request, drafts[request.approval_id]) for request in self.selected]
        self.picked, self.armed = set(), {}
        done, failed = (sum(one.good is good for one in self.results) for good in (True, False))
        text = f"{done} {plural(done, 'request')} decided" + (f", {failed} refused" if failed else "")
        self.visit.screen.toast(f"{text}.", good=not failed)

    async def _decide_one(self, request: ApprovalRequest, draft: Draft) -> Result:
        async def record(caller: Principal) -> str:
            done = await api.decide(request.approval_id, draft.body(), caller, self.visit.services)
            return "1 of 2 approvals recorded, another person is needed" if done.decisions_needed else str(done.state)

        try:
            return Result(request.scope, await self.visit.perform(Permission.DECIDE, "decide", record), good=True)
        except Refused as error:
            return Result(request.scope, explain(error), good=False)
