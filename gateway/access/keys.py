"""`/v1/keys`: bearer keys of the caller's tenant. A secret is shown once, when it is created."""

from fastapi import APIRouter

from purser.budget.postgres.connections.pools import Connection
from purser.gateway.access.auth import KeyManager, Reader
from purser.gateway.access.roles import Principal
from purser.gateway.access.schemas import KeyBody, KeyPatch
from purser.gateway.access.views import CallerView, KeyView, NewKeyView
from purser.gateway.http.idempotency import OnceOnly
from purser.gateway.http.routing import Route
from purser.gateway.postgres.keys import NewKey
from purser.gateway.services import Services, Use
from purser.wire.base import PageOf

router = APIRouter(route_class=Route, prefix="/v1/keys", tags=["keys"])


@router.post("", status_code=201)
async def create(body: KeyBody, caller: KeyManager, use: Use, once: OnceOnly) -> NewKeyView:
    """Creates a key; `key` contains its secret, which cannot be read again.

    Repeating the request with the same Idempotency-Key creates no second key: 409 `already-made` names the first.
    """

    async def act(connection: Connection | None) -> NewKeyView:
        made = await make(use, caller, body, connection)
        return NewKeyView(**KeyView.of(made.key).model_dump(), key=made.secret)

    return await once.do(caller, NewKeyView, act, secrets=("key",))


async def make(use: Services, caller: Principal, body: KeyBody, connection: Connection | None = None) -> NewKey:
    """Creates a key of the caller's tenant, in the transaction of `connection` if there is one."""
    return await use.keys.create(
        caller.tenant,
        body.name,
        body.role,
        by=caller,
        expires_at=body.ends_at(),
        rate_limit_per_s=body.rate_limit_per_s,
        tags=body.tags,
        path=body.path,
        connection=connection,
    )


@router.get("")
async def list_keys(caller: KeyManager, use: Use) -> PageOf[KeyView]:
    """Lists all keys, including those that have ended, oldest first."""
    keys = await use.keys.list(caller.tenant)
    return PageOf[KeyView](items=[KeyView.of(key) for key in keys], cursor=None)


@router.get("/self")
async def show_own(caller: Reader) -> CallerView:
    """Returns the key of this request, whose id is needed to sign decisions sent through Temporal."""
    return CallerView(key_id=caller.key_id, tenant=caller.tenant, name=caller.name, role=caller.role)


@router.patch("/{key_id}")
async def change(key_id: str, body: KeyPatch, caller: KeyManager, use: Use) -> KeyView:
    """Changes role, path or end of a key, from its next request on. A later end also revives a key that has expired."""
    changed = await use.keys.change(
        caller.tenant,
        key_id,
        by=caller,
        role=body.role,
        path=body.path,
        expires_at=body.ends_at(),
        never_expires=body.never_expires,
    )
    return KeyView.of(changed)


@router.delete("/{key_id}")
async def revoke(key_id: str, caller: KeyManager, use: Use) -> KeyView:
    """Revokes a key at once. Revoking it again has no effect."""
    return KeyView.of(await use.keys.revoke(caller.tenant, key_id, by=caller))
