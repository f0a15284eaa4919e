"""The provider's control endpoints for tests: rules, faults, held requests, and the log.

```
POST /_control            {"rules"?, "faults"?, "clear"?}        adds rules and faults
POST /_control/hold       {"match"?, "after_chunks"?, "times"?}  holds matching requests
POST /_control/continue   {"request_id"?}                        continues held requests
GET  /_control/waiting                                           lists held requests
GET  /_control/served                                            returns the log
```

The provider listens on loopback only, so no other machine can reach these endpoints.
"""

from collections.abc import Awaitable, Callable
from typing import TypeVar

from pydantic import ValidationError
from starlette.requests import Request
from starlette.responses import JSONResponse
from starlette.routing import Route

from purser.compose.demo.provider.control import Control
from purser.compose.demo.provider.errors import reason
from purser.compose.demo.provider.script import Fault, FaultKind, Script, Scripted

Command = TypeVar("Command", bound=Scripted)
Endpoint = Callable[[Request], Awaitable[JSONResponse]]


class _Change(Script):
    clear: bool = False
    """Whether to remove all earlier rules and faults and continue all held requests first."""


class _Hold(Fault):
    kind: FaultKind = FaultKind.HOLD
    """The kind of fault; a hold by default."""


class _Continue(Scripted):
    request_id: str = ""
    """Prefix of the request ids to continue; empty: all."""


def control_routes(control: Control) -> list[Route]:
    """The routes of the control endpoints."""

    def change(command: _Change) -> object:
        if command.clear:
            control.clear()
        control.add(command)
        return {"rules": len(command.rules), "faults": len(command.faults)}

    def hold(command: _Hold) -> object:
        control.add_fault(command)
        return {"faults": 1}

    def resume(command: _Continue) -> object:
        return {"continued": control.continue_held(command.request_id)}

    async def waiting(_: Request) -> JSONResponse:
        return JSONResponse(
            [
                {"seq": held.seq, "model": held.info.model, "recording": held.info.recording}
                | {"agent": held.info.agent, "request_id": held.info.request_id}
                for held in control.waiting()
            ]
        )

    async def served(_: Request) -> JSONResponse:
        return JSONResponse([one.record() for one in control.log.served()])

    return [
        Route("/_control", _endpoint(_Change, change), methods=["POST"]),
        Route("/_control/hold", _endpoint(_Hold, hold), methods=["POST"]),
        Route("/_control/continue", _endpoint(_Continue, resume), methods=["POST"]),
        Route("/_control/waiting", waiting),
        Route("/_control/served", served),
    ]


def _endpoint(kind: type[Command], execute: Callable[[Command], object]) -> Endpoint:
    """An endpoint that reads one kind of command; an invalid command is answered 400 and changes nothing."""

    async def endpoint(http: Request) -> JSONResponse:
        try:
            command = kind.model_validate_json(await http.body() or b"{}")
        except ValidationError as error:
            return JSONResponse({"error": f"the command is not valid: {reason(error)}"}, 400)
        return JSONResponse(execute(command))

    return endpoint
