"""Which errors of a provider's library say that the request has cost nothing."""

_REFUSED = frozenset(("ConnectError", "ConnectTimeout", "ConnectionRefusedError", "gaierror"))
"""Names of errors of a connection that was never made, in httpx and elsewhere."""
_MAYBE = frozenset((408, 499))
"""Statuses after which a provider may have worked."""


def costs_nothing(error: BaseException) -> bool:
    """Whether a request that failed with this error was surely not charged: refused, or never connected."""
    seen: BaseException | None = error
    while seen is not None:
        if (status := _status(seen)) is not None:
            return 400 <= status < 500 and status not in _MAYBE
        if _REFUSED & {base.__name__ for base in type(seen).__mro__}:
            return True
        seen = seen.__cause__ or seen.__context__
    return False


def _status(error: BaseException) -> int | None:
    for holder in (error, getattr(error, "response", None)):
        status = getattr(holder, "status_code", None)
        if isinstance(status, int):
            return status
    return None
