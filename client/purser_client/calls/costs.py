"""Which errors of a provider's library say that the request has cost nothing."""

_UNREACHED = frozenset(("ConnectError", "ConnectTimeout", "ClientConnectorError"))
"""Names of errors of a connection that was never made, in httpx and aiohttp. Those of the operating system do not
count: they may be about another connection of the block, such as that of its store after the provider has answered."""
_MAYBE = frozenset((408, 499))
"""Statuses after which a provider may have worked."""


def costs_nothing(error: BaseException) -> bool:
    """Whether a request that failed with this error was surely not charged: refused, or never connected.

    Only causes are followed: an error that is raised while another is handled may be that of a second request.
    """
    seen: BaseException | None = error
    passed = set[int]()
    while seen is not None and id(seen) not in passed:
        passed.add(id(seen))
        if (status := _status(seen)) is not None:
            return 400 <= status < 500 and status not in _MAYBE
        if _UNREACHED & {base.__name__ for base in type(seen).__mro__}:
            return True
        seen = seen.__cause__
    return False


def _status(error: BaseException) -> int | None:
    for holder in (error, getattr(error, "response", None)):
        status = getattr(holder, "status_code", None)
        if isinstance(status, int):
            return status
    return None
