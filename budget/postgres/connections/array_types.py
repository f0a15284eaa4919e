"""Connections that share what Postgres says of the arrays of its built-in types.

asyncpg asks each new connection about each array type that it meets first, for 3 to 7 ms: longer than connecting takes.
The answers are the same on every server.
"""

from collections.abc import Collection, Sequence
from typing import Any, NamedTuple

import asyncpg

FIRST_VARYING_OID = 10_000
"""Smaller identifiers are assigned by hand and never change (FirstGenbkiObjectId in Postgres' transam.h)."""

_known: dict[int, asyncpg.Record] = {}


class _NoStatement(NamedTuple):
    """Stands for asyncpg's own statement: it replaces the caller's only where it has no name either."""

    name: str = "not prepared"


class ArrayTypesConnection(asyncpg.Connection):
    """A connection that asks about the arrays of built-in types only if no other of this process has."""

    __slots__ = ()

    async def _introspect_types(self, typeoids: Collection[int], timeout: float) -> tuple[Sequence[Any], Any]:
        # asyncpg has no public place for it. Without this method, connections are slower and everything else holds.
        if all(oid in _known for oid in typeoids):
            return [_known[oid] for oid in typeoids], _NoStatement()
        types, statement = await super()._introspect_types(typeoids, timeout)  # type: ignore[misc]
        _known.update({one["oid"]: one for one in types if one["oid"] < FIRST_VARYING_OID and one["elemdelim"]})
        return types, statement
