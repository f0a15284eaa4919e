"""What an error of a provider's library says of the cost of its request."""

from collections.abc import Iterator
from contextlib import suppress
from typing import Any

from purser_client.errors import Unanswered, UnknownUsage
from purser_client.usage import is_empty, usage_of

_UNREACHED = frozenset(("ConnectError", "ConnectTimeout", "ClientConnectorError"))
"""Names of errors of a connection that was never made, in httpx and aiohttp. Those of the operating system do not
count: they may be about another connection of the block, such as that of its store after the provider has answered."""
_MAYBE = frozenset((408, 499))
"""Statuses after which a provider may have worked."""
_REPLIES = ("completion", "ai_message")
"""Where errors keep a reply that cannot be parsed, such as one that was cut: in OpenAI's library, and in LangChain."""


def costs_nothing(error: BaseException) -> bool:
    """Whether a request that failed with this error was surely not charged: refused, or never connected."""
    for one in _causes(error):
        if (status := _status(one)) is not None:
            return 400 <= status < 500 and status not in _MAYBE
        if isinstance(one, Unanswered):  # the connection that was never made is that of the gateway
            return False
        if _UNREACHED & {base.__name__ for base in type(one).__mro__}:
            return True
    return False


def usage_in(error: BaseException) -> dict[str, Any] | None:
    """The usage of the reply that an error is about; `None`: it has none."""
    for one in _causes(error):
        for name in _REPLIES:
            with suppress(UnknownUsage):
                if not is_empty(usage := usage_of(getattr(one, name, None))):
                    return usage
    return None


def _causes(error: BaseException) -> Iterator[BaseException]:
    """An error and its causes.

    Not what was handled when it was raised: that may be the error of another request.
    """
    seen: BaseException | None = error
    passed = set[int]()
    while seen is not None and id(seen) not in passed:
        passed.add(id(seen))
        yield seen
        seen = seen.__cause__


def _status(error: BaseException) -> int | None:
    for holder in (error, getattr(error, "response", None)):
        status = getattr(holder, "status_code", None)
        if isinstance(status, int):
            return status
    return None
