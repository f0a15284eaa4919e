"""The page of health: whether the parts of Purser respond, and whether the ledger is correct."""

import asyncio
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime, timedelta

from markupsafe import Markup

from purser.gateway.access.roles import Permission, Principal
from purser.gateway.dashboard.components import LOADING, render
from purser.gateway.dashboard.formats import words
from purser.gateway.dashboard.live import Live
from purser.gateway.dashboard.pages import page
from purser.gateway.dashboard.region import Act
from purser.gateway.dashboard.visit import Visit
from purser.gateway.errors import TemporalUnavailable
from purser.gateway.health import is_up
from purser.gateway.metrics.counters import answered
from purser.gateway.tasks.workers import Queue, queues

RECENT = timedelta(hours=24)
REFRESH_EVERY_S = 5.0
OLD = timedelta(minutes=10)
"""Age from which an open hold is highlighted."""


@page("/health", "Health")
async def health(visit: Visit, live: Live) -> Markup:
    """Builds the page."""
    one = _HealthPage(visit)
    live.start((), one.refresh_gateway, every_s=60.0)
    live.start((), one.refresh_workers, every_s=REFRESH_EVERY_S)
    live.start((), one.refresh_ledger, every_s=REFRESH_EVERY_S)
    live.start((), one.refresh_audit, every_s=60.0)
    visit.page.spawn(one.follow_audit())
    await live.follow((), one.refresh_readiness, every_s=REFRESH_EVERY_S)
    return one.shown()


class _HealthPage:
    """The regions of the page."""

    def __init__(self, visit: Visit) -> None:
        self._visit = visit
        screen = visit.screen
        self._readiness, self._queues = screen.region(LOADING), screen.region(LOADING)
        self._audit = screen.region().on_act(self._acted)
        self._holds, self._workers, self._gateway = (screen.region(LOADING) for _ in range(3))
        self._show_audit()

    def shown(self) -> Markup:
        """The page as it is now."""
        may_see = self._visit.caller.may(Permission.SET_BUDGETS)
        return render(
            "health/page.html",
            readiness=self._readiness,
            queues=self._queues,
            audit=self._audit,
            holds=self._holds,
            workers=self._workers,
            gateway=self._gateway,
            settings=self._visit.services.setup.settings if may_see else None,
        )

    async def refresh_readiness(self) -> None:
        """Runs the checks of `/readyz`."""
        checks = self._visit.services.setup.checks
        found = await asyncio.gather(*(is_up(check) for check in checks.values()))
        answers = dict(zip(checks, found, strict=True))
        self._readiness.show(render("health/readiness.html", answers=answers, checked_at=datetime.now(UTC)))

    async def refresh_ledger(self) -> None:
        """Reads the state of holds and queues."""
        tenant, health, now = self._visit.tenant, self._visit.services.pages.ledger_health, datetime.now(UTC)
        faults = await health.faults(tenant, now - RECENT)
        found, oldest = await health.open(tenant), await health.oldest(tenant)
        is_old = found.oldest is not None and now - found.oldest > OLD
        self._holds.show(render("health/holds.html", found=found, oldest=oldest, faults=faults, is_old=is_old, now=now))
        queues = (
            ("To workflows", await health.outbox(tenant)),
            ("To webhooks", await health.deliveries(tenant)),
        )
        self._queues.show(render("health/queues.html", queues=queues, now=now))

    async def refresh_workers(self) -> None:
        """Asks Temporal for the workers of the task queue."""
        use = self._visit.services
        try:
            found: Sequence[Queue] | None = await queues(use.temporal, use.task_queue)
        except TemporalUnavailable:
            found = None
        self._workers.show(render("health/workers.html", queues=found, task_queue=use.task_queue))

    async def refresh_gateway(self) -> None:
        """Reads the counters of answered requests."""
        use = self._visit.services
        setup = use.setup
        revision = await setup.revision()
        found = answered(use.metrics.registry)
        self._gateway.show(
            render(
                "health/gateway.html",
                found=found,
                versions=setup.versions,
                revision=revision,
                needed=setup.revision_needed,
            )
        )

    async def refresh_audit(self) -> None:
        """Reads the last audit of any process."""
        await self._visit.services.pages.audits.refresh()
        self._show_audit()

    async def follow_audit(self) -> None:
        """Shows the progress of an audit, whoever started it."""
        while True:
            changed = self._visit.services.pages.audits.changed
            self._show_audit()
            await changed.wait()

    def _show_audit(self) -> None:
        audits, tenant = self._visit.services.pages.audits, self._visit.tenant
        differences = audits.last.examples if audits.last else ()
        self._audit.show(
            render(
                "health/audit.html",
                progress=audits.progress,
                last=audits.last,
                differences=[(str(one["check"]), one["what"], _figures(one, tenant)) for one in differences],
                may=self._visit.caller.may(Permission.DECIDE),
            )
        )

    async def _acted(self, act: Act) -> None:
        async def start(caller: Principal) -> None:
            self._visit.services.pages.audits.start(caller.name)

        if act.name == "audit":
            await self._visit.perform(Permission.DECIDE, "run the audit", start)


def _figures(one: Mapping[str, object], tenant: str) -> str:
    """The figures of a difference; hidden unless it belongs to this tenant."""
    if one.get("tenant") != tenant:
        return "“purser audit” shows them"
    return ", ".join(f"{words(name)} {value}" for name, value in one.items() if name not in ("check", "what", "tenant"))
