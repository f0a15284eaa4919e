"""The first page: what waits for a person, and the person's decision."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime

from markupsafe import Markup
from nicegui import ui
from pydantic import ValidationError

from budget.approvals import ApprovalRequest, ApprovalState, Choice
from budget.errors import DecisionRefused, NotFound
from gateway import approvals as api
from gateway.approval_outlook import Outlook, outlook
from gateway.dashboard import approval_form, live
from gateway.dashboard import approval_views as views
from gateway.dashboard.act import Refused, act, sentence, tell
from gateway.dashboard.approval_form import Draft
from gateway.dashboard.markup import LOADING, NOTHING, address, amount, empty, exact, join, scope_name
from gateway.dashboard.pages import page
from gateway.dashboard.region import Act, Region
from gateway.dashboard.visit import Visit
from gateway.roles import Permission, Principal

PAGE = 50
"""Requests that are shown before somebody asks for more."""
KEYS = ("j", "k", "a", "d", "n", "Escape")
HELP = Markup(
    '<dialog id="shortcuts" aria-labelledby="shortcuts-title"><h2 id="shortcuts-title">Shortcuts</h2><dl class="keys">'
    "<dt><kbd>j</kbd> <kbd>k</kbd></dt><dd>next, previous request</dd>"
    "<dt><kbd>a</kbd></dt><dd>approve; asks once more</dd><dt><kbd>d</kbd></dt><dd>deny; asks once more</dd>"
    "<dt><kbd>n</kbd></dt><dd>write a note</dd><dt><kbd>Enter</kbd> <kbd>Esc</kbd></dt><dd>yes, back</dd>"
    "<dt><kbd>?</kbd></dt><dd>this list</dd></dl>"
    '<button type="button" class="btn" data-closes>Close</button></dialog>'
)


@page("/", "Approvals")
@page("/approvals", "Approvals")
async def approvals(visit: Visit, id: str | None = None, state: str | None = None) -> None:
    """Args:
    visit: who looks.
    id: a request to open.
    state: `decided` shows what is over.
    """
    desk = Desk(visit, chosen=id, decided=state == "decided")
    Region(HELP).classes("help")
    with ui.element("div").classes("desk"):
        desk.queue = Region(LOADING, "section", keys=KEYS).classes("queue").props('aria-label="Requests"')
        desk.detail = Region(NOTHING, "section").classes("detail").props('aria-label="Request" id="detail"')
    desk.queue.on_act(desk.done)
    desk.detail.on_act(desk.done)
    desk.part = live.start(("approval", "budget"), desk.refresh)
    await live.first(desk.part)


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
    deciding: bool = False
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
    part: live.Part = field(init=False)

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
        now = datetime.now(UTC)
        rows = join(
            views.row(request, chosen=request.approval_id == self.chosen, caller=self.visit.caller, now=now)
            for request in self.listed
        )
        if not self.listed:
            body = empty("Nothing was decided yet") if self.decided else views.nothing_pending()
        else:
            body = Markup('<ul class="rows">{}</ul>').format(rows)
        self.queue.show(_tabs(self.decided, pending) + body + self._more(pending))

    def _more(self, pending: int) -> Markup:
        if len(self.listed) < self.size:
            return NOTHING
        rest = f"{exact(pending - len(self.listed))} more wait" if not self.decided else "There may be more"
        if not self.decided and pending <= len(self.listed):
            return NOTHING
        return Markup(
            '<p class="more">{}. <button type="button" class="plain" data-act="more">Show {} more</button></p>'
        ).format(rest, PAGE)

    async def _show_detail(self) -> None:
        request = await self._read()
        self.shown = request
        if request is None:
            gone = empty("There is no such request", "It may belong to another tenant, or the link is cut off.")
            self.detail.show(gone if self.chosen else NOTHING)
            return
        use, tenant = self.visit.services, self.visit.tenant
        budget = await use.policies.budget(tenant, request.scope)
        forecast = (await use.burn.of(tenant, [budget])).get(request.scope)
        caller, now = self.visit.caller, datetime.now(UTC)
        ahead = self.ahead = await outlook(use, caller, request)
        effect = approval_form.previewed(ahead, self.typed)
        self.detail.show(
            Markup(
                '<article class="card" data-key="{}"><header><h2>{}</h2></header><p class="why">{}</p>'
                '<div class="big-bars">{}</div>{}{}{}{}{}{}</article>'
            ).format(
                request.approval_id,
                _headline(request),
                views.sentence(request, budget),
                views.bars(request),
                views.legend(request),
                views.purposes(request, ahead.purposes),
                approval_form.form(ahead, caller, self.armed, self.problem, effect, now),
                views.facts(request, budget, forecast),
                views.waiting(request, self.visit.workflow_link),
                views.decisions(request),
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
        ui.run_javascript(
            f"history.replaceState(null, '', {where!r});"
            "if (innerWidth < 1000) window.purser.reveal('#detail');"
            " else window.purser.reveal('.request[aria-current]')"
        )

    async def _turn(self, decided: bool) -> None:
        self.decided, self.size, self.chosen, self.armed, self.problem = decided, PAGE, None, None, ""
        self.typed = {}
        await self._again()
        ui.run_javascript(
            f"history.replaceState(null, '', {address('/approvals', state='decided' if decided else None)!r})"
        )

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
            ui.run_javascript("window.purser.reveal('#note', true)")
        elif key in ("a", "d"):
            # The form is sent by its own button, with what it holds.
            button = "approve" if key == "a" else "deny"
            ui.run_javascript(f"window.purser.send('form.decide', '{button}')")

    # --- deciding -----------------------------------------------------------------------------------------------------

    async def _wants(self, choice: Choice, act: Act) -> None:
        if self.deciding or self.shown is None or act.data.get("id") != self.shown.approval_id:
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
            ui.run_javascript("window.purser.reveal('#confirm', true)")
        else:
            await self._decide(draft)

    async def _disarm(self) -> None:
        self.armed, self.problem = None, ""
        await self._again()

    async def _decide(self, draft: Draft) -> None:
        if self.deciding or self.shown is None:
            return
        self.deciding, request = True, self.shown

        async def record(caller: Principal) -> str:
            try:
                done = await api.decide(request.approval_id, draft.body(), caller, self.visit.services)
            except DecisionRefused as error:
                raise Refused(await self._overtaken(request, caller, error)) from None
            if done.state is ApprovalState.PENDING:
                return "1 of 2 approvals: yours is recorded, another person is needed."
            return f"{request.scope}: denied." if draft.choice is Choice.DENY else f"{request.scope}: approved."

        try:
            tell(await act(self.visit, Permission.DECIDE, record))
            self.armed, self.problem = None, ""
        except Refused as error:
            self.armed, self.problem = None, str(error)
            tell(str(error), good=False)
        except ValidationError as error:
            self.armed, self.problem = None, sentence(error.errors()[0]["msg"])
        finally:
            await self._again()
            self.deciding = False

    async def _overtaken(self, request: ApprovalRequest, caller: Principal, error: DecisionRefused) -> str:
        """Why a decision came too late, or was not this person's to make."""
        if error.reason != "closed":
            return views.barred(request, caller, datetime.now(UTC), Choice.APPROVE) or sentence(str(error))
        now = await self.visit.services.approvals.get(caller.tenant, request.approval_id)
        if not now.decisions:
            return "Too late: nothing was short any more."
        last = now.decisions[-1]
        seconds = max(0, round((datetime.now(UTC) - last.at).total_seconds()))
        did = f"approved {amount(now.given).striptags()}" if now.state is ApprovalState.APPROVED else "denied it"
        return f"Too late: {last.approver} has {did} {seconds} s ago. Yours changed nothing."

    async def _fails(self, problem: str) -> None:
        self.armed, self.problem = None, problem
        await self._show_detail()

    async def _again(self) -> None:
        """Shows how things stand now; trouble with the ledger is told where all parts tell it."""
        await self.part.again()


def _tabs(decided: bool, pending: int) -> Markup:
    def tab(name: str, label: Markup | str, current: bool) -> Markup:
        here = Markup(' aria-current="true"') if current else NOTHING
        return Markup('<button type="button" data-act="tab" data-tab="{}"{}>{}</button>').format(name, here, label)

    waiting = Markup('Pending <b class="num">{}</b>').format(exact(pending))
    return Markup(
        '<div class="tabs">{}{}<span class="space"></span><button type="button" class="plain" data-opens="shortcuts">'
        "Shortcuts <kbd>?</kbd></button></div>"
    ).format(tab("pending", waiting, not decided), tab("decided", "Decided", decided))


def _headline(request: ApprovalRequest) -> Markup:
    if request.state is not ApprovalState.PENDING:
        return Markup("{} asked for {}").format(scope_name(request.scope), amount(request.asked))
    return Markup("{} is short of {}").format(scope_name(request.scope), amount(request.shortage))
