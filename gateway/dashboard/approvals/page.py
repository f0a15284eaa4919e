"""The page of approvals: the list of requests, and one request with the form of its decision."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime

from markupsafe import Markup

from purser.budget.approvals import ApprovalRequest, ApprovalState, Choice, Identity
from purser.budget.errors import DecisionRefused, NotFound
from purser.gateway.access.roles import Permission, Principal
from purser.gateway.approvals import routes as api
from purser.gateway.approvals.details import ApprovalDetails, approval_details
from purser.gateway.dashboard.actions import Refused
from purser.gateway.dashboard.approvals import form as approval_form
from purser.gateway.dashboard.approvals import wording
from purser.gateway.dashboard.approvals.form import Draft
from purser.gateway.dashboard.approvals.together import AGES, ANNOUNCED, MOST, Together, grouped
from purser.gateway.dashboard.components import LOADING, component, render
from purser.gateway.dashboard.formats import address, exact, plural, sentence
from purser.gateway.dashboard.live import Live
from purser.gateway.dashboard.pages import page
from purser.gateway.dashboard.policies import BASES
from purser.gateway.dashboard.region import Act
from purser.gateway.dashboard.visit import Visit
from purser.gateway.errors import LinkExpired, LinkInvalid
from purser.wire.limits import MAX_NOTE

PAGE = 50
"""Number of requests shown at first, and added by *Show more*."""
KEYS = ("j", "k", "x", "a", "d", "n", "Escape")
NARROW = 1000
"""Width of the window in pixels below which the chosen request is below the list."""
SHOWN_PURPOSES = 3
"""Maximum number of waiting calls whose purpose is shown."""
SHOWN_WAITERS = 20
_IDENTITIES = {
    Identity.KEY: "signed in",
    Identity.ASSERTED: "a name that was not verified",
    Identity.SWEEPER: "no one decided in time",
}


@page("/", "Approvals")
@page("/approvals", "Approvals")
async def approvals(
    visit: Visit, live: Live, id: str | None = None, state: str | None = None, link: str | None = None
) -> Markup:
    """Builds the page.

    Args:
        visit: the visit.
        live: keeps the page up to date.
        id: a request to open.
        state: `decided` lists decided requests.
        link: token of a signed link, which names the request to open.
    """
    if link is not None:
        try:
            opened = visit.services.links.read(link, datetime.now(UTC))
        except LinkInvalid as error:
            title = "This link has expired" if isinstance(error, LinkExpired) else "This link is not valid"
            return component("error", title, sentence(str(error)))
        if opened.tenant != visit.tenant:
            return component("error", "This link is for another tenant", "Sign in with a key of that tenant.")
        id = opened.approval_id
    one = _ApprovalsPage(visit, live, chosen=id, decided=state == "decided")
    await one.part.first()
    return render("approvals/page.html", queue=one.queue, detail=one.detail, reveals=NARROW if id else 0)


class _ApprovalsPage:
    """State of one open page of approvals."""

    def __init__(self, visit: Visit, live: Live, *, chosen: str | None, decided: bool) -> None:
        self.visit = visit
        self.chosen = chosen
        """Id of the request on the right."""
        self.decided = decided
        """Whether the list on the left has decided requests instead of pending ones."""
        self.size = PAGE
        self.armed: Draft | None = None
        """A decision that waits for confirmation."""
        self.problem = ""
        """Why the last attempt failed."""
        self.place = 0
        """Index of the chosen request in the list, or its last one if it has left the list."""
        self.listed: Sequence[ApprovalRequest] = ()
        self.matching = 0
        """How many of the pending requests that were read the filter shows, with those beyond the end of the list."""
        self.shown: ApprovalRequest | None = None
        self.details: ApprovalDetails | None = None
        """Details of the shown request."""
        self.typed: Mapping[str, str] = {}
        """Fields of its form; empty until something is typed or asked."""
        self.together = Together(visit)
        """Filters, and the requests that are decided together."""
        self.queue = visit.screen.region(LOADING, keys=KEYS).on_act(self.handle)
        self.detail = visit.screen.region().on_act(self.handle)
        self.part = live.start(("approval", "budget"), self.refresh)

    async def refresh(self) -> None:
        """Reads the list and the chosen request, and shows both."""
        use, tenant = self.visit.services, self.visit.tenant
        pending = await use.queue.count(tenant)
        self.together.announce((await use.approvals.list(tenant, ApprovalState.PENDING, ANNOUNCED)).requests)
        self.listed = await (self._decided() if self.decided else self._pending())
        ids = [request.approval_id for request in self.listed]
        if self.chosen is None and ids:
            self.chosen = ids[0]
        if self.chosen in ids:
            self.place = ids.index(self.chosen)
        self._show_queue(pending)
        await self._show_detail()

    async def _decided(self) -> Sequence[ApprovalRequest]:
        self.together.show(())
        return await self.visit.services.queue.decided(self.visit.tenant, self.size)

    async def _pending(self) -> Sequence[ApprovalRequest]:
        by, now = self.together.filter, datetime.now(UTC)
        found = await self.visit.services.queue.pending(self.visit.tenant, MOST if by.narrows else self.size)
        matching = [request for request in found if by.shows(request, now)]
        self.matching = len(matching)
        groups = grouped(matching[: self.size], by)
        listed = [request for _, members in groups for request in members]
        self.together.show(listed)
        return listed

    async def handle(self, act: Act) -> None:
        """Handles an act of the person."""
        if await self.together.handle(act):
            await self.part.refresh()
            if act.name in ("approve-each", "deny-each"):
                self.visit.screen.reveal("#confirm-each", focus=True)
            return
        match act.name:
            case "select":
                await self._choose(act.data.get("id", ""))
            case "key":
                await self._handle_key(act.data.get("key", ""))
            case "more":
                self.size += PAGE
                self.part.request_refresh()
            case "tab":
                await self._switch_list(act.data.get("tab") == "decided")
            case "approve" | "deny":
                await self._request_decision(Choice(act.name), act)
            case "preview" if act.data.get("id") == self.chosen:
                await self._preview(act)
            case "confirm" if self.armed is not None:
                await self._confirm(self.armed, act)
            case "back":
                await self._disarm()
            case "next":
                await self._handle_key("j")

    # --- showing ------------------------------------------------------------------------------------------------------

    def _show_queue(self, pending: int) -> None:
        now, caller = datetime.now(UTC), self.visit.caller
        self.queue.show(
            render(
                "approvals/queue.html",
                requests=self.listed,
                groups=[("", self.listed)] if self.decided else grouped(self.listed, self.together.filter),
                together=self.together,
                ages=AGES,
                most_note=MAX_NOTE,
                chosen=self.chosen,
                decided=self.decided,
                pending=pending,
                may_decide=caller.may(Permission.DECIDE),
                barred=lambda request: wording.barred(request, caller, now),
                now=now,
                who=wording.who,
                bars=wording.bars,
                needed=wording.needed,
                more=self._more(pending),
                page_size=PAGE,
                most_filtered=MOST,
            )
        )

    def _more(self, pending: int) -> str:
        """How many more requests there are, in words; empty if there are none."""
        if len(self.listed) < self.size:
            return ""
        if self.decided:
            return "There may be more"
        narrows = self.together.filter.narrows
        left = (self.matching if narrows else pending) - len(self.listed)
        what = plural(left, "matches", "match") if narrows else plural(left, "waits", "wait")
        return f"{exact(left)} more {what}" if left > 0 else ""

    async def _show_detail(self) -> None:
        request = await self._read()
        self.shown = request
        if request is None:
            where = "It may belong to another tenant, or the link is cut off."
            gone = component("empty", "There is no such request", where)
            self.detail.show(gone if self.chosen else Markup())
            return
        use, tenant, caller = self.visit.services, self.visit.tenant, self.visit.caller
        details = self.details = await approval_details(use, caller, request)
        budget = details.budget
        rate = wording.known_rate((await use.burn.of(tenant, [budget])).get(request.scope))
        now = datetime.now(UTC)
        effect = approval_form.previewed(details, self.typed, now)
        known = [(waiter, details.purposes[waiter.key]) for waiter in request.waiters if waiter.key in details.purposes]
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
                form=approval_form.form(details, caller, self.typed, self.armed, self.problem, effect, now),
                finish=wording.finish(details.finish),
                related=details.related,
                expiry=wording.expiry(details.at_deadline),
                source=wording.source(request, budget),
                rate=rate,
                basis=BASES[rate.basis] if rate else "",
                lasts=wording.lasts(request, rate),
                people=wording.people(request),
                most_waiters=SHOWN_WAITERS,
                workflow_url=self.visit.workflow_url,
                identities=_IDENTITIES,
                reasons=approval_form.REASONS,
                following=not self.decided and any(one.approval_id != self.chosen for one in self.listed),
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
        await self.part.refresh()
        where = address("/approvals", id=approval_id, state="decided" if self.decided else None)
        screen = self.visit.screen
        screen.address(where)
        screen.reveal("#detail", below=NARROW)
        screen.reveal(".request[aria-current]", least=NARROW)

    async def _switch_list(self, decided: bool) -> None:
        self.decided, self.size, self.chosen, self.armed, self.problem = decided, PAGE, None, None, ""
        self.typed = {}
        await self.part.refresh()
        self.visit.screen.address(address("/approvals", state="decided" if decided else None))

    async def _handle_key(self, key: str) -> None:
        if key == "Escape":
            self.together.armed = {}
            await self._disarm()
        elif key == "x" and self.chosen and not self.decided:
            self.together.pick({self.chosen})
            await self.part.refresh()
        elif key in ("j", "k") and self.listed:
            ids = [request.approval_id for request in self.listed]
            if self.chosen in ids:
                at = self.place + (1 if key == "j" else -1)
            else:  # it has left the list: the next one has moved to its index
                at = self.place if key == "j" else self.place - 1
            await self._choose(ids[min(max(at, 0), len(ids) - 1)])
        elif key == "n":
            self.visit.screen.reveal("#note", focus=True)
        elif key in ("a", "d"):
            # The browser submits the form by this button, with the current fields.
            button = "approve" if key == "a" else "deny"
            self.visit.screen.press(f"form.decide button[data-act={button}]")

    # --- deciding -----------------------------------------------------------------------------------------------------

    async def _request_decision(self, choice: Choice, act: Act) -> None:
        if self.shown is None or act.data.get("id") != self.shown.approval_id:
            return
        if self.shown.state is not ApprovalState.PENDING:
            return  # the second of two clicks: the page already shows the outcome of the first
        self.typed = act.fields
        try:
            draft = approval_form.read(act, choice, datetime.now(UTC))
        except Refused as error:
            self.armed, self.problem = None, str(error)
            await self._show_detail()
            return
        by_key = act.data.get("key") == "1"
        large = self.details is not None and approval_form.is_large(self.details, draft.amount)
        if choice is Choice.DENY or by_key or large:
            self.armed, self.problem = draft, ""
            await self._show_detail()
            self.visit.screen.reveal("#confirm", focus=True)
        else:
            await self._decide(draft)

    async def _preview(self, act: Act) -> None:
        self.typed = act.fields
        if self.armed is not None and self._current(self.armed, act) is None:
            self.armed = None  # the question is about another amount
        await self._show_detail()

    async def _confirm(self, asked: Draft, act: Act) -> None:
        """Records what the form says by now; an amount that was not asked about is a new request."""
        if (draft := self._current(asked, act)) is None:
            await self._request_decision(asked.choice, act)
        else:
            await self._decide(draft)

    def _current(self, asked: Draft, act: Act) -> Draft | None:
        """The decision asked about, with the note and the end of the form; `None` if its amount is another by now."""
        try:
            draft = approval_form.read(act, asked.choice, datetime.now(UTC))
        except Refused:
            return None
        return replace(draft, decision_id=asked.decision_id) if draft.amount == asked.amount else None

    async def _disarm(self) -> None:
        self.armed, self.problem = None, ""
        await self.part.refresh()

    async def _decide(self, draft: Draft) -> None:
        if self.shown is None:
            return
        request = self.shown

        async def record(caller: Principal) -> str:
            try:
                done = await api.decide(request.approval_id, draft.body(), caller, self.visit.services)
            except DecisionRefused as error:
                raise Refused(await self._why_refused(request, caller, error)) from None
            if done.state is ApprovalState.PENDING:
                return "1 of 2 approvals: yours is recorded, another person is needed."
            return f"{request.scope}: denied." if draft.choice is Choice.DENY else f"{request.scope}: approved."

        try:
            self.visit.screen.toast(await self.visit.perform(Permission.DECIDE, "decide", record))
            self.armed, self.problem = None, ""
        except Refused as error:
            self.armed, self.problem = None, str(error)
            self.visit.screen.toast(str(error), good=False)
        await self.part.refresh()
        if not self.problem:
            self.visit.screen.reveal("#next", focus=True)  # the refresh has made it

    async def _why_refused(self, request: ApprovalRequest, caller: Principal, error: DecisionRefused) -> str:
        """Why a decision was refused: it came too late, or the rules bar this person."""
        if error.reason != "closed":
            return wording.barred(request, caller, datetime.now(UTC), Choice.APPROVE) or sentence(str(error))
        closed = await self.visit.services.approvals.get(caller.tenant, request.approval_id)
        return wording.too_late(closed, caller, datetime.now(UTC))
