"""Limits on what callers, providers and users may send or open. The docstring under a field is its documentation."""

from pydantic import Field

from purser.budget.policies import MAX_AMOUNT
from purser.compose.settings.groups import Group


class Limits(Group):
    """How much is accepted."""

    rate_limit_per_s: int = Field(2_000, ge=0, le=1_000_000)
    """Requests a second that one key may send to one gateway, where the key has no limit of its own; 0: any number."""
    sign_in_failures_per_min: int = Field(20, ge=0, le=1_000_000)
    """Wrong keys and sign-in links a minute from one address before it is told to wait; 0: any number."""
    open_requests_per_s: int = Field(200, ge=0, le=1_000_000)
    """Requests a second that one address may send without a key or a sign-in; 0: any number. `/healthz` is not
    counted."""
    max_connections: int = Field(5_000, ge=1, le=1_000_000)
    """Connections that a gateway keeps open at the same time; fewer where the limit of open files is lower, as `purser
    doctor` shows."""
    max_connections_per_address: int = Field(2_000, ge=1, le=1_000_000)
    """The same from one address. A proxy in front of the gateway is one address."""
    header_timeout_s: int = Field(10, ge=1, le=600)
    """Seconds for the headers of a request, from its first byte or from the opening of its connection."""
    body_timeout_s: int = Field(30, ge=1, le=3_600)
    """Seconds for the body of a request, besides the time that it takes at 32 KiB a second."""
    keep_alive_s: int = Field(75, ge=1, le=3_600)
    """Seconds that a connection stays open between two requests. Longer than the pools of common clients and proxies
    keep one, so that none is closed while a request is on its way."""
    streams_per_key: int = Field(50, ge=1, le=100_000)
    """Streams of events that one key may have open at the same time."""
    streams_per_tenant: int = Field(500, ge=1, le=100_000)
    """Streams of events that all keys of a tenant may have open at the same time."""
    large_bodies_per_key: int = Field(4, ge=1, le=1_000)
    """Requests with a body of more than 64 KiB that one key may have under way at the same time; over it: 429."""
    provider_error_bytes: int = Field(8_192, ge=1_024, le=65_536)
    """Bytes that are read of the body of a model provider's error."""
    provider_line_bytes: int = Field(1_048_576, ge=65_536, le=67_108_864)
    """Bytes that one line of a model provider's stream may have; a longer one ends the call."""
    provider_bytes_per_token: int = Field(1_024, ge=64, le=65_536)
    """Bytes that a model provider's reply may have for each token of its output cap, besides 1 MiB; a longer one ends
    the call."""
    max_retry_after_s: int = Field(600, ge=1, le=86_400)
    """Longest delay in seconds that a model provider's `Retry-After` is followed for."""
    task_limit_ceiling_tokens: int | None = Field(None, ge=1, le=MAX_AMOUNT)
    """Most tokens that the task file of an agent key may ask for one of its scopes; over it: 422."""
    task_limit_ceiling_nano_usd: int | None = Field(None, ge=1, le=MAX_AMOUNT)
    """Most nano-dollars that the task file of an agent key may ask for one of its scopes; over it: 422."""
