"""How the client reaches a gateway, and how patient it is."""

import os
import random
import re
from collections.abc import Mapping
from dataclasses import dataclass

from purser_client.errors import Problem, PurserError, Unanswered
from purser_client.wire.addresses import base_address

_FIRST_PAUSE_S = 0.2
_LONGEST_PAUSE_S = 8.0


@dataclass(frozen=True, slots=True)
class Patience:
    """How long the client waits, and how often it repeats. Every request can be repeated without a second effect."""

    timeout_s: float = 30.0
    """Seconds for one answer. Compressions take longer: they are awaited up to `long_timeout_s`."""
    long_timeout_s: float = 180.0
    retries: int = 4
    """Repetitions of a request that got no answer, or an answer that says that it can be repeated."""
    longest_pause_s: float = 30.0
    """The longest pause that an answer may ask for; an answer that asks for more is raised."""

    def pause(self, error: PurserError, repeated: int) -> float | None:
        """Seconds to wait before a repetition; `None`: the error is final.

        Args:
            error: What the last request came to.
            repeated: How often it was repeated.
        """
        if repeated >= self.retries:
            return None
        backoff = min(_LONGEST_PAUSE_S, _FIRST_PAUSE_S * float(2**repeated)) * random.uniform(0.5, 1)
        match error:
            case Unanswered():
                return backoff
            case Problem() if error.problem.retryable:
                asked = (error.problem.retry_after_ms or 0) / 1_000
                return None if asked > self.longest_pause_s else max(asked, backoff)
        return None


def address_of(url: str | None) -> str:
    """The gateway's address: as given, or `PURSER_URL`. Raises `PurserError` for none."""
    found = url or os.environ.get("PURSER_URL")
    if not found:
        raise PurserError(
            "no address: pass url, or set PURSER_URL to that of the gateway, such as http://127.0.0.1:8787"
        )
    try:
        return base_address(found)
    except ValueError as error:
        raise PurserError(str(error)) from None


def headers_of(api_key: str | None) -> Mapping[str, str]:
    """The headers of all requests; the key is as given, or `PURSER_API_KEY`. Raises `PurserError` for none."""
    found: object = api_key or os.environ.get("PURSER_API_KEY")
    if not found:
        raise PurserError("no key: pass api_key, or set PURSER_API_KEY (`purser keys create` makes one)")
    if not isinstance(found, str) or not re.fullmatch("[!-~]+", found):
        # It is a secret, and not repeated.
        raise PurserError("the key is not valid: use printable ASCII characters only, without spaces and line breaks")
    return {"Authorization": f"Bearer {found}", "User-Agent": "purser-client"}
