"""Limits on what callers, providers and users may send or open. The docstring under a field is its documentation."""

from pydantic import Field

from purser.compose.settings.groups import Group
from purser.wire.limits import MAX_AMOUNT


class Limits(Group):
    """Limits: requests, connections, bodies, replies of providers, task files."""

    rate_limit_per_s: int = Field(2_000, ge=0, le=1_000_000)
    """Requests a second that one key may send to one process of a gateway, unless the key has its own limit; 0: any
    number."""
    sign_in_failures_per_min: int = Field(20, ge=0, le=1_000_000)
    """Wrong keys and sign-in links a minute from one address before it gets 429; 0: any number."""
    open_requests_per_s: int = Field(200, ge=0, le=1_000_000)
    """Requests a second that one address may send without a key or a sign-in; 0: any number. `/healthz` is not
    counted."""
    max_connections: int = Field(5_000, ge=1, le=1_000_000)
    """Concurrent connections of a gateway; fewer if the limit of open files is lower, as `purser doctor` shows."""
    max_connections_per_address: int = Field(2_000, ge=1, le=1_000_000)
    """Concurrent connections from one address. A proxy in front of the gateway is one address."""
    header_timeout_s: int = Field(10, ge=1, le=600)
    """Seconds for the headers of a request, from its first byte or from the opening of its connection."""
    body_timeout_s: int = Field(30, ge=1, le=3_600)
    """Seconds for the body of a request, in addition to the time that it takes at 32 KiB a second."""
    keep_alive_s: int = Field(75, ge=1, le=3_600)
    """Seconds that a connection stays open between two requests. Longer than in the pools of common clients and
    proxies, so that no connection is closed while a request is in transit."""
    streams_per_key: int = Field(50, ge=1, le=100_000)
    """Concurrent event streams of one key."""
    streams_per_tenant: int = Field(500, ge=1, le=100_000)
    """Concurrent event streams of all keys of a tenant."""
    large_bodies_per_key: int = Field(4, ge=1, le=1_000)
    """Concurrent requests of one key with a body of more than 64 KiB, calls of models only until they are read; above
    it: 429."""
    call_bytes_per_key: int = Field(67_108_864, ge=16_777_216, le=MAX_AMOUNT)
    """Bytes of the bodies of all calls of models that one key has in progress at one process of a gateway; above it:
    429. In memory they take about four times as much."""
    call_bytes_per_tenant: int = Field(268_435_456, ge=16_777_216, le=MAX_AMOUNT)
    """Bytes of the bodies of all calls of models that the keys of a tenant have in progress at one process of a
    gateway; above it: 429."""
    waiting_calls_per_key: int = Field(100, ge=1, le=100_000)
    """Calls of models of one key that wait for room or for a person's decision at one process of a gateway; above it:
    429."""
    session_reads_per_key: int = Field(2, ge=1, le=1_000)
    """Concurrent requests of one key for windows, facts, memory, messages or recommendations of sessions at one process
    of a gateway; further ones wait for up to 5 seconds before they get 429."""
    session_reads_per_tenant: int = Field(4, ge=1, le=1_000)
    """Concurrent requests of this kind of all keys of a tenant. All tenants share the threads of a process, of which
    there are four more than processors."""
    provider_error_bytes: int = Field(8_192, ge=1_024, le=65_536)
    """Bytes that are read of the body of a model provider's error."""
    provider_line_bytes: int = Field(1_048_576, ge=65_536, le=67_108_864)
    """Maximum bytes of one line of a model provider's stream; a longer line ends the call."""
    provider_bytes_per_token: int = Field(1_024, ge=64, le=65_536)
    """Maximum bytes of a model provider's reply for each token of its output cap, plus 1 MiB; a longer reply ends the
    call."""
    provider_reply_bytes: int = Field(67_108_864, ge=1_048_576, le=1_073_741_824)
    """Maximum bytes of a model provider's reply, whatever its output cap: the longest replies of known models have
    128,000 tokens, which a stream sends in about 50 MB."""
    max_retry_after_s: int = Field(600, ge=1, le=86_400)
    """Longest delay in seconds for which a model provider's `Retry-After` is honoured."""
    task_limit_ceiling_tokens: int | None = Field(None, ge=1, le=MAX_AMOUNT)
    """Highest token limit that the task file of an agent key may set for one of its scopes; above it: 422."""
    task_limit_ceiling_nano_usd: int | None = Field(None, ge=1, le=MAX_AMOUNT)
    """Highest money limit, in nano-dollars, that the task file of an agent key may set for one of its scopes; above
    it: 422."""
