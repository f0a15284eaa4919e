"""The page of keys. The secret of a new key is shown once, and to nobody else."""

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime

from markupsafe import Markup

from purser.budget.texts import parts_of
from purser.gateway.access import keys as api
from purser.gateway.access.roles import Permission, Principal, Role
from purser.gateway.access.schemas import KeyBody
from purser.gateway.dashboard.actions import Refused
from purser.gateway.dashboard.amounts import count
from purser.gateway.dashboard.components import LOADING, component, render
from purser.gateway.dashboard.live import Live
from purser.gateway.dashboard.pages import page
from purser.gateway.dashboard.region import Act
from purser.gateway.dashboard.visit import Visit
from purser.gateway.postgres.keys import Key, NewKey

PAGE = 50
"""Number of keys shown at first, and added by *Show more*."""
DAY_S = 86_400
ROLES = (
    (Role.AGENT, "agent: spends"),
    (Role.VIEWER, "viewer: reads"),
    (Role.APPROVER, "approver: decides"),
    (Role.DEPUTY, "deputy: decides once escalated"),
    (Role.ADMIN, "admin: everything"),
)
LIVES = (("", "never"), (str(DAY_S), "in a day"), (str(30 * DAY_S), "in 30 days"), (str(365 * DAY_S), "in a year"))


@page("/keys", "Keys", needs=Permission.MANAGE_KEYS)
async def keys(visit: Visit, live: Live) -> Markup:
    """Builds the page."""
    one = _KeysPage(visit, live)
    await one.part.first()
    return component("regions", one.made, one.form, one.listing)


class _KeysPage:
    """State of one open page of keys."""

    def __init__(self, visit: Visit, live: Live) -> None:
        self.visit = visit
        self.size = PAGE
        self.armed: str | None = None
        """Id of a key whose end waits for confirmation."""
        self.count = 0
        """Number of keys made on this page: the form is emptied after each."""
        self.made, self.form, self.listing = (
            visit.screen.region(content).on_act(self.handle) for content in (Markup(), new_key(0, ""), LOADING)
        )
        self.part = live.start((), self.refresh)

    async def refresh(self) -> None:
        """Reads and shows the keys."""
        found = await self.visit.services.keys.list(self.visit.tenant)
        self.listing.show(listing(found, self.visit.caller.key_id, self.armed, self.size, datetime.now(UTC)))

    async def handle(self, act: Act) -> None:
        """Handles an act of the person."""
        match act.name:
            case "create":
                await self._create(act.fields)
            case "stored":
                self.made.show(Markup())
            case "more":
                self.size += PAGE
            case "revoke":
                self.armed = act.data.get("id")
            case "back":
                self.armed = None
            case "confirm" if self.armed is not None:
                await self._revoke(self.armed)
        await self.part.refresh()
        if act.name == "revoke":
            self.visit.screen.reveal("#confirm", focus=True)

    async def _create(self, fields: Mapping[str, str]) -> None:
        async def create(caller: Principal) -> NewKey:
            return await api.make(self.visit.services, caller, read(fields))

        try:
            made = await self.visit.perform(Permission.MANAGE_KEYS, "manage keys", create)
        except Refused as error:
            self.form.show(new_key(self.count, str(error)))
            return
        self.count += 1
        self.form.show(new_key(self.count, ""))
        self.made.show(component("secret", f"The key of {made.key.name}, role {made.key.role}.", made.secret))
        self.visit.screen.reveal(".secret")

    async def _revoke(self, key_id: str) -> None:
        async def revoke(caller: Principal) -> Key:
            return await self.visit.services.keys.revoke(caller.tenant, key_id, by=caller)

        self.armed = None
        ended = await self.visit.perform(Permission.MANAGE_KEYS, "manage keys", revoke)
        self.visit.screen.toast(f"The key of {ended.name} is revoked.")


def read(fields: Mapping[str, str]) -> KeyBody:
    """The typed key.

    Raises:
        Refused, ValidationError: a field is not valid.
    """
    return KeyBody.model_validate(
        {
            "name": fields.get("name", "").strip(),
            "role": fields.get("role", ""),
            "expires_in_s": count(fields.get("expires_in_s", ""), "Expires"),
            "rate_limit_per_s": count(fields.get("rate_limit_per_s", ""), "Requests per second"),
            "tags": _tags(fields.get("tags", "")),
            "path": parts_of(fields.get("path", "")),
        }
    )


def _tags(text: str) -> dict[str, str]:
    found = {}
    for part in parts_of(text):
        name, equals, value = part.partition("=")
        if not equals or name in found:
            raise Refused(f"Tags: “{part[:40]}” is not a tag, or comes twice. Write team=search, cost_center=42.")
        found[name] = value
    return found


def new_key(made: int, problem: str) -> Markup:
    """The form of a new key."""
    return render("keys/form.html", made=made, problem=problem, roles=ROLES, lives=LIVES)


def listing(found: Sequence[Key], own: str, armed: str | None, size: int, now: datetime) -> Markup:
    """The table of keys: live ones first, the newest on top.

    Args:
        found: all keys.
        own: id of the key of the person.
        armed: id of a key whose end waits for confirmation.
        size: most keys to show.
        now: the time, for those that have expired.
    """
    newest = sorted(found, key=lambda key: (state(key, now) == "live", key.created_at), reverse=True)
    return render(
        "keys/list.html",
        keys=[(key, state(key, now)) for key in newest[:size]],
        more=min(PAGE, len(newest) - size),
        own=own,
        armed=armed,
    )


def state(key: Key, now: datetime) -> str:
    """Whether a key works: `live`, `revoked` or `expired`."""
    if key.revoked_at is not None:
        return "revoked"
    return "expired" if key.expires_at is not None and key.expires_at <= now else "live"
