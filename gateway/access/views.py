"""Responses of `/v1/keys` and `/v1/sign-in-links`."""

from datetime import datetime
from typing import Self

from purser.gateway.access.roles import Role
from purser.gateway.postgres.keys import Key
from purser.wire.base import View


class CallerView(View):
    """The key of a request."""

    key_id: str
    tenant: str
    name: str
    """Recorded as approver and submitter."""
    role: Role


class KeyView(View):
    """A key without its secret."""

    key_id: str
    name: str
    role: Role
    created_by: str
    created_at: datetime
    expires_at: datetime | None
    """When it expires; `null`: never."""
    rate_limit_per_s: int | None
    """Requests per second; `null`: the gateway's setting."""
    tags: dict[str, str]
    """Tags of every call made with it."""
    path: list[str]
    """Scopes of its calls through the proxy that name none."""
    revoked_by: str | None
    revoked_at: datetime | None

    @classmethod
    def of(cls, made: Key) -> Self:
        return cls(**{name: getattr(made, name) for name in KeyView.model_fields})


class NewKeyView(KeyView):
    """A new key with its secret, which is not shown again."""

    key: str


class SignInLinkView(View):
    """A one-time link that signs a browser in."""

    url: str
    """The token follows the `#`, so that no server receives or logs it."""
    token: str
    expires_at: datetime
