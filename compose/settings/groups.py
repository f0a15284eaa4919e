"""Every setting, by what it is about. The docstring under a field is its documentation."""

from decimal import Decimal
from pathlib import Path
from typing import Literal

from pydantic import AliasChoices, Field, SecretStr
from pydantic_settings import BaseSettings, SettingsConfigDict

from purser.budget.policies import DEFAULT_BACKPRESSURE, DEFAULT_WARN_AT, Mode, OnExpiry
from purser.compose.settings.places import default_data_dir
from purser.compose.settings.values import CommaList, Port, Ratio, Seconds, Tokens
from purser.context.compression.requests import DROP, KEEP


class Group(BaseSettings):
    """Base of all groups."""

    model_config = SettingsConfigDict(
        env_prefix="PURSER_",
        env_prefix_target="all",
        env_ignore_empty=True,
        extra="forbid",
        frozen=True,
        populate_by_name=True,
        use_attribute_docstrings=True,
        hide_input_in_errors=True,
    )


class Places(Group):
    """Where things are and where they listen."""

    data_dir: Path = Field(default_factory=default_data_dir)
    """Directory of the embedded Postgres and Temporal. Default: `/var/tmp/purser-0` as root, else
    `$XDG_DATA_HOME/purser`."""
    dsn: str | None = Field(None, repr=False)
    """Postgres, as `postgresql://user:password@host:port/database`. Without it `purser up` starts an embedded one. With
    `?pgbouncer=true` a pooler in transaction mode may be in between."""
    url: str | None = None
    """Address of a running gateway, for commands that talk to one. Default: that of the last `purser up`."""
    api_key: SecretStr | None = None
    """Key for that gateway."""
    gateway_host: str = "127.0.0.1"
    """Address that the gateway listens on."""
    gateway_port: Port = 8787
    """Port of the gateway; 0 takes any free one."""
    dashboard: bool = True
    """Whether the gateway shows the dashboard."""
    metrics_host: str = "127.0.0.1"
    """Address that `/metrics` listens on."""
    metrics_port: Port = 9464
    """Port of `/metrics`; 0 takes any free one."""
    worker_metrics_port: Port = 9465
    """Port of `/metrics` of a `purser worker`; 0 takes any free one."""
    metrics_token: SecretStr | None = None
    """Bearer token of `/metrics`, required unless it listens on loopback."""
    bench_data: Path | None = None
    """Folder of the conversations that `purser bench` measures on."""
    shutdown_grace_s: Seconds = 45
    """Seconds that calls of a worker, and requests and streams of a gateway, get to end once it is told to stop. A
    model call that is cut off has been paid for."""
    drain_s: int = Field(0, ge=0, le=600)
    """Seconds that a gateway goes on taking requests then, while `/readyz` says 503: until a load balancer has seen
    it."""
    log_level: Literal["debug", "info", "warning", "error"] = "info"
    """Least severe log line that is written."""
    log_format: Literal["console", "json"] = "console"
    """Shape of log lines; they go to stderr."""


class Access(Group):
    """How browsers stay signed in."""

    browser_session_s: Seconds = 43_200
    """Seconds after which a browser has to sign in again."""
    secure_cookies: bool = False
    """Let browsers send a session's cookie over https only, even where the gateway itself is reached by http: for a
    proxy that ends TLS and does not say so (`X-Forwarded-Proto`)."""


class Notices(Group):
    """Who is told of what happens, and how long that is kept."""

    secrets_key: SecretStr | None = None
    """Keys that encrypt the secrets of webhooks where they are stored: 32 random bytes each in base64, comma-separated.
    The first encrypts, all decrypt. `purser up` makes one in its data directory; elsewhere no webhook can be made
    without it."""
    webhook_targets: CommaList = ()
    """Addresses below which webhooks may be, as `https://host[:port][/prefix]`, comma-separated; without any there
    are no webhooks."""
    public_url: str | None = None
    """Where people reach the dashboard, for links in messages. Default: the gateway's own address."""
    events_retention_days: int = Field(90, ge=1, le=36_500)
    """Days after which events and finished deliveries are deleted."""


class Temporal(Group):
    """How to reach Temporal."""

    temporal_address: str | None = None
    """`host:port` of a Temporal frontend. Without it `purser up` starts an embedded dev server."""
    temporal_namespace: str = "default"
    """Namespace of all workflows."""
    temporal_ui: bool = False
    """Whether `purser up` starts the Web UI of its embedded Temporal. The UI asks for no sign-in: every local user, and
    possibly a web page in your browser, can then signal and end workflows."""
    temporal_ui_url: str | None = None
    """Address of Temporal's Web UI, for links from the dashboard. Default: that of the embedded server, if it runs."""
    temporal_tls: bool = False
    """Connect with TLS. Implied by any other `temporal_tls_*` setting and by `temporal_api_key`."""
    temporal_tls_client_cert: Path | None = None
    """PEM file with the client certificate, for mTLS."""
    temporal_tls_client_key: Path | None = None
    """PEM file with the client's private key, for mTLS."""
    temporal_tls_server_ca: Path | None = None
    """PEM file with the authority that signed the server's certificate, where the system does not know it."""
    temporal_api_key: SecretStr | None = None
    """API key of Temporal Cloud."""
    task_queue: str = "purser"
    """Task queue of workflows and activities."""
    tool_activities: CommaList = ("tool_*",)
    """Activities that a task may name as tools, comma-separated; a trailing `*` matches any name with that prefix."""
    tool_task_queues: CommaList = ("tools-*",)
    """Task queues that a task may name for its tools besides `task_queue`, in the same form."""
    worker_deployment: str | None = None
    """Name of the deployment that a versioned worker belongs to. Without it and `worker_build_id` workers are not
    versioned."""
    worker_build_id: str | None = None
    """Version of that worker, new for each release. A task stays with the version that it began on."""


class Ledger(Group):
    """What may be spent where nobody stored a policy, and how long holds live."""

    session_limit_tokens: Tokens = 200_000
    """Token limit of a session."""
    task_limit_tokens: Tokens = 200_000
    """Token limit of a task."""
    agent_limit_tokens: Tokens = Field(
        50_000, validation_alias=AliasChoices("agent_limit_tokens", "token_budget_per_agent")
    )
    """Token limit of an agent of a task."""
    mode: Mode = Mode.SOFT
    """What happens when an ask does not fit: `hard` refuses, `soft` warns and goes on, `approval` asks a person."""
    timezone: str = "UTC"
    """IANA time zone of calendar windows."""
    warn_at: tuple[Decimal, ...] = DEFAULT_WARN_AT
    """Ratios of the limit at which a warning event fires, as a JSON list."""
    backpressure: tuple[tuple[Decimal, int], ...] = tuple((step.ratio, step.delay_ms) for step in DEFAULT_BACKPRESSURE)
    """Steps of `[ratio, delay in ms]`, as a JSON list."""
    lease_s: Seconds = 120
    """Seconds after which a hold that nobody renews expires."""
    grace_s: Seconds = 30
    """Seconds past the lease before the sweeper ends an expired hold."""
    budget_idle_s: Seconds = 1_800
    """Seconds after its last movement for which the lifetime budget of a session, task or agent counts in metrics.
    Ended tasks and agents leave at once; budgets of tenants and users always count."""
    sweep_every_s: Seconds = 5
    """Seconds between two sweeps for expired holds, grants and approval deadlines."""
    max_wait_s: Seconds = 600
    """Longest wait for a shortage that only open holds cause; then the mode decides."""
    approval_deadline_s: Seconds = 1_800
    """Seconds after which an approval request expires."""
    approval_on_expiry: OnExpiry = OnExpiry.DENY
    """What an expired request turns into: `deny` or `grant` (the shortage)."""
    trust_temporal_identity: bool = False
    """Accept decisions through Temporal that are not signed: whoever can signal a workflow then decides under any name.
    For a Temporal that only people you trust can reach."""


class Models(Group):
    """Which providers are called, and what their tokens cost."""

    allowed_api_bases: CommaList = ()
    """Addresses that a task may name as `api_base`, comma-separated."""
    allowed_providers: CommaList = ()
    """Model providers, as LiteLLM names them, that may be asked at their own address, comma-separated. Default: those
    that have a key, in `provider_keys` or in the environment variable that the provider is known for."""
    provider_proxy: SecretStr | None = Field(None, repr=False)
    """Address of a proxy for all requests to model providers, as `http://user:password@host:port`. Variables such as
    `HTTPS_PROXY` have no effect on them."""
    provider_keys: dict[str, SecretStr] = Field(default_factory=dict, repr=False)
    """Provider key by host, as a JSON object. A key goes to no other host."""
    max_parallel_agents: int = Field(8, ge=1, le=1_000)
    """Agents of one task that run at the same time."""
    max_output_tokens: int = Field(4_096, ge=1)
    """Output that a call may produce where the task does not say; at most what the model can."""
    min_output_tokens: int = Field(256, ge=1)
    """Smallest output that a call is cut down to when only part of it fits."""
    model_timeout_s: int = Field(900, ge=1, le=1_700)
    """Seconds until a request to a provider counts as failed."""
    max_attempts: int = Field(10, ge=1, le=1_000)
    """Requests to a provider under one hold, before the agent fails."""
    price_file: Path | None = None
    """JSON file with prices that go before LiteLLM's table, in its format."""
    unknown_price: Literal["refuse", "ceiling"] = "refuse"
    """What a model without a price means on a path with a money limit."""
    unknown_price_ceiling_nano_usd_per_token: int | None = Field(None, ge=0)
    """Nano-dollars per token that such a model is charged with `unknown_price = "ceiling"`."""


class Context(Group):
    """What a model gets to see. Requests and use-case presets override these."""

    context_window_tokens: int = Field(128_000, ge=1)
    """Window of a model that is in no table."""
    history_token_budget_ratio: Ratio = 0.60
    """Share of what a window leaves after its reserves that history may fill."""
    output_token_reserve: Tokens = 4_096
    """Tokens of a window kept for the reply."""
    system_token_reserve: Tokens = 2_000
    """Least number of tokens kept for system prompt and tools."""
    pin_token_budget: Tokens = 8_000
    """Tokens that the pinned messages of one session may take together, with their tool calls and results."""
    memory_token_budget: Tokens = 2_000
    """Tokens that retrieved messages may take of a window of the strategy `hybrid`."""
    memory_across_sessions: bool = False
    """Whether memory looks into the other sessions of a session's user as well."""
    embedding_model: str | None = None
    """Model that makes vectors of messages, so that memory finds by meaning too; without one it finds by words."""
    embedding_api_base: str | None = None
    """Address of that model where it is not its provider's own."""
    embedding_dimensions: int | None = Field(None, ge=1, le=16_000)
    """Length of its vectors, for models that have several. Another model or length makes all vectors anew."""
    embedding_timeout_s: Seconds = 5
    """Seconds that a search waits for vectors; then it goes on by words."""
    router_history_token_budget: Tokens = 8_000
    """Context budget of a plain-text history, as routers use it."""
    compression_trigger_ratio: Ratio = Field(
        0.75, validation_alias=AliasChoices("compression_trigger_ratio", "summarization_trigger_ratio")
    )
    """Share of the context budget at which history is compressed; 1.0 never compresses."""
    compression_target_ratio: Ratio = 0.375
    """Share of the context budget that a compression leaves."""
    summarizer: str = Field("extractive", validation_alias=AliasChoices("summarizer", "summarization_model"))
    """What writes summaries: `extractive` (no model), `none`, or the name of a model."""
    summarizer_api_base: str | None = None
    """Address of that model where it is not its provider's own."""
    summarizer_timeout_s: Seconds = 60
    """Seconds that it may take to write one summary; never more than the lease of its hold."""
    summary_keep: str = KEEP
    """What a model that writes summaries must keep."""
    summary_drop: str = DROP
    """What it may leave out."""
    compression_cooldown_s: Seconds = 600
    """Seconds for which a summarizer that failed three times in a row on a conversation is not asked there."""
    redaction_patterns: dict[str, str] = Field(default_factory=dict)
    """Regular expressions by label, as a JSON object such as `{"EMPLOYEE": "E\\d{6}"}`: what they match is taken out of
    texts too, as `[EMPLOYEE_1]`."""
    primers_count: int = Field(3, ge=0, le=1_000)
    """First messages of a conversation that stay verbatim."""
    recents_count: int = Field(20, ge=0, le=1_000)
    """Last messages of a conversation that stay verbatim."""
    history_window_messages: int = Field(
        50, ge=5, le=1_000, validation_alias=AliasChoices("history_window_messages", "history_window_size")
    )
    """Messages that are considered for a window."""
