"""How far apart requests to a provider have to be to keep its limits.

Requests are spaced instead of counted by the minute, because providers enforce their limits over seconds, and a
minute's worth at the end of one and at the start of the next would be twice the limit.
"""

from dataclasses import dataclass
from typing import Annotated, ClassVar

from pydantic import ConfigDict, Field

SLACK_S = 2.0
"""Seconds after its slot in which a request may still be sent."""
_WINDOW_S = 60 + SLACK_S
_BURST_SHARE = 10
"""A tenth of a limit may be used at once."""


@dataclass(frozen=True)
class Pace:
    """What a provider allows in a minute."""

    __pydantic_config__: ClassVar[ConfigDict] = ConfigDict(extra="forbid")

    rpm: Annotated[int, Field(ge=1)] | None = None
    """Requests; `None`: not limited."""
    tpm: Annotated[int, Field(ge=1)] | None = None
    """Tokens, input and the cap of the output; `None`: not limited."""


@dataclass(frozen=True, slots=True)
class Spacing:
    """How far apart the requests under one limit have to be, in seconds.

    Each request moves the limit's due time on by its cost, from now or from the due time, whichever is later. It may be
    sent once the due time is at most `burst` ahead. Then any `_WINDOW_S` seconds contain at most the limit: of
    requests exactly, of tokens but for the last request.
    """

    name: str
    request_s: float | None = None
    """Cost of a request; `None`: requests are not limited."""
    request_burst_s: float = 0
    token_s: float | None = None
    """Cost of a token; `None`: tokens are not limited."""
    token_burst_s: float = 0

    @classmethod
    def of(cls, name: str, pace: Pace) -> "Spacing":
        """The spacing that keeps a pace."""
        request_s = token_s = None
        request_burst_s = token_burst_s = 0.0
        if pace.rpm is not None:
            at_once = max(1, pace.rpm // _BURST_SHARE)
            request_s = _WINDOW_S / (pace.rpm - at_once + 1)
            request_burst_s = (at_once - 1) * request_s
        if pace.tpm is not None:
            at_once = pace.tpm // _BURST_SHARE
            token_s = _WINDOW_S / (pace.tpm - at_once)
            token_burst_s = at_once * token_s
        return cls(name, request_s, request_burst_s, token_s, token_burst_s)
