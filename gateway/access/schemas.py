"""Request bodies of `/v1/keys`."""

from datetime import UTC, datetime, timedelta
from typing import Annotated, Self

from pydantic import Field, model_validator

from purser.gateway.access.roles import MAX_KEY_LIFE_S, Role
from purser.gateway.postgres.keys import MAX_RATE
from purser.wire.base import Body
from purser.wire.fields import EndTime, Tags
from purser.wire.limits import MAX_PATH

PathField = Annotated[list[str], Field(max_length=MAX_PATH + 2)]


class _End(Body):
    """When a key expires."""

    expires_in_s: Annotated[int, Field(ge=1, le=MAX_KEY_LIFE_S)] | None = None
    """Seconds until it expires; without an expiry it works until it is revoked."""
    expires_at: EndTime | None = None
    """Time at which it expires; instead of `expires_in_s`."""

    @model_validator(mode="after")
    def _one_end(self) -> Self:
        if self.expires_in_s is not None and self.expires_at is not None:
            raise ValueError("expires_in_s and expires_at both say when the key ends: send one")
        return self

    def ends_at(self) -> datetime | None:
        """Time at which the key expires; `None`: never."""
        if self.expires_in_s is None:
            return self.expires_at
        return datetime.now(UTC) + timedelta(seconds=self.expires_in_s)


class KeyBody(_End):
    """A key to create."""

    name: str
    """Name of its holder; recorded with decisions made with the key."""
    role: Annotated[Role, Field(strict=False)]
    rate_limit_per_s: Annotated[int, Field(ge=1, le=MAX_RATE)] | None = None
    """Requests per second, if different from the gateway's setting."""
    tags: Tags = Field(default_factory=dict)
    """Tags of every call made with the key, for example `{"team": "search"}`. They never change."""
    path: PathField = Field(default_factory=list)
    """Scopes of its calls through the proxy that name none, for example `["user:ana"]`."""


class KeyPatch(_End):
    """Fields of a key to change; fields that are left out stay unchanged. `"expires_at": null` removes its end."""

    role: Annotated[Role, Field(strict=False)] | None = None
    path: PathField | None = None
    """Scopes of its calls through the proxy that name none; empty: only the tenant pays for them."""

    @model_validator(mode="after")
    def _something(self) -> Self:
        if not self.model_fields_set:
            raise ValueError("name a field to change")
        if empty := [name for name in self.model_fields_set - {"expires_at"} if getattr(self, name) is None]:
            raise ValueError(f"{min(empty)} is null: leave it out")
        return self

    @property
    def never_expires(self) -> bool:
        """Whether the key loses its end."""
        return "expires_at" in self.model_fields_set and self.ends_at() is None
