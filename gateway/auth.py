"""What an endpoint asks of its caller. `gateway.layers.Authentication` has found out who it is."""

from typing import Annotated

from fastapi import Depends, Request, Security
from fastapi.security import HTTPAuthorizationCredentials, HTTPBearer

from budget.scopes import Kind, Scope
from gateway.errors import Forbidden
from gateway.roles import PERMISSIONS, Permission, Principal

_bearer = HTTPBearer(auto_error=False, description="A key from `purser keys create` or POST /v1/keys.")


class Needs:
    """A dependency: the caller, if its role carries the permission."""

    def __init__(self, permission: Permission) -> None:
        self.permission = permission

    async def __call__(
        self, request: Request, _: Annotated[HTTPAuthorizationCredentials | None, Security(_bearer)]
    ) -> Principal:
        caller: Principal = request.state.caller
        if not caller.may(self.permission):
            able = ", ".join(role for role, carried in PERMISSIONS.items() if self.permission in carried)
            what = self.permission.replace("_", " ")
            raise Forbidden(f"role {str(caller.role)!r} may not {what}: use a key of {able}")
        return caller


Spender = Annotated[Principal, Depends(Needs(Permission.SPEND))]
Runner = Annotated[Principal, Depends(Needs(Permission.RUN))]
SessionWriter = Annotated[Principal, Depends(Needs(Permission.WRITE_SESSIONS))]
SessionDeleter = Annotated[Principal, Depends(Needs(Permission.DELETE_SESSIONS))]
WorkReader = Annotated[Principal, Depends(Needs(Permission.READ_WORK))]
Reader = Annotated[Principal, Depends(Needs(Permission.READ))]
Decider = Annotated[Principal, Depends(Needs(Permission.DECIDE))]
BudgetSetter = Annotated[Principal, Depends(Needs(Permission.SET_BUDGETS))]
KeyManager = Annotated[Principal, Depends(Needs(Permission.MANAGE_KEYS))]


def check_tenant(caller: Principal, *scopes: Scope) -> None:
    """Raises `Forbidden` if a scope is another tenant's own."""
    for scope in scopes:
        if scope.kind is Kind.TENANT and scope.id != caller.tenant:
            raise Forbidden(f"scope {str(scope)!r} is another tenant: the key belongs to tenant:{caller.tenant}")
