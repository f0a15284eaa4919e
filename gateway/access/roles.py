"""Roles and their permissions."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum

from purser.budget.actors import Actor
from purser.budget.approvals import Approver

MAX_KEY_LIFE_S = 10 * 365 * 86_400
"""Longest lifetime of a key with an expiry, in seconds."""


class Role(StrEnum):
    """Role of a key."""

    AGENT = "agent"
    """A backend that spends: uses holds, tasks and their sessions."""
    VIEWER = "viewer"
    """A person or page with read access."""
    APPROVER = "approver"
    """A person with read access who decides approvals."""
    DEPUTY = "deputy"
    """A person with read access who decides approvals once they are escalated."""
    ADMIN = "admin"
    """Full access, including limits and keys."""


class Permission(StrEnum):
    """Permission that an endpoint requires."""

    SPEND = "spend"
    """Create, settle and release holds."""
    RUN = "run"
    """Submit, pause, resume and cancel tasks."""
    WRITE_SESSIONS = "write_sessions"
    """Append messages, pin them, compress, set personal settings."""
    READ_WORK = "read_work"
    """Read holds, tasks and sessions."""
    READ = "read"
    """Read budgets, approvals, changes and pages."""
    DECIDE = "decide"
    """Decide approval requests; their rules still apply."""
    SET_BUDGETS = "set_budgets"
    DELETE_SESSIONS = "delete_sessions"
    """Delete single sessions, or set the retention of all."""
    ACT_FOR_OTHERS = "act_for_others"
    """Name the submitter of a task, which approval rules then trust."""
    MANAGE_KEYS = "manage_keys"
    MANAGE_WEBHOOKS = "manage_webhooks"


_LOOK = frozenset({Permission.READ_WORK, Permission.READ})

PERMISSIONS: Mapping[Role, frozenset[Permission]] = {
    Role.AGENT: frozenset({Permission.SPEND, Permission.RUN, Permission.WRITE_SESSIONS, Permission.READ_WORK}),
    Role.VIEWER: _LOOK,
    Role.APPROVER: _LOOK | {Permission.DECIDE},
    Role.DEPUTY: _LOOK | {Permission.DECIDE},
    Role.ADMIN: frozenset(Permission),
}


@dataclass(frozen=True, slots=True)
class Principal(Actor):
    """The authenticated caller. Its name is used as approver, submitter and author of changes."""

    key_id: str
    tenant: str
    """Tenant of everything that the caller can read or change."""
    role: Role
    rate_limit_per_s: int | None = None
    """Requests per second; `None`: the gateway's setting."""
    tags: Mapping[str, str] = field(default_factory=dict, hash=False)
    """Tags of every call made with the key, value by name."""
    path: Sequence[str] = field(default=(), hash=False)
    """Scopes of its calls through the proxy that name none."""

    def may(self, permission: Permission) -> bool:
        """Whether the role has `permission`."""
        return permission in PERMISSIONS[self.role]

    @property
    def approver(self) -> Approver:
        """The caller as an approver."""
        return Approver(self.name, self.key_id, (self.role,))
