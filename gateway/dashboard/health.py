"""Health: whether everything that Purser needs is there, and whether the ledger is right."""

import asyncio
from datetime import UTC, datetime, timedelta

from nicegui import background_tasks, ui

from gateway.dashboard import health_parts as parts
from gateway.dashboard import live
from gateway.dashboard.markup import LOADING
from gateway.dashboard.pages import page
from gateway.dashboard.region import Act, Region
from gateway.dashboard.visit import Visit
from gateway.dashboard.work_words import telling, toast
from gateway.errors import TemporalUnavailable
from gateway.figures import answered
from gateway.health import is_up
from gateway.roles import Permission
from gateway.workers import queues

LATELY = timedelta(hours=24)
LOOK_EVERY_S = 5.0


@page("/health", "Health")
async def health(visit: Visit) -> None:
    """The page."""
    one = _HealthPage(visit)
    live.start((), one.refresh_gateway, every_s=60.0)
    live.start((), one.refresh_workers, every_s=LOOK_EVERY_S)
    live.start((), one.refresh_ledger, every_s=LOOK_EVERY_S)
    one.follow_audits()
    await live.follow((), one.refresh_readiness, every_s=LOOK_EVERY_S)


class _HealthPage:
    """The parts of the page."""

    def __init__(self, visit: Visit) -> None:
        self._visit = visit
        with ui.element("div").classes("beside"):
            self._readiness = Region(LOADING)
            self._queues = Region(LOADING)
        self._audit = Region().on_act(telling(self._acted))
        self._holds = Region(LOADING)
        self._workers = Region(LOADING)
        self._gateway = Region(LOADING)
        if visit.caller.may(Permission.SET_BUDGETS):
            Region(parts.settings(visit.services.pages.setup.settings))
        self._show_audit()

    async def refresh_readiness(self) -> None:
        """Looks at what `/readyz` looks at."""
        checks = self._visit.services.pages.setup.checks
        found = await asyncio.gather(*(is_up(check) for check in checks.values()))
        self._readiness.show(parts.readiness(dict(zip(checks, found, strict=True)), datetime.now(UTC)))

    async def refresh_ledger(self) -> None:
        """Reads how holds and queues stand."""
        tenant, standing, now = self._visit.tenant, self._visit.services.pages.standing, datetime.now(UTC)
        faults = await standing.faults(tenant, now - LATELY)
        self._holds.show(parts.holds(await standing.open(tenant), await standing.oldest(tenant), faults, now))
        self._queues.show(parts.queues(await standing.outbox(tenant), await standing.deliveries(tenant), now))

    async def refresh_workers(self) -> None:
        """Asks Temporal who works."""
        use = self._visit.services
        try:
            found = await queues(use.temporal, use.task_queue)
        except TemporalUnavailable:
            self._workers.show(parts.workers_away())
            return
        self._workers.show(parts.workers(found, use.task_queue))

    async def refresh_gateway(self) -> None:
        """Counts what was answered."""
        use = self._visit.services
        setup = use.pages.setup
        revision = await setup.revision()
        found = answered(use.metrics.registry)
        self._gateway.show(parts.gateway(found, setup.versions, revision, setup.revision_needed))

    def follow_audits(self) -> None:
        """Shows how an audit goes on, whoever began it."""

        async def follow() -> None:
            audits = self._visit.services.pages.audits
            while True:
                changed = audits.changed
                self._show_audit()
                await changed.wait()

        task = background_tasks.create(follow(), name="follow audits")
        ui.context.client.on_delete(lambda: task.cancel())

    def _show_audit(self) -> None:
        audits = self._visit.services.pages.audits
        may = self._visit.caller.may(Permission.DECIDE)
        self._audit.show(parts.audit(audits, self._visit.tenant, may=may))

    async def _acted(self, act: Act) -> None:
        if act.name != "audit":
            return
        caller = await self._visit.caller_now()
        if caller is None or not caller.may(Permission.DECIDE):
            toast("Your role may not run the audit.")
            return
        self._visit.services.pages.audits.start(caller.name)
