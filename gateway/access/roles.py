"""Who may do what: roles and the permissions they carry."""

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum

from purser.budget.actors import Actor
from purser.budget.approvals import Approver

MAX_KEY_LIFE_S = 10 * 365 * 86_400
"""Seconds after which a key that ends has to end."""


class Role(StrEnum):
    """What a key is for."""

    AGENT = "agent"
    """A backend that spends: holds, tasks and their sessions."""
    VIEWER = "viewer"
    """A person or page that looks."""
    APPROVER = "approver"
    """A person who looks and decides."""
    ADMIN = "admin"
    """Everything, limits and keys included."""


class Permission(StrEnum):
    """What an endpoint asks of a key."""

    SPEND = "spend"
    """Hold and settle."""
    RUN = "run"
    """Submit, pause, resume and cancel tasks."""
    WRITE_SESSIONS = "write_sessions"
    """Append messages, pin them, compress, set personal settings."""
    READ_WORK = "read_work"
    """Look at holds, tasks and sessions."""
    READ = "read"
    """Look at budgets, approvals, changes and pages."""
    DECIDE = "decide"
    """Decide approval requests; their rules still apply."""
    SET_BUDGETS = "set_budgets"
    DELETE_SESSIONS = "delete_sessions"
    """One at once, or all of an age."""
    ACT_FOR_OTHERS = "act_for_others"
    """Name the submitter of a task, so that approval rules believe it."""
    MANAGE_KEYS = "manage_keys"
    MANAGE_WEBHOOKS = "manage_webhooks"


_LOOK = frozenset({Permission.READ_WORK, Permission.READ})

PERMISSIONS: Mapping[Role, frozenset[Permission]] = {
    Role.AGENT: frozenset({Permission.SPEND, Permission.RUN, Permission.WRITE_SESSIONS, Permission.READ_WORK}),
    Role.VIEWER: _LOOK,
    Role.APPROVER: _LOOK | {Permission.DECIDE},
    Role.ADMIN: frozenset(Permission),
}


@dataclass(frozen=True, slots=True)
class Principal(Actor):
    """Who is calling, as the key says; its name is that of approver, submitter and author of changes."""

    key_id: str
    tenant: str
    """Everything the caller sees or changes belongs to it."""
    role: Role
    rate_limit_per_s: int | None = None
    """Requests a second; `None`: as the gateway is set."""

    def may(self, permission: Permission) -> bool:
        """Whether the role carries `permission`."""
        return permission in PERMISSIONS[self.role]

    @property
    def approver(self) -> Approver:
        """The same as somebody who decides."""
        return Approver(self.name, self.key_id, (self.role,))
