"""Authorization: the permission that an endpoint or page requires of its authenticated caller."""

from typing import Annotated

from fastapi import Depends, Request, Security
from fastapi.security import HTTPAuthorizationCredentials, HTTPBearer

from purser.budget.scopes import Kind, Scope
from purser.gateway.access.roles import PERMISSIONS, Permission, Principal
from purser.gateway.errors import Forbidden, Unauthenticated
from purser.gateway.postgres.browser_sessions import BrowserSession

_bearer = HTTPBearer(auto_error=False, description="A key from `purser keys create` or POST /v1/keys.")


class Needs:
    """A dependency that returns the caller if its role has the permission."""

    def __init__(self, permission: Permission) -> None:
        self.permission = permission

    async def __call__(
        self, request: Request, _: Annotated[HTTPAuthorizationCredentials | None, Security(_bearer)]
    ) -> Principal:
        caller: Principal = request.state.caller
        self.check(caller)
        return caller

    def check(self, caller: Principal) -> None:
        """Raises `Forbidden` if the caller's role does not have the permission."""
        if not caller.may(self.permission):
            able = ", ".join(role for role, carried in PERMISSIONS.items() if self.permission in carried)
            what = self.permission.replace("_", " ")
            raise Forbidden(f"role {str(caller.role)!r} may not {what}: use a key of {able}")


Spender = Annotated[Principal, Depends(Needs(Permission.SPEND))]
Runner = Annotated[Principal, Depends(Needs(Permission.RUN))]
SessionWriter = Annotated[Principal, Depends(Needs(Permission.WRITE_SESSIONS))]
SessionDeleter = Annotated[Principal, Depends(Needs(Permission.DELETE_SESSIONS))]
WorkReader = Annotated[Principal, Depends(Needs(Permission.READ_WORK))]
Reader = Annotated[Principal, Depends(Needs(Permission.READ))]
Decider = Annotated[Principal, Depends(Needs(Permission.DECIDE))]
BudgetSetter = Annotated[Principal, Depends(Needs(Permission.SET_BUDGETS))]
KeyManager = Annotated[Principal, Depends(Needs(Permission.MANAGE_KEYS))]
WebhookManager = Annotated[Principal, Depends(Needs(Permission.MANAGE_WEBHOOKS))]


def browser_session(request: Request) -> BrowserSession | None:
    """The browser session of a request; `None` if it is authenticated by a key."""
    found: BrowserSession | None = getattr(request.state, "browser", None)
    return found


async def signed_in(request: Request) -> BrowserSession:
    """The browser session of a request for a page; the middleware lets no other requests through."""
    session = browser_session(request)
    if session is None:
        raise Unauthenticated("no one is signed in: open /sign-in")
    return session


def check_tenant(caller: Principal, *scopes: Scope) -> None:
    """Raises `Forbidden` if a scope is that of another tenant."""
    for scope in scopes:
        if scope.kind is Kind.TENANT and scope.base.id != caller.tenant:
            raise Forbidden(f"scope {str(scope)!r} is another tenant: the key belongs to tenant:{caller.tenant}")
