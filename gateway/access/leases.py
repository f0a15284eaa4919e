"""Leases of keys: a process takes a key for live until its lease ends, without asking Postgres for each request.

A lease begins when the key is read, and revoking or changing a key returns only after `LEASE_S`. So once somebody has
been told that a key is revoked, no process takes it, and that depends on no message between processes, which could be
lost. While Postgres cannot be reached, leases end.
"""

import time
from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass

from purser.gateway.access.roles import Principal

LEASE_S = 0.25
REMEMBERED = 10_000
"""Most keys with a lease."""


@dataclass(slots=True)
class Lease:
    """The caller of a key that was live when the lease began."""

    caller: Principal
    ends: float
    renewing: bool = False
    """Whether the key is being read again."""


class Leases:
    """The leases of one process, by the digest of the key."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        """Args:
        clock: returns seconds.
        """
        self.now = clock
        self._leases: OrderedDict[bytes, Lease] = OrderedDict()

    def grant(self, digest: bytes, caller: Principal, began: float, lasts_s: float | None) -> None:
        """Starts a lease.

        Args:
            digest, caller: of the key.
            began: when reading the key began.
            lasts_s: seconds until the key expires; `None`: it never does.
        """
        self._leases[digest] = Lease(caller, began + min(LEASE_S, LEASE_S if lasts_s is None else lasts_s))
        self._leases.move_to_end(digest)
        if len(self._leases) > REMEMBERED:
            self._leases.popitem(last=False)

    def end(self, digest: bytes) -> None:
        """Ends the lease of a key that is not live."""
        self._leases.pop(digest, None)

    def last(self, digest: bytes) -> Lease | None:
        """The last lease of a key, which may be over; `None` if there is none, or the key was refused since."""
        return self._leases.get(digest)

    def left_s(self, lease: Lease) -> float:
        """Seconds until the lease is over."""
        return lease.ends - self.now()
