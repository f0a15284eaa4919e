"""The first page: what waits for a person, and the person's decision."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime

from markupsafe import Markup

from purser.budget.approvals import ApprovalRequest, ApprovalState, Choice, Identity
from purser.budget.errors import DecisionRefused, NotFound
from purser.gateway.access.roles import Permission, Principal
from purser.gateway.approvals import routes as api
from purser.gateway.approvals.outlook import Outlook, outlook
from purser.gateway.dashboard.actions import Refused
from purser.gateway.dashboard.approvals import form as approval_form
from purser.gateway.dashboard.approvals import wording
from purser.gateway.dashboard.approvals.form import Draft
from purser.gateway.dashboard.components import LOADING, component, render
from purser.gateway.dashboard.formats import address, amount, exact, sentence
from purser.gateway.dashboard.live import Live, Part
from purser.gateway.dashboard.pages import page
from purser.gateway.dashboard.policies import BASES
from purser.gateway.dashboard.region import Act, Region
from purser.gateway.dashboard.visit import Visit

PAGE = 50
"""Requests that are shown before somebody asks for more."""
KEYS = ("j", "k", "a", "d", "n", "Escape")
NARROW = 1000
"""Pixels of a window below which the chosen request stands under the list."""
SHOWN_PURPOSES = 3
"""Of calls that wait for one request."""
SHOWN_WAITERS = 20
_IDENTITIES = {
    Identity.KEY: "signed in",
    Identity.ASSERTED: "a name that was not checked",
    Identity.SWEEPER: "nobody decided in time",
}


@page("/", "Approvals")
@page("/approvals", "Approvals")
async def approvals(visit: Visit, live: Live, id: str | None = None, state: str | None = None) -> Markup:
    """Args:
    visit: who looks.
    live: keeps the page up to date.
    id: a request to open.
    state: `decided` shows what is over.
    """
    desk = Desk(visit, chosen=id, decided=state == "decided")
    desk.part = live.start(("approval", "budget"), desk.refresh)
    await desk.part.first()
    return render("approvals/page.html", queue=desk.queue, detail=desk.detail)


@dataclass
class Desk:
    """One opened page of approvals."""

    visit: Visit
    chosen: str | None
    """The request on the right."""
    decided: bool
    """Which list is on the left."""
    size: int = PAGE
    armed: Draft | None = None
    """A decision that waits for one more click."""
    problem: str = ""
    """Why the last try was not done."""
    place: int = 0
    """Where the chosen request stands in the list, or stood until it was decided."""
    listed: Sequence[ApprovalRequest] = ()
    shown: ApprovalRequest | None = None
    ahead: Outlook | None = None
    """What the shown request is about."""
    typed: Mapping[str, str] = field(default_factory=dict)
    """What its form holds; empty until somebody types."""
    queue: Region = field(init=False)
    detail: Region = field(init=False)
    part: Part = field(init=False)

    def __post_init__(self) -> None:
        screen = self.visit.screen
        self.queue = screen.region(LOADING, keys=KEYS).on_act(self.done)
        self.detail = screen.region().on_act(self.done)

    async def refresh(self) -> None:
        """Reads the list and the chosen request, and shows both."""
        use, tenant = self.visit.services, self.visit.tenant
        pending = await use.queue.count(tenant)
        self.listed = await (use.queue.decided if self.decided else use.queue.pending)(tenant, self.size)
        ids = [request.approval_id for request in self.listed]
        if self.chosen is None and ids:
            self.chosen = ids[0]
        if self.chosen in ids:
            self.place = ids.index(self.chosen)
        self._show_queue(pending)
        await self._show_detail()

    async def done(self, act: Act) -> None:
        """What a person did."""
        match act.name:
            case "select":
                await self._choose(act.data.get("id", ""))
            case "key":
                await self._pressed(act.data.get("key", ""))
            case "more":
                self.size += PAGE
                self.part.now()
            case "tab":
                await self._turn(act.data.get("tab") == "decided")
            case "approve" | "deny":
                await self._wants(Choice(act.name), act)
            case "preview" if act.data.get("id") == self.chosen:
                self.typed = act.fields
                await self._show_detail()
            case "confirm" if self.armed is not None:
                await self._decide(self.armed)
            case "back":
                await self._disarm()

    # --- showing ------------------------------------------------------------------------------------------------------

    def _show_queue(self, pending: int) -> None:
        now, caller = datetime.now(UTC), self.visit.caller
        self.queue.show(
            render(
                "approvals/queue.html",
                requests=self.listed,
                chosen=self.chosen,
                decided=self.decided,
                pending=pending,
                may_decide=caller.may(Permission.DECIDE),
                barred=lambda request: wording.barred(request, caller, now),
                who=wording.who,
                bars=wording.bars,
                needed=wording.needed,
                more=self._more(pending),
                page_size=PAGE,
            )
        )

    def _more(self, pending: int) -> str:
        """What further pages hold; empty if there is none."""
        if len(self.listed) < self.size or (not self.decided and pending <= len(self.listed)):
            return ""
        return "There may be more" if self.decided else f"{exact(pending - len(self.listed))} more wait"

    async def _show_detail(self) -> None:
        request = await self._read()
        self.shown = request
        if request is None:
            where = "It may belong to another tenant, or the link is cut off."
            gone = component("empty", "There is no such request", where)
            self.detail.show(gone if self.chosen else Markup())
            return
        use, tenant, caller = self.visit.services, self.visit.tenant, self.visit.caller
        budget = await use.policies.budget(tenant, request.scope)
        rate = wording.known_rate((await use.burn.of(tenant, [budget])).get(request.scope))
        ahead = self.ahead = await outlook(use, caller, request)
        effect = approval_form.previewed(ahead, self.typed)
        known = [(waiter, ahead.purposes[waiter.key]) for waiter in request.waiters if waiter.key in ahead.purposes]
        self.detail.show(
            render(
                "approvals/request.html",
                request=request,
                budget=budget,
                usage=wording.usage(request, budget),
                wanted=wording.wanted(request),
                bars=wording.bars(request),
                legend=wording.legend(request),
                limit=wording.limit(request),
                calls=len(request.waiters),
                purposes=known[:SHOWN_PURPOSES],
                form=approval_form.form(ahead, caller, self.armed, self.problem, effect, datetime.now(UTC)),
                expiry=wording.expiry(request),
                source=wording.source(request, budget),
                rate=rate,
                basis=BASES[rate.basis] if rate else "",
                lasts=wording.lasts(request, rate),
                people=wording.people(request),
                most_waiters=SHOWN_WAITERS,
                workflow_url=self.visit.workflow_url,
                identities=_IDENTITIES,
            )
        )

    async def _read(self) -> ApprovalRequest | None:
        if self.chosen is None:
            return None
        try:
            return await self.visit.services.approvals.get(self.visit.tenant, self.chosen)
        except NotFound:
            return None

    # --- moving -------------------------------------------------------------------------------------------------------

    async def _choose(self, approval_id: str) -> None:
        self.chosen, self.armed, self.problem, self.typed = approval_id, None, "", {}
        await self._again()
        where = address("/approvals", id=approval_id, state="decided" if self.decided else None)
        screen = self.visit.screen
        screen.address(where)
        screen.reveal("#detail", below=NARROW)
        screen.reveal(".request[aria-current]", least=NARROW)

    async def _turn(self, decided: bool) -> None:
        self.decided, self.size, self.chosen, self.armed, self.problem = decided, PAGE, None, None, ""
        self.typed = {}
        await self._again()
        self.visit.screen.address(address("/approvals", state="decided" if decided else None))

    async def _pressed(self, key: str) -> None:
        if key == "Escape":
            await self._disarm()
        elif key in ("j", "k") and self.listed:
            ids = [request.approval_id for request in self.listed]
            if self.chosen in ids:
                at = self.place + (1 if key == "j" else -1)
            else:  # it was decided: the next one has moved to its place
                at = self.place if key == "j" else self.place - 1
            await self._choose(ids[min(max(at, 0), len(ids) - 1)])
        elif key == "n":
            self.visit.screen.reveal("#note", focus=True)
        elif key in ("a", "d"):
            # The form is sent by its own button, with what it holds.
            button = "approve" if key == "a" else "deny"
            self.visit.screen.press(f"form.decide button[data-act={button}]")

    # --- deciding -----------------------------------------------------------------------------------------------------

    async def _wants(self, choice: Choice, act: Act) -> None:
        if self.shown is None or act.data.get("id") != self.shown.approval_id:
            return
        if self.shown.state is not ApprovalState.PENDING:
            return  # the second click of two: the page shows already what came of the first
        try:
            draft = approval_form.read(act, choice, datetime.now(UTC))
        except Refused as error:
            await self._fails(str(error))
            return
        by_key = act.data.get("key") == "1"
        large = self.ahead is not None and approval_form.is_large(self.ahead, draft.amount)
        if choice is Choice.DENY or by_key or large:
            self.armed, self.problem = draft, ""
            await self._show_detail()
            self.visit.screen.reveal("#confirm", focus=True)
        else:
            await self._decide(draft)

    async def _disarm(self) -> None:
        self.armed, self.problem = None, ""
        await self._again()

    async def _decide(self, draft: Draft) -> None:
        if self.shown is None:
            return
        request = self.shown

        async def record(caller: Principal) -> str:
            try:
                done = await api.decide(request.approval_id, draft.body(), caller, self.visit.services)
            except DecisionRefused as error:
                raise Refused(await self._overtaken(request, caller, error)) from None
            if done.state is ApprovalState.PENDING:
                return "1 of 2 approvals: yours is recorded, another person is needed."
            return f"{request.scope}: denied." if draft.choice is Choice.DENY else f"{request.scope}: approved."

        try:
            self.visit.screen.toast(await self.visit.perform(Permission.DECIDE, "decide", record))
            self.armed, self.problem = None, ""
        except Refused as error:
            self.armed, self.problem = None, str(error)
            self.visit.screen.toast(str(error), good=False)
        await self._again()

    async def _overtaken(self, request: ApprovalRequest, caller: Principal, error: DecisionRefused) -> str:
        """Why a decision came too late, or was not this person's to make."""
        if error.reason != "closed":
            return wording.barred(request, caller, datetime.now(UTC), Choice.APPROVE) or sentence(str(error))
        now = await self.visit.services.approvals.get(caller.tenant, request.approval_id)
        if not now.decisions:
            return "Too late: nothing was short any more."
        last = now.decisions[-1]
        seconds = max(0, round((datetime.now(UTC) - last.at).total_seconds()))
        did = f"approved {amount(now.given)}" if now.state is ApprovalState.APPROVED else "denied it"
        return f"Too late: {last.approver} has {did} {seconds} s ago. Yours changed nothing."

    async def _fails(self, problem: str) -> None:
        self.armed, self.problem = None, problem
        await self._show_detail()

    async def _again(self) -> None:
        """Shows how things stand now; trouble with the ledger is told where all parts tell it."""
        await self.part.again()
