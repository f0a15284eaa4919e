"""The pages of sessions: the list, and one session with its compressions, pins, facts and messages."""

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime, timedelta
from decimal import Decimal, InvalidOperation

from markupsafe import Markup

from purser.budget.texts import number_of
from purser.context.compression.layers import Level
from purser.context.errors import SessionDeleted, SessionNotFound
from purser.context.postgres.conversation.conversations import Listed
from purser.context.postgres.conversation.summaries import StoredSummary
from purser.context.postgres.sessions.overviews import Thread
from purser.context.retrieval import Results, Via
from purser.gateway.access.roles import Permission, Principal
from purser.gateway.dashboard import shell
from purser.gateway.dashboard.actions import Refused
from purser.gateway.dashboard.amounts import plain_text
from purser.gateway.dashboard.components import LOADING, bar, component, render
from purser.gateway.dashboard.context import context_settings
from purser.gateway.dashboard.formats import address
from purser.gateway.dashboard.live import Live
from purser.gateway.dashboard.pages import page
from purser.gateway.dashboard.region import Act
from purser.gateway.dashboard.sessions.charts import growth
from purser.gateway.dashboard.sessions.list import PAGE, Wanted, filters, listing
from purser.gateway.dashboard.visit import Visit
from purser.gateway.sessions import context_routes as session_context
from purser.gateway.sessions.routes import show_context
from purser.wire.limits import USUAL_MODEL
from purser.wire.windows import ExplanationView

MESSAGES = 25
KINDS = ("compression", "task", "agent", "turn")
MOST_HOURS = 24 * 366
MOST_ASKED = 2_000
"""Longest question to the memory of a session."""
MOST_FACTS = 200
"""Maximum number of facts shown."""
_LEVELS: Mapping[Level, str] = {Level.LEAF: "newest", Level.SECTION: "section", Level.SESSION: "oldest part"}
_VIA: Mapping[Via, str] = {Via.LEXICAL: "its words", Via.VECTOR: "its meaning", Via.BOTH: "words and meaning"}
# The question is sent as an act, so that it appears in no URL.
_MEMORY_SEARCH = component(
    "search", "memory", "Search this session", "What was said about …", most=MOST_ASKED, **{"data-act": "search"}
)


@page("/sessions", "Sessions", needs=Permission.READ_WORK)
async def sessions(visit: Visit, live: Live, q: str = "", before: str = "") -> Markup:
    """Builds the list; URL parameters that are not valid are ignored."""
    wanted = Wanted.read(q, before)
    rows = visit.screen.region(LOADING)

    async def refresh() -> None:
        found = await visit.services.pages.sessions.page(
            visit.tenant, search=wanted.search, before=wanted.before, limit=PAGE
        )
        rows.show(listing(found, wanted))

    await live.follow(KINDS, refresh)
    return filters(wanted) + component("regions", rows)


@page("/sessions/{session_id}", "Sessions", needs=Permission.READ_WORK)
async def session(visit: Visit, live: Live, session_id: str, thread: str = "") -> Markup:
    """Builds the page of one session."""
    try:
        await visit.services.sessions.sessions.get(visit.tenant, session_id)
    except SessionDeleted as gone:
        return shell.error("This session was deleted", f"{gone}. Its figures stay in the ledger.")
    except SessionNotFound:
        return shell.error("There is no such session", "It may belong to another tenant, or its id was mistyped.")
    one = _SessionPage(visit, session_id, thread.replace("\0", ""))
    await live.follow(KINDS, one.refresh)
    return one.shown()


class _SessionPage:
    """The regions of one session's page, and what the person has opened in them."""

    def __init__(self, visit: Visit, session_id: str, thread: str) -> None:
        self._visit = visit
        self._session_id = session_id
        self._thread = thread
        self._before: int | None = None
        self._explained: dict[int, ExplanationView] = {}
        self._opened: int | None = None
        self._covered: list[Listed] = []
        self._more = False
        screen = visit.screen
        self._header, self._choices = screen.region(), screen.region()
        self._chart = screen.chart(
            "Stored tokens over time and what compressions did. The table below has the figures."
        )
        self._versions = screen.region(LOADING).on_act(self._compared)
        self._pin_form = screen.region().on_act(self._acted)
        self._search = screen.region(_MEMORY_SEARCH).on_act(self._searched)
        self._found = screen.region()
        self._messages = screen.region(LOADING).on_act(self._acted)
        self._pins = screen.region().on_act(self._acted)
        self._facts, self._context = screen.region(), screen.region()

    def shown(self) -> Markup:
        """The page as it is now."""
        return render(
            "sessions/page.html",
            session_id=self._session_id,
            header=self._header,
            choices=self._choices,
            chart=self._chart,
            versions=self._versions,
            pin_form=self._pin_form,
            search=self._search,
            found=self._found,
            messages=self._messages,
            pins=self._pins,
            facts=self._facts,
            context=self._context,
        )

    async def refresh(self) -> None:
        """Reads and shows everything."""
        tenant, use, session_id = self._visit.tenant, self._visit.services, self._session_id
        overviews = use.pages.sessions
        threads = await overviews.threads(tenant, session_id, model=USUAL_MODEL)
        found = await use.sessions.sessions.get(tenant, session_id)
        self._header.show(render("sessions/header.html", session=found, threads=threads))
        self._choices.show(_choices(session_id, threads, self._thread))
        versions = await use.sessions.summaries.versions(tenant, session_id, self._thread)
        grown = await overviews.growth(tenant, session_id, self._thread, model=USUAL_MODEL)
        if grown:
            self._chart.show(growth(grown, versions))
        self._show_versions(versions)
        await self._show_messages()
        await self._show_pins()
        facts = await session_context.facts(self._visit.caller, use, session_id, USUAL_MODEL, self._thread)
        newest = list(reversed(facts.facts[-MOST_FACTS:]))
        self._facts.show(render("sessions/facts.html", facts=newest, count=len(facts.facts), sheet=facts.sheet))
        self._context.show(context_settings(await show_context(self._visit.caller, use, session_id)))

    async def _show_pins(self) -> None:
        tenant, store = self._visit.tenant, self._visit.services.sessions.pins
        pins, taken = await store.live(tenant, self._session_id), await store.tokens(tenant, self._session_id)
        shown = bar(taken, 0, store.budget)
        may_pin = self._visit.caller.may(Permission.WRITE_SESSIONS)
        self._pins.show(
            render("sessions/pins.html", pins=pins, taken=taken, budget=store.budget, bar=shown, may_pin=may_pin)
        )

    def _show_versions(self, versions: list[StoredSummary]) -> None:
        opened = next((one for one in versions if one.summary.version == self._opened), None)
        self._versions.show(
            render(
                "sessions/compressions.html",
                versions=versions,
                opened=opened,
                covered=self._covered,
                more=self._more,
                levels=_LEVELS,
            )
        )

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
            render(
                "sessions/messages.html",
                page=listed,
                counts=counts,
                explained=self._explained,
                may_pin=self._visit.caller.may(Permission.WRITE_SESSIONS),
                newest="newest" if self._before is not None else None,
                older=listed[0].stored.seq if older else None,
            )
        )

    async def _compared(self, act: Act) -> None:
        """Opens a version next to the messages that it covers, loads more of them, or closes it."""
        use, tenant = self._visit.services, self._visit.tenant
        versions = await use.sessions.summaries.versions(tenant, self._session_id, self._thread)
        if act.name == "open":
            version = number_of(act.data.get("version", ""))
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
        question = plain_text(act.fields.get("q", ""), MOST_ASKED)
        results = Results()
        if act.name == "search" and question:
            results = await self._visit.services.sessions.memory.search(
                self._visit.tenant, self._session_id, question, limit=10
            )
        self._found.show(render("sessions/found.html", question=question, results=results, via=_VIA))

    async def _acted(self, act: Act) -> None:
        """Handles paging, pinning, unpinning and explaining of messages."""
        seq = number_of(act.data.get("seq", ""))
        match act.name:
            case "older":
                self._before = number_of(act.data.get("to", ""))
            case "newest":
                self._before = None
            case "explain" if seq is not None:
                await self._explain(seq)
            case "ask-pin" if seq is not None:
                self._ask_pin(seq)
                self._visit.screen.reveal(".pin-form")
                return
            case "no-pin":
                self._pin_form.show(Markup())
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

    def _ask_pin(self, seq: int, problem: str = "") -> None:
        """Shows the form for the reason and the duration of a pin."""
        self._pin_form.show(render("sessions/pin_form.html", seq=seq, problem=problem))

    async def _pin(self, seq: int, act: Act) -> None:
        hours = act.fields.get("hours", "").strip()
        until = _until(hours)
        if hours and until is None:
            self._ask_pin(seq, f"Write hours as a number up to {MOST_HOURS:,}, or leave the field empty.")
            return
        reason = plain_text(act.fields.get("reason", ""), 1_000) or None
        pins, session_id = self._visit.services.sessions.pins, self._session_id

        async def store(caller: Principal) -> None:
            await pins.pin(caller.tenant, session_id, seq, author=caller, reason=reason, until=until)

        try:
            await self._visit.perform(Permission.WRITE_SESSIONS, "change sessions", store)
        except Refused as error:
            self._ask_pin(seq, str(error))
            return
        self._pin_form.show(Markup())
        self._visit.screen.toast(f"Message {seq} is pinned.")

    async def _unpin(self, seq: int) -> None:
        async def store(caller: Principal) -> None:
            await self._visit.services.sessions.pins.unpin(caller.tenant, self._session_id, seq, by=caller)

        await self._visit.perform(Permission.WRITE_SESSIONS, "change sessions", store)
        self._visit.screen.toast(f"Message {seq} is no longer pinned.")


def _choices(session_id: str, threads: Sequence[Thread], current: str) -> Markup:
    """Links to the conversations of a session; nothing if there is only one."""
    if len(threads) < 2:
        return Markup()
    links = [
        (address(f"/sessions/{session_id}", thread=one.thread), one.thread or "conversation", one.thread == current,
         one.messages)
        for one in threads
    ]  # fmt: skip
    return component("chips", "Conversations of this session", links)


def _until(hours: str) -> datetime | None:
    try:
        count = Decimal(hours)
    except InvalidOperation:
        return None
    if not count.is_finite() or not 0 < count <= MOST_HOURS:
        return None
    return datetime.now(UTC) + timedelta(seconds=int(count * 3600))
