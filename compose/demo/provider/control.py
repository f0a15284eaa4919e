"""The provider's doors for tests: what it shall answer, what shall go wrong, and who waits.

```
POST /_control            {"rules"?, "faults"?, "clear"?}        more rules and faults
POST /_control/hold       {"match"?, "after_chunks"?, "times"?}  matching requests wait
POST /_control/continue   {"request_id"?}                        they go on
GET  /_control/waiting                                           those that wait
GET  /_control/served                                            the log
```

The provider listens on loopback only, so these doors are closed to everyone else.
"""

from collections.abc import Awaitable, Callable
from typing import TypeVar

from pydantic import ValidationError
from starlette.requests import Request
from starlette.responses import JSONResponse
from starlette.routing import Route

from purser.compose.demo.provider.desk import Desk
from purser.compose.demo.provider.errors import reason
from purser.compose.demo.provider.script import Fault, FaultKind, Script, Scripted

Order = TypeVar("Order", bound=Scripted)
Door = Callable[[Request], Awaitable[JSONResponse]]


class _Change(Script):
    clear: bool = False
    """Forget everything that was scripted before, and continue everyone who is held."""


class _Hold(Fault):
    kind: FaultKind = FaultKind.HOLD
    """A hold, unless said otherwise."""


class _Continue(Scripted):
    request_id: str = ""
    """Beginning of the ids that go on."""


def control_routes(desk: Desk) -> list[Route]:
    """The routes of all control doors."""

    def change(order: _Change) -> object:
        if order.clear:
            desk.clear()
        desk.add(order)
        return {"rules": len(order.rules), "faults": len(order.faults)}

    def hold(order: _Hold) -> object:
        desk.add_fault(order)
        return {"faults": 1}

    def resume(order: _Continue) -> object:
        return {"continued": desk.continue_held(order.request_id)}

    async def waiting(_: Request) -> JSONResponse:
        return JSONResponse(
            [
                {"seq": held.seq, "model": held.asked.model, "recording": held.asked.recording}
                | {"agent": held.asked.agent, "request_id": held.asked.request_id}
                for held in desk.waiting()
            ]
        )

    async def served(_: Request) -> JSONResponse:
        return JSONResponse([one.record() for one in desk.log.served()])

    return [
        Route("/_control", _door(_Change, change), methods=["POST"]),
        Route("/_control/hold", _door(_Hold, hold), methods=["POST"]),
        Route("/_control/continue", _door(_Continue, resume), methods=["POST"]),
        Route("/_control/waiting", waiting),
        Route("/_control/served", served),
    ]


def _door(kind: type[Order], obey: Callable[[Order], object]) -> Door:
    """A door that reads one kind of order; a bad order is answered 400 and changes nothing."""

    async def door(http: Request) -> JSONResponse:
        try:
            order = kind.model_validate_json(await http.body() or b"{}")
        except ValidationError as error:
            return JSONResponse({"error": f"this order cannot be followed: {reason(error)}"}, 400)
        return JSONResponse(obey(order))

    return door
