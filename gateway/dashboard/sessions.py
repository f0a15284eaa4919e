"""Sessions: the list, and one session with its compressions, pins, facts and messages."""

from datetime import UTC, datetime, timedelta
from decimal import Decimal, InvalidOperation

from nicegui import ui

from budget.postgres.changes import acting_key
from context.errors import ContextError, SessionDeleted, SessionNotFound
from context.postgres.conversations import Listed
from context.postgres.summaries import StoredSummary
from gateway import session_context
from gateway.dashboard import live, shell
from gateway.dashboard.charts import Chart
from gateway.dashboard.markup import LOADING, NOTHING
from gateway.dashboard.pages import page
from gateway.dashboard.region import Act, Region
from gateway.dashboard.sessions_charts import growth
from gateway.dashboard.sessions_detail import choices, compressions, facts, header, pin_form, pins
from gateway.dashboard.sessions_list import PAGE, Wanted, filters, listing
from gateway.dashboard.sessions_messages import found_messages, messages, search_form, side_by_side
from gateway.dashboard.visit import Visit
from gateway.dashboard.work_words import heading, telling, toast, told_problem
from gateway.roles import Permission, Principal
from gateway.session_schemas import USUAL_MODEL
from gateway.session_views import ExplanationView

MESSAGES = 25
KINDS = ("compression", "task", "agent", "turn")
MOST_HOURS = 24 * 366


@page("/sessions", "Sessions", needs=Permission.READ_WORK)
async def sessions(visit: Visit, q: str = "", before: str = "") -> None:
    """The list. What cannot be read of its address is left out."""
    wanted = Wanted.read(q, before)
    Region(filters(wanted))
    rows = Region(LOADING)

    async def refresh() -> None:
        found = await visit.services.pages.sessions.page(
            visit.tenant, search=wanted.search, before=wanted.before, limit=PAGE
        )
        rows.show(listing(found, wanted))

    await live.follow(KINDS, refresh)


@page("/sessions/{session_id}", "Sessions", needs=Permission.READ_WORK)
async def session(visit: Visit, session_id: str, thread: str = "") -> None:
    """One session."""
    try:
        await visit.services.sessions.sessions.get(visit.tenant, session_id)
    except SessionDeleted as gone:
        shell.error("This session was deleted", f"{gone}. Its figures stay in the ledger.")
        return
    except SessionNotFound:
        shell.error("There is no such session", "It may belong to another tenant, or its id was mistyped.")
        return
    one = _SessionPage(visit, session_id, thread.replace("\0", ""))
    await live.follow(KINDS, one.refresh)


class _SessionPage:
    """The parts of one session's page, and what a person has opened in them."""

    def __init__(self, visit: Visit, session_id: str, thread: str) -> None:
        self._visit = visit
        self._session_id = session_id
        self._thread = thread
        self._before: int | None = None
        self._explained: dict[int, ExplanationView] = {}
        self._opened: int | None = None
        self._covered: list[Listed] = []
        self._more = False
        self._lay_out()

    def _lay_out(self) -> None:
        Region(heading(self._session_id))
        with ui.element("section").classes("card"):
            self._header = Region()
        self._choices = Region()
        with ui.element("section").classes("card"):
            Region(heading("Tokens over time"))
            self._chart = Chart("Stored tokens over time and what compressions did. The table below has the figures.")
            self._versions = Region(LOADING).on_act(telling(self._compared))
        self._pin_form = Region().on_act(telling(self._acted))
        with ui.element("section").classes("card"):
            Region(heading("Messages"))
            Region(search_form()).on_act(telling(self._searched))
            self._found = Region()
            self._messages = Region(LOADING).on_act(telling(self._acted))
        self._pins = Region().on_act(telling(self._acted))
        self._facts = Region()

    async def refresh(self) -> None:
        """Reads everything again."""
        tenant, use, session_id = self._visit.tenant, self._visit.services, self._session_id
        overviews = use.pages.sessions
        threads = await overviews.threads(tenant, session_id, model=USUAL_MODEL)
        self._header.show(header(await use.sessions.sessions.get(tenant, session_id), threads))
        self._choices.show(choices(session_id, threads, self._thread))
        versions = await use.sessions.summaries.versions(tenant, session_id, self._thread)
        grown = await overviews.growth(tenant, session_id, self._thread, model=USUAL_MODEL)
        self._chart.hide(not grown)
        self._chart.show(growth(grown, versions))
        self._show_versions(versions)
        await self._show_messages()
        live_pins = await use.sessions.pins.live(tenant, session_id)
        taken = await use.sessions.pins.tokens(tenant, session_id)
        self._pins.show(pins(live_pins, taken, use.sessions.pins.budget, may_pin=self._may_pin(self._visit.caller)))
        told = await session_context.facts(self._visit.caller, use, session_id, USUAL_MODEL, self._thread)
        self._facts.show(facts(told.facts, told.sheet))

    def _show_versions(self, versions: list[StoredSummary]) -> None:
        opened = next((one for one in versions if one.summary.version == self._opened), None)
        beside = side_by_side(opened, self._covered, more=self._more) if opened else NOTHING
        self._versions.show(compressions(versions, self._opened, beside))

    async def _show_messages(self) -> None:
        tenant, session_id, use = self._visit.tenant, self._session_id, self._visit.services
        first = await use.pages.sessions.newest(tenant, session_id, self._thread, before=self._before, limit=MESSAGES)
        listed, older = [], False
        if first is not None:
            store = use.sessions.conversations
            listed = await store.page(tenant, session_id, thread=self._thread, after=first - 1, limit=MESSAGES)
            older = await use.pages.sessions.newest(tenant, session_id, self._thread, before=first, limit=1) is not None
        counts = await use.sessions.conversations.tokens(
            tenant, session_id, [one.stored.seq for one in listed], model=USUAL_MODEL
        )
        self._messages.show(
            messages(
                listed,
                counts,
                self._explained,
                may_pin=self._may_pin(self._visit.caller),
                older=older,
                newest=self._before is None,
            )
        )

    async def _compared(self, act: Act) -> None:
        """Opens a version beside what it covers, reads on, or closes it."""
        use, tenant = self._visit.services, self._visit.tenant
        versions = await use.sessions.summaries.versions(tenant, self._session_id, self._thread)
        if act.name == "open":
            version = _number(act.data.get("version"))
            self._opened = None if version == self._opened else version
            self._covered, self._more = [], False
        elif act.name != "more":
            return
        opened = next((one for one in versions if one.summary.version == self._opened), None)
        if opened is not None:
            after = self._covered[-1].stored.seq if self._covered else opened.summary.first_seq - 1
            read = await use.sessions.conversations.page(
                tenant, self._session_id, thread=self._thread, after=after, limit=MESSAGES
            )
            self._covered += [one for one in read if one.stored.seq <= opened.summary.last_seq]
            self._more = bool(read) and read[-1].stored.seq < opened.summary.last_seq
        self._show_versions(versions)

    async def _searched(self, act: Act) -> None:
        question = act.fields.get("q", "").replace("\0", "").strip()[:2_000]
        found = []
        if act.name == "search" and question:
            found = await self._visit.services.sessions.memory.search(
                self._visit.tenant, self._session_id, question, limit=10
            )
        self._found.show(found_messages(question, found))

    async def _acted(self, act: Act) -> None:
        """Pins, unpins, explains, and goes through the messages."""
        seq = _number(act.data.get("seq"))
        match act.name:
            case "older":
                self._before = _number(act.data.get("before"))
            case "newest":
                self._before = None
            case "explain" if seq is not None:
                await self._explain(seq)
            case "ask-pin":
                self._pin_form.show(pin_form(seq, ""))
                ui.run_javascript("window.purser.reveal('.pin-form', false)")
                return
            case "no-pin":
                self._pin_form.show(NOTHING)
                return
            case "pin" if seq is not None:
                await self._pin(seq, act)
            case "unpin" if seq is not None:
                await self._unpin(seq)
        await self.refresh()

    async def _explain(self, seq: int) -> None:
        if self._explained.pop(seq, None) is None:
            self._explained[seq] = await session_context.explain_message(
                self._visit.caller, self._visit.services, self._session_id, seq
            )

    async def _pin(self, seq: int, act: Act) -> None:
        hours = act.fields.get("hours", "").strip()
        until = _until(hours)
        if hours and until is None:
            self._pin_form.show(pin_form(seq, f"Write hours as a number up to {MOST_HOURS:,}, or leave them out."))
            return
        if (caller := await self._writer()) is None:
            return
        reason = act.fields.get("reason", "").replace("\0", "").strip()[:1_000]
        store = self._visit.services.sessions.pins
        try:
            await store.pin(
                caller.tenant, self._session_id, seq, author=caller.name, reason=reason or None, until=until
            )
        except ContextError as error:
            self._pin_form.show(pin_form(seq, told_problem(error)))
            return
        self._pin_form.show(NOTHING)
        toast(f"Message {seq} is pinned.")

    async def _unpin(self, seq: int) -> None:
        if (caller := await self._writer()) is None:
            return
        await self._visit.services.sessions.pins.unpin(caller.tenant, self._session_id, seq, by=caller.name)
        toast(f"Message {seq} is not pinned any more.")

    async def _writer(self) -> Principal | None:
        """Who is signed in now, if they may change sessions."""
        caller = await self._visit.caller_now()
        if caller is None or not self._may_pin(caller):
            toast("Your role may not change sessions.")
            return None
        acting_key.set(caller.key_id)
        return caller

    @staticmethod
    def _may_pin(caller: Principal) -> bool:
        return caller.may(Permission.WRITE_SESSIONS)


def _number(text: str | None) -> int | None:
    return int(text) if text and text.isascii() and text.isdecimal() and len(text) < 16 else None


def _until(hours: str) -> datetime | None:
    try:
        count = Decimal(hours)
    except InvalidOperation:
        return None
    if not count.is_finite() or not 0 < count <= MOST_HOURS:
        return None
    return datetime.now(UTC) + timedelta(seconds=int(count * 3600))
