"""The page of webhooks and of the deliveries of one of them. A new secret is shown once."""

from collections.abc import Awaitable, Callable, Mapping
from typing import Any

from markupsafe import Markup

from purser.budget.errors import NotFound
from purser.budget.texts import number_of
from purser.gateway.access.roles import Permission, Principal
from purser.gateway.dashboard.actions import Refused
from purser.gateway.dashboard.components import LOADING, component, render
from purser.gateway.dashboard.formats import address
from purser.gateway.dashboard.live import Live
from purser.gateway.dashboard.pages import page
from purser.gateway.dashboard.region import Act
from purser.gateway.dashboard.visit import Visit
from purser.gateway.postgres.deliveries import Delivery
from purser.gateway.postgres.webhooks import Webhook
from purser.gateway.services import Services
from purser.gateway.webhooks import routes as api
from purser.gateway.webhooks.messages import STATES
from purser.gateway.webhooks.routes import WebhookBody, WebhookPatch

PAGE = 50
"""Number of deliveries on a page."""
EVERY_S = 5.0
"""Refresh interval: deliveries change without an event."""
CHOSEN = "kind:"
"""Prefix of the inputs for kinds of events."""

Do = Callable[[Services, Principal], Awaitable[Any]]


@page("/webhooks", "Webhooks", needs=Permission.MANAGE_WEBHOOKS)
async def webhooks(visit: Visit, live: Live, id: str = "", before: str = "") -> Markup:
    """Builds the page.

    Args:
        visit: the visit.
        live: keeps the page up to date.
        id: a webhook whose deliveries to show.
        before: id of a delivery: only older ones.
    """
    one = _WebhooksPage(visit, live, id.replace("\0", ""), number_of(before))
    await one.part.first()
    return component("regions", one.made, one.listing, one.deliveries, one.form)


class _WebhooksPage:
    """State of one open page of webhooks."""

    def __init__(self, visit: Visit, live: Live, chosen: str, before: int | None) -> None:
        self.visit = visit
        self.chosen = chosen
        self.before = before
        self.asked: tuple[str, str] | None = None
        """What waits for confirmation, `remove` or `rotate`, and the webhook's id."""
        self.count = 0
        """Number of webhooks made on this page: the form is emptied after each."""
        self.made, self.listing, self.deliveries, self.form = (
            visit.screen.region(content).on_act(self.handle)
            for content in (Markup(), LOADING, Markup(), new_webhook(0, ""))
        )
        self.part = live.start((), self.refresh, every_s=EVERY_S)

    async def refresh(self) -> None:
        """Reads and shows the webhooks, and the deliveries of the chosen one."""
        use, tenant = self.visit.services, self.visit.tenant
        hooks = await use.webhooks.list(tenant)
        chosen = next((hook for hook in hooks if hook.webhook_id == self.chosen), None)
        found = [] if chosen is None else await use.deliveries.page(tenant, self.chosen, self.before, PAGE)
        self.listing.show(render("webhooks/list.html", hooks=hooks, chosen=self.chosen, asked=self.asked))
        self.deliveries.show(deliveries(chosen, found, self.before) if chosen else Markup())

    async def handle(self, act: Act) -> None:
        """Handles an act of the person."""
        webhook_id = act.data.get("id", "")
        match act.name:
            case "create":
                await self._create(act.fields)
            case "stored":
                self.made.show(Markup())
            case "choose":
                self.chosen, self.before = webhook_id, None
                self.visit.screen.address(address("/webhooks", id=webhook_id))
            case "remove" | "rotate":
                self.asked = act.name, webhook_id
            case "back":
                self.asked = None
            case "confirm" if self.asked is not None:
                (what, webhook_id), self.asked = self.asked, None
                await (self._rotate(webhook_id) if what == "rotate" else self._remove(webhook_id))
            case _ if act.name in _DONE:
                do, what = _DONE[act.name]
                await self._perform(lambda use, caller: do(use, caller, act.data))
                self.visit.screen.toast(what)
        await self.part.refresh()
        if act.name in ("remove", "rotate"):
            self.visit.screen.reveal("#confirm", focus=True)

    async def _perform(self, do: Do) -> Any:
        async def act(caller: Principal) -> Any:
            return await do(self.visit.services, caller)

        return await self.visit.perform(Permission.MANAGE_WEBHOOKS, "manage webhooks", act)

    async def _create(self, fields: Mapping[str, str]) -> None:
        async def create(use: Services, caller: Principal) -> tuple[Webhook, str]:
            chosen = api.chosen_fields(read(fields), use.targets)
            return await use.webhooks.create(caller.tenant, chosen, by=caller)

        try:
            hook, secret = await self._perform(create)
        except Refused as error:
            self.form.show(new_webhook(self.count, str(error)))
            return
        self.count += 1
        self.form.show(new_webhook(self.count, ""))
        self._show_secret(f"The secret of {hook.webhook_id} verifies its signatures.", secret)

    async def _rotate(self, webhook_id: str) -> None:
        async def rotate(use: Services, caller: Principal) -> tuple[Webhook, str]:
            return await use.webhooks.rotate(caller.tenant, webhook_id, by=caller)

        hook, secret = await self._perform(rotate)
        self._show_secret(f"The new secret of {hook.webhook_id}; the previous one signs too for a day.", secret)

    def _show_secret(self, what: str, secret: str) -> None:
        self.made.show(component("secret", what, secret))
        self.visit.screen.reveal(".secret")

    async def _remove(self, webhook_id: str) -> None:
        await self._perform(lambda use, caller: api.delete(webhook_id, caller, use))
        self.visit.screen.toast("The webhook is removed.")


async def _test(use: Services, caller: Principal, data: Mapping[str, str]) -> None:
    await use.deliveries.test(caller.tenant, data.get("id", ""))


async def _again(use: Services, caller: Principal, data: Mapping[str, str]) -> None:
    number = number_of(data.get("delivery", ""))
    if number is None:
        raise NotFound("there is no such delivery")
    await use.deliveries.redeliver(caller.tenant, data.get("id", ""), number)


async def _enable(use: Services, caller: Principal, data: Mapping[str, str]) -> None:
    await api.change(data.get("id", ""), WebhookPatch(enabled=True), caller, use)


async def _disable(use: Services, caller: Principal, data: Mapping[str, str]) -> None:
    await api.change(data.get("id", ""), WebhookPatch(enabled=False), caller, use)


_DONE = {
    "test": (_test, "A test is sent; its outcome is among the deliveries."),
    "again": (_again, "The message is sent again."),
    "enable": (_enable, "The webhook is enabled."),
    "disable": (_disable, "The webhook is disabled: nothing is sent to it."),
}
"""Acts without confirmation, and what they have done."""


def read(fields: Mapping[str, str]) -> WebhookBody:
    """The typed webhook; raises `ValidationError` if a field is not valid, and `Refused` without any kind."""
    kinds = [name.removeprefix(CHOSEN) for name in fields if name.startswith(CHOSEN)]
    if not kinds:
        raise Refused("Choose at least one kind of event.")
    least = fields.get("least_threshold", "").strip().rstrip("%").strip()
    try:
        threshold = float(least) / 100 if least else None
    except ValueError:
        raise Refused(f"Thresholds from: “{least[:40]}” is not a share. Write it in percent, such as 80.") from None
    return WebhookBody(
        url=fields.get("url", "").strip(),
        kinds=kinds,
        least_threshold=threshold,
        description=fields.get("description", "").strip(),
    )


def new_webhook(made: int, problem: str) -> Markup:
    """The form of a new webhook."""
    return render("webhooks/form.html", made=made, problem=problem, kinds=STATES, chosen=CHOSEN)


def deliveries(hook: Webhook, found: list[Delivery], before: int | None) -> Markup:
    """The deliveries of a webhook, newest first."""
    here = address("/webhooks", id=hook.webhook_id)
    older = address("/webhooks", id=hook.webhook_id, before=found[-1].delivery_id) if len(found) == PAGE else None
    return render(
        "webhooks/deliveries.html",
        hook=hook,
        deliveries=found,
        newest=here if before is not None else None,
        older=older,
    )
