"""Browser sessions and sign-in links in Postgres. Only digests of their secrets are stored."""

import secrets
import uuid
from dataclasses import dataclass
from datetime import datetime, timedelta

from purser.budget.postgres.changes import record
from purser.budget.postgres.connections.pools import Connection, Pool, connected, fetchrow, row
from purser.budget.postgres.connections.queries import load
from purser.gateway.access.roles import Principal
from purser.gateway.errors import KeyEnded
from purser.gateway.postgres.keys import digest, live

_SQL = load("purser.gateway.postgres", "browser_sessions.sql")
LINK_LIFE = timedelta(minutes=10)


@dataclass(frozen=True, slots=True)
class SignInLink:
    """A new link with its token, which is not stored."""

    token: str
    expires_at: datetime


@dataclass(frozen=True, slots=True)
class NewSession:
    """A new browser session with its secret, which is not stored."""

    secret: str
    expires_at: datetime


@dataclass(frozen=True, slots=True)
class BrowserSession:
    """A live browser session of a request."""

    session_id: str
    secret: str
    """Secret in its cookie, from which the CSRF token is derived."""
    caller: Principal


class BrowserSessions:
    """Browser sessions of all tenants. A session acts as the key that opened it, as long as that key is valid."""

    def __init__(self, pool: Pool, life: timedelta) -> None:
        """Args:
        pool: from `purser.budget.postgres.connections.pools.create_pool`.
        life: lifetime of a session.
        """
        self._pool = pool
        self._life = life

    async def link(self, caller: Principal, connection: Connection | None = None) -> SignInLink:
        """Creates a link that signs in as `caller`, once, within `LINK_LIFE`. Joins the connection's transaction."""
        token = secrets.token_urlsafe(32)
        async with connected(self._pool, connection) as own, own.transaction():
            expires_at = await own.fetchval(_SQL["add_link"], digest(token), caller.key_id, LINK_LIFE)
            after = {"expires_at": expires_at.isoformat()}
            await record(
                own, caller.tenant, "sign_in_link.create", f"key:{caller.key_id}",
                by=caller, before=None, after=after,
            )  # fmt: skip
        return SignInLink(token, expires_at)

    async def open_by_link(self, token: str) -> NewSession | None:
        """Opens a session by a link; `None` if the link is unknown, used or expired, or its key has ended."""
        async with connected(self._pool, None) as own, own.transaction():
            found = await own.fetchrow(_SQL["use_link"], digest(token))
            if found is None:
                return None
            try:
                caller = live(found)
            except KeyEnded:
                return None
            return await self._open(own, caller, "link")

    async def open(self, caller: Principal) -> NewSession:
        """Opens a session for a caller that has presented a key."""
        async with connected(self._pool, None) as own, own.transaction():
            return await self._open(own, caller, "key")

    async def find(self, secret: str) -> BrowserSession | None:
        """Finds the live session of a cookie."""
        found = await fetchrow(self._pool, _SQL["find"], digest(secret))
        try:
            return None if found is None else BrowserSession(found["session_id"], secret, live(found))
        except KeyEnded:
            return None

    async def end(self, session: BrowserSession) -> None:
        """Ends a session at once; ending it again has no effect."""
        caller = session.caller
        async with connected(self._pool, None) as own, own.transaction():
            if await own.fetchval(_SQL["end"], session.session_id, caller.key_id) is not None:
                await record(
                    own, caller.tenant, "browser_session.end", f"browser_session:{session.session_id}",
                    by=caller, before={"key_id": caller.key_id}, after=None,
                )  # fmt: skip

    async def _open(self, own: Connection, caller: Principal, way: str) -> NewSession:
        await own.execute(_SQL["forget"])
        session_id, secret = f"browser-{uuid.uuid4().hex[:12]}", secrets.token_urlsafe(32)
        made = row(await own.fetchrow(_SQL["open"], session_id, digest(secret), caller.key_id, self._life))
        after = {"key_id": caller.key_id, "way": way, "expires_at": made["expires_at"].isoformat()}
        await record(
            own, caller.tenant, "browser_session.open", f"browser_session:{session_id}",
            by=caller, before=None, after=after,
        )  # fmt: skip
        return NewSession(secret, made["expires_at"])
