"""Keys and callers as the API answers them."""

from datetime import datetime
from typing import Self

from purser.gateway.access.roles import Role
from purser.gateway.http.views import View
from purser.gateway.postgres.keys import Key


class CallerView(View):
    """The key of a request."""

    key_id: str
    tenant: str
    name: str
    """The approver and submitter that it stands for."""
    role: Role


class KeyView(View):
    """A key without its secret."""

    key_id: str
    name: str
    role: Role
    created_by: str
    created_at: datetime
    expires_at: datetime | None
    """When it ends by itself; `null`: never."""
    rate_limit_per_s: int | None
    """Requests a second; `null`: as the gateway is set."""
    revoked_by: str | None
    revoked_at: datetime | None

    @classmethod
    def of(cls, made: Key) -> Self:
        return cls(**{name: getattr(made, name) for name in KeyView.model_fields})


class NewKeyView(KeyView):
    """A key at the one moment when its secret is shown."""

    key: str


class SignInLinkView(View):
    """A link that signs a browser in, once."""

    url: str
    """The token stands behind the `#`: no server and no log sees it."""
    token: str
    expires_at: datetime
